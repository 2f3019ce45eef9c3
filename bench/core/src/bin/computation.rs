//! What the events of a TCP sender cost in instructions: `hopyard-computation VARIANT`, under callgrind.
//! Without an argument: the names of all variants.
//!
//! A file without end goes over a path of 100 ms that loses a few packets, and all of them for a while. Each kind of
//! event has a function of its own, whose instructions callgrind counts; the program prints how often each was called.
//! `bench/computation.py` divides the one by the other.

#![expect(clippy::print_stdout, reason = "the counts are the output of this program")]

use std::collections::BTreeMap;
use std::hint::black_box;

use hopyard_engine::units::Bytes;
use hopyard_engine::{Span, Streams, Time};
use hopyard_model::packet::TcpHeader;
use hopyard_model::params::Params as _;
use hopyard_model::transport::connection::Params;
use hopyard_model::transport::tcp::{Config, TcpReceiver, TcpSender};
use hopyard_model::transport::{acking, congestion};

/// One way of the path.
const WAY: Span = Span::from_millis(50);
/// One in so many data packets is lost.
const LOST: u64 = 97;
/// In each period everything is lost for a while.
const PERIOD: u64 = 40;
const OUTAGE: u64 = 4;
const DURATION: u64 = 2000;

enum Wake {
    Data(TcpHeader),
    Ack(TcpHeader),
}

/// How often each kind of event happened.
#[derive(Default)]
struct Calls {
    ack_slow_start: u64,
    ack_avoidance: u64,
    ack_recovery: u64,
    segments: u64,
    timeouts: u64,
}

// The argument of `black_box` keeps the compiler from making one function of several that are equal.

#[inline(never)]
fn ack_slow_start(sender: &mut TcpSender, header: &TcpHeader, now: Time) {
    black_box(1);
    sender.on_segment(header, now);
}

#[inline(never)]
fn ack_avoidance(sender: &mut TcpSender, header: &TcpHeader, now: Time) {
    black_box(2);
    sender.on_segment(header, now);
}

#[inline(never)]
fn ack_recovery(sender: &mut TcpSender, header: &TcpHeader, now: Time) {
    black_box(3);
    sender.on_segment(header, now);
}

#[inline(never)]
fn transmit(sender: &mut TcpSender, now: Time) -> Option<TcpHeader> {
    black_box(4);
    sender.poll_transmit(now)
}

#[inline(never)]
fn timeout(sender: &mut TcpSender, now: Time) {
    black_box(5);
    sender.on_timer(now);
}

fn main() {
    let Some(variant) = std::env::args().nth(1) else {
        for model in congestion::MODELS {
            println!("{}", model.name);
        }
        return;
    };
    let params = Params { segment_size: Bytes::new(512), window: 32, ..Params::of_profile("rfc") };
    let congestion = congestion::Config::of_profile(&variant, "rfc").expect("a TCP variant");
    let acking = acking::Config::of_profile("every", "rfc").expect("a policy");
    let mut sender = TcpSender::new(&Config { tcp: params.clone(), congestion }, Streams::new(1, 0).stream("tcp"));
    let mut receiver = TcpReceiver::new(&acking, &params, sender.wants_sack());
    let mut wakes: BTreeMap<(Time, u64), Wake> = BTreeMap::new();
    let (mut order, mut packets, mut calls) = (0, 0_u64, Calls::default());
    let mut now = Time::ZERO;
    sender.write(u64::MAX, now);
    loop {
        while let Some(header) = transmit(&mut sender, now) {
            packets += 1;
            calls.segments += u64::from(header.len > 0);
            if !packets.is_multiple_of(LOST) && now.since(Time::ZERO).nanos() / 1_000_000_000 % PERIOD >= OUTAGE {
                order += 1;
                wakes.insert((now + WAY, order), Wake::Data(header));
            } else if packets == 1 {
                // The connection opens in the first outage.
                order += 1;
                wakes.insert((now + WAY, order), Wake::Data(header));
            }
        }
        while let Some(header) = receiver.poll_transmit(now) {
            order += 1;
            wakes.insert((now + WAY, order), Wake::Ack(header));
        }
        let deadline = sender.deadline().min(receiver.deadline());
        let arrival = wakes.first_key_value().map_or(Time::NEVER, |(&(at, _), _)| at);
        now = now.max(deadline.min(arrival));
        if now > Time::ZERO + Span::from_secs(DURATION) {
            break;
        }
        if deadline <= arrival {
            receiver.on_timer(now);
            // With everything outstanding and nothing on the way, only the retransmission timer is left.
            if wakes.is_empty() && now >= sender.deadline() {
                let before = sender.counters().timeouts;
                timeout(&mut sender, now);
                calls.timeouts += sender.counters().timeouts - before;
            } else {
                sender.on_timer(now);
            }
            continue;
        }
        let Some((_, wake)) = wakes.pop_first() else { break };
        match wake {
            Wake::Data(header) => receiver.on_segment(&header, now),
            Wake::Ack(header) => {
                let state = sender.state();
                if state.recovering {
                    calls.ack_recovery += 1;
                    ack_recovery(&mut sender, &header, now);
                } else if state.cwnd < state.ssthresh {
                    calls.ack_slow_start += 1;
                    ack_slow_start(&mut sender, &header, now);
                } else {
                    calls.ack_avoidance += 1;
                    ack_avoidance(&mut sender, &header, now);
                }
            }
        }
    }
    println!(
        "{}",
        serde_json::json!({
            "ack_slow_start": calls.ack_slow_start,
            "ack_avoidance": calls.ack_avoidance,
            "ack_recovery": calls.ack_recovery,
            "transmit": calls.segments,
            "timeout": calls.timeouts,
        })
    );
}
