//! Every key of a complete scenario is in its hash, but for those that change no run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::OnceLock;

use hopyard_scenario::{Scenario, models};
use serde_json::{Value, json};

/// The keys that change no run.
const WITHOUT_EFFECT: &[&str] = &[
    "name",
    "runs",
    "seed",
    "measure.series",
    "measure.interval",
    "measure.routes",
    "measure.paths",
    "measure.mobile_events",
    "measure.rates",
    "measure.segments",
    "simulator.exact",
    "simulator.search",
    // A complete scenario leaves no default to the profile.
    "profile",
];

/// Where positions are listed, the rule by which they came does not count.
const WITHOUT_EFFECT_BESIDE_POSITIONS: &[&str] =
    &["nodes.placement", "nodes.columns", "nodes.radius", "nodes.area", "nodes.spacing"];

/// The keys of nodes that are kernels, where no node is one.
const WITHOUT_EFFECT_ON_HOSTS: &[&str] = &["linux.routing", "linux.mtu"];

/// Keys that have no other value. Flow 1 is over UDP, which Linux does not have here. There is no file with error
/// rates, and none that a wire could follow. The name of the group stands in the flow too, and relays need another
/// routing protocol.
const ONE_VALUE: &[&str] = &[
    "mac.model",
    "flow.1.stack",
    "radio.error_rates",
    "channel.0.error_rates",
    "group.0.name",
    "multicast.protocol",
    "wire.0.trace",
    "wire.0.trace_back",
    "wire.0.opportunities",
    "wire.0.opportunities_back",
];

/// Keys whose other values need another value of a key beside them.
const COMPANIONS: &[(&str, &str, &str)] = &[
    ("pause_min", "pause_max", "1 h"),
    ("bottom", "top", "1 km"),
    // Linux has no variant of the default's name.
    ("stack", "tcp", "reno"),
    ("dcf.preamble", "basic_rate", "2 Mbps"),
    ("dcf.guard_interval", "standard", "n"),
    ("dcf.protection", "standard", "n"),
    ("aodv.rules", "purge_interval", "500 ms"),
    // One of the two says how many flows are drawn.
    ("flows.share", "random", "0"),
    ("flows.0.share", "random", "0"),
    ("flows.1.random", "share", "0.0"),
];

/// The key beside `key` with this name.
fn sibling(key: &str, name: &str) -> String {
    key.rsplit_once('.').map_or_else(|| name.to_owned(), |(above, _)| format!("{above}.{name}"))
}

