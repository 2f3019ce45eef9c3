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
const WITHOUT_EFFECT_ON_HOSTS: &[&str] = &["linux.routing", "linux.mtu", "linux.nodes", "linux.wifi"];

/// The keys of Linux's Wi-Fi, where kernels have none.
const WITHOUT_EFFECT_WITHOUT_WIFI: &[&str] = &["linux.wifi_channel", "linux.beacon_interval"];

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
    // These are those of ns-2's DCF.
    "mac.edca.backoff_after_giving_up",
    "mac.edca.draw_includes_cw",
    "mac.edca.eifs_replaces_difs",
    "mac.edca.failures_per_packet",
    "mac.edca.final_carrier_check",
    "mac.edca.hears_out",
    "mac.edca.immediate_access",
    "mac.edca.nav_reset",
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
    "[nodes]\npositions = [[0, 0], [200, 0]]\n[mac]\nmodel = \"edca\"\nedca.standard = \"n\"\nedca.band = \"5 GHz\"\n\
     [[flow]]\nfrom = 0\nto = 1\n",
    "[nodes]\npositions = [[0, 0], [200, 0], [400, 0]]\nsystem = \"linux\"\n[mac]\nmodel = \"edca\"\n\
     rate_control = \"minstrel_ht\"\nedca.standard = \"g\"\n[linux]\nrouting = \"babeld\"\nwifi = \"ibss\"\n\
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

/// Values of keys whose words the schema does not list.
const OTHERS: &[&str] = &["5 m", "2 Mbps", "reno", "10.0.0.78", "172.29.0.0/16", "nakagami", "6.12", "threshold"];

/// The words that a model's parameter or the scenario's schema lists for a key, and those that its description quotes,
/// by the last part of its name.
fn words() -> &'static BTreeMap<String, Vec<String>> {
    static WORDS: OnceLock<BTreeMap<String, Vec<String>>> = OnceLock::new();
    WORDS.get_or_init(|| {
        let mut words: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for parameter in models().iter().flat_map(|model| &model.parameters) {
            let name = parameter.name.rsplit('.').next().unwrap_or_default();
            let listed = parameter.kind.split('"').skip(1).step_by(2).map(str::to_owned);
            words.entry(name.to_owned()).or_default().extend(listed);
        }
        let schema = include_str!("../../../docs/scenario.schema.json");
        collect(&serde_json::from_str(schema).expect("the schema is JSON"), &mut words);
        words
    })
}

/// The words of all properties below a part of a schema.
fn collect(schema: &Value, words: &mut BTreeMap<String, Vec<String>>) {
    let properties = schema["properties"].as_object().into_iter().flatten();
    for (name, property) in properties {
        let found = words.entry(name.clone()).or_default();
        let alternatives = property["anyOf"].as_array().into_iter().flatten();
        let listed = alternatives.chain([property]).flat_map(|one| one["enum"].as_array().into_iter().flatten());
        let listed = listed.filter_map(Value::as_str);
        let description = property["description"].as_str().unwrap_or_default();
        let quoted = description.split('"').skip(1).step_by(2);
        for word in listed.chain(quoted) {
            if !found.iter().any(|known| known == word) {
                found.push(word.to_owned());
            }
        }
    }
    match schema {
        Value::Object(parts) => parts.values().for_each(|part| collect(part, words)),
        Value::Array(parts) => parts.iter().for_each(|part| collect(part, words)),
        _ => {}
    }
}

