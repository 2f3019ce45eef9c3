//! Keys that do nothing beside the value of another key.

use std::path::Path;

use hopyard_model::params::ModelInfo;
use hopyard_model::transport::{acking, congestion, tcp};
use hopyard_model::world::{self, Watch};
use hopyard_model::{agent, app, link, mac, mobility, phy, routing};
use hopyard_scenario::Scenario;
use serde_json::Value;

const CHAIN: &str = "duration = \"6 s\"\n[nodes]\ncount = 4\nspacing = \"200 m\"\n[[flow]]\nfrom = 0\nto = 3\n";

/// The warnings of a scenario, each with whether another case of a comparison may lack it.
fn warnings(text: &str) -> Vec<(String, bool)> {
    let scenario = Scenario::load(text, "s.toml", Path::new(""), &[]).unwrap_or_else(|shown| panic!("{shown}"));
    scenario.warnings().iter().map(|it| (it.as_warning(), it.unused)).collect()
}

#[test]
fn a_key_that_does_nothing_is_said_with_the_key_that_decides() {
    for (more, said) in [
        ("[tcp.linux]\nsack = false\n", "`linux` does nothing here with `habits` = \"rfc\""),
        (
            "[tcp]\ntimestamps = false\necho_copies = \"all\"\n",
            "`echo_copies` does nothing here with `timestamps` = false",
        ),
        (
            "acking = \"quick\"\n[tcp]\nprofile = \"linux\"\nrecovery = \"sack\"\nnewreno.profile = \"linux\"\n",
            "`recovery` does nothing here with `habits` = \"linux\"",
        ),
        (
            "[link.arp]\nresolution = \"off\"\nhold = 3\n",
            "`arp.hold` does nothing here with `arp.resolution` = \"off\"",
        ),
        ("[radio]\nreception = \"ns2\"\nnoise_figure = \"3 dB\"\n", "`noise_figure` does nothing here"),
        ("[routing.aodv]\nprofile = \"ns2\"\nrerr_ratelimit = 3\n", "`rerr_ratelimit` does nothing here with `rules`"),
        ("[tcp.cubic]\nhystart = \"off\"\nhystart_rounds = 3\n", "`hystart_rounds` does nothing here with `hystart`"),
        ("[[flow]]\nfrom = 1\nto = 2\nlinux.sack = false\n", "`linux` does nothing here"),
        (
            "[agents]\nrun = [\"mobile_ip\"]\n[agents.mobile_ip]\nprofile = \"ns2\"\nbeacon_jitter = 0.2\n",
            "`beacon_jitter`",
        ),
        (
            "[routing.aodv]\nlink_detection = \"link_layer\"\nhello_interval = \"2 s\"\n",
            "`hello_interval` does nothing here with `link_detection` = \"link_layer\"",
        ),
        (
            "[routing]\nprotocol = \"olsr\"\n[routing.olsr]\nhna_hold = \"9 s\"\n",
            "`hna_hold` does nothing here in a network without wires",
        ),
        (
            "[mac]\nmodel = \"tdma\"\n[mac.tdma]\nbackoff_slot = \"9 us\"\n",
            "`backoff_slot` does nothing here with `empty_slots` = \"unused\"",
        ),
        (
            "[mac]\nmodel = \"tdma\"\n[mac.tdma]\ncontention_slot = \"2 ms\"\n",
            "`contention_slot` does nothing here with `contention_access` = \"sense\"",
        ),
    ] {
        let cubic = CHAIN.replace("to = 3\n", "to = 3\ntcp = \"cubic\"\n");
        let text = format!("{}{more}", if more.contains("cubic") { &cubic } else { CHAIN });
        let found = warnings(&text);
        let matching: Vec<_> = found.iter().filter(|(it, _)| it.contains(said)).collect();
        assert!(matches!(&matching[..], [(it, true)] if it.contains("s.toml:")), "{more}: {found:?}");
    }
}

