//! Results of kernels that are nodes: messages, routes and captures. Without a built kernel, a daemon or tshark, a test
//! is skipped.
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../../model-tests/tests/capture/tshark.rs"]
mod tshark;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use hopyard_coupling::Options;
use hopyard_engine::Span;
use hopyard_model::observe::Outcome;
use hopyard_model::observe::capture::{Capture, Options as CaptureOptions};

use crate::common::chain::{CHAIN, options, program, run, run_with};
use tshark::{ERROR, capture_file, dissect, fields};

/// Messages by type: the number that nodes sent, and the number that nodes received. Both are sums over all nodes.
fn messages(outcome: &Outcome, kind: &str) -> BTreeMap<&'static str, (u64, u64)> {
    let mut sums = BTreeMap::new();
    for row in outcome.overhead.iter().filter(|it| it.kind == kind) {
        let sum: &mut (u64, u64) = sums.entry(row.message).or_default();
        *sum = (sum.0 + row.sent, sum.1 + row.received);
    }
    sums
}

/// A run with a capture of everything that its radios have sent.
fn captured(routing: &str, duration: &str) -> Option<(Outcome, PathBuf)> {
    let text = format!("{}routing = \"{routing}\"\n", CHAIN.replace("60 s", duration));
    let programs = [program(0, 20_000, "ping -n -c 3 node1"), program(0, 20_000, "ping -n -c 3 node1-v6")];
    let options = options(&text, &programs)?;
    let file = capture_file(&format!("seen_{routing}"));
    let sink = fs::File::create(&file).expect("a file");
    let capture = Capture::new(sink, "seen", CaptureOptions::default()).expect("a capture");
    let (outcome, _, capture) = run_with(&text, &options, capture);
    capture.finish().expect("written");
    Some((outcome, file))
}

/// tshark finds the protocols, has no objection, and counts as many broadcast messages as the table. (Frames for one
/// neighbour are on the air again when their acknowledgement is lost.)
#[test]
fn tshark_reads_the_frames_of_kernels_and_counts_as_the_table_does() {
    /// The routing, its protocol and field in tshark, and the numbers of its messages there with their names here.
    type Case = (&'static str, &'static str, &'static str, &'static [(&'static str, &'static str)]);
    let cases: [Case; 4] = [
        ("babeld", "babel", "babel.message.type", &[("4", "HELLO"), ("5", "IHU"), ("8", "UPDATE")]),
        ("batman_iv", "batadv", "batadv.batman.packet_type", &[("0", "OGM")]),
        // Of several OGM2 in a packet, tshark 4.0 shows the first alone.
        ("batman_v", "batadv", "batadv.batman.packet_type", &[("3", "ELP")]),
        ("ospf", "ospf", "ospf.msg", &[("1", "HELLO")]),
    ];
    for (routing, protocol, field, types) in cases {
        let Some((outcome, file)) = captured(routing, "30 s") else { continue };
        let Some((mut objections, protocols)) = dissect(&file, ERROR) else { return };
        // tshark 4.0 says of itself that it has no fields for the flags of OGM2.
        let own = ["Dissector bug, protocol BATADV", "without fields", "[Group: Malformed]"];
        objections.retain(|it| !own.iter().any(|own| it.contains(own)));
        assert_eq!(objections, Vec::<String>::new(), "{routing}");
        for name in [protocol, "arp", "icmpv6"] {
            assert!(protocols.contains(name), "{routing}: {protocols:?}");
        }
        let rows = fields(&file, &[field]).expect("tshark is there");
        let values: Vec<&str> = rows.iter().flat_map(|row| row[0].split(',')).collect();
        // The capture has frames at their senders and at their receivers.
        let counted = messages(&outcome, "routing");
        for &(number, name) in types {
            let shown = values.iter().filter(|it| **it == number).count() as u64;
            let (sent, received) = counted.get(name).copied().unwrap_or_default();
            assert!(sent > 10 && received > 10, "{routing} {name}: {counted:?}");
            assert_eq!(shown, sent + received, "{routing} {name}: {counted:?}");
        }
        let resolution = messages(&outcome, "arp");
        for name in ["ARP_REQUEST", "ARP_REPLY", "NEIGHBOUR_SOLICITATION", "NEIGHBOUR_ADVERTISEMENT"] {
            assert!(resolution.get(name).is_some_and(|it| it.0 > 0 && it.1 > 0), "{routing}: {resolution:?}");
        }
        let packets: u64 = outcome.nodes.iter().map(|it| it.routing_packets).sum();
        assert!(packets > 10, "{routing}: {packets}");
    }
}

/// Routes are recorded whoever makes them, and so are the paths of packets.
#[test]
fn routes_and_paths_of_kernels_are_in_the_tables() {
    for routing in ["babeld", "batman_iv", "batman_v"] {
        let flow = "[[flow]]\nfrom = 0\nto = 3\nstart = \"40 s\"\nstack = \"linux\"\ntcp = \"cubic\"\n";
        let chain = CHAIN.replace("60 s", "45 s").replace("routes =", "paths = true\nseries = [\"hops\"]\nroutes =");
        let Some(options) = options(&format!("{chain}routing = \"{routing}\"\n{flow}"), &[]) else { continue };
        let options = Options { sample: Span::from_secs(1), ..options };
        let (outcome, _) = run(&format!("{chain}routing = \"{routing}\"\n{flow}"), &options);
        let changes: Vec<_> = outcome.route_changes.iter().filter(|it| (it.node, it.destination) == (0, 3)).collect();
        let last = changes.last().and_then(|it| it.path.as_deref());
        assert_eq!(last, Some("0 1 2 3"), "{routing}: {:#?}", outcome.route_changes);
        let row = &outcome.flows[0];
        assert_eq!(row.route_changes, changes.len() as u64, "{routing}");
        let hops = outcome.series.iter().rfind(|it| it.quantity == "hops");
        assert_eq!(hops.map(|it| (it.time_s, it.value)), Some((45.0, 3.0)), "{routing}");
        let whole = outcome.paths.iter().find(|it| it.fate == "delivered").expect("some have arrived");
        assert_eq!((whole.path.as_str(), whole.hops), ("0 1 2 3", 3), "{routing}: {:#?}", outcome.paths);
        let delivered: u64 = outcome.paths.iter().filter(|it| it.fate == "delivered").map(|it| it.packets).sum();
        assert_eq!(delivered, row.packets_arrived, "{routing}: {:#?}", outcome.paths);
        // Each of these is a frame of TCP's data or of its acknowledgements at the second or third node.
        let forwarded = [1, 2].map(|node| outcome.nodes[node].forwarded);
        assert!(forwarded.iter().all(|it| *it >= delivered), "{routing}: {forwarded:?} {delivered}");
    }
}
