//! Tests of one radio: signals begin and end, and the tests check what the radio reports.

use hopyard_engine::{Rng, Span, Streams};
use proptest::prelude::*;

use super::*;
use crate::address::InterfaceId;
use crate::phy::error_rate::chunk_success;
use crate::phy::frame::{Fields, Frame, Part};
use crate::phy::mode::{MODES, Mode};

/// The weakest power that can be decoded.
const LEAST: f64 = 1e-10;
/// Time on the air of every frame, in us; a body at 1 Mb/s behind a long preamble.
const AIRTIME: u64 = 1000;
const PREAMBLE: u64 = 192;

fn us(micros: u64) -> Time {
    Time::from_nanos(micros * 1000)
}

struct Bench {
    radio: Radios,
    receiver: Receiver<'static>,
    rng: Rng,
    mode: &'static Mode,
}

impl Bench {
    fn new(reception: Reception) -> Self {
        let receiver = Receiver { threshold: LEAST, capture: 10.0, preamble_sinr: 2.5, noise: 4.4e-13, errors: None };
        Self { radio: reception.radios(1), receiver, rng: Streams::new(1, 0).stream("bits"), mode: &MODES[0] }
    }

    fn begin(&mut self, id: u32, power: f64, at: u64) -> Begin {
        let frame = Frame { transmitter: InterfaceId(id), ..bench_frame(self.mode) };
        let (at, end) = (us(at), us(at + AIRTIME));
        each_model!(&mut self.radio, radios => radios[0].begin(id, power, at, end, &self.receiver, &frame))
    }

    /// The same, where nobody asks what the radio makes of it.
    fn begun(&mut self, id: u32, power: f64, at: u64) -> &mut Self {
        self.begin(id, power, at);
        self
    }

    /// The frame that began AIRTIME before `at` ends.
    fn end(&mut self, id: u32, power: f64, at: u64) -> (Verdict, bool) {
        let end =
            each_model!(&mut self.radio, radios => radios[0].end(id, power, us(at), &self.receiver, &mut self.rng));
        (end.verdict, end.idle)
    }

    fn lost(&self) -> Lost {
        self.radio.lost(0)
    }

    /// The probability that all bits of the frame are right.
    fn success(&mut self) -> f64 {
        let Radios::Sinr(radios) = &mut self.radio else { panic!("only SINR counts bits") };
        radios[0].success(us(AIRTIME), &self.receiver)
    }

    fn send(&mut self, until: u64) {
        self.radio.send(0, us(until));
    }
}

#[test]
fn a_frame_alone_is_decoded() {
    for &reception in Reception::ALL {
        let mut bench = Bench::new(reception);
        assert_eq!(bench.begin(1, LEAST, 0), Begin::Busy, "{reception:?}");
        assert_eq!(bench.end(1, LEAST, AIRTIME), (Verdict::Decoded, true), "{reception:?}");
        assert_eq!((bench.lost().collisions, bench.lost().bit_errors), (0, 0));
    }
}

#[test]
fn a_frame_too_weak_to_be_decoded_keeps_the_medium_busy() {
    // In ns-2 this is a frame in error; for the other ways of reception it is no frame.
    for (reception, verdict) in
        [(Reception::Threshold, Verdict::Missed), (Reception::Ns2, Verdict::Error), (Reception::Sinr, Verdict::Missed)]
    {
        let mut bench = Bench::new(reception);
        assert_eq!(bench.begin(1, LEAST * 0.99, 0), Begin::Busy, "{reception:?}");
        assert_eq!(bench.end(1, LEAST * 0.99, AIRTIME), (verdict, true), "{reception:?}");
    }
}