/// Scenarios that together use every section.
const SCENARIOS: &[&str] = &[
    "[nodes]\ncount = 4\nwired = 1\npositions = [[0, 0], [100, 0], [200, 0], [300, 0]]\n[routing]\n\
     protocol = \"oracle\"\n\
     [[movement]]\nnodes = [3]\nmodel = \"random_waypoint\"\n[[flow]]\nfrom = 0\nto = 2\n[[flow]]\nfrom = 2\n\
     to = 1\nudp = true\n\
     [[wire]]\nbetween = [0, 4]\n[flows]\nrandom = 2\nstart = [\"1 s\", \"2 s\"]\n",
    "[nodes]\ncount = 5\narea = [\"1000 m\", \"300 m\"]\n[mobility]\nmodel = \"random_waypoint\"\n[flows]\n\
     random = 3\ntcp = \"vegas\"\n\
     [mac.dcf]\nstandard = \"n\"\nband = \"2.4 GHz\"\nbandwidth = \"40 MHz\"\n\
     [[group]]\nname = \"some\"\nmembers = [1, 3]\n[[flow]]\nfrom = 0\nto = \"some\"\nudp = true\n",
    "[nodes]\ncount = 5\nplacement = \"uniform\"\narea = [\"1000 m\", \"300 m\"]\n[routing]\nprotocol = \"dsdv\"\n\
     [radio]\npropagation = \"log_distance\"\n[flows]\nrandom = 3\ntcp = \"cubic\"\nacking = \"every\"\n\
     [[obstacle]]\nfrom = [\"5 m\", \"5 m\"]\nto = [\"9 m\", \"9 m\"]\nloss = \"3 dB\"\n",
    "[nodes]\npositions = [[0, 0], [100, 0], [200, 0], [300, 0]]\n[routing]\nprotocol = \"oracle\"\n[agents]\nrun = [\"neighbours\"]\n\
     [[channel]]\nnodes = [0, 1]\ndcf.standard = \"n\"\ndcf.band = \"2.4 GHz\"\ndcf.bandwidth = \"20 MHz\"\n\
     [[address]]\nnode = 1\naddress = \"10.0.0.77\"\n\
     [[tunnel]]\nbetween = [0, 2]\ncarries = [\"172.20.0.0/16\"]\ncarries_back = [\"172.21.0.0/16\"]\n\
     [[flow]]\nfrom = 0\nto = 2\n",
    "[nodes]\ncount = 9\narea = [\"1000 m\", \"900 m\"]\n[mobility]\nmodel = \"reference_point_group\"\n\
     [mobility.reference_point_group]\nsize_mean = 3.0\n\
     [[movement]]\nnodes = [6, 7]\nmodel = \"roaming_group\"\nroaming_group.leader = 0\n\
     roaming_group.offset = [\"9 m\", \"0 m\"]\nroaming_group.pause_max = \"1 s\"\n\
     [routing]\nprotocol = \"oracle\"\n\
     [[flows]]\nrandom = 2\n[[flows]]\nshare = 0.5\n",
    "[nodes]\npositions = [[0, 0], [100, 0], [200, 0], [300, 0]]\n[[flow]]\nfrom = 0\nto = 2\ntcp = \"reno\"\nstack = \"linux\"\n",
    "[nodes]\npositions = [[0, 0], [200, 0], [400, 0]]\nsystem = \"linux\"\n[linux]\nrouting = \"babeld\"\n\
     [[flow]]\nfrom = 0\nto = 2\ntcp = \"reno\"\nstack = \"linux\"\n",
];

/// Keys and values, with the paths that `--set` takes.
fn leaves(path: &str, value: &Value, found: &mut Vec<(String, Value)>) {
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| leaves(&below(key), value, found)),
        Value::Array(items) if !items.is_empty() && items.iter().all(Value::is_object) => {
            items.iter().enumerate().for_each(|(i, item)| leaves(&below(&i.to_string()), item, found));
        }
        _ => found.push((path.to_owned(), value.clone())),
    }
}

/// Names of models.
const NAMES: &[&str] = &[
    "reno",
    "random_waypoint",
    "every",
    "delayed",
    "cbr",
    "on_off",
    "transfer",
    "oracle",
    "dsdv",
    "olsr",
    "stationary",
    "tdma",
    "arf",
    "state",
    "red",
];

/// The words that a parameter's kind lists, by the last part of its name.
fn words() -> &'static BTreeMap<String, Vec<String>> {
    static WORDS: OnceLock<BTreeMap<String, Vec<String>>> = OnceLock::new();
    WORDS.get_or_init(|| {
        let mut words: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for parameter in models().iter().flat_map(|model| &model.parameters) {
            let name = parameter.name.rsplit('.').next().unwrap_or_default();
            let kind = parameter.kind.split('"').skip(1).step_by(2).map(str::to_owned);
            words.entry(name.to_owned()).or_default().extend(kind);
        }
        words
    })
}

