//! Handoffs against arithmetic: the times are computed here, from the parameters and the lengths of the messages.
//!
//! In profile `rfc` four things are random: the phases of the advertisements, the first solicitation, the repetition of
//! ARP's questions, and the DCF's back-off. The phases are given, a host that hears an agent does not solicit,
//! addresses are known without ARP, and a back-off drawn from 0 to CW - 1 with CW = 1 is always zero. The phases of the
//! two agents are apart, so that no advertisement of the other agent comes into a registration. What is left has one
//! result, to the nanosecond but for distances.

use hopyard_engine::rng::Streams;
use hopyard_engine::units::{Bytes, Rate};
use hopyard_engine::{Rng, Span, Time};
use hopyard_model::address::NodeId;
use hopyard_model::agent::mobile_ip::MoveDetection;
use hopyard_model::context::DropReason;
use hopyard_model::link::arp::Resolution;
use hopyard_model::traffic;
use hopyard_model::world::{FlowSpec, RoleSpec, Spec, Transport};

use crate::cells::{CN, FA, HA, MH, Seen, cells, watched};
use crate::common::with_dcf;

/// Bytes that the MAC adds, and that an advertisement of a foreign agent, one of a home agent, a request and a reply
/// have: IP 20; ICMP 8, router 8, extension 8, care-of address 4; UDP 8, 24 or 20, authentication 22.
const MAC: u32 = 36;
const FOREIGN_ADVERTISEMENT: u32 = 20 + 8 + 8 + 8 + 4;
const HOME_ADVERTISEMENT: u32 = 20 + 8 + 8 + 8;
const PREFIX_LENGTHS: u32 = 3;
const REQUEST: u32 = 20 + 8 + 24 + 22;
const REPLY: u32 = 20 + 8 + 20 + 22;

/// Times of the radio in seconds: long preamble, broadcasts at 1 Mb/s, unicast at 2 Mb/s.
fn broadcast(bytes: u32) -> f64 {
    192e-6 + f64::from(bytes + MAC) * 8.0 / 1e6
}

fn unicast(bytes: u32) -> f64 {
    192e-6 + f64::from(bytes + MAC) * 8.0 / 2e6
}

const SIFS: f64 = 10e-6;
const SLOT: f64 = 20e-6;
const DIFS: f64 = SIFS + 2.0 * SLOT;
/// 14 bytes at 1 Mb/s.
const ACK: f64 = 192e-6 + 14.0 * 8.0 / 1e6;

/// The two wires between the agents, or between the correspondent and the home agent: 5 Mb/s, 2 ms.
fn wires(bytes: u32) -> f64 {
    2.0 * (f64::from(bytes) * 8.0 / 5e6 + 2e-3)
}

/// A crossing of the border at x = 350, where the cells touch.
#[derive(Clone, Copy, Debug)]
struct Crossing {
    detection: MoveDetection,
    beacon: f64,
    lifetime: u16,
    away: bool,
    speed: f64,
    /// When it is at the border.
    at: f64,
    /// The first advertisements of the home agent and of the foreign one.
    phases: [f64; 2],
}

/// When the host is at the border, in seconds, if nothing else is said.
const BORDER: f64 = 20.0;

impl Crossing {
    fn random(rng: &mut Rng, detection: MoveDetection, beacon: f64, away: bool) -> Self {
        let lifetime = (3.0 * beacon).ceil().max(3.0) as u16;
        let phase = rng.uniform() * beacon;
        let apart = beacon * (0.3 + 0.4 * rng.uniform());
        let other = (phase + apart) % beacon;
        let phases = if away { [other, phase] } else { [phase, other] };
        // As many nanoseconds as the scenario can say.
        let phases = phases.map(|it| (it * 1e9).floor() / 1e9);
        let speed = 5.0 + 25.0 * rng.uniform();
        Self { detection, beacon, lifetime, away, speed, at: BORDER, phases }
    }

    fn spec(&self) -> Spec {
        // As far on both sides of the border, and never in another cell.
        let side = 100.0_f64;
        let time = side / self.speed;
        let (from, to) = if self.away { (350.0 - side, 350.0 + side) } else { (350.0 + side, 350.0 - side) };
        let track = [(0.0, from), (self.at - time, from), (self.at + time, to)];
        let mut spec = cells("rfc", "static", &track, |it| {
            it.move_detection = self.detection;
            it.beacon = Span::from_secs_f64(self.beacon);
            it.advertised_lifetime = self.lifetime;
        });
        for (node, phase) in [(HA, self.phases[0]), (FA, self.phases[1])] {
            if let Some(RoleSpec::Router { first, .. }) = spec.roles.get_mut(&node) {
                *first = Some(Time::ZERO + Span::from_secs_f64(phase));
            }
        }
        spec.link.arp.resolution = Resolution::Off;
        with_dcf(&mut spec, |it| (it.cw_min, it.draw_includes_cw, it.short_retry_limit) = (1, false, 1));
        spec.duration = Span::from_secs_f64(self.at + self.beacon + f64::from(self.lifetime) + 1.0);
        spec
    }

