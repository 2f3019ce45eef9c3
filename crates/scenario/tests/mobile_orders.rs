//! What agents and hosts that move between networks are ordered to do wrong, in scenario files.

use std::path::Path;

use hopyard_engine::{Span, Time};
use hopyard_model::address::{Address, NodeId};
use hopyard_model::agent::Orders;
use hopyard_scenario::Scenario;

const NETWORK: &str = "duration = \"5 s\"\n[nodes]\ncount = 3\nspacing = \"100 m\"\nwired = 1\n[routing]\n\
    protocol = \"aodv\"\n[[wire]]\nbetween = [0, 3]\n[[wire]]\nbetween = [3, 1]\n";
const HOME: &str = "[[home_agent]]\nnode = 0\n";
const FOREIGN: &str = "[[foreign_agent]]\nnode = 1\n";
const HOST: &str = "[[mobile_host]]\nnodes = [2]\nhome = 0\n";

fn read(text: &str) -> Result<Scenario, String> {
    Scenario::load(text, "mobile.toml", Path::new(""), &[]).map_err(|problems| problems.to_string())
}

/// A scenario with these keys at the home agent, the foreign agent and the host.
fn with([home, foreign, host]: [&str; 3]) -> String {
    [NETWORK, HOME, home, "\n", FOREIGN, foreign, "\n", HOST, host, "\n"].concat()
}

fn refused(keys: [&str; 3], words: &[&str]) {
    let shown = read(&with(keys)).expect_err("it is refused");
    for word in words.iter().chain(&["mobile.toml:"]) {
        assert!(shown.contains(word), "\"{word}\":\n{shown}");
    }
}

