//! Handoffs against arithmetic: the times are computed here, from the parameters and the lengths of the messages.
//!
//! In profile `rfc`, four things are random: the phases of the advertisements, the first solicitation, the repetition
//! of ARP's questions, and the DCF's back-off. The phases are given, a host that hears an agent does not solicit,
//! addresses are known without ARP, and a back-off drawn from 0 to CW - 1 with CW = 1 is always zero. The phases of
//! the two agents are apart, so that no advertisement of the other agent comes into a registration. What is left has
//! one result, to the nanosecond but for distances.

use hopyard_engine::rng::Streams;
use hopyard_engine::units::Bytes;
use hopyard_engine::{Rng, Span, Time};
use hopyard_model::agent::mobile_ip::MoveDetection;
use hopyard_model::app;
use hopyard_model::context::DropReason;
use hopyard_model::link::arp::Resolution;
use hopyard_model::params::Params as _;
use hopyard_model::world::{FlowSpec, RoleSpec, Spec};

use super::cells::{CN, FA, HA, MH, Seen, cells, watched};
use crate::common::{udp_flow, with_dcf};

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
    /// The first advertisements of the home agent and of the foreign one.
    phases: [f64; 2],
}

/// When the host is at the border, in seconds.
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
        Self { detection, beacon, lifetime, away, speed, phases }
    }

    fn spec(&self) -> Spec {
        // From 40 m before the border to 40 m behind it.
        let side = 40.0_f64;
        let time = side / self.speed;
        let (from, to) = if self.away { (350.0 - side, 350.0 + side) } else { (350.0 + side, 350.0 - side) };
        // Static routes are those of the start: the host begins at home in any case.
        let mut track = vec![(0.0, 350.0 - side), (1.0, 350.0 - side), (BORDER - time, from), (BORDER + time, to)];
        if !self.away {
            // Abroad in time, and at rest until it returns.
            track.insert(2, ((BORDER - time) * 0.6 + 1.0, from));
        }
        let mut spec = cells("rfc", "static", &track, |it| {
            it.move_detection = self.detection;
            (it.beacon, it.beacon_jitter) = (Span::from_secs_f64(self.beacon), 0.0);
            it.advertised_lifetime = self.lifetime;
        });
        for (node, phase) in [(HA, self.phases[0]), (FA, self.phases[1])] {
            if let Some(RoleSpec::Router { first, .. }) = spec.roles.get_mut(&node) {
                *first = Some(Time::ZERO + Span::from_secs_f64(phase));
            }
        }
        spec.link.arp.resolution = Resolution::Off;
        with_dcf(&mut spec, |it| (it.cw_min, it.draw_includes_cw, it.short_retry_limit) = (1, false, 1));
        Spec { duration: Span::from_secs_f64(BORDER + self.beacon + f64::from(self.lifetime) + 1.0), ..spec }
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
        let past = (at - BORDER) * self.speed;
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
            let last = self.advertisement_after(former, BORDER) - self.beacon;
            // The lifetime is a multiple of the beacon: while the host is out of its cell, the former agent's
            // advertisement is sensed, and ends as the lifetime does. So the request waits for a DIFS.
            let ends = last + f64::from(self.lifetime);
            // So long after the border, the former agent is as far as the new one so long before it.
            let far = self.propagation(BORDER - (ends - BORDER));
            return ends + self.advertisement_air(former) + far + DIFS;
        }
        let heard = self.advertisement_after(self.new_agent(), BORDER);
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

/// The page of the model shows this figure: whoever changes it changes the page.
#[track_caller]
pub fn is_on_the_page(found: f64, shown: f64, within: f64) {
    assert!((found - shown).abs() < within, "{found}; docs/models/mobile_ip.md says {shown}");
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
        let found = registered(&seen, BORDER);
        let [_, expected] = crossing.registration();
        assert_eq!(found.len(), 1, "{crossing:?}: {found:?}, {expected}");
        assert!((found[0] - expected).abs() < 1e-6, "{crossing:?}: {} instead of {expected}", found[0]);
        found[0] - BORDER
    };
    (0..runs).map(one).collect()
}

