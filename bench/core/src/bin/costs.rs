//! Lets a TCP sender talk to a receiver over a path with losses, so that callgrind can count the instructions of each
//! kind of event. Prints how often each kind happened. Without arguments: the names of all variants.
//!
//! `hopyard-costs [VARIANT]`

use std::collections::VecDeque;
use std::hint::black_box;
use std::io::Write;
use std::process::ExitCode;

use hopyard_engine::units::Bytes;
use hopyard_engine::{Rng, Span, Streams, Time};
use hopyard_model::packet::TcpHeader;
use hopyard_model::params::{Params as _, RFC};
use hopyard_model::transport::tcp::{Config, TcpReceiver, TcpSender};
use hopyard_model::transport::{acking, congestion, tcp};

/// How long a segment takes to the receiver, and an acknowledgement back.
const DELAY: Span = Span::from_millis(40);
/// How long the bottleneck takes for a segment, and how many can wait for it.
const SERVICE: Span = Span::from_micros(500);
const WAITING: u64 = 60;
/// One segment of so many is lost, and after every so many, all for a second.
const LOSS: u64 = 400;
const OUTAGE: u64 = 4_000;
/// How many segments are sent.
const SEGMENTS: u64 = 100_000;

/// A function of its own for each kind of event, with a name that callgrind shows and that the compiler merges with no
/// other.
macro_rules! kinds {
    ($($name:ident: $place:literal,)+) => {
        const KINDS: &[&str] = &[$(stringify!($name)),+];

        $(
            #[inline(never)]
            fn $name<R>(event: impl FnOnce() -> R) -> R {
                black_box($place);
                event()
            }
        )+
    };
}

kinds! {
    cost_ack_slow_start: 0,
    cost_ack_congestion_avoidance: 1,
    cost_ack_recovery: 2,
    cost_segment: 3,
    cost_segment_repair: 4,
    cost_timer: 5,
}

struct Talk {
    sender: TcpSender,
    receiver: TcpReceiver,
    data: VecDeque<(Time, TcpHeader)>,
    acks: VecDeque<(Time, TcpHeader)>,
    /// When the bottleneck has sent what waits for it.
    busy_until: Time,
    /// Until when every segment is lost.
    out_until: Time,
    sent: u64,
    counts: [u64; KINDS.len()],
    rng: Rng,
}

impl Talk {
    fn pump(&mut self, now: Time) {
        loop {
            let state = self.sender.state();
            let repairs = state.recovering || state.timeouts > 0;
            let sender = &mut self.sender;
            let poll = move || sender.poll_transmit(now);
            let header = if repairs { cost_segment_repair(poll) } else { cost_segment(poll) };
            // A poll that gives nothing belongs to the segments before.
            let Some(header) = header else { return };
            self.counts[if repairs { 4 } else { 3 }] += 1;
            self.sent += 1;
            if self.sent.is_multiple_of(OUTAGE) {
                self.out_until = now + Span::from_secs(1);
            }
            let waiting = self.busy_until.since(now).nanos() / SERVICE.nanos();
            if now < self.out_until || waiting >= WAITING || self.rng.below(LOSS) == 0 {
                continue;
            }
            self.busy_until = self.busy_until.max(now) + SERVICE;
            self.data.push_back((self.busy_until + DELAY, header));
        }
    }

    fn answer(&mut self, now: Time) {
        while let Some(ack) = self.receiver.poll_transmit(now) {
            self.acks.push_back((now + DELAY, ack));
        }
    }

    fn run(&mut self) {
        let mut now = Time::ZERO;
        self.sender.write(u64::MAX, now);
        self.pump(now);
        while self.sent < SEGMENTS {
            let first = |line: &VecDeque<(Time, TcpHeader)>| line.front().map_or(Time::NEVER, |(at, _)| *at);
            let (data, ack) = (first(&self.data), first(&self.acks));
            let (timer, delayed) = (self.sender.deadline(), self.receiver.deadline());
            now = now.max(data.min(ack).min(timer).min(delayed));
            if data <= now {
                let (_, header) = self.data.pop_front().expect("there is one");
                self.receiver.on_segment(&header, now);
                self.answer(now);
            } else if delayed <= now {
                self.receiver.on_timer(now);
                self.answer(now);
            } else if ack <= now {
                let (_, header) = self.acks.pop_front().expect("there is one");
                let state = self.sender.state();
                let sender = &mut self.sender;
                let take = move || sender.on_segment(&header, now);
                let kind = if state.recovering {
                    cost_ack_recovery(take);
                    2
                } else if state.cwnd < state.ssthresh {
                    cost_ack_slow_start(take);
                    0
                } else {
                    cost_ack_congestion_avoidance(take);
                    1
                };
                self.counts[kind] += 1;
                self.pump(now);
            } else {
                let sender = &mut self.sender;
                cost_timer(move || sender.on_timer(now));
                self.counts[5] += 1;
                self.pump(now);
            }
        }
    }
}

fn run(variant: &str) -> Result<String, String> {
    let congestion = congestion::Config::of_profile(variant, RFC).map_err(|error| error.to_string())?;
    let mut tcp = tcp::Params::of_profile(RFC);
    (tcp.segment_size, tcp.window) = (Bytes::new(512), 200);
    let config = Config { tcp, congestion };
    let streams = Streams::new(1, 0);
    let sender = TcpSender::new(&config, streams.stream("tcp"));
    let acking = acking::Config::of_profile("every", RFC).map_err(|error| error.to_string())?;
    let receiver = TcpReceiver::new(&acking, &config.tcp, sender.wants_sack());
    let mut talk = Talk {
        sender,
        receiver,
        data: VecDeque::new(),
        acks: VecDeque::new(),
        busy_until: Time::ZERO,
        out_until: Time::ZERO,
        sent: 0,
        counts: [0; KINDS.len()],
        rng: streams.stream("losses"),
    };
    talk.run();
    Ok(KINDS.iter().zip(talk.counts).map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join("\n"))
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match words.as_slice() {
        [] => Ok(congestion::MODELS.iter().map(|model| model.name).collect::<Vec<_>>().join("\n")),
        [variant] => run(variant),
        _ => Err("usage: hopyard-costs [VARIANT]".to_owned()),
    };
    match done {
        Ok(line) => {
            let _ = writeln!(std::io::stdout(), "{line}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            let _ = writeln!(std::io::stderr(), "{problem}");
            ExitCode::from(2)
        }
    }
}
