//! Who is told of segments that cannot be passed on, and when: before the route error.

use super::*;
use crate::routing::aodv::LinkDetection;

/// A chain of five in which the link 2-3 has just carried a segment.
fn chain_in_use(params: &Params) -> Network {
    let mut net = chain(5, params);
    net.send_segment(0, 4);
    assert_eq!(net.at(2_000).arrived.len(), 1);
    net.talk.clear();
    net
}

/// Notices and route errors, in order, each cut after its first words.
fn told(net: &Network) -> Vec<String> {
    let words = |line: &str| line.split(' ').skip(1).take(6).collect::<Vec<_>>().join(" ");
    net.talk.iter().filter(|line| line.contains("RERR") || line.contains("cannot")).map(|line| words(line)).collect()
}

#[test]
fn the_source_of_a_failed_segment_is_told_before_the_route_error() {
    for profile in [RFC, NS2] {
        let params = Params { link_detection: LinkDetection::LinkLayer, ..Params::of_profile(profile) };
        let mut net = chain_in_use(&params);
        net.part(2, 3);
        net.send_segment(0, 4);
        net.run_until(2_100);
        let told = told(&net);
        assert_eq!(told[0], "2 cannot pass on segment 1", "{profile}: {told:?}");
        assert!(told[1].starts_with("2>") && told[1].contains("RERR"), "{profile}: {told:?}");
        net.check_account();
    }
}

#[test]
fn segments_taken_back_from_the_queue_are_told_of_too() {
    for profile in [RFC, NS2] {
        let params = Params { link_detection: LinkDetection::LinkLayer, ..Params::of_profile(profile) };
        let mut net = chain_in_use(&params);
        net.part(2, 3);
        for _ in 0..3 {
            net.send_segment(0, 4);
        }
        net.run_until(2_100);
        assert_eq!(net.said("2 cannot pass on").len(), 3, "{profile}: {:?}", net.talk);
    }
}

#[test]
fn a_source_that_cannot_reach_its_neighbour_tells_itself() {
    let mut net = chain_in_use(&Params::of_profile(RFC));
    net.part(0, 1);
    net.send_segment(0, 4);
    assert_eq!(net.at(2_100).said("0 cannot pass on segment 1 of 0").len(), 1);
    // The search for another way is in vain: the segment is lost, and that is told as well.
    assert_eq!(net.at(30_000).said("0 cannot pass on segment 1 of 0").len(), 2);
}

#[test]
fn nobody_is_told_while_a_repair_goes_on() {
    let params = Params { local_repair: true, ..Params::of_profile(RFC) };
    let mut net = chain_in_use(&params);
    net.part(2, 3);
    net.send_segment(0, 4);
    net.run_until(2_050);
    assert_eq!(told(&net), Vec::<String>::new());
    net.run_until(30_000);
    let told = told(&net);
    assert_eq!(told[0], "2 cannot pass on segment 1", "the repair has failed: {told:?}");
    assert!(told[1].contains("RERR"), "{told:?}");
}

#[test]
fn under_hello_messages_alone_the_break_is_told_when_the_neighbour_is_lost() {
    for profile in [RFC, NS2] {
        let params =
            Params { link_detection: LinkDetection::Hello, allowed_hello_loss: 3, ..Params::of_profile(profile) };
        let mut net = chain(5, &params);
        // The first segments keep the route in use, so that neighbours know of one another.
        for second in 0..4 {
            net.run_until(second * 1_000);
            net.send_segment(0, 4);
        }
        net.run_until(4_500);
        net.talk.clear();
        net.part(2, 3);
        let lost = net.send_segment(0, 4);
        net.run_until(5_000);
        assert_eq!(told(&net), Vec::<String>::new(), "a failure of the link layer says nothing yet");
        net.run_until(12_000);
        let told = told(&net);
        assert_eq!(told[0], format!("2 cannot pass on segment {lost}"), "{profile}: {told:?}");
        assert!(told[1].contains("RERR"), "{profile}: {told:?}");
    }
}

#[test]
fn an_error_of_the_node_itself_starts_no_search() {
    let mut net = chain(2, &Params::of_profile(RFC));
    net.send_error(0, 9);
    net.run_until(1_000);
    assert_eq!((net.said("RREQ").len(), net.dropped(0, DropReason::NoRoute)), (0, 1));
}