/// Keys that do nothing beside a model, a file or a value of another section.
#[test]
fn a_key_that_does_nothing_beside_another_section_is_said_and_changes_no_run() {
    let folder = std::env::temp_dir().join(format!("hopyard-unused-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("l.csv"), "from,to,delivery\n0,1,0.8\n1,0,0.9\n1,2,0.7\n2,1,1\n").expect("a file");
    let load =
        |text: &str| Scenario::load(text, "s.toml", &*folder, &[]).unwrap_or_else(|shown| panic!("{text}\n{shown}"));
    let run =
        |scenario: &Scenario| world::simulate(&scenario.spec(0), &Watch::default()).expect("packets add up").digest;
    let links = "duration = \"2 s\"\n[nodes]\ncount = 3\n[[flow]]\nfrom = 0\nto = 1\n[radio]\npropagation = \"table\"\n\
                 table.path = \"l.csv\"\nreceive = \"-85 dBm\"\nsense = \"-95 dBm\"\n";
    let moving = "duration = \"2 s\"\n[[flow]]\nfrom = 0\nto = 1\n[radio]\npropagation = \"free_space\"\n[mobility]\n\
                  model = \"gauss_markov\"\ngauss_markov.width = \"200 m\"\ngauss_markov.height = \"200 m\"\n[nodes]\ncount = 3\n";
    let jammed = "duration = \"2 s\"\n[nodes]\ncount = 4\nspacing = \"200 m\"\n[[flow]]\nfrom = 0\nto = 1\n[[jammer]]\n\
                  nodes = [3]\n";
    let of = |mac: &str| {
        format!("duration = \"2 s\"\n[nodes]\ncount = 2\nspacing = \"50 m\"\n[[flow]]\nfrom = 0\nto = 1\n[mac]\n{mac}")
    };
    let (a, edca) = (of("dcf.standard = \"a\"\n"), of("model = \"edca\"\nedca.standard = \"a\"\n"));
    let single = of("model = \"edca\"\nedca.standard = \"n\"\nedca.max_ampdu = \"0 B\"\n");
    for (text, more, said) in [
        (links, "capture = \"3 dB\"\n", "`capture` does nothing here: the file of links"),
        (links, "noise_figure = \"3 dB\"\n", "`noise_figure` does nothing here: the file of links"),
        (links, "transmit_power = \"3 dBm\"\n", "`transmit_power` does nothing here: the file of links"),
        (jammed, "period = \"7 ms\"\n", "`period` does nothing here with `duty` = 1"),
        (moving, "positions = [[0, 0], [9, 0], [0, 9]]\n", "`positions` does nothing here: `gauss_markov` says where"),
        (moving, "placement = \"grid\"\n", "`placement` does nothing here: `gauss_markov` says where"),
        (&a, "dcf.preamble = \"short\"\n", "`preamble` does nothing here with `standard` = \"a\""),
        (&edca, "edca.preamble = \"short\"\n", "`preamble` does nothing here with `standard` = \"a\""),
        (&edca, "edca.voice.aggregate = true\n", "`voice.aggregate` does nothing here with `rate`"),
        (&single, "edca.best_effort.aggregate = false\n", "`best_effort.aggregate` does nothing here with `max_ampdu`"),
    ] {
        let (plain, with) = (load(text), load(&format!("{text}{more}")));
        let shown = |it: &Scenario| {
            let unused = it.warnings().iter().filter(|it| it.unused);
            unused.map(|it| (it.as_warning(), it.unused)).collect::<Vec<_>>()
        };
        assert_eq!(shown(&plain), [], "{text}");
        let found = shown(&with);
        assert!(matches!(&found[..], [(it, true)] if it.contains(said) && it.contains("s.toml:")), "{more}: {found:?}");
        assert_eq!(run(&plain), run(&with), "{more}");
    }
    // Where the key does something, nothing is said.
    let part = "from,to,loss_db\n0,1,80\n1,0,80\n1,2,80\n2,1,80\n";
    std::fs::write(folder.join("l.csv"), part).expect("a file");
    for (text, more) in [
        (links, "fading = \"rician\"\ntransmit_power = \"3 dBm\"\nnoise_figure = \"3 dB\"\n"),
        (jammed, "period = \"7 ms\"\nduty = 0.5\n"),
        (
            &of("dcf.standard = \"g\"\ndcf.rate = \"11 Mbps\"\n"),
            "dcf.preamble = \"short\"\ndcf.basic_rate = \"2 Mbps\"\n",
        ),
    ] {
        let scenario = load(&format!("{text}{more}"));
        assert!(scenario.warnings().iter().all(|it| !it.unused), "{more}: {:?}", scenario.warnings());
    }
    let _ = std::fs::remove_dir_all(&folder);
}

#[test]
fn a_key_that_does_something_somewhere_is_not_said() {
    for more in [
        // What would hold anyway.
        "[tcp]\ntimestamps = false\necho_copies = \"last\"\n",
        "[tcp.linux]\nsack = true\n",
        // Another flow uses it.
        "[tcp]\ntimestamps = false\necho_copies = \"all\"\n[[flow]]\nfrom = 1\nto = 2\ntimestamps = true\n",
        "[tcp.linux]\nsack = false\n[[flow]]\nfrom = 1\nto = 2\nhabits = \"linux\"\n",
        // The entries of routes are kept as long as this says.
        "[routing.aodv]\nlink_detection = \"link_layer\"\nhello_interval = \"20 s\"\n",
    ] {
        let found = warnings(&format!("{CHAIN}{more}"));
        assert!(found.is_empty(), "{more}: {found:?}");
    }
    // The complete scenario is as quiet.
    let scenario = Scenario::load(CHAIN, "s.toml", Path::new(""), &[]).expect("it is sound");
    let complete = scenario.to_toml(true);
    assert!(warnings(&complete).is_empty(), "{complete}");
}

#[test]
fn many_flows_with_one_such_key_are_one_warning() {
    let flow = "[[flow]]\nfrom = 1\nto = 2\ntimestamps = false\necho_copies = \"all\"\n";
    assert_eq!(warnings(&format!("{CHAIN}{}", flow.repeat(5))).len(), 1);
}

/// Another value of the same kind, as a setting.
fn other(value: &Value) -> Option<String> {
    match value {
        Value::Bool(it) => Some((!it).to_string()),
        Value::Number(it) => {
            it.as_u64().map(|it| (it + 1).to_string()).or_else(|| Some((it.as_f64()? * 0.9).to_string()))
        }
        Value::String(it) => {
            let (number, unit) = it.split_once(' ')?;
            Some(format!("\"{} {unit}\"", number.parse::<f64>().ok()? * 2.0 + 1.0))
        }
        _ => None,
    }
}

/// Every parameter that is said to do nothing by default changes nothing: a run with all of them changed is the same.
#[test]
fn keys_that_do_nothing_change_no_run() {
    let of = |models: &'static [ModelInfo], section: &str, choice: &str| {
        let (section, choice) = (section.to_owned(), choice.to_owned());
        models.iter().map(move |it| (*it, format!("{section}.{}", it.name), format!("{choice}={}", it.name))).collect()
    };
    let alone = |info: ModelInfo, path: &str| vec![(info, path.to_owned(), String::new())];
    let models: [Vec<(ModelInfo, String, String)>; 9] = [
        of(mac::MODELS, "mac", "mac.model"),
        of(mobility::MODELS, "mobility", "mobility.model"),
        of(routing::MODELS, "routing", "routing.protocol"),
        of(agent::MODELS, "agents", "agents.run"),
        of(congestion::MODELS, "tcp", "flow.tcp"),
        of(acking::MODELS, "acking", "flow.acking"),
        of(app::MODELS, "traffic", "flow.traffic"),
        alone(ModelInfo::of::<tcp::Params>("tcp", "tcp", ""), "tcp"),
        [
            alone(ModelInfo::of::<link::Params>("link", "link", ""), "link"),
            alone(ModelInfo::of::<phy::Params>("radio", "radio", ""), "radio"),
        ]
        .concat(),
    ];
    let digest = |settings: &[(String, String)]| {
        let scenario = Scenario::load(CHAIN, "s.toml", Path::new(""), settings).ok()?;
        Some(world::simulate(&scenario.spec(0), &Watch::default()).expect("packets add up").digest)
    };
    let mut compared = Vec::new();
    for (info, path, choice) in models.iter().flatten() {
        for profile in info.profiles {
            let defaults = (info.defaults)(profile);
            let mut settings: Vec<(String, String)> = Vec::new();
            if let Some((key, name)) = choice.split_once('=') {
                let name = if key == "agents.run" { format!("[\"{name}\"]") } else { name.to_owned() };
                settings.push((key.to_owned(), name));
            }
            if info.profiles.len() > 1 {
                settings.push((format!("{path}.profile"), (*profile).to_owned()));
            }
            let changes = (info.unused)(&defaults).into_iter().flat_map(|it| {
                let table = if it.table.is_empty() { &defaults } else { &defaults[it.table] };
                let prefix = if it.table.is_empty() { path.clone() } else { format!("{path}.{}", it.table) };
                let change = |key: &&str| Some((format!("{prefix}.{key}"), other(&table[*key])?));
                it.parameters.iter().filter_map(change).collect::<Vec<_>>()
            });
            // A value that the model refuses says nothing.
            let mut changed = settings.clone();
            for change in changes {
                changed.push(change);
                if Scenario::load(CHAIN, "s.toml", Path::new(""), &changed).is_err() {
                    changed.pop();
                }
            }
            if changed.len() == settings.len() {
                continue;
            }
            if let Some((before, after)) = digest(&settings).zip(digest(&changed)) {
                assert_eq!(before, after, "{profile}: {changed:?}");
                compared.push((info.name, *profile));
            }
        }
    }
    for name in ["tcp", "link", "aodv", "aomdv", "dsr", "olsr", "tdma", "cubic"] {
        assert!(compared.iter().any(|(it, _)| *it == name), "{name}: {compared:?}");
    }
}

#[test]
fn a_key_that_has_its_default_is_idle_without_a_warning() {
    let idle = |more: &str| {
        let text = format!("{CHAIN}{more}");
        let scenario = Scenario::load(&text, "s.toml", Path::new(""), &[]).expect("it is sound");
        assert!(scenario.warnings().is_empty(), "{more}: {:?}", scenario.warnings());
        scenario.idle().to_vec()
    };
    let copies = "[tcp]\ntimestamps = false\necho_copies = \"last\"\n";
    assert_eq!(idle(copies), ["tcp.echo_copies"]);
    assert_eq!(idle(&format!("{copies}[[flow]]\nfrom = 1\nto = 2\ntimestamps = true\n")), [""; 0]);
    let flow = "[[flow]]\nfrom = 1\nto = 2\ntimestamps = false\necho_copies = \"last\"\n";
    assert_eq!(idle(flow), ["flow.1.echo_copies"]);
    assert_eq!(
        idle("[routing]\nprotocol = \"olsr\"\n[routing.olsr]\nhna_hold = \"auto\"\n"),
        ["routing.olsr.hna_hold"]
    );
}

/// The profile of [tcp] alone mixes Linux's TCP with the congestion control and the acknowledgements of the RFCs.
#[test]
fn a_profile_of_tcp_that_other_parts_do_not_follow_is_said() {
    let of = |top: &str, flow: &str, tcp: &str| {
        let chain = CHAIN.replace("to = 3\n", &format!("to = 3\ntcp = \"cubic\"\n{flow}"));
        warnings(&format!("{top}{chain}[tcp]\nprofile = \"linux\"\n{tcp}"))
    };
    for (flow, tcp, names) in [
        ("", "", "`cubic` and acknowledgements:"),
        ("acking = \"quick\"\n", "", "`cubic`:"),
        ("acking = \"delayed\"\n", "cubic.profile = \"rfc\"\n", ""),
        ("", "cubic.profile = \"linux\"\n", "acknowledgements:"),
        ("acking = \"quick\"\n", "cubic.profile = \"linux\"\n", ""),
        ("acking = \"quick\"\n[flow.cubic]\nprofile = \"linux\"\n", "", ""),
    ] {
        let found = of("", flow, tcp);
        match names {
            "" => assert!(found.is_empty(), "{flow}{tcp}{found:?}"),
            _ => assert!(found.len() == 1 && found[0].0.contains(names), "{flow}{tcp}{found:?}"),
        }
    }
    assert!(of("profile = \"linux\"\n", "", "").is_empty());
}
