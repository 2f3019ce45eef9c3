//! Forced drops compared with ns-3.37: with the same algorithm, the same segments are sent, and windows differ by less
//! than 1 %.
//!
//! The reference is `validation/peers/data/ns3_forced_drops.csv`. `make validate` shows every case, including those
//! with other algorithms. `docs/validation.md` explains the differences.

#[path = "two_links/ns3.rs"]
mod ns3;

use ns3::Case;

fn cases() -> Vec<Case> {
    ns3::read(include_str!("../../../validation/peers/data/ns3_forced_drops.csv"))
}

#[test]
fn where_the_algorithm_is_the_same_so_are_segments_and_windows() {
    let mut compared = 0;
    for case in cases() {
        for rival in ns3::rivals(&case.tcp).iter().filter(|rival| rival.is_same(&case)) {
            let result = ns3::compare(&ns3::run(&rival.congestion, &case), &case.sent);
            let name = format!("{} and {}, {:?}", case.tcp, rival.name, case.drops);
            assert_eq!(result.first_difference, None, "{name}");
            assert!(result.window < 0.01, "{name}: {}", result.window);
            // CUBIC's window is exactly equal. The only difference is ns-3's acknowledgement that opens the connection.
            let time = if case.tcp == "Cubic" { 50e-6 } else { 0.1 };
            assert!(result.time < time, "{name}: {} s", result.time);
            compared += 1;
        }
    }
    assert_eq!(compared, 3 * 4, "NewReno, CUBIC and Westwood+, one to four losses");
}

/// With proportional rate reduction and several losses, CUBIC's window is equal when the recovery begins. Then ns-3
/// sends one new segment after a retransmission, not before it.
#[test]
fn a_proportional_reduction_begins_with_the_same_window() {
    let mut compared = 0;
    for case in cases().iter().filter(|case| case.tcp == "Cubic" && case.recovery == "prr" && case.drops.len() > 1) {
        for rival in ns3::rivals(&case.tcp) {
            let result = ns3::compare(&ns3::run(&rival.congestion, case), &case.sent);
            let name = format!("{}, {:?}", rival.name, case.drops);
            assert_eq!(result.first_difference, Some(43), "{name}");
            assert!(result.window < 1e-4, "{name}: {}", result.window);
            compared += 1;
        }
    }
    assert_eq!(compared, 2 * 3);
}

#[test]
fn whatever_the_algorithm_the_losses_alone_are_sent_again() {
    for case in cases() {
        for rival in ns3::rivals(&case.tcp) {
            let result = ns3::compare(&ns3::run(&rival.congestion, &case), &case.sent);
            let name = format!("{} and {}, {}, {:?}", case.tcp, rival.name, case.recovery, case.drops);
            assert!(result.same_again, "{name}");
            assert_eq!(result.segments, 300 + case.drops.len(), "{name}");
        }
    }
}

#[test]
fn the_comparison_sees_differences() {
    let cases = cases();
    let of = |tcp: &str| cases.iter().find(|case| case.tcp == tcp && case.drops.len() == 2).expect("a case");
    let (newreno, bbr) = (of("NewReno"), of("Bbr"));
    let result = ns3::compare(&newreno.sent, &of("Cubic").sent);
    assert!(result.window > 0.3, "{}", result.window);
    assert!(ns3::compare(&newreno.sent, &bbr.sent).first_difference.is_some());
    // The losses are repaired within the first hundred segments.
    assert!(!ns3::compare(&newreno.sent, &newreno.sent[..30]).same_again);
    assert_eq!(ns3::compare(&newreno.sent, &newreno.sent[..100]).first_difference, Some(100));
}