/// Other values of the same kind.
fn others(key: &str, value: &Value) -> Vec<Value> {
    match value {
        Value::Bool(flag) => vec![json!(!flag)],
        Value::Number(number) => match number.as_u64() {
            Some(number) => vec![json!(number + 1), json!(number.saturating_sub(1)), json!(0.5)],
            None => number.as_f64().map_or(vec![], |x| vec![json!(x * 0.5), json!(x * 2.0), json!(x + 0.25)]),
        },
        Value::String(text) => {
            let mut values = Vec::new();
            if let Some((number, unit)) = text.split_once(' ')
                && let Ok(number) = number.parse::<f64>()
            {
                let numbers = [number * 2.0, number * 0.5, number + 1.0, number - 1.0, 0.0];
                values.extend(numbers.iter().map(|number| json!(format!("{number} {unit}"))));
            }
            // Words are listed in the kind of the parameter.
            let name = key.rsplit('.').next().unwrap_or_default();
            values.extend(words().get(name).into_iter().flatten().map(|word| json!(word)));
            values.extend(NAMES.iter().map(|name| json!(name)));
            values.extend(
                [
                    "free_space",
                    "threshold",
                    "6.12",
                    "30 s",
                    "2 Mbps",
                    "5 m",
                    "1 B",
                    "3 dB",
                    "10.0.0.78",
                    "239.1.2.3",
                    "172.29.0.0/16",
                    "nakagami",
                ]
                .map(|word| json!(word)),
            );
            values.into_iter().filter(|value| value.as_str() != Some(text)).collect()
        }
        Value::Array(items) => {
            let mut values = Vec::new();
            if let Some(last) = items.last() {
                for other in others(key, last) {
                    let mut items = items.clone();
                    *items.last_mut().expect("it is not empty") = other;
                    values.push(json!(items));
                }
                values.push(json!([[0, 0], [100, 0], [200, 0], [300, 1]]));
            }
            values.push(json!([[0, 0], [100, 0], [200, 0], [300, 1], [1, 1]]));
            values.extend([
                json!([1]),
                json!(["cwnd"]),
                json!(["2 Mbps"]),
                json!(["neighbours"]),
                json!(["net.ipv4.tcp_sack=0"]),
                json!([{"x": "5 m", "y": "5 m", "at": "5 s"}]),
                json!([{"from": "5 s"}]),
                json!([{"nodes": [0], "gain": "3 dB"}]),
                json!([{"from": "5 s", "delay": "5 ms"}]),
            ]);
            values
        }
        _ => Vec::new(),
    }
}

/// The keys of one scenario: those with another value that was found, the others, and how many there are.
///
/// # Panics
/// If a changed key is not in the hash, or one without effect is.
fn compare(text: &str) -> (BTreeSet<String>, BTreeSet<String>, usize) {
    let (mut changed_keys, mut unchanged) = (BTreeSet::new(), BTreeSet::new());
    let scenario = Scenario::load(text, "s.toml", Path::new(""), &[]).unwrap_or_else(|p| panic!("{text}\n{p}"));
    let complete = Scenario::load(&scenario.to_toml(true), "s.toml", Path::new(""), &[]);
    let complete = complete.unwrap_or_else(|p| panic!("{p}"));
    assert_eq!(complete.hash(), scenario.hash());
    let mut found = Vec::new();
    leaves("", &complete.to_value(true), &mut found);
    let keys = found.len();
    for (key, value) in found {
        let together = COMPANIONS.iter().find(|(with, _, _)| key.ends_with(with));
        let together = together.map(|(_, companion, value)| (sibling(&key, companion), (*value).to_owned()));
        // Some changes need another key to change too: it may do so where the scenario says little.
        let changed = [&complete, &scenario].into_iter().find_map(|base| {
            let base = base.with(together.as_slice()).ok()?;
            let before = base.to_value(true);
            let (other, changed) = others(&key, &value).into_iter().find_map(|other| {
                // Tables are written as TOML does.
                let mut settings = vec![(key.clone(), other.to_string().replace("\":", "\" = "))];
                settings.extend(together.clone());
                let changed = base.with(&settings).ok()?;
                (changed.to_value(true) != before).then_some((other, changed))
            })?;
            Some((other, base, changed))
        });
        // The complete [[movement]] has these keys too, and they go before those of [mobility].
        let overruled = text.contains("[[movement]]")
            && ["mobility.random_waypoint", "mobility.roaming_group"].iter().any(|table| key.starts_with(table));
        let free = overruled
            || WITHOUT_EFFECT.contains(&key.as_str())
            || !text.contains("system") && WITHOUT_EFFECT_ON_HOSTS.contains(&key.as_str())
            || text.contains("positions") && WITHOUT_EFFECT_BESIDE_POSITIONS.contains(&key.as_str());
        match changed {
            Some((other, base, changed)) if !free => {
                assert_ne!(changed.hash(), base.hash(), "{key} = {other} instead of {value}");
            }
            Some((other, base, changed)) => {
                assert_eq!(changed.hash(), base.hash(), "{key} = {other} instead of {value}");
            }
            None if free || ONE_VALUE.contains(&key.as_str()) => {}
            None => {
                unchanged.insert(key);
                continue;
            }
        }
        changed_keys.insert(key);
    }
    (changed_keys, unchanged, keys)
}