#[test]
fn frames_of_like_strength_destroy_each_other() {
    for reception in [Reception::Threshold, Reception::Ns2] {
        let mut bench = Bench::new(reception);
        assert_eq!(bench.begun(1, 5.0 * LEAST, 0).begin(2, LEAST, 300), Begin::Nothing, "{reception:?}");
        let first = bench.end(1, 5.0 * LEAST, AIRTIME);
        let second = bench.end(2, LEAST, AIRTIME + 300);
        // ns-2's radio keeps the frame that ends later, and reports the error at its end.
        let expected = match reception {
            Reception::Ns2 => ((Verdict::Missed, false), (Verdict::Error, true)),
            _ => ((Verdict::Error, false), (Verdict::Missed, true)),
        };
        assert_eq!((first, second), expected, "{reception:?}");
        assert_eq!(bench.lost().collisions, 1);
    }
}

#[test]
fn a_frame_lost_to_a_weak_signal_is_in_error_whichever_began_first() {
    for weak_at in [0, 600] {
        let mut bench = Bench::new(Reception::Threshold);
        let (frame, weak) = (2.0 * LEAST, 0.9 * LEAST);
        if weak_at == 0 {
            assert_eq!(bench.begun(1, weak, 0).begun(2, frame, 300).end(1, weak, AIRTIME).0, Verdict::Missed);
            assert_eq!(bench.end(2, frame, AIRTIME + 300), (Verdict::Error, true));
        } else {
            bench.begun(2, frame, 300).begun(1, weak, weak_at);
            assert_eq!(bench.end(2, frame, AIRTIME + 300), (Verdict::Error, false));
            assert_eq!(bench.end(1, weak, AIRTIME + weak_at), (Verdict::Missed, true));
        }
        assert_eq!(bench.lost().collisions, 1);
    }
}

#[test]
fn a_frame_captures_the_radio_from_a_later_one_that_is_weaker_by_the_ratio() {
    for (reception, begin) in
        [(Reception::Threshold, Begin::Nothing), (Reception::Ns2, Begin::Ignored(us(AIRTIME + 300)))]
    {
        let mut bench = Bench::new(reception);
        assert_eq!(bench.begun(1, 10.0 * LEAST, 0).begin(2, LEAST, 300), begin, "{reception:?}");
        // The signal that ns-2 ignores does not keep its medium busy; its MAC sets the NAV instead.
        assert_eq!(bench.end(1, 10.0 * LEAST, AIRTIME), (Verdict::Decoded, reception == Reception::Ns2));
        let last = bench.end(2, LEAST, AIRTIME + 300);
        assert_eq!(last, (Verdict::Missed, reception != Reception::Ns2), "{reception:?}");
        assert_eq!(bench.lost().collisions, 0);
    }
}

#[test]
fn a_later_frame_that_is_stronger_by_the_ratio_captures_the_radio_but_in_ns2() {
    for reception in [Reception::Threshold, Reception::Ns2, Reception::Sinr] {
        let mut bench = Bench::new(reception);
        assert_eq!(bench.begun(1, LEAST, 0).begin(2, 1000.0 * LEAST, 300), Begin::Nothing);
        assert_eq!(bench.end(1, LEAST, AIRTIME), (Verdict::Missed, false), "{reception:?}");
        let expected = if reception == Reception::Ns2 { Verdict::Error } else { Verdict::Decoded };
        assert_eq!(bench.end(2, 1000.0 * LEAST, AIRTIME + 300), (expected, true), "{reception:?}");
        assert_eq!(bench.lost().collisions, 1);
    }
}

#[test]
fn in_ns2_also_a_frame_too_weak_to_be_decoded_destroys_another() {
    let mut bench = Bench::new(Reception::Ns2);
    assert_eq!(bench.begun(1, LEAST, 0).begun(2, 0.5 * LEAST, 300).end(1, LEAST, AIRTIME).0, Verdict::Missed);
    assert_eq!(bench.end(2, 0.5 * LEAST, AIRTIME + 300).0, Verdict::Error);
}