/// Other values of the same kind.
fn others(key: &str, value: &Value) -> Vec<Value> {
    match value {
        Value::Bool(flag) => vec![json!(!flag)],
        Value::Number(number) => match number.as_u64() {
            Some(number) => vec![json!(number + 1), json!(number.saturating_sub(1)), json!(0.5), json!(1400)],
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
            let name = key.rsplit('.').next().unwrap_or_default();
            if name == "address" {
                values.extend(["10.0.0.78", "239.1.2.3"].map(|address| json!(address)));
            }
            values.extend(words().get(name).into_iter().flatten().map(|word| json!(word)));
            if values.is_empty() {
                values.extend(OTHERS.iter().map(|word| json!(word)));
            }
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

/// What is known of keys, by name.
#[derive(Default)]
struct Keys {
    /// Those that are in the hash.
    counted: BTreeSet<String>,
    /// Those that are not in it, and have no effect in one of the scenarios or more.
    free: BTreeSet<String>,
    /// Those without another value in one of the scenarios or more.
    unchanged: BTreeSet<String>,
}

impl Keys {
    /// Changes each key of a scenario that no scenario before has tested.
    ///
    /// # Panics
    /// If a changed key is not in the hash, or one without effect is.
    fn change(&mut self, text: &str) {
        let scenario = Scenario::load(text, "s.toml", Path::new(""), &[]).unwrap_or_else(|p| panic!("{text}\n{p}"));
        let complete = Scenario::load(&scenario.to_toml(true), "s.toml", Path::new(""), &[]);
        let complete = complete.unwrap_or_else(|p| panic!("{p}"));
        assert_eq!(complete.hash(), scenario.hash());
        let mut found = Vec::new();
        leaves("", &complete.to_value(true), &mut found);
        for (key, value) in found {
            // The complete [[movement]] has these keys too, and they go before those of [mobility].
            let overruled = text.contains("[[movement]]")
                && ["mobility.random_waypoint", "mobility.roaming_group"].iter().any(|table| key.starts_with(table));
            let free = overruled
                || WITHOUT_EFFECT.contains(&key.as_str())
                || !text.contains("system") && WITHOUT_EFFECT_ON_HOSTS.contains(&key.as_str())
                || !text.contains("wifi") && WITHOUT_EFFECT_WITHOUT_WIFI.contains(&key.as_str())
                || text.contains("positions") && WITHOUT_EFFECT_BESIDE_POSITIONS.contains(&key.as_str());
            let known = if free { &mut self.free } else { &mut self.counted };
            if known.contains(&key) || ONE_VALUE.contains(&key.as_str()) {
                continue;
            }
            // Some changes need another key to change too: it may do so where the scenario says little.
            match [&complete, &scenario].into_iter().find_map(|base| other(base, &key, &value)) {
                Some((other, base, changed)) if free => {
                    assert_eq!(changed.hash(), base.hash(), "{key} = {other} instead of {value}");
                    known.insert(key);
                }
                Some((other, base, changed)) => {
                    assert_ne!(changed.hash(), base.hash(), "{key} = {other} instead of {value}");
                    known.insert(key);
                }
                None if free => {}
                None => {
                    self.unchanged.insert(key);
                }
            }
        }
    }
}

/// Another value of a key, with the scenario that has it, and the one that it is compared with.
fn other(base: &Scenario, key: &str, value: &Value) -> Option<(Value, Scenario, Scenario)> {
    let together = COMPANIONS.iter().find(|(with, _, _)| key.ends_with(with));
    let together = together.map(|(_, companion, value)| (sibling(key, companion), (*value).to_owned()));
    let base = base.with(together.as_slice()).ok()?;
    let before = base.to_value(true);
    let (other, changed) = others(key, value).into_iter().find_map(|other| {
        // Tables are written as TOML does.
        let mut settings = vec![(key.to_owned(), other.to_string().replace("\":", "\" = "))];
        settings.extend(together.clone());
        let changed = base.with(&settings).ok()?;
        (changed.to_value(true) != before).then_some((other, changed))
    })?;
    Some((other, base, changed))
}

#[test]
fn every_key_is_in_the_hash() {
    let mut keys = Keys::default();
    SCENARIOS.iter().for_each(|text| keys.change(text));
    assert!(keys.counted.len() > 250, "{:#?}", keys.counted);
    let never: Vec<_> =
        keys.unchanged.iter().filter(|&key| !keys.counted.contains(key) && !keys.free.contains(key)).collect();
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
