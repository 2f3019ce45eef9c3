//! Flows to several nodes and to groups: their meaning, and what is refused.

use std::path::Path;

use hopyard_model::address::NodeId;
use hopyard_model::world::{self, Cast, Watch};
use hopyard_scenario::Scenario;

fn load(text: &str, settings: &[(&str, &str)]) -> Result<Scenario, String> {
    let settings: Vec<_> = settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Scenario::load(text, "t.toml", Path::new("."), &settings).map_err(|problems| problems.to_string())
}

const GROUPS: &str = "\
duration = \"20 s\"
[nodes]
count = 5
wired = 1
[routing]
protocol = \"static\"
[[wire]]
between = [0, 5]
[[group]]
name = \"scouts\"
members = [4, 2, 0]
[[group]]
name = \"others\"
members = [3]
address = \"239.7.7.7\"
[[flow]]
from = 0
to = \"scouts\"
udp = true
traffic = \"messages\"
[[flow]]
from = 1
to = \"all\"
udp = true
[[flow]]
from = 0
to = [3, 1]
udp = true
[[flow]]
from = 2
to = \"others\"
udp = true
";

#[test]
fn flows_to_groups_and_lists_have_their_destinations() {
    let scenario = load(GROUPS, &[]).expect("it is possible");
    let spec = scenario.spec(0);
    let first: Vec<_> = spec.flows.iter().map(|flow| (flow.from.0, flow.to.0)).collect();
    assert_eq!(first, [(0, 2), (1, 0), (0, 3), (2, 3)]);
    let [scouts, others, all] = &spec.groups[..] else { panic!("two groups, and that of all") };
    let shown = [scouts, others, all].map(|group| group.address.to_string());
    assert_eq!(shown, ["239.0.0.1", "239.7.7.7", "239.0.0.2"]);
    assert_eq!(scouts.members, [0, 2, 4].map(NodeId));
    assert_eq!(all.members, [0, 1, 2, 3, 4].map(NodeId));
    let casts: Vec<_> = spec.casts.values().cloned().collect();
    let each = Cast::Each(vec![NodeId(3), NodeId(1)]);
    assert_eq!(casts, [Cast::Group(0), Cast::Group(2), each, Cast::Group(1)]);
    let outcome = world::simulate(&spec, &Watch::default()).expect("packets add up");
    let ends: Vec<_> = outcome.flows.iter().map(|flow| (flow.source, flow.destination)).collect();
    assert_eq!(ends, [(0, 2), (1, 0), (0, 3), (2, 3), (0, 4), (1, 2), (1, 3), (1, 4), (0, 1)]);
    let read = load(&scenario.to_toml(true), &[]).expect("it is read back");
    assert_eq!((read.hash(), read.spec(0).casts), (scenario.hash(), spec.casts));
}

#[test]
fn groups_are_part_of_the_hash_where_a_flow_goes_to_one() {
    let hash = |settings: &[(&str, &str)]| load(GROUPS, settings).expect("it is possible").hash();
    let plain = hash(&[]);
    for (key, value) in [
        ("group.0.members", "[2, 4]"),
        ("group.1.address", "239.7.7.8"),
        ("multicast.classic_flooding.jitter", "5 ms"),
        ("flow.2.to", "[1, 3]"),
    ] {
        assert_ne!(hash(&[(key, value)]), plain, "{key}");
    }
    let one = "duration = \"20 s\"\n[nodes]\ncount = 3\n[[flow]]\nfrom = 0\nto = 1\n";
    let other = format!("{one}[[group]]\nname = \"a\"\nmembers = [1]\n");
    assert_eq!(load(one, &[]).expect("one").hash(), load(&other, &[]).expect("the other").hash());
}

#[test]
fn what_cannot_be_is_said_with_its_place() {
    for (settings, expected) in [
        (&[("group.0.members", "[4, 9]")][..], &["group.0.members", "there is no node 9", "0 to 5"][..]),
        (&[("group.0.members", "[4, 5]")], &["group.0.members", "node 5 does not have", "nodes from 0 to 4"]),
        (&[("group.0.members", "[]")], &["group.0.members", "a group of nobody"]),
        (&[("group.0.members", "[1, 1]")], &["group.0.members", "node 1 is in the list twice"]),
        (&[("group.0.name", "all")], &["group.0.name", "neither \"all\" nor \"last\""]),
        (&[("group.0.name", "others")], &["t.toml:13:", "[[group]] number 0 is called \"others\" too"]),
        (&[("group.0.address", "10.0.0.1")], &["group.0.address", "from 224.0.1.0", "found \"10.0.0.1\""]),
        (&[("group.0.address", "239.7.7.7")], &["t.toml:15:", "number 0 has the address 239.7.7.7 too"]),
        (&[("flow.0.to", "scout")], &["flow.0.to", "there is no group \"scout\"", "did you mean \"scouts\"?"]),
        (&[("flow.3.from", "3")], &["t.toml:31:", "nobody but the sender, node 3"]),
        (&[("flow.0.from", "5")], &["flow.0.from", "by radio, which node 5 does not have"]),
        (
            &[("flow.1.udp", "false"), ("flow.1.traffic", "ftp")],
            &["t.toml:23:", "TCP has one destination", "`udp = true`"],
        ),
        (&[("flow.1.traffic", "echo")], &["flow.1.traffic", "`echo` is answered by one node"]),
        (&[("flow.2.to", "[]")], &["flow.2.to", "the flow goes to nobody"]),
        (&[("flow.2.to", "[1, 3, 1]")], &["flow.2.to", "node 1 is in the list twice"]),
        (&[("flow.2.to", "[1, 0]")], &["flow.2.to", "the flow goes from node 0 to itself"]),
        (&[("flow.2.to", "[1, 7]")], &["flow.2.to", "there is no node 7"]),
        (&[("multicast.protocol", "s_mpr")], &["multicast.protocol", "`s_mpr` needs relays", "routing by `olsr`"]),
        (&[("multicast.protocol", "smpr")], &["multicast.protocol", "s_mpr"]),
        (&[("multicast.classic_flooding.hold", "1 ms")], &["multicast.classic_flooding.hold", "100 ms", "found 1 ms"]),
    ] {
        let said = load(GROUPS, settings).expect_err("it cannot be");
        for part in expected {
            assert!(said.contains(part), "{settings:?}: no {part:?} in\n{said}");
        }
    }
    let relays = load(GROUPS, &[("multicast.protocol", "s_mpr"), ("routing.protocol", "olsr")]);
    assert_eq!(relays.err(), None);
}

#[test]
fn doubts_are_warnings() {
    let warned = |settings: &[(&str, &str)]| {
        let scenario = load(GROUPS, settings).expect("it is possible");
        scenario.warnings().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(warned(&[]), "");
    let said = warned(&[("flow.3.to", "0")]);
    assert!(said.contains("no flow goes to the group \"others\""), "{said}");
    let said = warned(&[("nodes.spacing", "900 m"), ("flow.2.to", "5")]);
    assert!(said.contains("flows 0, 1 and 3: no chain of radios joins the sender to all of its group"), "{said}");
    let text = "[nodes]\ncount = 2\n[multicast]\nprotocol = \"s_mpr\"\n[[flow]]\nfrom = 0\nto = 1\n";
    let said = load(text, &[]).expect("it is possible").warnings()[0].to_string();
    assert!(said.contains("[multicast] is not used: no flow goes to a group"), "{said}");
}