pub fn mean(of: &[f64]) -> f64 {
    of.iter().sum::<f64>() / of.len() as f64
}

#[test]
fn an_outage_is_the_wait_for_an_advertisement_and_a_registration_to_the_microsecond() {
    for detection in [MoveDetection::Eager, MoveDetection::Prefix] {
        let found = outages(detection, 1.0, 2000, 1);
        // Uniform on 0 to 1 s, and 6 or 11 ms for the registration: the mean of 2,000 waits has a deviation of 6.5 ms.
        let wait = mean(&found) - 0.5 * (registration_time(true) + registration_time(false));
        assert!((wait - 0.5).abs() < 0.025, "{detection:?}: {wait}");
        is_on_the_page(wait, 0.492, 0.001);
    }
}

#[test]
fn by_lifetime_an_outage_ends_with_the_lifetime_of_the_former_agent() {
    // The last advertisement was heard up to a beacon before the border: uniform on 2 to 3 s.
    let found = outages(MoveDetection::Lifetime, 1.0, 1000, 2);
    let radio = broadcast(HOME_ADVERTISEMENT) + unicast(REQUEST) + unicast(REPLY);
    let rest = radio + DIFS + wires(REQUEST) + wires(REPLY);
    let waits: Vec<f64> = found.iter().map(|it| it - rest).collect();
    let distance = kolmogorov_smirnov(&waits, |wait| (wait - 2.0).clamp(0.0, 1.0));
    assert!(distance < critical(waits.len()), "{distance}");
    is_on_the_page(mean(&found), 2.500, 0.001);
    is_on_the_page(distance, 0.037, 0.001);
}

#[test]
fn the_mean_outage_is_a_line_in_the_beacon() {
    let beacons = [0.1, 0.2, 0.5, 1.0, 2.0, 3.0];
    let points: Vec<(f64, f64)> = (10..)
        .zip(beacons)
        .flat_map(|(seed, beacon)| {
            outages(MoveDetection::Eager, beacon, 400, seed).into_iter().map(move |it| (beacon, it))
        })
        .collect();
    let (x, y): (Vec<f64>, Vec<f64>) = points.iter().copied().unzip();
    let (middle, height) = (mean(&x), mean(&y));
    let squares: f64 = x.iter().map(|x| (x - middle).powi(2)).sum();
    let slope = points.iter().map(|(x, y)| (x - middle) * y).sum::<f64>() / squares;
    let start = height - slope * middle;
    // The outages scatter more with a longer beacon: White's estimate of the variance.
    let residual = |&(x, y): &(f64, f64)| ((x - middle) * (y - start - slope * x)).powi(2);
    let half = 1.96 * points.iter().map(residual).sum::<f64>().sqrt() / squares;
    assert!((slope - 0.5).abs() < half && half < 0.03, "{slope} ± {half}");
    is_on_the_page(slope, 0.493, 0.001);
    is_on_the_page(half, 0.024, 0.001);
    let registration = 0.5 * (registration_time(true) + registration_time(false));
    assert!((start - registration).abs() < 0.02, "{start} at a beacon of 0 s");
}

#[test]
fn the_back_off_has_no_part_in_a_registration_abroad() {
    // The request is made when the advertisement ends: the medium is idle, and stays so for a DIFS. The reply finds it
    // idle. So the DCF's own contention window gives the same times (IEEE 802.11 §9.2.5.1).
    for run in 0..300 {
        let crossing = Crossing::random(&mut Streams::new(3, run).stream("crossing"), MoveDetection::Eager, 1.0, true);
        let mut spec = crossing.spec();
        spec.run = run;
        with_dcf(&mut spec, |it| (it.cw_min, it.draw_includes_cw, it.short_retry_limit) = (31, true, 7));
        let found = registered(&watched(&spec), BORDER);
        assert!((found[0] - crossing.registration()[1]).abs() < 1e-6, "{crossing:?}: {found:?}");
    }
}