    fn new_agent(&self) -> usize {
        usize::from(self.away)
    }

    /// The first advertisement of an agent at or after a time.
    fn advertisement_after(&self, agent: usize, at: f64) -> f64 {
        let phase = self.phases[agent];
        phase + ((at - phase) / self.beacon).ceil().max(0.0) * self.beacon
    }

    /// How long a frame is on its way to the host at a time.
    fn propagation(&self, at: f64) -> f64 {
        let past = (at - self.at) * self.speed;
        let beside = 150.0 - past;
        beside.hypot(200.0) / 3e8
    }

    fn advertisement_air(&self, agent: usize) -> f64 {
        let prefix = if self.detection == MoveDetection::Prefix { PREFIX_LENGTHS } else { 0 };
        broadcast([HOME_ADVERTISEMENT, FOREIGN_ADVERTISEMENT][agent] + prefix)
    }

    /// When the host asks: a DIFS after it has heard the new agent, or when the lifetime of the former one ends.
    fn asks(&self) -> f64 {
        if self.detection == MoveDetection::Lifetime {
            let former = 1 - self.new_agent();
            let last = self.advertisement_after(former, self.at) - self.beacon;
            return last + self.advertisement_air(former) + self.propagation(last - 2.0 * (last - self.at))
                + f64::from(self.lifetime);
        }
        let heard = self.advertisement_after(self.new_agent(), self.at);
        heard + self.advertisement_air(self.new_agent()) + self.propagation(heard) + DIFS
    }

    /// When the request is at the home agent, and when the host has the reply.
    fn registration(&self) -> [f64; 2] {
        let asks = self.asks();
        let near = asks + unicast(REQUEST) + self.propagation(asks);
        let back = if self.away { wires(REPLY) } else { SIFS + ACK + DIFS };
        let home = near + if self.away { wires(REQUEST) } else { 0.0 };
        [home, home + back + unicast(REPLY) + self.propagation(asks)]
    }
}

/// The times at which the host is registered after the crossing.
fn registered(seen: &Seen, after: f64) -> Vec<f64> {
    seen.times(MH, "registered").into_iter().filter(|&at| at > after).collect()
}

/// Crossings with these parameters, in both directions where the way of finding moves allows it: the outages.
fn outages(detection: MoveDetection, beacon: f64, runs: u64, seed: u64) -> Vec<f64> {
    let one = |run| {
        let mut rng = Streams::new(seed, run).stream("crossing");
        // By lifetime, a host on its way home is at home at the first advertisement.
        let away = run % 2 == 0 || detection == MoveDetection::Lifetime;
        let crossing = Crossing::random(&mut rng, detection, beacon, away);
        let seen = watched(&crossing.spec());
        let found = registered(&seen, crossing.at);
        let [_, expected] = crossing.registration();
        assert_eq!(found.len(), 1, "{crossing:?}: {found:?}, {expected}");
        assert!((found[0] - expected).abs() < 1e-6, "{crossing:?}: {} instead of {expected}", found[0]);
        found[0] - crossing.at
    };
    (0..runs).map(one).collect()
}

fn mean(of: &[f64]) -> f64 {
    of.iter().sum::<f64>() / of.len() as f64
}

#[test]
fn an_outage_is_the_wait_for_an_advertisement_and_a_registration_to_the_microsecond() {
    for detection in [MoveDetection::Eager, MoveDetection::Prefix] {
        let found = outages(detection, 1.0, 500, 1);
        // Uniform on 0 to 1 s, and 6 or 11 ms for the registration.
        let wait = mean(&found) - 0.5 * (registration_time(true) + registration_time(false));
        println!("{detection:?}: mean outage {:.4} s, mean wait {wait:.4} s", mean(&found));
        assert!((wait - 0.5).abs() < 0.04, "{detection:?}: {wait}");
    }
}

/// From the beginning of the advertisement to the reply.
fn registration_time(away: bool) -> f64 {
    let still = Crossing {
        detection: MoveDetection::Eager,
        beacon: 1.0,
        lifetime: 3,
        away,
        speed: 5.0,
        at: BORDER,
        phases: [0.0; 2],
    };
    still.registration()[1] - BORDER
}
