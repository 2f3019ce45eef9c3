//! Frames with several packets: which packets go in, and the limits.

use hopyard_engine::{Span, Time};

use super::agreement::{State, after, is_older};
use super::contender::Session;
use super::params::{BlockAck, DELIMITER, LLC_SNAP, LONGEST_PPDU, Params, SUBFRAME_HEADER, WINDOW};
use super::sending::announcement;
use super::{Category, Content, Control, Edca, Frame, FrameKind, Timing};
use crate::address::InterfaceId;
use crate::mac::rate_control::{self, Choice};
use crate::mac::{Mac as _, Slotted};
use crate::phy::Mode;
use crate::phy::frame::Part;

/// The limits of a frame with several MPDUs.
#[derive(Clone, Copy, Debug)]
struct Limits {
    bytes: u32,
    airtime: Span,
    /// The time for the frame and its announcement.
    txop: Span,
    mpdus: u32,
    /// The first number that may not be sent yet.
    window_end: u16,
    /// The mode, as rate control has chosen it.
    choice: Choice,
}

/// A frame with several MPDUs, as far as it is filled.
#[derive(Clone, Copy, Debug, Default)]
struct Filled {
    /// Bytes of the header of an MPDU, which the frames of a station outside have already.
    header: u32,
    bytes: u32,
    mpdus: u32,
    /// Bytes of the packets in the last MPDU with their headers, and the number of these packets.
    last: (u32, u32),
}

impl Filled {
    /// A frame without an MPDU, for packets or for frames of a station outside.
    fn empty(is_of_station: bool, timing: &Timing) -> Self {
        let header = if is_of_station { 0 } else { timing.params.dcf.header.count() as u32 };
        Self { header, ..Self::default() }
    }

    /// The frame with a packet more, in an MPDU of its own.
    fn with_mpdu(self, size: u32) -> Self {
        Self {
            bytes: self.bytes.next_multiple_of(4) + DELIMITER + self.header + size,
            mpdus: self.mpdus + 1,
            last: (subframe(size), 1),
            ..self
        }
    }

    /// The frame with a packet more in its last MPDU: an A-MSDU.
    fn with_msdu(self, size: u32) -> Self {
        let (before, count) = self.last;
        // The first packet of an MPDU gets a header of its own.
        let first = if count == 1 { SUBFRAME_HEADER } else { 0 };
        let padding = before.next_multiple_of(4) - before;
        Self {
            bytes: self.bytes + first + padding + subframe(size),
            last: (before + padding + subframe(size), count + 1),
            ..self
        }
    }

    /// Bytes of the last MPDU without its delimiter.
    const fn mpdu(self) -> u32 {
        let (Self { header, .. }, (packets, count)) = (self, self.last);
        if count > 1 { header - LLC_SNAP + packets } else { header + packets - SUBFRAME_HEADER - LLC_SNAP }
    }
}

/// Bytes of a packet in an A-MSDU.
const fn subframe(size: u32) -> u32 {
    SUBFRAME_HEADER + LLC_SNAP + size
}

