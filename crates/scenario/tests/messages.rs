//! What a user reads: one problem for one mistake, in its place, with the value, the range and the nearest name.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use hopyard_scenario::Scenario;

const TWO: &str = "[nodes]\ncount = 3\n[routing]\nprotocol = \"oracle\"\n[[flow]]\nfrom = 0\nto = 2\n";

fn load(text: &str, settings: &[(&str, &str)]) -> Result<Scenario, String> {
    let settings: Vec<_> = settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Scenario::load(text, "s.toml", Path::new(""), &settings).map_err(|problems| problems.to_string())
}

/// Whether a text has just one problem, which has all of these words.
fn assert_one(shown: &str, words: &[&str]) {
    assert!(shown.ends_with("\n\n1 problem found\n"), "{shown}");
    for word in words {
        assert!(shown.contains(word), "\"{word}\" is not in:\n{shown}");
    }
}

#[test]
fn a_mistake_gives_one_problem_that_names_value_and_expectation() {
    for (key, value, words) in [
        ("nodes.count", "-5", &["--set:1:13", "`count` is `-5`", "a whole number from 0 to 4294967295"][..]),
        ("nodes.count", "4294967296", &["`count` is `4294967296`", "from 0 to 4294967295"]),
        ("nodes.count", "2000000", &["`count` cannot be `2000000`", "at most 1000000"]),
        (
            "nodes.positions",
            "[[0, 0, 0, 0], [1, 0, 0], [2, 0, 0]]",
            &["`positions` has a list of 4 in it", "two or three numbers: metres to the east, to the north, and up"],
        ),
        ("flow.to", "-1", &["`to` is `-1`", "from 0 to 4294967295"]),
        ("flow.0.to", "9", &["there is no node 9", "expected 0 to 2"]),
        ("ip.ttl", "256", &["`ttl` is `256`", "a whole number from 0 to 255"]),
        ("seed", "9223372036854775808", &["`9223372036854775808` is out of range", "9223372036854775807"]),
        ("seed", "-1", &["`seed` is `-1`", "a whole number from 0 to 9223372036854775807"]),
        ("tcp.window", "99999999999999999999", &["is out of range", "a whole number from -9223372036854775808"]),
        ("tcp.window", "0", &["`window` cannot be `0`"]),
        ("radio.capture", "3100 dB", &["the text \"3100 dB\"", "from -300 dB to 300 dB"]),
        ("radio.noise_figure", "-1e9 dB", &["from -300 dB to 300 dB"]),
        ("radio.two_ray_ground.antenna_gain", "3100 dB", &["from -300 dB to 300 dB"]),
        ("radio.two_ray_ground.system_loss", "1e9 dB", &["from -300 dB to 300 dB"]),
        ("nodes.spacing", "1e300 km", &["up to 1e9 m"]),
        ("energy.model", "stat", &["there is no energy model `stat`", "did you mean \"state\"?"]),
        ("energy.state.send", "-0.66 W", &["the text \"-0.66 W\"", "a power drawn such as \"0.66 W\""]),
        ("energy.state.idle", "0.8", &["`idle` is `0.8`", "a power drawn such as \"0.66 W\""]),
        ("energy.per_packet.sleep", "0.05 W", &["`sleep`", "[energy.per_packet]"]),
        ("energy.battery", "0 J", &["the text \"0 J\"", "an energy above zero such as \"100 J\", or \"endless\""]),
        ("energy.battery", "-5 J", &["the text \"-5 J\"", "an energy above zero"]),
        ("battery", "[{nodes = [7], capacity = \"3 J\"}]", &["there is no node 7", "expected 0 to 2"]),
        ("battery", "[{nodes = [1, 1], capacity = \"3 J\"}]", &["node 1 is in the list twice"]),
        ("battery", "[{nodes = [], capacity = \"3 J\"}]", &["no node has this battery", "at least one node"]),
        ("battery", "[{nodes = [1]}]", &["[[battery]] has no `capacity`"]),
        ("measure.series", "[\"cwndd\"]", &["has the word `cwndd` in it", "did you mean \"cwnd\"?"]),
        ("measure.series", "[3]", &["`series` has `3` in it", "a word in quotes"]),
        ("measure.series", "cwnd", &["the text \"cwnd\"", "expected a list", "in brackets it is one, [\"cwnd\"]"]),
        ("nodes.placement", "{chain = 3}", &["the table `{ chain = 3 }`", "expected `chain`, `grid`"]),
        ("tcp.recovery", "{sack = 1}", &["the table `{ sack = 1 }`", "expected `variant`, `go_back_n`"]),
        ("measure.segments", "\"0,a\"", &["`segments`", "0,2..4", "0,a"]),
        ("measure.segments", "\"2..1\"", &["is the text \"2..1\"", "numbers of flows such as \"0,2..4\""]),
        ("measure.segments", "0.5", &["`segments` is `0.5`", "true, false, or numbers of flows"]),
        ("measure.segments", "\"0..1\"", &["there is no flow 1", "expected 0, the number of the only flow"]),
        ("measure.segments", "7", &["there is no flow 7"]),
        ("measure.interval", "1 ns", &["`interval` cannot be the text \"1 ns\"", "at least 1 us"]),
        ("measure.interval", "0 s", &["at least 1 us"]),
        ("measure.from", "200 s", &["nothing is measured: the run ends at 100 s"]),
        ("routing.static.routes", "[{at = 0, to = 2, vio = 1}]", &["the key `vio`", "did you mean \"via\"?"]),
        ("routing.static.routes", "[{at = 0, to = 2}]", &["a table of `routes` has no `via`"]),
        ("mobility.random_waypoint.speed_min", "30 m/s", &["`speed_min`", "`speed_max", "20 m/s", "30 m/s"]),
        (
            "mobility.random_waypoint",
            "{speed_min = \"9 m/s\", speed_max = \"1 m/s\"}",
            &["`speed_max`", "speed_min (9 m/s)"],
        ),
        ("duration", "0 s", &["`duration` cannot be the text \"0 s\"", "more than 0 s"]),
        ("runs", "0", &["`runs` cannot be `0`", "at least 1"]),
        ("flow.tcp", "vegsa", &["there is no congestion model `vegsa`", "did you mean \"vegas\"?"]),
        ("flow.start", "200 s", &["starts at 200 s, after the end", "less than the run's duration, 100 s"]),
    ] {
        let shown = load(TWO, &[(key, value)]).expect_err(key);
        assert_one(&shown, words);
    }
}

