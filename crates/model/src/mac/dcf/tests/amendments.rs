//! The constants of the amendments, the modes of answers, and protection.

use hopyard_engine::units::Frequency;

use super::*;
use crate::phy::mode::{Band, Guard, Name};

const MHZ: f64 = 1e6;

fn mbps(mbps: f64) -> Rate {
    Rate::from_bps((mbps * MHZ) as u64)
}

/// The defaults of an amendment where other leading keys have these values.
fn params(standard: Amendment, band: Option<Band>, bandwidth: Option<f64>) -> Params {
    let mut params = Params::of_amendment(RFC, standard);
    if let Some(band) = band {
        params.band = band;
        params.follow("band");
    }
    if let Some(megahertz) = bandwidth {
        params.bandwidth = Frequency::new(megahertz * MHZ);
        params.follow("bandwidth");
    }
    params
}

fn micros(spans: [Span; 4]) -> [u64; 4] {
    spans.map(|span| span.nanos() / 1000)
}

/// IEEE Std 802.11-2016 Tables 15-5, 17-21, 18-5, 19-25 and 21-29; the values of ns-3.37 are the same.
#[test]
fn constants_are_those_of_the_standard() {
    let (low, high) = (Some(Band::Low), Some(Band::High));
    for (standard, band, bandwidth, expected, cw_min) in [
        (Amendment::B, None, None, [20, 10, 50, 364], 31),
        (Amendment::G, None, None, [20, 10, 50, 110], 15),
        (Amendment::A, None, None, [9, 16, 34, 94], 15),
        (Amendment::A, None, Some(10.0), [13, 32, 58, 178], 15),
        (Amendment::A, None, Some(5.0), [21, 64, 106, 346], 15),
        (Amendment::N, None, Some(40.0), [9, 16, 34, 94], 15),
        (Amendment::N, high, None, [9, 16, 34, 94], 15),
        (Amendment::N, low, Some(40.0), [20, 10, 50, 110], 15),
        (Amendment::Ac, None, Some(80.0), [9, 16, 34, 94], 15),
    ] {
        let params = params(standard, band, bandwidth);
        assert_eq!(params.check(), Ok(()), "{standard}");
        let timing = Timing::new(&params);
        let found = micros([params.slot, params.sifs, timing.difs, timing.eifs]);
        assert_eq!((found, params.cw_min), (expected, cw_min), "{standard} {band:?} {bandwidth:?}");
    }
    // Where DSSS is basic too, another station may be sending an ACK at 1 Mb/s; with the short slot.
    let mut mixed = params(Amendment::G, None, None);
    mixed.basic_rates.push(mbps(1.0));
    assert_eq!(Timing::new(&mixed).eifs, Span::from_micros(364));
    let short = Params { slot: Span::from_micros(9), ..params(Amendment::G, None, None) };
    assert_eq!(Timing::new(&short).eifs, Span::from_micros(88));
    assert_eq!(Params::of_amendment(NS2, Amendment::B), Params::of_profile(NS2));
}

/// The durations of RTS, CTS, ACK and 1536 bytes of data, in us.
#[test]
fn answers_have_the_basic_rate_below_the_frame() {
    let times = |params: &Params| {
        let timing = Timing::new(params);
        micros([timing.rts, timing.cts, timing.ack.airtime, timing.modes.data.airtime(1536)])
    };
    let a = |rate| Params { rate: mbps(rate).into(), ..params(Amendment::A, None, None) };
    assert_eq!(times(&a(54.0)), [52, 44, 28, 248]);
    assert_eq!(times(&a(18.0))[2], 32);
    assert_eq!(times(&a(9.0))[2], 44);
    let g = Params { rate: mbps(54.0).into(), ..params(Amendment::G, None, None) };
    assert_eq!(times(&g), [58, 50, 34, 254]);
    // 802.11p: ACK at 12 Mb/s.
    let p = Params { rate: mbps(27.0).into(), ..params(Amendment::A, None, Some(10.0)) };
    assert_eq!(times(&p), [104, 88, 56, 496]);
    let n = |mcs| Params { rate: Name::Ht(mcs), ..params(Amendment::N, None, Some(40.0)) };
    assert_eq!(times(&n(7)), [52, 44, 28, 128]);
    assert_eq!(times(&n(9))[2], 32);
    // Without a basic rate of OFDM, the fastest mandatory one.
    let mixed = Params { basic_rate: mbps(1.0), basic_rates: vec![mbps(11.0)], ..g };
    assert_eq!(mixed.check(), Ok(()));
    assert_eq!(times(&mixed), [352, 304, 34, 254]);
}