#[test]
fn interference_adds_up_but_in_ns2() {
    for (reception, expected) in [(Reception::Threshold, Verdict::Error), (Reception::Ns2, Verdict::Decoded)] {
        let mut bench = Bench::new(reception);
        bench.begun(1, 15.0 * LEAST, 0).begun(2, LEAST, 100).begun(3, LEAST, 200);
        assert_eq!(bench.end(1, 15.0 * LEAST, AIRTIME).0, expected, "{reception:?}");
    }
    // One after the other they do not.
    let mut bench = Bench::new(Reception::Threshold);
    bench.begun(2, LEAST, 0).begun(1, 15.0 * LEAST, 600).end(2, LEAST, AIRTIME);
    assert_eq!(bench.begun(3, LEAST, AIRTIME + 1).end(1, 15.0 * LEAST, 600 + AIRTIME).0, Verdict::Decoded);
    assert_eq!(bench.end(3, LEAST, 2 * AIRTIME + 1), (Verdict::Missed, true));
}

#[test]
fn a_radio_that_sends_hears_nothing() {
    for &reception in Reception::ALL {
        // It begins while the radio sends, and lasts longer.
        let mut bench = Bench::new(reception);
        bench.send(500);
        assert_eq!(bench.begin(1, 100.0 * LEAST, 300), Begin::Busy, "{reception:?}");
        let (verdict, idle) = bench.end(1, 100.0 * LEAST, 300 + AIRTIME);
        assert!(verdict != Verdict::Decoded && idle, "{reception:?}: {verdict:?}");
        // The radio begins to send while it receives.
        let mut bench = Bench::new(reception);
        bench.begun(1, 100.0 * LEAST, 0);
        bench.send(500);
        let (verdict, idle) = bench.end(1, 100.0 * LEAST, AIRTIME);
        assert!(verdict != Verdict::Decoded && idle, "{reception:?}: {verdict:?}");
        // The next one is heard.
        bench.begun(2, LEAST, 2000);
        assert_eq!(bench.end(2, LEAST, 2000 + AIRTIME), (Verdict::Decoded, true), "{reception:?}");
    }
}

/// What the probability of no bit error must be: the product over chunks of constant rate and interference.
fn expected_success(receiver: &Receiver<'_>, power: f64, body: &Mode, chunks: &[(u64, f64)]) -> f64 {
    let mut begun = 0;
    let mut success = 1.0;
    for &(until, interference) in chunks {
        let sinr = power / (receiver.noise + interference);
        for (mode, from, to) in [(&MODES[0], begun, until.min(PREAMBLE)), (body, begun.max(PREAMBLE), until)] {
            if to > from {
                success *= chunk_success(&mode.body, sinr, (to - from) as f64 * 1e-6 * mode.rate().bps() as f64);
            }
        }
        begun = until;
    }
    success
}

#[test]
fn bit_errors_are_counted_by_chunks_with_two_interferers() {
    let mut bench = Bench::new(Reception::Sinr);
    bench.mode = &MODES[5];
    let (power, one, two) = (2.0 * LEAST, 0.17 * LEAST, 0.13 * LEAST);
    bench.begun(1, power, 0).begun(2, one, 100).begun(3, two, 400).end(2, one, 800);
    let chunks = [(100, 0.0), (400, one), (800, one + two), (AIRTIME, two)];
    let expected = expected_success(&bench.receiver, power, bench.mode, &chunks);
    assert!((0.001..0.999).contains(&expected), "a case in between: {expected}");
    let success = bench.success();
    assert!((success / expected - 1.0).abs() < 1e-9, "{success} for {expected}");
}