#[test]
fn sleep_that_cannot_be_is_refused() {
    let table =
        |nodes: &str, times: &str, every: &str| format!("{{nodes = {nodes}, times = {times}, every = \"{every}\"}}");
    let second = "[{from = \"1 s\", to = \"2 s\"}]";
    let one = |model: &str, tables: &str, words: &[&str]| {
        let shown = load(TWO, &[("energy.model", model), ("sleep", &format!("[{tables}]"))]).expect_err(tables);
        assert_one(&shown, words);
    };
    let fine = table("[0, 2]", second, "10 s");
    assert!(load(TWO, &[("energy.model", "state"), ("sleep", &format!("[{fine}]"))]).is_ok());
    assert!(load(TWO, &[("sleep", &format!("[{fine}]"))]).is_ok(), "a node leaves and comes back");
    one(
        "per_packet",
        &fine,
        &["the energy model `per_packet` has no state of sleep", "`model = \"state\"` in [energy]"],
    );
    one("state", &table("[3]", second, "0 s"), &["there is no node 3", "expected 0 to 2"]);
    one("state", &table("[1, 1]", second, "0 s"), &["node 1 is in the list twice"]);
    one("state", &table("[]", second, "0 s"), &["no node sleeps at these times", "at least one node"]);
    let (here, there) = (table("[0, 2]", second, "0 s"), table("[1, 2]", second, "0 s"));
    one("state", &format!("{here}, {there}"), &["node 2 is in two [[sleep]] tables: number 0 has it too"]);
    one("state", &table("[1]", "[]", "0 s"), &["`times` is an empty list", "at least one time of sleep"]);
    one("state", "{nodes = [1]}", &["[[sleep]] has no `times`"]);
    one("state", &table("[1]", "[{from = \"1 s\"}]", "0 s"), &["a table of `times` has no `to`"]);
    one("state", &table("[1]", "[{from = \"3 s\", to = \"3 s\"}]", "0 s"), &["from 3 s to 3 s has no length"]);
    let two = "[{from = \"1 s\", to = \"3 s\"}, {from = \"2 s\", to = \"4 s\"}]";
    one("state", &table("[1]", two, "0 s"), &["sleep from 2 s begins before the last one ends, which is at 3 s"]);
    let two = "[{from = \"1 s\", to = \"3 s\"}, {from = \"3 s\", to = \"4 s\"}]";
    one("state", &table("[1]", two, "2.5 s"), &["`every`", "at least 3 s", "2.5 s"]);
    let shown = load(TWO, &[("energy.model", "state"), ("energy.state.sleep", "-1 W")]).expect_err("below zero");
    assert_one(&shown, &["the text \"-1 W\"", "a power drawn such as \"0.66 W\""]);
}