fn fault(params: &Params) -> String {
    params.check().expect_err("impossible").to_string()
}

#[test]
fn modes_that_an_amendment_lacks_are_refused() {
    let with = |params: Params, name: &str| Params { rate: name.parse().expect("a name"), ..params };
    let of = |standard, bandwidth| params(standard, None, bandwidth);
    for (params, expected) in [
        (with(of(Amendment::B, None), "54 Mbps"), "rate: expected 1, 2, 5.5 or 11 Mbps, found 54 Mbps"),
        (with(of(Amendment::B, None), "mcs7"), "rate: expected 1, 2, 5.5 or 11 Mbps, found mcs7"),
        (with(of(Amendment::A, None), "11 Mbps"), "rate: expected 6, 9, 12, 18, 24, 36, 48 or 54 Mbps, found 11 Mbps"),
        (
            with(of(Amendment::A, Some(10.0)), "54 Mbps"),
            "rate: expected 3, 4.5, 6, 9, 12, 18, 24 or 27 Mbps, found 54 Mbps",
        ),
        (
            with(of(Amendment::G, None), "7 Mbps"),
            "rate: expected 1, 2, 5.5, 11, 6, 9, 12, 18, 24, 36, 48 or 54 Mbps, found 7 Mbps",
        ),
        (
            with(of(Amendment::N, None), "mcs32"),
            "rate: expected 6, 9, 12, 18, 24, 36, 48 or 54 Mbps, or mcs0 to mcs31, found mcs32",
        ),
        // A rate names no mode of HT.
        (with(of(Amendment::N, None), "39 Mbps"), "rate: expected mcs4, mcs10 or mcs17, which have the rate 39 Mbps"),
        (
            with(of(Amendment::N, Some(40.0)), "54 Mbps"),
            "rate: expected mcs3, mcs9 or mcs24, which have the rate 54 Mbps, or \"ofdm 54 Mbps\", as has a mode of OFDM",
        ),
        (
            with(of(Amendment::Ac, Some(80.0)), "mcs7"),
            "rate: expected 6, 9, 12, 18, 24, 36, 48 or 54 Mbps, or vht-mcs0-1ss to vht-mcs9-4ss, found mcs7",
        ),
        (
            with(of(Amendment::Ac, None), "vht-mcs9"),
            "rate: expected, at 20 MHz, vht-mcs0-1ss, vht-mcs1-1ss, vht-mcs2-1ss, vht-mcs3-1ss, vht-mcs4-1ss, \
             vht-mcs5-1ss, vht-mcs6-1ss, vht-mcs7-1ss or vht-mcs8-1ss; found vht-mcs9-1ss",
        ),
        (
            with(of(Amendment::N, Some(40.0)), "ofdm 13 Mbps"),
            "rate: expected 6, 9, 12, 18, 24, 36, 48 or 54 Mbps, or mcs0 to mcs31, found ofdm 13 Mbps",
        ),
        (Params { slot: Span::from_secs(11), ..of(Amendment::A, None) }, "slot: expected at most 10 s, found 11 s"),
        (Params { sifs: Span::from_secs(3600), ..of(Amendment::A, None) }, "sifs: expected at most 10 s, found 3600 s"),
        (of(Amendment::G, Some(40.0)), "bandwidth: expected 20 MHz with `standard = \"g\"`, found 40 MHz"),
        (of(Amendment::N, Some(80.0)), "bandwidth: expected 20 MHz or 40 MHz with `standard = \"n\"`, found 80 MHz"),
        (Params { band: Band::Low, ..of(Amendment::A, None) }, "band: expected \"5 GHz\" with `standard = \"a\"`"),
        (
            Params { guard_interval: Guard::Short, ..of(Amendment::G, None) },
            "guard_interval: expected \"long\" with `standard = \"g\"`",
        ),
        (
            Params { protection: Protection::CtsToSelf, ..of(Amendment::A, None) },
            "protection: expected \"off\": `rate`, 6 Mbps, is in no newer format than `protection_rate`, 6 Mbps",
        ),
        (
            Params { basic_rate: mbps(24.0), ..of(Amendment::A, None) },
            "basic_rate: expected at most `rate`, 6 Mbps, found 24 Mbps",
        ),
        (
            Params { basic_rates: vec![mbps(12.0), mbps(11.0)], ..of(Amendment::A, None) },
            "basic_rates: expected 6, 9, 12, 18, 24, 36, 48 or 54 Mbps, found 11 Mbps",
        ),
    ] {
        assert_eq!(fault(&params), expected);
    }
}

