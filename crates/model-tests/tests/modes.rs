//! Saturation of one station in modes of every amendment, against arithmetic.

use hopyard_engine::units::Frequency;
use hopyard_engine::{Span, Time};
use hopyard_model::mac;
use hopyard_model::mac::dcf::{Amendment, Params, Protection};
use hopyard_model::params::Params as _;
use hopyard_model::phy::mode::{Band, Guard};

use crate::common::{add_cbr, network, ranged, run};

/// The time of an exchange without back-off, in us, of a data frame with so many bytes: one line for each kind of
/// channel, from the formulas of the standard.
struct Channel {
    amendment: Amendment,
    change: fn(&mut Params),
    difs: f64,
    sifs: f64,
    slot: f64,
    /// Before the data frame: CTS to the station itself, and a SIFS.
    before: f64,
    /// The name of the mode, preamble, bits and time of a symbol, extra bits, ACK.
    modes: &'static [(&'static str, f64, f64, f64, f64, f64)],
}

const OFDM: Channel =
    Channel { amendment: Amendment::A, change: |_| {}, difs: 34.0, sifs: 16.0, slot: 9.0, before: 0.0, modes: &[] };

const CHANNELS: &[Channel] = &[
    Channel {
        modes: &[
            ("6 Mbps", 20.0, 24.0, 4.0, 22.0, 44.0),
            ("9 Mbps", 20.0, 36.0, 4.0, 22.0, 44.0),
            ("12 Mbps", 20.0, 48.0, 4.0, 22.0, 32.0),
            ("18 Mbps", 20.0, 72.0, 4.0, 22.0, 32.0),
            ("24 Mbps", 20.0, 96.0, 4.0, 22.0, 28.0),
            ("36 Mbps", 20.0, 144.0, 4.0, 22.0, 28.0),
            ("48 Mbps", 20.0, 192.0, 4.0, 22.0, 28.0),
            ("54 Mbps", 20.0, 216.0, 4.0, 22.0, 28.0),
        ],
        ..OFDM
    },
    Channel {
        change: |dcf| {
            dcf.bandwidth = Frequency::new(10e6);
            dcf.follow("bandwidth");
        },
        difs: 58.0,
        sifs: 32.0,
        slot: 13.0,
        modes: &[("3 Mbps", 40.0, 24.0, 8.0, 22.0, 88.0), ("27 Mbps", 40.0, 216.0, 8.0, 22.0, 56.0)],
        ..OFDM
    },
    // The extension of 6 us is part of the preamble here.
    Channel {
        amendment: Amendment::G,
        difs: 50.0,
        sifs: 10.0,
        slot: 20.0,
        modes: &[("6 Mbps", 26.0, 24.0, 4.0, 22.0, 50.0), ("54 Mbps", 26.0, 216.0, 4.0, 22.0, 34.0)],
        ..OFDM
    },
    Channel {
        amendment: Amendment::G,
        change: |dcf| {
            dcf.protection = Protection::CtsToSelf;
            dcf.protection_rate = "11 Mbps".parse().expect("a rate");
        },
        difs: 50.0,
        sifs: 10.0,
        slot: 20.0,
        // 192 us, and 14 bytes in words of 8 bits.
        before: 192.0 + 14.0 * 8.0 / 11.0 + 10.0,
        modes: &[("54 Mbps", 26.0, 216.0, 4.0, 22.0, 34.0)],
    },
    Channel {
        amendment: Amendment::N,
        modes: &[
            ("mcs0", 36.0, 26.0, 4.0, 22.0, 44.0),
            ("mcs7", 36.0, 260.0, 4.0, 22.0, 28.0),
            ("mcs17", 48.0, 156.0, 4.0, 22.0, 32.0),
            ("mcs31", 48.0, 1040.0, 4.0, 22.0, 28.0),
        ],
        ..OFDM
    },
    Channel {
        amendment: Amendment::N,
        change: |dcf| {
            dcf.bandwidth = Frequency::new(40e6);
            dcf.band = Band::Low;
            dcf.follow("band");
            dcf.guard_interval = Guard::Short;
        },
        difs: 50.0,
        sifs: 10.0,
        slot: 20.0,
        modes: &[("mcs7", 42.0, 540.0, 3.6, 22.0, 34.0), ("mcs23", 54.0, 1620.0, 3.6, 28.0, 34.0)],
        ..OFDM
    },
    Channel {
        amendment: Amendment::Ac,
        change: |dcf| dcf.bandwidth = Frequency::new(80e6),
        // The extra bits include the delimiter.
        modes: &[
            ("vht-mcs0-1ss", 40.0, 117.0, 4.0, 54.0, 44.0),
            ("vht-mcs9-2ss", 44.0, 3120.0, 4.0, 60.0, 28.0),
            ("vht-mcs9-4ss", 52.0, 6240.0, 4.0, 66.0, 28.0),
        ],
        ..OFDM
    },
];

/// The back-off is 0 or 1 slot, so that its mean is exact in few frames.
#[test]
fn one_saturated_station_gives_the_closed_form() {
    for Channel { amendment, change, difs, sifs, slot, before, modes } in CHANNELS {
        for &(name, preamble, bits, symbol, extra, ack) in *modes {
            for size in [100_u64, 500, 1000, 1500] {
                let bytes = (size + 36) as f64;
                let symbols = ((8.0 * bytes + extra) / bits).ceil();
                // With the short guard interval, a multiple of 4 us.
                let body = if symbol < 4.0 { (symbols * symbol / 4.0 - 1e-9).ceil() * 4.0 } else { symbols * symbol };
                let cycle = difs + slot / 2.0 + before + preamble + body + sifs + ack;
                let mut spec = ranged(network("rfc", "static", &[(0.0, 0.0), (3.0, 0.0)]), 250.0, 550.0);
                let mut dcf = Params::of_amendment("rfc", *amendment);
                change(&mut dcf);
                (dcf.rate, dcf.cw_min) = (name.parse().expect("a name"), 1);
                dcf.check().expect("possible parameters");
                spec.channels[0].mac = mac::Config::Dcf(dcf.into());
                spec.link.queue_length = 50;
                add_cbr(&mut spec, 0, 1, size - 28, Span::from_secs_f64(0.7e-6 * cycle));
                spec.measure_from = Time::from_nanos(20_000_000);
                spec.duration = Span::from_secs_f64(0.02 + 1500.0e-6 * cycle);
                let found = run(&spec).flows[0].goodput_kbps;
                let expected = (size - 28) as f64 * 8e3 / cycle;
                assert!(
                    (found / expected - 1.0).abs() < 0.005,
                    "{amendment} {name}, {size} B: {found:.0} kbit/s, expected {expected:.0}"
                );
            }
        }
    }
}