/// The header of OFDM has 24 bits with BPSK 1/2, that of HT and VHT 72; the trainings and the extension have none. The
/// body has the bits of its symbols, of one stream. At 60 points from few errors to many.
#[test]
fn frames_of_ofdm_have_the_bit_errors_of_header_and_body() {
    let modes = [
        // The first rows of OFDM are those of 2.4 GHz, then come those of 5 GHz.
        (7, 26.0, 24.0, [3.0, 3.5, 4.0, 4.5, 5.0]),
        (8, 26.0, 24.0, [6.0, 6.5, 7.0, 7.5, 8.0]),
        (10, 26.0, 24.0, [8.5, 9.0, 9.5, 10.0, 10.5]),
        (12, 26.0, 24.0, [15.0, 15.5, 16.0, 16.5, 17.0]),
        (14, 26.0, 24.0, [21.0, 21.5, 22.0, 22.5, 23.0]),
        (15, 20.0, 24.0, [3.0, 3.5, 4.0, 4.5, 5.0]),
        (22, 20.0, 24.0, [21.0, 21.5, 22.0, 22.5, 23.0]),
        // A clock of 10 MHz.
        (30, 40.0, 24.0, [21.0, 21.5, 22.0, 22.5, 23.0]),
    ];
    let find = |name: &str, extension| {
        let has = |mode: &Mode| mode.name().to_string() == name && mode.extension.is_zero() != extension;
        MODES.iter().position(has).expect("a row")
    };
    let newer = [
        (find("mcs0", false), 36.0, 72.0, [3.0, 3.5, 4.0, 4.5, 5.0]),
        (find("mcs12", true), 46.0, 72.0, [15.0, 15.5, 16.0, 16.5, 17.0]),
        (find("mcs23", false), 48.0, 72.0, [22.0, 22.5, 23.0, 23.5, 24.0]),
        (find("vht-mcs8-2ss", false), 44.0, 72.0, [27.0, 27.5, 28.0, 28.5, 29.0]),
    ];
    let mut between = 0;
    for (row, outside, header_bits, ratios) in modes.into_iter().chain(newer) {
        for db in ratios {
            let mut bench = Bench::new(Reception::Sinr);
            bench.mode = &MODES[row];
            (bench.receiver.threshold, bench.receiver.preamble_sinr) = (0.0, 1.0);
            let sinr = libm::pow(10.0, db / 10.0);
            bench.begun(1, sinr * bench.receiver.noise, 0);
            let success = bench.success();
            let Mode { header, body, .. } = bench.mode;
            let bits = (AIRTIME as f64 - outside) * 1e-6 * body.rate.bps() as f64;
            let expected = chunk_success(header, sinr, header_bits) * chunk_success(body, sinr, bits);
            assert!((success / expected - 1.0).abs() < 1e-6, "{:?} at {db} dB: {success}, {expected}", bench.mode);
            between += u32::from((0.01..0.99).contains(&expected));
        }
    }
    assert!(between > 30, "{between} points between no errors and errors alone");
}

#[test]
fn the_slow_rate_survives_interference_that_the_fast_one_does_not() {
    for (row, expected) in [(0, Verdict::Decoded), (5, Verdict::Error)] {
        let mut bench = Bench::new(Reception::Sinr);
        bench.mode = &MODES[row];
        bench.begun(1, 2.0 * LEAST, 0).begun(2, LEAST, 300);
        assert_eq!(bench.end(1, 2.0 * LEAST, AIRTIME), (expected, false), "{row}");
        assert_eq!(bench.lost().bit_errors, u64::from(expected == Verdict::Error));
        assert_eq!(bench.end(2, LEAST, AIRTIME + 300), (Verdict::Missed, true));
    }
}

/// A hidden station disturbs the second half of a frame. The test compares the part of frames that survive with the
/// formulas of `error_rate.rs` in another program (CCK by the trapezoid rule over 40000 steps).
#[test]
fn a_hidden_station_costs_each_rate_what_its_formula_says() {
    let cases = [(0, -5.7, 0.511_286), (1, -0.9, 0.486_860), (3, 2.5, 0.494_598), (5, 5.9, 0.492_383)];
    for (row, sinr_db, expected) in cases {
        let mut bench = Bench::new(Reception::Sinr);
        let mode: &Mode = &MODES[row];
        bench.mode = mode;
        let power = 1000.0 * LEAST;
        let interference = power / libm::pow(10.0, sinr_db / 10.0) - bench.receiver.noise;
        bench.begun(1, power, 0).begun(2, interference, AIRTIME / 2);
        let success = bench.success();
        assert!((success / expected - 1.0).abs() < 0.01, "{success} at {mode:?}, expected {expected}");
    }
}