impl Edca {
    /// A frame for a neighbour with as many of the category's packets, or of the frames of a station's session, as may
    /// go in it, at least the first.
    pub(super) fn fill(&mut self, category: Category, to: InterfaceId, timing: &Timing, now: Time) -> Frame {
        let mode = self.choice(category, timing).mode;
        let limits = self.limits(category, to, timing, now);
        let place = self.sender_place(category, to, timing);
        let sender = &mut self.senders[place];
        let held = &mut self.contenders[category as usize].held;
        let is_of_station = held.front().is_some_and(|it| it.session.is_some());
        let (mut filled, mut parts) = (Filled::empty(is_of_station, timing), Vec::<Part>::new());
        // Nothing joins an MPDU that the receiver may have already.
        let mut is_open = false;
        for it in held.iter_mut() {
            let Content::Packet(packet) = it.content else { break };
            let joins = if it.sequence.is_some() {
                it.joined
            } else {
                is_open && joins(filled, it.size, category, mode, timing)
            };
            is_open = it.sequence.is_none();
            let next = if joins { filled.with_msdu(it.size) } else { filled.with_mpdu(it.size) };
            let number = match (it.sequence, joins, parts.last()) {
                (Some(number), ..) => number,
                (None, true, Some(part)) => part.sequence,
                _ => sender.next,
            };
            let fits = limits.is_some_and(|limits| limits.admit(next, number, timing));
            // The first MPDU goes in any case, and one that was sent before goes as a whole.
            let belongs = parts.is_empty() || joins && (it.sequence.is_some() || limits.is_none());
            if !(fits || belongs) {
                break;
            }
            if it.sequence.is_none() && !joins {
                sender.next = after(number, 1);
            }
            (it.sequence, it.joined, it.flying) = (Some(number), joins, true);
            filled = next;
            let end = filled.bytes - timing.counted;
            if joins {
                // The packets of one MPDU end with it.
                parts.iter_mut().rev().take_while(|part| part.sequence == number).for_each(|part| part.end = end);
            }
            parts.push(Part { packet, end, sequence: number, retry: it.sent > 0 });
        }
        let first = parts[0];
        let is_aggregate = filled.mpdus > 1;
        let bytes = if is_aggregate { filled.bytes - timing.counted } else { filled.mpdu() };
        if !is_aggregate {
            parts.iter_mut().for_each(|part| part.end = bytes);
        }
        let answer = if is_aggregate { timing.block_ack(mode) } else { timing.dcf.answer_to(mode).airtime };
        let control = Control {
            kind: FrameKind::Data,
            duration: timing.params.dcf.sifs + answer,
            category: Some(category),
            ratio: 0.0,
            sequence: first.sequence,
            retry: first.retry,
            parts: (parts.len() > 1).then(|| parts.into()),
        };
        self.frame(to, bytes, mode, control)
    }

    /// The limits of a frame with several MPDUs to a neighbour; nothing if it may have one only.
    fn limits(&self, category: Category, to: InterfaceId, timing: &Timing, now: Time) -> Option<Limits> {
        let (access, params, choice) = (timing.access(category), &timing.params, self.choice(category, timing));
        if !access.aggregate || timing.max_ampdu == 0 || self.contenders[category as usize].attempt.is_probe() {
            return None;
        }
        let session = self.contenders[category as usize].held.front().and_then(|it| it.session);
        let sender = self.senders.iter().find(|it| it.to == to && it.category == category);
        // Before the first frame nothing is known of the neighbour.
        let (is_open, oldest) = match (session, sender) {
            (Some(session), _) => (true, session.number),
            (None, Some(sender)) => (sender.state == State::Open, self.window_start(category, sender)),
            (None, None) => (params.block_ack == BlockAck::FromStart, 0),
        };
        if !is_open {
            return None;
        }
        let left = if self.txop_end > now { self.txop_end.since(now) } else { access.txop_limit };
        let in_txop = match access.txop_limit.is_zero() {
            true => Span::from_secs(1),
            false => left.saturating_sub(params.dcf.sifs + timing.block_ack(choice.mode)),
        };
        Some(Limits {
            bytes: timing.max_ampdu,
            airtime: params.max_ampdu_time,
            txop: in_txop,
            mpdus: params.max_mpdus,
            window_end: after(oldest, WINDOW),
            choice,
        })
    }

    /// Whether a packet more goes in the frame that a category is about to send, or a frame more of a session.
    pub(super) fn has_room(
        &self,
        category: Category,
        (size, session): (u32, Option<Session>),
        timing: &Timing,
        now: Time,
    ) -> bool {
        let contender = &self.contenders[category as usize];
        let Some(first) = contender.first_packet() else { return true };
        let priority = |it: Option<Session>| it.map(|it| it.priority);
        let is_alone = first.series.is_some() && first.session.is_none() || contender.held[0].packet().is_none();
        if contender.unanswered || first.to.is_broadcast() || is_alone || priority(first.session) != priority(session) {
            return false;
        }
        let mode = self.choice(category, timing).mode;
        let limits = self.limits(category, first.to, timing, now);
        let (mut filled, mut unsent, mut is_open) = (Filled::empty(session.is_some(), timing), 0, false);
        let last = (size, session.map(|it| it.number), false);
        for it in contender.held.iter().map(|it| (it.size, it.sequence, it.joined)).chain([last]) {
            let (size, sequence, joined) = it;
            let joins =
                if sequence.is_some() { joined } else { is_open && joins(filled, size, category, mode, timing) };
            is_open = sequence.is_none();
            filled = if joins { filled.with_msdu(size) } else { filled.with_mpdu(size) };
            unsent += u16::from(sequence.is_none() && !joins);
            let Some(limits) = limits else {
                if filled.mpdus > 1 {
                    return false;
                }
                continue;
            };
            let sender = self.senders.iter().find(|sender| sender.to == first.to && sender.category == category);
            let number = sender.map_or(0, |sender| after(sender.next, unsent.saturating_sub(1)));
            if filled.mpdus > 1 && !limits.admit(filled, sequence.unwrap_or(number), timing) {
                return false;
            }
        }
        true
    }
}