#[test]
fn every_key_is_in_the_hash() {
    let mut keys = 0;
    let (mut changed_keys, mut unchanged) = (BTreeSet::new(), BTreeSet::new());
    std::thread::scope(|scope| {
        let compared: Vec<_> = SCENARIOS.iter().map(|text| scope.spawn(|| compare(text))).collect();
        for one in compared {
            let (changed, without, number) = one.join().expect("each key is in the hash");
            changed_keys.extend(changed);
            unchanged.extend(without);
            keys += number;
        }
    });
    assert!(keys > 250, "{keys} keys");
    let never: Vec<_> = unchanged.difference(&changed_keys).collect();
    assert!(never.is_empty(), "no other value was found for {never:#?}");
}

#[test]
fn sleep_is_in_the_hash() {
    let text = "[nodes]\ncount = 2\n[energy]\nmodel = \"state\"\nbattery = \"20 J\"\n[[flow]]\nfrom = 0\nto = 1\n";
    let hash = |more: &str| {
        let text = format!("{text}{more}");
        Scenario::load(&text, "s.toml", Path::new(""), &[]).unwrap_or_else(|p| panic!("{text}\n{p}")).hash()
    };
    let sleep = |times: &str| format!("[[sleep]]\nnodes = [1]\ntimes = [{{ from = \"1 s\", to = {times} }}]\n");
    let hashes = [
        hash(&sleep("\"2 s\"")),
        hash(&sleep("\"3 s\"")),
        hash(&format!("{}every = \"9 s\"\n", sleep("\"2 s\""))),
        hash(&format!("{}[energy.state]\nsleep = \"1 W\"\n", sleep("\"2 s\""))),
        hash(""),
    ];
    for (i, one) in hashes.iter().enumerate() {
        assert!(!hashes[..i].contains(one), "{i}: {hashes:?}");
    }
    assert_eq!(hash(&sleep("\"2000 ms\"")), hashes[0]);
}

#[test]
fn heights_are_in_the_hash() {
    let hash = |positions: &str, offset: &str| {
        let text = format!(
            "[nodes]\npositions = [[0, 0], {positions}]\n[[movement]]\nnodes = [1]\nmodel = \"group\"\n\
             [movement.group]\nleader = 0\noffset = {offset}\n[[flow]]\nfrom = 0\nto = 1\n"
        );
        Scenario::load(&text, "s.toml", Path::new(""), &[]).unwrap_or_else(|p| panic!("{text}\n{p}")).hash()
    };
    let (place, offset) = ("[100, 0]", "[\"1 m\", \"0 m\"]");
    assert_eq!(hash(place, offset), hash("[100, 0, 0]", "[\"1 m\", \"0 m\", \"-0 m\"]"));
    let hashes = [hash(place, offset), hash("[100, 0, 2]", offset), hash(place, "[\"1 m\", \"0 m\", \"2 m\"]")];
    assert!(hashes[0] != hashes[1] && hashes[0] != hashes[2] && hashes[1] != hashes[2], "{hashes:?}");
}