#[test]
fn frames_of_like_strength_that_begin_together_are_both_lost_under_sinr() {
    // 1 Mb/s would survive the interference; the preambles do not. Later than the decision, the frame survives.
    for (later, first) in [(0, Verdict::Missed), (3, Verdict::Missed), (4, Verdict::Decoded), (300, Verdict::Decoded)] {
        let mut bench = Bench::new(Reception::Sinr);
        bench.begun(1, 2.0 * LEAST, 0).begun(2, 2.0 * LEAST, later);
        assert_eq!(bench.end(1, 2.0 * LEAST, AIRTIME).0, first, "{later} us later");
        assert_eq!(bench.end(2, 2.0 * LEAST, AIRTIME + later).0, Verdict::Missed, "{later} us later");
        assert_eq!((bench.lost().collisions, bench.lost().bit_errors), (u64::from(later < 4), 0));
    }
}

#[test]
fn until_it_has_decided_for_a_preamble_a_receiver_turns_to_a_stronger_one() {
    for (later, first, second) in [
        (3, Verdict::Missed, Verdict::Decoded),
        (4, Verdict::Error, Verdict::Missed),
        (0, Verdict::Missed, Verdict::Decoded),
    ] {
        let mut bench = Bench::new(Reception::Sinr);
        bench.begun(1, LEAST, 0).begun(2, 9.0 * LEAST, later);
        assert_eq!(bench.end(1, LEAST, AIRTIME).0, first, "{later} us later");
        assert_eq!(bench.end(2, 9.0 * LEAST, AIRTIME + later).0, second, "{later} us later");
    }
}

#[test]
fn a_preamble_is_found_from_its_ratio_on() {
    for (power, expected) in [(2.0 * LEAST, Verdict::Missed), (3.0 * LEAST, Verdict::Decoded)] {
        let mut bench = Bench::new(Reception::Sinr);
        bench.begun(1, 0.99 * LEAST, 0).begun(2, power, 500);
        assert_eq!(bench.end(1, 0.99 * LEAST, AIRTIME).0, Verdict::Missed);
        assert_eq!(bench.end(2, power, AIRTIME + 500), (expected, true));
    }
}

#[test]
fn a_receiver_that_has_found_no_preamble_is_free_for_the_next_frame() {
    let mut bench = Bench::new(Reception::Sinr);
    assert_eq!(bench.begun(1, 2.0 * LEAST, 0).begun(2, 2.0 * LEAST, 1).begin(3, 12.0 * LEAST, 500), Begin::Nothing);
    bench.end(1, 2.0 * LEAST, AIRTIME);
    bench.end(2, 2.0 * LEAST, AIRTIME + 1);
    assert_eq!(bench.end(3, 12.0 * LEAST, AIRTIME + 500), (Verdict::Decoded, true));
}

#[test]
fn above_the_error_free_ratio_no_bit_of_any_modulation_is_wrong() {
    for mode in &MODES {
        assert_eq!(chunk_success(&mode.body, mode.body.error_free, 1e9), 1.0, "{mode:?}");
        assert!(mode.body.error_free >= mode.header.error_free, "{mode:?}");
    }
}

#[test]
fn more_power_than_a_sum_holds_is_no_fault() {
    let mut bench = Bench::new(Reception::Threshold);
    for id in 0..100 {
        bench.begun(id, 1.0, u64::from(id));
    }
    for id in 0..100 {
        let (_, idle) = bench.end(id, 1.0, AIRTIME + u64::from(id));
        assert_eq!(idle, id == 99);
        if id < 98 {
            // Another signal is added to a sum that has reached its limit.
            bench.begun(1000 + id, LEAST, AIRTIME + u64::from(id)).end(1000 + id, LEAST, AIRTIME + u64::from(id));
        }
    }
}

