//! One loss: the answers of the Linux modules in ns-2.35 (`Agent/TCP/Linux`, kernel 2.6.22), compared with the profile
//! `linux`.
//!
//! The reference (`data/ns2_kernel_modules.csv`) was made by `validation/peers/ns2/kernel_modules.tcl`: 10 Mb/s and 2
//! ms, then 0.8 Mb/s and 100 ms, timestamps, a window at its limit, one lost segment. It contains the threshold after
//! the loss and the lowest window within 1.5 s. This window is the threshold, or with Westwood+ the number of segments
//! that the path holds by its estimate, if that is more. The path holds 20 segments of 1050 bytes: with a window of 15
//! there is no queue, with 22 two segments are queued, with the others many.

use hopyard_engine::{Span, Streams, Time};
use hopyard_model::params::Params as _;
use hopyard_model::transport::congestion::Config;
use hopyard_model::transport::congestion::control::Arithmetic;
use hopyard_model::transport::{acking, tcp};

use crate::two_links::{Kind, NS2_LINKS, Path};

/// The threshold just after the loss, and the window just after the end of the recovery.
fn one_loss(variant: &str, window: u32, lost: u64) -> (f64, f64) {
    let params = tcp::Params {
        window: 1000,
        max_cwnd: window,
        initial_ssthresh: window,
        // The acknowledgement that ends the recovery does not also increase the window.
        recovery_exit: tcp::RecoveryExit::Ssthresh,
        timestamps: true,
        ..tcp::Params::of_profile("ns2")
    };
    let mut congestion = Config::of_profile(variant, "linux").expect("a variant of this name");
    // The modules are older than the profile's own arithmetic.
    match &mut congestion {
        Config::Veno(params) => params.arithmetic = Arithmetic::Published,
        Config::Illinois(params) => params.arithmetic = Arithmetic::Published,
        Config::WestwoodPlus(params) => params.arithmetic = Arithmetic::Published,
        other => panic!("{other:?} has no module"),
    }
    let acking = acking::Config::of_profile("every", "ns2").expect("a policy of this name");
    let config = tcp::Config { tcp: params, congestion };
    let mut path = Path::new(&config, &acking, NS2_LINKS, &[lost], Streams::new(1, 0).stream("tcp"));
    path.start(u64::MAX);
    path.run(Time::ZERO + Span::from_secs(25));
    let resent = path.events.iter().position(|event| event.kind == Kind::Resend).expect("the segment is sent again");
    let (before, after) = path.events.split_at(resent);
    let highest = before.iter().map(|event| event.segment).max().expect("segments were sent");
    let repaired = after.iter().find(|event| event.kind == Kind::Ack && event.segment >= highest).expect("it arrives");
    assert!(after.iter().skip(1).all(|event| event.kind != Kind::Resend), "{variant}: one retransmission");
    (after[0].state.ssthresh, repaired.state.cwnd)
}

#[test]
fn one_loss_is_answered_as_by_the_kernels_modules() {
    let mut cases = 0;
    for line in include_str!("data/ns2_kernel_modules.csv").lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |index: usize| fields[index].parse::<u32>().expect("a number");
        let (window, ssthresh, lowest) = (number(1), f64::from(number(3)), f64::from(number(4)));
        let (cut, repaired) = one_loss(fields[0], window, number(2).into());
        match fields[0] {
            // ns-2 does not inform the module of the end of the recovery. The estimate has an effect if it is more than
            // half the window.
            "westwood_plus" => {
                assert!((cut - ssthresh).abs() < 1e-9, "{line}: {cut}");
                assert!((repaired.max(cut) - lowest).abs() < 1e-9, "{line}: {repaired}");
            }
            "veno" => {
                assert!((libm::floor(cut) - ssthresh).abs() < 1e-9, "{line}: {cut}");
                assert!((libm::floor(repaired) - lowest).abs() < 1e-9, "{line}: {repaired}");
            }
            // The old module reduces the window to beta, at least two segments. Here the window is reduced by the same
            // amount.
            "illinois" => {
                let taken = libm::floor(f64::from(window) - repaired).max(2.0);
                assert!((taken - ssthresh).abs() < 1e-9 && (taken - lowest).abs() < 1e-9, "{line}: {repaired}");
            }
            other => panic!("no module is called {other}"),
        }
        cases += 1;
    }
    assert_eq!(cases, 16);
}
