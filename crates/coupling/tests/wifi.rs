//! Nodes with Linux's own Wi-Fi: ad hoc networks and meshes of real kernels over the MACs and radios of a simulated
//! network. Without a built kernel with Wi-Fi, or without a program, a test is skipped.

use std::sync::atomic::{AtomicBool, Ordering};

use hopyard_coupling::{Coupled, Options, Program, Routers, daemons};
use hopyard_engine::Time;
use hopyard_model::address::NodeId;
use hopyard_model::observe::Outcome;
use hopyard_model::world::Watch;

use crate::common::{at, scenario, skipped, with_kernel};

/// The keys of the MAC for 802.11g and n.
const OF_G: &str = "edca.standard = \"g\"";
const OF_N: &str = "edca.standard = \"n\"\nedca.band = \"2.4 GHz\"\nedca.rate = \"mcs7\"";

/// Nodes in a row, 200 m apart, each of which reaches the next one alone. Keys of `[linux]` come behind it.
fn chain(nodes: u32, seconds: u32, linux: &str) -> String {
    format!(
        "duration = \"{seconds} s\"\n[nodes]\ncount = {nodes}\nspacing = \"200 m\"\nsystem = \"linux\"\n\
         [radio]\nreceive = \"250 m\"\nsense = \"550 m\"\n\
         [mac]\nmodel = \"edca\"\nrate_control = \"minstrel_ht\"\n{OF_G}\n[linux]\n{linux}\n"
    )
}

fn program(node: u32, start: u64, run: &str) -> Program {
    Program {
        node: NodeId(node),
        arguments: shlex::split(run).expect("quotes in pairs"),
        start: at(start),
        environment: Vec::new(),
        folder: "/tmp".into(),
    }
}

/// The options for a scenario with these programs besides those of its routing, if all of them are there.
fn options(text: &str, programs: &[Program]) -> Option<Options> {
    let scenario = scenario(text);
    let options = with_kernel("6.1+wifi")?;
    let configuration = std::fs::read_to_string(options.program.with_file_name("config")).unwrap_or_default();
    let option = scenario.kernel_option().expect("nodes are kernels");
    if !configuration.lines().any(|line| line == format!("{option}=y")) {
        skipped(format!("the kernel 6.1+wifi was built without {option}"));
        return None;
    }
    let programs: Vec<_> = programs.iter().cloned().chain(daemons(&scenario, &scenario.spec(0))).collect();
    if let Some(error) = programs.iter().find_map(|it| it.find().err()) {
        skipped(error);
        return None;
    }
    Some(Options { programs, memory: 64, routers: Routers::of(&scenario, &scenario.spec(0)), ..options })
}

/// The outcome of a run, and the output of its programs.
fn run(text: &str, options: &Options) -> (Outcome, Vec<String>) {
    let scenario = scenario(text);
    let mut spec = scenario.spec(0);
    let flows = scenario.linux_flows(&mut spec);
    let mut coupled = Coupled::start(&spec, &flows, options, ()).unwrap_or_else(|error| panic!("{error}"));
    coupled.advance(Time::ZERO + spec.duration, &Watch::default()).unwrap_or_else(|error| panic!("{error}"));
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let output =
        coupled.programs().iter().map(|(_, state)| state.output.each_ref().map(|it| text(it.bytes())).concat());
    let output = output.collect();
    (coupled.finish().expect("packets add up").0, output)
}

