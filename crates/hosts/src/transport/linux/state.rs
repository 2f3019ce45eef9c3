//! The state of Linux's sender beyond the state of every sender.

use std::collections::VecDeque;

use hopyard_engine::Time;

use super::params::SendBufferSize;
use super::send_buffer::SendBuffer;
use crate::packet::TcpHeader;
use crate::transport::congestion::{Answer, Controller, Phase};
use crate::transport::connection::{Acked, Core, Wheel};

/// The note on a segment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tag {
    /// It has the flag PSH, because it ends the data that the application wrote.
    pub psh: bool,
    /// It has the flag PSH, because it was sent last as the end of a buffer of several segments.
    pub ends_buffer: bool,
    /// It was sent again because it was deemed lost, and is not reported since.
    pub repaired: bool,
    /// Its last transmission was a repeated one, and is not known to have arrived or to be lost.
    pub resent: bool,
    /// It left in one buffer with the segment before it.
    pub joined: bool,
    /// It was sent last in one buffer with others.
    pub shared: bool,
    /// It was deemed lost by time, and not sent since: if the mark is taken back, time does not tell again.
    pub untimed: bool,
}

/// The state that Linux's sender shares with its recovery.
#[derive(Clone, Debug)]
pub struct State {
    pub core: Core,
    /// A note on each segment of the scoreboard.
    pub tags: VecDeque<Tag>,
    /// When timers expire that are set.
    pub wheel: Wheel,
    /// The application's data, if the send buffer has a limit, and how many windows it has room for.
    pub buffer: SendBuffer,
    pub windows: u64,
    /// When the window was last changed by other than growth, or was full (RFC 2861).
    pub window_changed: Time,
    /// When a segment was last sent.
    pub last_sent: Time,
    /// When pacing lets the next segment leave.
    pub departs: Time,
    /// Segments that leave together, if the congestion control sets the rate.
    pub quantum: Option<u32>,
    /// The acknowledgement at hand reports a mark.
    pub reports_mark: bool,
    /// The duplicate that the acknowledgement at hand reports, as far as a retransmission explains it, and how many
    /// segments were reported so.
    pub spurious: Option<(u64, u64)>,
    spurious_segments: u64,
}

impl State {
    /// The state of a sender with a send buffer for a few `windows`.
    pub fn new(mut core: Core, windows: u64) -> Self {
        core.scoreboard = true;
        core.small_end = 0;
        let params = &core.params;
        Self {
            tags: VecDeque::new(),
            windows,
            wheel: params.linux.wheel(params.tick),
            buffer: match params.linux.send_buffer {
                SendBufferSize::Unlimited => SendBuffer::default(),
                SendBufferSize::Growing => SendBuffer::growing(windows, params.mss()),
            },
            window_changed: Time::ZERO,
            last_sent: Time::ZERO,
            departs: Time::ZERO,
            quantum: None,
            reports_mark: false,
            spurious: None,
            spurious_segments: 0,
            core,
        }
    }

    /// Starts the retransmission timer anew.
    pub fn arm_timer(&mut self) {
        self.core.rto = self.wheel.set(self.core.now, self.core.rtt.timeout());
    }

    /// Carries out the congestion control's answer.
    pub fn apply(&mut self, answer: Answer) {
        if answer == Answer::Thaw {
            self.thaw();
        } else {
            self.core.apply(answer);
        }
    }

    /// Ends a freeze and restores the state.
    pub fn thaw(&mut self) {
        if self.core.frozen.is_some() {
            self.core.thaw();
            if !self.core.board.is_empty() {
                self.arm_timer();
            }
        }
    }

    /// Takes in the duplicate that an acknowledgement reports (RFC 2883). It counts as a segment that was sent again
    /// for nothing and was delivered, unless more duplicates are reported than segments were sent again.
    pub fn note_duplicate(&mut self, header: &TcpHeader) {
        let duplicate = self.core.note_duplicate(header);
        self.spurious = None;
        if let Some((start, end)) = duplicate {
            self.spurious_segments += (end - start).div_ceil(u64::from(self.core.params.mss()));
            self.spurious = duplicate.filter(|_| self.spurious_segments <= self.core.counters.retransmitted_segments);
        }
    }

    /// How many segments it reports so.
    pub fn spurious_count(&self) -> u64 {
        self.spurious.map_or(0, |(start, end)| (end - start).div_ceil(u64::from(self.core.params.mss())))
    }

    /// Takes the delivery rate sample of an acknowledgement, before the acknowledgement changes any other state.
    pub fn measure_rate(&mut self, header: &TcpHeader) {
        let spurious = self.spurious_count() * u64::from(self.core.params.mss());
        self.core.measure_rate(header, spurious);
    }

    /// Tells the congestion control about delivered data: all of it lets the window grow.
    pub fn grow(&mut self, control: &mut Controller, acked: &Acked, phase: Phase) {
        let mut ack = self.core.ack(acked, phase);
        ack.counted = acked.delivered;
        self.core.report_ack(control, &ack);
    }

    /// The application is about to write. Only now it is checked whether the sender has sent less than it could: data
    /// that ends is no sign of this. `queued` says that segments wait in the node.
    pub fn note_write(&mut self, queued: bool) {
        let core = &mut self.core;
        let unsent = core.unsent() >= u64::from(core.params.mss());
        if !unsent && !queued && core.board.lost() == 0 && core.in_network() < core.cwnd {
            core.mark_app_limited();
        }
    }

    /// Whether there is something to send, if the windows have room for it.
    pub fn has_more(&self) -> bool {
        self.core.board.lost() > 0 || self.core.new_payload() > 0 || self.core.ends_with(0)
    }

    /// The payload of the segment at `index`, or of a new one there.
    pub fn len_of(&self, index: usize) -> u32 {
        self.core.board.get(index).map_or_else(|| self.core.new_payload(), |segment| segment.len)
    }
}