/// The largest distance of the sample's distribution from this one.
pub fn kolmogorov_smirnov(sample: &[f64], distribution: impl Fn(f64) -> f64) -> f64 {
    let mut sorted = sample.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let apart = |(i, &x): (usize, &f64)| {
        let expected = distribution(x);
        (expected - i as f64 / n).max((i as f64 + 1.0) / n - expected)
    };
    sorted.iter().enumerate().map(apart).fold(0.0, f64::max)
}

/// The distance that one sample in a hundred exceeds.
pub fn critical(n: usize) -> f64 {
    1.628 / (n as f64).sqrt()
}

#[test]
fn a_flow_loses_what_is_sent_into_the_gap() {
    const BYTES: u32 = 200;
    const INTERVAL: f64 = 0.02;
    let (mut total, mut certain) = (0, 0);
    for run in 0..200 {
        let mut rng = Streams::new(4, run).stream("crossing");
        let crossing = Crossing::random(&mut rng, MoveDetection::Eager, 1.0, run % 2 == 0);
        let mut spec = crossing.spec();
        let mut params = app::cbr::Params::of_profile("rfc");
        (params.packet_size, params.interval) = (Bytes::new(u64::from(BYTES - 28)), Span::from_secs_f64(INTERVAL));
        // From the correspondent to the former agent's radio, in the tunnel to the foreign agent.
        let to_radio = wires(BYTES) + if crossing.away { 0.0 } else { wires(BYTES + 20) };
        // A frame to the absent host takes 1.1 ms, and would meet the request or the reply, which nobody repeats here:
        // 2 to 8 ms after the request, neither is on the radio.
        let past = 0.002 + 0.006 * rng.uniform();
        let start = 15.0 + (crossing.asks() + past - to_radio).rem_euclid(INTERVAL);
        spec.flows.push(FlowSpec {
            start: Time::ZERO + Span::from_secs_f64(start),
            stop: Time::ZERO + Span::from_secs_f64(BORDER + 2.0),
            ..udp_flow(CN, MH, app::Config::Cbr(params.into()))
        });
        let seen = watched(&spec);
        let [home, _] = crossing.registration();
        let air = unicast(BYTES);
        let sent = (0..).map(|i| start + f64::from(i) * INTERVAL).take_while(|at| *at < BORDER + 2.0);
        let (mut least, mut most) = (0, 0);
        for at in sent {
            let (at_home, by_radio) = (at + wires(BYTES), at + to_radio);
            // A frame that is on the air, with its ACK, as the host is at the border may or may not arrive; so may one
            // on which the home agent waits for an ACK as it learns of the move. The request waits on a wire for a
            // packet of the flow that is there before it.
            least += u32::from(by_radio >= BORDER && at_home + air + SIFS + ACK + SLOT < home);
            most += u32::from(by_radio + air + SIFS + ACK >= BORDER && at_home < home + f64::from(BYTES) * 8.0 / 5e6);
        }
        let agent = if crossing.away { HA } else { FA };
        let lost = seen.drops.get(&(agent, DropReason::RetryLimit)).copied().unwrap_or(0);
        assert_eq!(lost, seen.drops.values().sum::<u32>(), "{crossing:?}: {:?}", seen.drops);
        assert!((least..=most).contains(&lost) && most - least <= 2, "{crossing:?}: {lost}, {least} to {most}");
        total += lost;
        certain += u32::from(least == most);
    }
    // Half a second at 50 packets a second, 200 times, and less than 10 ms for each registration.
    assert!((4500..5500).contains(&total), "{total}");
    is_on_the_page(f64::from(total), 4765.0, 0.5);
    is_on_the_page(f64::from(certain), 137.0, 0.5);
}

/// From the beginning of the advertisement to the reply.
fn registration_time(away: bool) -> f64 {
    let still =
        Crossing { detection: MoveDetection::Eager, beacon: 1.0, lifetime: 3, away, speed: 5.0, phases: [0.0; 2] };
    still.registration()[1] - BORDER
}