proptest! {
    /// Sums are integers, so that nothing is left of a signal that has ended, whatever the order of ends.
    #[test]
    fn the_order_of_ends_leaves_no_trace(
        powers in prop::collection::vec(1e-14_f64..1e-6, 1..20),
        order in prop::collection::vec(any::<prop::sample::Index>(), 20),
        sinr in any::<bool>(),
    ) {
        let mut bench = Bench::new(if sinr { Reception::Sinr } else { Reception::Threshold });
        for (id, &power) in powers.iter().enumerate() {
            bench.begun(id as u32, power, id as u64);
        }
        let mut left: Vec<usize> = (0..powers.len()).collect();
        for (step, index) in order.iter().enumerate().take(powers.len()) {
            let id = left.remove(index.index(left.len()));
            let (_, idle) = bench.end(id as u32, powers[id], 100 + step as u64);
            prop_assert_eq!(idle, left.is_empty());
        }
        // A frame as weak as can be is decoded again.
        bench.begun(77, LEAST, 10_000);
        prop_assert_eq!(bench.end(77, LEAST, 10_000 + AIRTIME), (Verdict::Decoded, true));
    }
}

#[test]
fn a_radio_is_one_cache_line() {
    for &reception in Reception::ALL {
        assert_eq!(reception.radios(1).size(), 64, "{reception:?}");
    }
}

/// A frame of four pieces of equal length.
#[derive(Clone)]
struct Pieces([Part; 4]);

impl Fields for Pieces {
    fn parts(&self) -> &[Part] {
        &self.0
    }
}

#[test]
fn an_interferer_damages_only_the_pieces_that_it_overlaps() {
    let (_, packet) = crate::samples::arp(crate::address::Address(1), crate::packet::ArpMessage::Reply);
    let mut bench = Bench::new(Reception::Sinr);
    let Radios::Sinr(radios) = &mut bench.radio else { panic!("it was asked for") };
    let radio = &mut radios[0];
    let part = |place: u32| Part { packet, end: 1000 * (place + 1), sequence: 0, retry: false };
    let mode = bench.mode;
    let body = mode.airtime(4000) - mode.preamble;
    let frame = Frame {
        transmitter: InterfaceId(1),
        receiver: InterfaceId(99),
        airtime: mode.airtime(4000),
        bytes: 4000,
        preamble: mode.preamble,
        mode,
        packet: Some(packet),
        kept: true,
        control: Pieces([part(0), part(1), part(2), part(3)]),
    };
    let end = Time::ZERO + frame.airtime;
    let other = Frame { transmitter: InterfaceId(2), ..bench_frame(mode) };
    radio.begin(1, 100.0 * LEAST, Time::ZERO, end, &bench.receiver, &frame);
    // Eight times as strong as the frame, in the middle of its third piece.
    let (from, until) = (end - body * 7 / 16, end - body * 6 / 16);
    radio.begin(2, 800.0 * LEAST, from, until, &bench.receiver, &other);
    radio.end(2, 800.0 * LEAST, until, &bench.receiver, &mut bench.rng);
    let found = radio.end(1, 100.0 * LEAST, end, &bench.receiver, &mut bench.rng);
    assert_eq!((found.verdict, found.damaged), (Verdict::Decoded, 0b100));
}

/// A frame of one piece.
fn bench_frame(mode: &'static Mode) -> Frame<()> {
    Frame {
        transmitter: InterfaceId(1),
        receiver: InterfaceId(99),
        airtime: Span::from_micros(AIRTIME),
        bytes: 101,
        preamble: mode.preamble,
        mode,
        packet: None,
        kept: true,
        control: (),
    }
}