/// Two stations of an ad hoc network: pings, TCP, and the rate that Linux's Minstrel-HT finds. The run is the same
/// beside a process that keeps a processor busy.
#[test]
fn an_ad_hoc_network_of_two_carries_pings_and_tcp_and_repeats_itself() {
    let flow = "[[flow]]\nfrom = 0\nto = 1\nstart = \"6 s\"\nstop = \"10 s\"\nstack = \"linux\"\ntcp = \"cubic\"\n";
    let text = format!("{}{flow}", chain(2, 12, "wifi = \"ibss\""));
    let programs = [
        program(0, 3000, "ping -n -c 5 -i 0.2 node1"),
        program(0, 11_000, "iw dev wlan0 station dump"),
        program(0, 11_200, "sh -c 'cat /sys/kernel/debug/ieee80211/phy0/netdev:wlan0/stations/*/rc_stats'"),
    ];
    let Some(options) = options(&text, &programs) else { return };
    let (outcome, output) = run(&text, &options);
    assert!(output[0].contains("5 received, 0% packet loss"), "{output:#?}\n{:#?}", outcome.drops);
    assert!(output[1].contains("Station 02:00:00:00:00:02"), "{}", output[1]);
    // The flow sends for four of the twelve seconds.
    let goodput = outcome.flows[0].goodput_kbps * 12.0 / 4.0;
    // Every rate arrives at this distance: the fastest one with TCP's acknowledgements gives more than 15 Mb/s.
    assert!(goodput > 15_000.0, "{goodput}\n{}", output[2]);
    let fastest = output[2].lines().find(|line| line.contains("54.0"));
    assert!(fastest.is_some_and(|line| line.contains('A')), "54 Mb/s is the best rate: {}", output[2]);
    is_the_same_beside_another(&text, &options, (&outcome, &output));
}

/// A run is the same beside a process that keeps a processor busy.
fn is_the_same_beside_another(text: &str, options: &Options, (outcome, output): (&Outcome, &[String])) {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        let (again, said) = run(text, options);
        stop.store(true, Ordering::Relaxed);
        assert_eq!((again.digest, said.as_slice()), (outcome.digest, output));
    });
}

/// In 802.11n Linux agrees on sessions, and Minstrel-HT learns the fate of aggregates: it finds the fastest mode, and
/// counts many MPDUs in a frame. TCP then is faster than 802.11g can carry.
#[test]
fn sessions_of_802_11n_carry_aggregates_and_repeat_themselves() {
    let flow = "[[flow]]\nfrom = 0\nto = 1\nstart = \"6 s\"\nstop = \"9 s\"\nstack = \"linux\"\ntcp = \"cubic\"\n";
    let text = format!("{}{flow}", chain(2, 10, "wifi = \"ibss\"").replace(OF_G, OF_N));
    let programs = [
        program(0, 3000, "ping -n -c 5 -i 0.2 node1"),
        program(0, 9000, "sh -c 'cat /sys/kernel/debug/ieee80211/phy0/netdev:wlan0/stations/*/rc_stats'"),
    ];
    let Some(options) = options(&text, &programs) else { return };
    let (outcome, output) = run(&text, &options);
    assert!(output[0].contains("5 received, 0% packet loss"), "{output:#?}\n{:#?}", outcome.drops);
    // The flow sends for three of the ten seconds.
    let goodput = outcome.flows[0].goodput_kbps * 10.0 / 3.0;
    assert!(goodput > 35_000.0, "{goodput}\n{}", output[1]);
    let best = output[1].lines().find(|line| line.contains("MCS7"));
    assert!(best.is_some_and(|line| line.contains('A')), "MCS7 is the best rate: {}", output[1]);
    let told = "Average # of aggregated frames per A-MPDU: ";
    let average = output[1].lines().find_map(|line| line.strip_prefix(told)?.parse().ok());
    assert!(average.is_some_and(|it: f64| it > 5.0), "MPDUs in a frame: {}", output[1]);
    assert!(!outcome.drops.iter().any(|it| it.reason == "no_mode"), "{:#?}", outcome.drops);
    is_the_same_beside_another(&text, &options, (&outcome, &output));
}

/// A mesh finds its paths below IP, and finds them again after the third of four nodes was away.
#[test]
fn a_mesh_finds_paths_over_three_hops() {
    let away = r#"
[[movement]]
nodes = [2]
[movement.waypoints]
track = [
    { at = "20 s", x = "400 m", y = "0 m" },
    { at = "20.001 s", x = "400 m", y = "20000 m" },
    { at = "30 s", x = "400 m", y = "20000 m" },
    { at = "30.001 s", x = "400 m", y = "0 m" },
]
"#;
    let text = format!("{}{away}", chain(4, 60, "wifi = \"mesh\"\nrouting = \"hwmp\""));
    let programs = [
        program(0, 10_000, "ping -n -c 3 node3"),
        program(0, 14_000, "iw dev wlan0 mpath dump"),
        program(0, 50_000, "ping -n -c 3 node3"),
    ];
    let Some(options) = options(&text, &programs) else { return };
    let (outcome, output) = run(&text, &options);
    assert!(output[0].contains("3 received, 0% packet loss"), "{output:#?}\n{:#?}", outcome.drops);
    let path = output[1].lines().find(|line| line.starts_with("02:00:00:00:00:04"));
    assert!(path.is_some_and(|line| line.contains(" 02:00:00:00:00:02 ")), "{}", output[1]);
    assert!(!output[2].contains(" 0 received"), "{output:#?}");
    let (again, said) = run(&text, &options);
    assert_eq!((again.digest, said), (outcome.digest, output));
}