#[test]
fn a_list_in_the_place_of_a_word_is_shown_with_what_can_stand_there() {
    let wires = "[nodes]\ncount = 3\nwired = 1\n[[wire]]\nbetween = [2, 3]\n[[flow]]\nfrom = 0\nto = 2\n";
    let words = |protocol: &str, key: &str, value: &str, words: &[&str]| {
        let shown = load(wires, &[("routing.protocol", protocol), (key, value)]).expect_err(key);
        assert_one(&shown, words);
    };
    words(
        "dsdv",
        "routing.dsdv.gateways",
        "[2]",
        &["--set:1", "`gateways` is the list `[2]`", "`off`, `networks` or `default`"],
    );
    words(
        "aodv",
        "routing.aodv.gateways",
        "[-1]",
        &["`gateways` is the list `[-1]`", "a list of nodes such as [4, 9]"],
    );
    words(
        "olsr",
        "routing.olsr.hna",
        "[\"listed\"]",
        &["is the list `[\"listed\"]`", "`off`, `wired`, `listed` or `both`"],
    );
    words("aodv", "mobility.model", "{a = 1}", &["`model` is the table `{ a = 1 }`", "text in quotes"]);
    words("aodv", "wire.between", "[0, 2, 3]", &["`between` is the list `[0, 2, 3]`", "expected a list of 2 values"]);
    words("aodv", "wire.between", "[0]", &["`between` is the list `[0]`", "expected a list of 2 values"]);
    words("aodv", "wire.between", "3", &["`between` is `3`", "expected a list of 2 values"]);
    let shown = load(wires, &[("routing.protocol", "[\"a\"]")]).expect_err("a list");
    assert_one(&shown, &["`protocol` is the list `[\"a\"]`", "expected text in quotes"]);
}

#[test]
fn a_value_that_was_left_out_is_not_missed() {
    // `hna` needs `hna_networks`, which is there with a mistake of its own, and is no reason for a second one.
    let networks = "{hna = \"listed\", hna_networks = [\"192.168.0.0/16\", 3], willingness = 9}";
    let shown = load(TWO, &[("routing.protocol", "olsr"), ("routing.olsr", networks)]).expect_err("two mistakes");
    assert!(shown.contains("`hna_networks` has `3` in it") && shown.contains("`willingness` cannot be `9`"), "{shown}");
    assert!(shown.ends_with("\n\n2 problems found\n"), "{shown}");
}

#[test]
fn a_network_is_announced_once() {
    let networks = "{hna = \"listed\", hna_networks = [\"192.168.0.0/16\", \"0.0.0.0/0\", \"192.168.0.0/16\"]}";
    let shown = load(TWO, &[("routing.protocol", "olsr"), ("routing.olsr", networks)]).expect_err("twice");
    assert_one(&shown, &["--set:1:78", "expected each network once, found 192.168.0.0/16 again"]);
}

#[test]
fn nothing_is_said_of_what_depends_on_a_mistake() {
    let text = "duration = \"5\"\n[nodes]\ncount = -1\n[routing]\nprotocol = \"oracle\"\n[[flow]]\nfrom = 0\n\
        to = 7\nstart = \"101 s\"\n";
    let shown = load(text, &[]).expect_err("two keys are wrong");
    assert!(shown.contains("`duration`") && shown.contains("`count`"), "{shown}");
    assert!(shown.ends_with("2 problems found\n"), "{shown}");
}

#[test]
fn what_a_file_does_not_have_is_said_with_the_name_of_the_file() {
    for text in ["", "\n# nothing\n", "duration = \"2 s\"\n"] {
        let shown = load(text, &[]).expect_err("no nodes");
        assert!(shown.contains("the number of nodes is not given\n--> s.toml\n"), "{shown}");
    }
    let warnings = load("[nodes]\ncount = 2\n", &[]).map(|scenario| scenario.warnings()[0].as_warning());
    assert!(warnings.as_ref().is_ok_and(|shown| shown.contains("nothing is sent") && shown.contains("--> s.toml")));
    // Programs send what they like.
    let hosts = "[nodes]\ncount = 2\n[[host]]\nnode = 1\nrun = \"iperf3 -s\"\n";
    let warnings = load(hosts, &[]).map(|it| it.warnings().iter().map(ToString::to_string).collect::<Vec<_>>());
    assert!(warnings.as_ref().is_ok_and(|all| !all.iter().any(|it| it.contains("nothing is sent"))), "{warnings:?}");
}