impl Slotted for Edca {
    fn answered_within(params: &Params, rates: &rate_control::Config) -> Option<(Span, &'static str)> {
        let wait = params.answer_begins(params.dcf.shortest_answer(rates)?).saturating_sub(params.dcf.sifs);
        Some((Span::from_nanos(wait.nanos() / 2), "max_propagation"))
    }

    fn too_tight(params: &Params, rates: &rate_control::Config, size: u32) -> Vec<(&'static str, String)> {
        let fastest = Self::modes(params, rates).ok().and_then(|it| it.into_iter().max_by_key(|mode| mode.rate()));
        fastest.map(|mode| too_tight(params, mode, size)).unwrap_or_default()
    }
}

/// The limits of frames with several packets within which two packets of this size do not fit, each with the smallest
/// value within which they do.
fn too_tight(params: &Params, mode: &Mode, size: u32) -> Vec<(&'static str, String)> {
    let timing = Timing::new(params);
    let one = Filled::empty(false, &timing).with_mpdu(size);
    let (apart, together) = (one.with_mpdu(size), one.with_msdu(size).last.0);
    let mut tight = Vec::new();
    if timing.max_ampdu > 0 && timing.max_ampdu < apart.bytes {
        tight.push(("max_ampdu", format!("at least {} B", apart.bytes)));
    }
    let airtime = mode.airtime(apart.bytes - timing.counted);
    if timing.max_ampdu > 0 && params.max_ampdu_time < airtime {
        tight.push(("max_ampdu_time", format!("at least {airtime} at {}", mode.name())));
    }
    if (1..u64::from(together)).contains(&params.max_amsdu.count()) {
        tight.push(("max_amsdu", format!("at least {together} B")));
    }
    tight
}

impl Limits {
    /// Whether a frame filled so far is within the limits, and the number of its last MPDU within the window.
    fn admit(&self, filled: Filled, number: u16, timing: &Timing) -> bool {
        filled.bytes <= self.bytes
            && filled.mpdus <= self.mpdus
            && is_older(number, self.window_end)
            && filled.mpdu() <= longest_mpdu(timing)
            && {
                let airtime = self.choice.mode.airtime(filled.bytes - timing.counted);
                let announced_by = timing.dcf.announced_by(&self.choice, filled.bytes);
                airtime <= self.airtime && announcement(announced_by, timing) + airtime <= self.txop
            }
    }
}

/// The longest MPDU among several (IEEE Std 802.11-2016 §10.12.2, §9.4.2.158).
const fn longest_mpdu(timing: &Timing) -> u32 {
    if timing.counted == 0 { 4095 } else { 11_454 }
}

/// Whether a new packet goes in the last MPDU of a frame. The limit of an MPDU does not count where frames of the
/// category have one MPDU only.
fn joins(filled: Filled, size: u32, category: Category, mode: &Mode, timing: &Timing) -> bool {
    let most = timing.params.max_amsdu.count();
    let next = filled.with_msdu(size);
    let is_single = !timing.access(category).aggregate || timing.max_ampdu == 0;
    let fits = || is_single || next.mpdu() <= longest_mpdu(timing);
    let is_short = || mode.airtime(next.mpdu()) <= LONGEST_PPDU;
    most > 0 && filled.mpdus > 0 && u64::from(next.last.0) <= most && fits() && is_short()
}