fn warnings(text: &str) -> String {
    read(text).expect("it can run").warnings().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn second(at: u64) -> Time {
    Time::ZERO + Span::from_secs(at)
}

#[test]
fn orders_reach_the_agents() {
    let text = with([
        "restarts = [\"2 s\"]\ndown = [{ from = \"3 s\", to = \"4 s\" }]\nrefuses = [2]\n\
         deny = [{ code = 128, from = \"1 s\", to = \"2 s\" }]\nmalformed = [{ from = \"0 s\", to = \"1 s\" }]",
        "refuses = [2]\nforged = [{ from = \"1 s\", to = \"3 s\" }]\ndeny = [{ code = 64, from = \"1 s\", to = \"2 s\" }]",
        "malformed = [{ from = \"1 s\", to = \"2 s\" }]\nforged_foreign = [{ from = \"2 s\", to = \"3 s\" }]",
    ]);
    let spec = read(&text).expect("it can run").spec(0);
    let home = Orders {
        stops: vec![(second(2), second(2)), (second(3), second(4))],
        denials: vec![(128, (second(1), second(2)))],
        no_homes: vec![Address(2)],
        malformed: vec![(second(0), second(1))],
        ..Orders::default()
    };
    let foreign = Orders {
        denials: vec![(64, (second(1), second(2)))],
        no_visits: vec![Address(2)],
        forged: vec![(second(1), second(3))],
        ..Orders::default()
    };
    let host =
        Orders { forged: vec![(second(2), second(3))], malformed: vec![(second(1), second(2))], ..Orders::default() };
    let all: Vec<(u32, Orders)> = spec.orders.into_iter().map(|(NodeId(node), it)| (node, it)).collect();
    assert_eq!(all, [(0, home), (1, foreign), (2, host)]);
    assert!(read(&with(["", "", ""])).expect("it can run").spec(0).orders.is_empty());
}

#[test]
fn a_node_that_is_both_agents_stops_once_at_times_of_both_tables() {
    let both =
        format!("{NETWORK}{HOME}restarts = [\"2 s\"]\n[[foreign_agent]]\nnode = 0\nrestarts = [\"2 s\"]\n{HOST}");
    let spec = read(&both).expect("it can run").spec(0);
    assert_eq!(spec.orders[&NodeId(0)].stops, [(second(2), second(2))]);
}

#[test]
fn times_that_meet_are_one_in_which_an_agent_does_not_run() {
    // A node that ran for no time between two of them would advertise itself at an instant at which it is down.
    let both = format!(
        "{NETWORK}{HOME}down = [{{ from = \"1 s\", to = \"2 s\" }}]\nrestarts = [\"4 s\"]\n[[foreign_agent]]\nnode = 0\n\
         down = [{{ from = \"1.5 s\", to = \"3 s\" }}]\nrestarts = [\"2 s\"]\n{HOST}"
    );
    let scenario = read(&both).expect("it can run");
    assert_eq!(scenario.spec(0).orders[&NodeId(0)].stops, [(second(1), second(3)), (second(4), second(4))]);
    let warned = warnings(&both);
    assert!(warned.contains("the agent at node 0 does not begin anew at 2 s: it is down then"), "{warned}");
    assert_eq!(warned.matches("begin anew").count(), 1, "{warned}");
}

#[test]
fn orders_after_the_end_of_the_run_are_warned_of() {
    let late = "[{ from = \"7 s\", to = \"8 s\" }]";
    let home = format!(
        "restarts = [\"7 s\"]\ndown = {late}\nforged = {late}\nmalformed = {late}\n\
         deny = [{{ code = 128, from = \"7 s\", to = \"8 s\" }}]"
    );
    let foreign = format!(
        "restarts = [\"6 s\"]\ndown = {late}\nforged = {late}\ndeny = [{{ code = 64, from = \"7 s\", to = \"8 s\" }}]"
    );
    let host = format!("forged = {late}\nforged_foreign = {late}\nmalformed = {late}");
    let warned = warnings(&with([&home, &foreign, &host]));
    assert_eq!(warned.matches("the run ends at 5 s").count(), 12, "{warned}");
    let early = "forged = [{ from = \"1 s\", to = \"8 s\" }]";
    assert!(!warnings(&with(["", "", early])).contains("the run ends"));
}

#[test]
fn orders_that_cannot_be_are_refused() {
    let codes = "deny = [{ code = 64, from = \"2 s\", to = \"4 s\" }, { code = 65, from = \"1 s\", to = \"3 s\" }]";
    refused(["", codes, ""], &["code 64 is for times from 2 s to 4 s already"]);
    refused(["", "deny = [{ code = 193, from = \"1 s\", to = \"2 s\" }]", ""], &["one from 64 to 127, or 194"]);
    refused(["restarts = [\"3 s\", \"2 s\"]", "", ""], &["2 s does not come after 3 s"]);
    refused(["", "down = [{ from = \"2 s\", to = \"2 s\" }]", ""], &["has no length"]);
    refused(["deny = [{ code = 64, from = \"1 s\", to = \"2 s\" }]", "", ""], &["code 64", "from 128 to 192"]);
    refused(["", "deny = [{ code = 128, from = \"1 s\", to = \"2 s\" }]", ""], &["code 128", "from 64 to 127"]);
    refused(["refuses = [1]", "", ""], &["node 1 is no host that moves between networks", "[[mobile_host]]"]);
    let overlap = "malformed = [{ from = \"1 s\", to = \"3 s\" }, { from = \"2 s\", to = \"4 s\" }]";
    refused(["", "", overlap], &["begins before the last one ends, which is at 3 s"]);
}

#[test]
fn wrong_authenticators_that_messages_do_not_have_are_warned_of() {
    let times = "forged = [{ from = \"1 s\", to = \"3 s\" }]";
    let text = with([times, "", ""]);
    assert!(warnings(&text).contains("`foreign_home_authentication` is false"), "{}", warnings(&text));
    let keyed = format!("{text}[agents.mobile_ip]\nforeign_home_authentication = true\n");
    assert!(!warnings(&keyed).contains("no effect"), "{}", warnings(&keyed));
}

#[test]
fn orders_are_in_the_hash() {
    let hash = |text: &str| read(text).expect("it can run").hash();
    let plain = hash(&with(["", "", ""]));
    for keys in [
        ["restarts = [\"2 s\"]", "", ""],
        ["refuses = [2]", "", ""],
        ["", "refuses = [2]", ""],
        ["", "", "malformed = [{ from = \"1 s\", to = \"2 s\" }]"],
    ] {
        assert_ne!(hash(&with(keys)), plain, "{keys:?}");
    }
}