#[test]
fn a_setting_mends_what_the_file_has_wrong() {
    let text = TWO.replace("to = 2", "to = 5").replace("oracle", "oracel");
    assert!(load(&text, &[]).is_err());
    assert!(load(&text, &[("flow.to", "2"), ("routing.protocol", "oracle")]).is_ok());
}

/// The processor time that this thread has used; other processes do not count.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs().try_into().unwrap_or(0))
}

#[test]
fn thousands_of_mistakes_are_answered_at_once() {
    let mut keys = TWO.to_owned() + "[tcp]\n";
    let mut flows = "[nodes]\ncount = 3\n".to_owned();
    for i in 0..16_000 {
        let _ = writeln!(keys, "unknown_{i} = 1");
        let _ = writeln!(flows, "[[flow]]\nfrom = 0\nto = {}", i + 3);
    }
    // The same mistake of many flows is one problem.
    for (text, most, end) in
        [(keys, 15, "and 15950 more\n\n16000 problems found\n"), (flows, 60, "\n1 problem found\n")]
    {
        let began = processor_time();
        let shown = load(&text, &[]).expect_err("16,000 mistakes");
        let taken = processor_time() - began;
        // In a build without optimisation; time that grew as the square of the number would be many minutes.
        assert!(taken < Duration::from_secs(most), "{taken:?}");
        assert_eq!(shown.matches("error: ").count(), if end.starts_with("and") { 50 } else { 1 });
        assert!(shown.ends_with(end), "{}", &shown[shown.len() - 100..]);
        assert!(end.starts_with("and") || shown.contains("flows 0 to 15999: there is no such node"), "{shown}");
    }
}

#[test]
fn large_series_and_networks_are_warned_of() {
    let warnings = |settings: &[(&str, &str)]| {
        let scenario = load(TWO, settings).unwrap_or_else(|shown| panic!("{shown}"));
        scenario.warnings().iter().map(ToString::to_string).collect::<String>()
    };
    assert_eq!(warnings(&[]), "");
    let series = warnings(&[("measure.series", "[\"cwnd\"]"), ("measure.interval", "10 us")]);
    assert!(series.contains("about 100 million rows"), "{series}");
    let nodes = warnings(&[("nodes.count", "500000")]);
    assert!(nodes.contains("GB of memory"), "{nodes}");
}

#[test]
fn routes_that_expire_before_they_are_used_or_renewed_are_warned_of() {
    for (protocol, key, value, words) in [
        ("aodv", "my_route_timeout", "5 ms", "5 ms is less than 320 ms"),
        ("aodv", "neighbour_expiry", "900 ms", "900 ms is less than 1.01 s: a neighbour is lost"),
        ("aodv", "neighbour_expiry", "1 s", "1 s is less than 1.01 s: a neighbour is lost"),
        ("aomdv", "my_route_timeout", "5 ms", "5 ms is less than 320 ms"),
        ("aomdv", "active_route_timeout", "5 ms", "before the first packet that waited for it"),
        ("aomdv", "path_discovery_time", "5 ms", "may be forwarded again"),
        ("aomdv", "neighbour_expiry", "900 ms", "900 ms is less than 1.01 s: a neighbour is lost"),
        ("aomdv", "active_route_timeout", "1500 ms", "1.5 s is less than 2 s: a path to a neighbour may expire"),
        ("dsdv", "missed_updates", "1", "15 s without an update is less than 15.01 s"),
        ("dsr", "route_cache_timeout", "1 ms", "1 ms is less than 30 ms"),
        ("olsr", "neighbour_hold", "2 s", "what is valid for 2 s is renewed every 2 s"),
        ("olsr", "topology_hold", "5.2 s", "valid for 5.2 s is renewed every 5 s and delayed by up to 500 ms"),
        ("olsr", "topology_hold", "100 ms", "what is valid for 100 ms is renewed every 5 s"),
        ("olsr", "duplicate_hold", "1 ms", "1 ms is less than 1 s: a message may be forwarded again"),
    ] {
        let path = format!("routing.{protocol}.{key}");
        for profile in ["rfc", "ns2"] {
            let settings = [("routing.protocol", protocol), ("profile", profile)];
            let plain = load(TWO, &settings).unwrap_or_else(|shown| panic!("{shown}"));
            assert_eq!(plain.warnings().len(), 0, "{protocol}: {:?}", plain.warnings());
        }
        let doubtful =
            load(TWO, &[("routing.protocol", protocol), (&path, value)]).unwrap_or_else(|shown| panic!("{shown}"));
        let shown: String = doubtful.warnings().iter().map(ToString::to_string).collect();
        assert_eq!(doubtful.warnings().len(), 1, "{path}: {shown}");
        assert!(shown.contains(&path) && shown.contains(words), "{path}: {shown}");
    }
    let deaf = [
        ("routing.protocol", "aodv"),
        ("routing.aodv.link_detection", "link_layer"),
        ("routing.aodv.neighbour_expiry", "900 ms"),
    ];
    let quiet = load(TWO, &deaf).unwrap_or_else(|shown| panic!("{shown}"));
    let shown: Vec<String> = quiet.warnings().iter().map(ToString::to_string).collect();
    assert!(shown.len() == 1 && shown[0].contains("does nothing here"), "no HELLO message is sent: {shown:?}");
}