/// batman-adv V asks Linux's Wi-Fi for the throughput of each neighbour.
#[test]
fn batman_adv_knows_the_throughput_of_neighbours() {
    let text = chain(3, 30, "wifi = \"ibss\"\nrouting = \"batman_v\"");
    let programs =
        [program(0, 15_000, "ping -n -c 5 -i 0.2 node2"), program(0, 20_000, "batctl meshif bat0 neighbors -H")];
    let Some(options) = options(&text, &programs) else { return };
    let (outcome, output) = run(&text, &options);
    assert!(output[0].contains("5 received, 0% packet loss"), "{output:#?}\n{:#?}", outcome.drops);
    let neighbour = output[1].lines().find(|line| line.contains("02:00:00:00:00:02")).expect("a neighbour");
    // Between parentheses, in Mb/s; 1.0 stands where nothing is known.
    let throughput = neighbour.split(['(', ')']).nth(1).and_then(|it| it.trim().parse::<f64>().ok());
    assert!(throughput.is_some_and(|it| it > 5.0), "{neighbour}");
}

/// Linux's Minstrel-HT and Hopyard's, on the same link at these ratios of signal to noise, each with frames of the same
/// size without end: the goodput of UDP. Their draws of errors and probes differ. The first two seconds are left out.
#[test]
fn both_rate_controls_give_the_same_throughput() {
    // At 27, 18, 14 and 10 dB.
    for spacing in [300, 500, 620, 800] {
        let network = format!(
            "duration = \"8 s\"\n[nodes]\ncount = 2\nspacing = \"{spacing} m\"\n[radio]\nreceive = \"1500 m\"\n\
             sense = \"3000 m\"\n[mac]\nmodel = \"edca\"\nrate_control = \"minstrel_ht\"\nedca.standard = \"g\"\n\
             edca.rate = \"54 Mbps\"\nminstrel_ht.most_tries = 11\n[link]\nqueue_length = 20\n"
        );
        // Minstrel-HT begins anew with the first beacon of the neighbour, which has to come before the datagrams.
        let wifi = "[linux]\nwifi = \"ibss\"\nbeacon_interval = 100\n";
        let linux = format!("{}{wifi}", network.replace("[radio]", "system = \"linux\"\n[radio]"));
        let programs = [
            program(1, 1000, "iperf3 -s -1 -i 0 -f k"),
            program(0, 1500, "iperf3 -c node1 -u -b 60M -l 1400 -t 5 -O 1 -i 0 -f k -w 64K"),
        ];
        let Some(options) = options(&linux, &programs) else { return };
        let (_, output) = run(&linux, &options);
        let received = output[0].lines().rfind(|line| line.contains("Kbits/sec"));
        let words: Vec<&str> = received.unwrap_or_default().split_whitespace().collect();
        let place = words.iter().position(|it| *it == "Kbits/sec").unwrap_or_default();
        let of_linux: f64 = words[place.saturating_sub(1)].parse().unwrap_or_else(|_| panic!("{output:#?}"));
        let ours = format!(
            "{network}[measure]\nfrom = \"2.5 s\"\n[routing]\nprotocol = \"static\"\n[[flow]]\nfrom = 0\nto = 1\n\
             udp = true\nstart = \"1.5 s\"\ntraffic = \"cbr\"\n[flow.cbr]\npacket_size = \"1400 B\"\n\
             interval = \"190 us\"\n"
        );
        let outcome = hopyard_model::world::simulate(&scenario(&ours).spec(0), &Watch::default());
        let own = outcome.unwrap_or_else(|error| panic!("{error}")).flows[0].goodput_kbps;
        assert!((of_linux / own - 1.0).abs() < 0.05, "{spacing} m: {of_linux} and {own} kb/s");
    }
}