#[test]
fn a_mode_of_ofdm_has_a_name_where_ht_has_its_rate() {
    let wide = params(Amendment::N, None, Some(40.0));
    let mode = |name: &str| {
        let params = Params { rate: name.parse().expect("a name"), ..wide.clone() };
        params.check().expect(name);
        Timing::new(&params).modes.data
    };
    let (ofdm, ht) = (mode("ofdm 54 Mbps"), mode("mcs3"));
    assert_eq!((ofdm.rate(), ofdm.name()), (ht.rate(), mbps(54.0).into()));
    assert_eq!((ofdm.body.bandwidth, ht.body.bandwidth), (Frequency::new(20e6), Frequency::new(40e6)));
}

#[test]
fn the_last_mode_is_that_of_broadcasts() {
    let fixed = rate_control::Config::of_profile("fixed", RFC).expect("it is there");
    let names = |params: &Params| {
        let modes = params.every_mode(&fixed).expect("possible");
        modes.iter().map(|mode| mode.name().to_string()).collect::<Vec<_>>()
    };
    let fast = Params { rate: mbps(54.0).into(), ..params(Amendment::A, None, None) };
    assert_eq!(names(&fast), ["54 Mbps", "6 Mbps", "24 Mbps", "6 Mbps"]);
    assert_eq!(names(&params(Amendment::A, None, None)), ["6 Mbps"]);
    // Also where it is that of data frames.
    let guarded = Params { protection: Protection::Rts, ..params(Amendment::G, None, None) };
    assert_eq!(names(&guarded), ["6 Mbps", "1 Mbps", "6 Mbps"]);
}

#[test]
fn a_cts_to_the_station_itself_announces_frames_of_ofdm() {
    let change = |protection| {
        move |dcf: &mut Params| {
            *dcf = Params { rate: mbps(54.0).into(), protection, ..Params::of_amendment(RFC, Amendment::G) };
        }
    };
    let mut bench = Bench::new(RFC, 1, change(Protection::CtsToSelf));
    bench.accept(1000, PEER);
    let (at, cts) = bench.next_frame();
    assert_eq!((at, cts.control.kind, cts.receiver), (1000, FrameKind::Cts, ME));
    // At 1 Mb/s, with a duration up to the end of the acknowledgement.
    let data = 20 + 4 * (22 + 8 * u64::from(SIZE + 36)).div_ceil(216) + 6;
    assert_eq!(micros([cts.airtime, cts.control.duration, Span::ZERO, Span::ZERO])[..2], [304, 10 + data + 10 + 34]);
    let (at, frame) = bench.next_frame();
    assert_eq!((at, frame.control.kind, frame.receiver), (1000 + 304 + 10, FrameKind::Data, PEER));
    assert_eq!((frame.airtime, frame.control.duration), (Span::from_micros(data), Span::from_micros(44)));
    // No answer comes: the frame is announced again, and counts as a short one.
    let (_, again) = bench.next_frame();
    assert_eq!(again.control.kind, FrameKind::Cts);
    let (_, frame) = bench.next_frame();
    assert!(frame.control.retry);
    assert_eq!((bench.station.short_retries, bench.station.long_retries), (1, 0));
    // Broadcasts at 6 Mb/s are announced too.
    let mut bench = Bench::new(RFC, 1, change(Protection::CtsToSelf));
    bench.accept(1000, InterfaceId::BROADCAST);
    let kinds = [bench.next_frame(), bench.next_frame()].map(|(_, frame)| frame.control.kind);
    assert_eq!(kinds, [FrameKind::Cts, FrameKind::Data]);
    // Or by an RTS at 1 Mb/s.
    let mut bench = Bench::new(RFC, 1, change(Protection::Rts));
    bench.accept(1000, PEER);
    let (at, rts) = bench.next_frame();
    assert_eq!((rts.control.kind, rts.airtime), (FrameKind::Rts, Span::from_micros(352)));
    let cts = control(FrameKind::Cts, PEER, ME, 500);
    let end = bench.hear(at + 352 + SIFS, &cts);
    let (at, frame) = bench.next_frame();
    assert_eq!((at, frame.control.kind), (end + SIFS, FrameKind::Data));
}