#[test]
fn every_fault_of_a_list_is_said_at_its_own_element() {
    let text = |section: &str| format!("{TWO}[routing.static]\n{section}").replace("\"oracle\"", "\"static\"");
    let routes = "others = \"drop\"\nroutes = [\n{at = 0, to = 0, via = 1},\n{at = 0, to = 2, via = 1},\n\
        {at = 1, to = 2, via = 2},\n{at = 1, to = 2, via = 0},\n{at = 2, to = 0, via = 1}]\n";
    let shown = load(&text(routes), &[]).expect_err("it is refused");
    for (line, words) in [
        (11, "node 0 has a route that leads to itself"),
        (14, "node 1 has two routes to node 2"),
        (15, "the route of node 2 to node 0 does not arrive there"),
    ] {
        let problem = shown.split("\n\n").find(|it| it.contains(words)).unwrap_or_else(|| panic!("{words}:\n{shown}"));
        assert!(problem.contains(&format!("s.toml:{line}:")), "{problem}");
        assert!(problem.contains("`routes` cannot have this element"), "{problem}");
    }
    assert!(shown.contains("3 problems found"), "{shown}");
    for (section, count) in [
        (
            "routing.protocol = \"source_routes\"\nrouting.source_routes.paths = [[0], [0, 1, 0], [0, 1, 2], [0, 2]]\n",
            3,
        ),
        (
            "routing.protocol = \"olsr\"\nrouting.olsr.hna = \"listed\"\nrouting.olsr.hna_networks = [\"a\", \"10\"]\n",
            2,
        ),
        (
            "mobility.model = \"waypoints\"\nmobility.waypoints.orders = [{at = \"3 s\", x = \"1 m\", y = \"1 m\", \
            speed = \"1 m/s\"}, {at = \"2 s\", x = \"1 m\", y = \"1 m\", speed = \"1 m/s\"}, {at = \"1 s\", x = \
            \"1 m\", y = \"1 m\", speed = \"1 m/s\"}]\n",
            2,
        ),
    ] {
        let shown = load(&format!("{section}[nodes]\ncount = 3\n[[flow]]\nfrom = 0\nto = 2\n"), &[]);
        let shown = shown.map(|_| section).expect_err(section);
        assert!(shown.contains(&format!("{count} problems found")), "{shown}");
    }
    let schedule =
        "[nodes]\ncount = 4\n[mac]\nmodel = \"tdma\"\ntdma.schedule = [0, 7, 9]\n[[flow]]\nfrom = 0\nto = 2\n";
    let shown = load(schedule, &[]).expect_err("it is refused");
    assert!(shown.contains("found 7, 9; nodes 1, 2, 3 own no slot"), "{shown}");
}

#[test]
fn of_two_values_that_do_not_fit_each_other_both_are_named() {
    let text =
        |more: &str| format!("{TWO}[routing.olsr]\nmax_jitter = \"500 ms\"\n{more}").replace("\"oracle\"", "\"olsr\"");
    assert!(load(&text(""), &[]).is_ok());
    let shown = load(&text("hello_interval = \"100 ms\"\n"), &[]).expect_err("it is refused");
    assert_one(
        &shown,
        &["`max_jitter` cannot be the text \"500 ms\"", "`hello_interval` is the text \"100 ms\": one of them"],
    );
    // The scenario was right before the setting.
    let shown = load(&text(""), &[("routing.olsr.hello_interval", "100 ms")]).expect_err("it is refused");
    assert_one(
        &shown,
        &[
            "--set:1",
            "`hello_interval` is the text \"100 ms\", which does not fit `max_jitter`",
            "`max_jitter` is the text \"500 ms\"",
        ],
    );
    // Derived from the interval.
    let shown = load(&text("hello_interval = \"2000 s\"\n"), &[]).expect_err("it is refused");
    assert_one(&shown, &["`hello_interval` is the text \"2000 s\"", "does not fit `neighbour_hold`"]);
}

#[test]
fn values_with_which_a_protocol_cannot_work_are_refused() {
    for (protocol, key, value, words) in [
        ("olsr", "hysteresis_scaling", "0.0", "more than 0 and less than 1 (RFC 3626 §14)"),
        ("olsr", "hysteresis_scaling", "1.0", "more than 0 and less than 1 (RFC 3626 §14)"),
        ("olsr", "hysteresis_high", "1.0", "at least 0 and less than 1"),
        ("olsr", "hello_interval", "4000 s", "at most 3968 s"),
        ("babel", "hello_interval", "700 s", "10 ms to 655.35 s"),
        ("babel", "spread", "1.5", "0 to 1"),
        ("babel", "update_delay", "5 s", "at most hello_interval, 4 s"),
        ("babel", "urgent_delay", "5 s", "at most hello_interval, 4 s"),
        ("babel", "source_hold", "30 s", "at least the hold of an update, 84 s"),
        ("babel", "etx_window", "17", "1 to 16"),
        ("babel", "wired_heard", "4", "1 to wired_window, 3"),
        ("babel", "packet_limit", "100 B", "512 B (RFC 8966 §4) to 65535 B"),
        ("dsdv", "infinity", "2", "at least 3, so that a route can have two hops"),
        ("dsdv", "full_update_share", "0", "at least 1"),
        ("dsdv", "broadcast_jitter", "12 s", "less than the shortest interval, 11.25 s"),
        ("aodv", "net_traversal_time", "0 s", "at least 1 ms"),
        ("aodv", "path_discovery_time", "0 s", "at least 1 ms"),
        ("aodv", "my_route_timeout", "0 s", "at least 1 ms"),
        ("aodv", "max_request_wait", "0 s", "at least 1 ms"),
    ] {
        let path = format!("routing.{protocol}.{key}");
        let shown =
            load(TWO, &[("routing.protocol", protocol), (&path, value)]).map(|_| path.clone()).expect_err(&path);
        assert_one(&shown, &[&format!("`{key}` cannot be"), words]);
    }
}

#[test]
fn segments_of_flows_that_have_none_are_refused() {
    let with_udp = format!("{TWO}[[flow]]\nfrom = 2\nto = 0\nudp = true\n");
    let refused = |value: &str| load(&with_udp, &[("measure.segments", value)]).expect_err("a mistake");
    assert_one(&refused("\"0..1\""), &["flow 1 has no segments: it is UDP", "expected numbers of flows over TCP"]);
    assert_one(&refused("\"0,2..4\""), &["there is no flow 4", "expected numbers of flows from 0 to 1"]);
    for value in ["true", "false", "0", "\"0\"", "[0]"] {
        assert!(load(&with_udp, &[("measure.segments", value)]).is_ok(), "{value}");
    }
}

#[test]
fn segments_of_answers_are_recorded_by_number() {
    let echo = "udp = false\ntraffic = \"echo\"\n";
    let drawn = "[flows]\nrandom = 1\nudp = true\ntraffic = \"echo\"\n";
    let text = format!("{TWO}[[flow]]\nfrom = 2\nto = 0\n{echo}{drawn}");
    let with = |value: &str| load(&text, &[("measure.segments", value)]);
    // Flow 3 answers flow 1, and flow 4 the drawn flow 2.
    assert!(with("\"0,1,3\"").is_ok());
    assert_one(&with("4").expect_err("a mistake"), &["flow 4 has no segments: it is UDP"]);
    assert_one(&with("5").expect_err("a mistake"), &["there is no flow 5", "expected numbers of flows from 0 to 4"]);
}
