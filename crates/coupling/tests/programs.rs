//! Programs of this machine at nodes, in simulated time. Without a built kernel, or without a program, a test is
//! skipped.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use hopyard_coupling::{Coupled, CouplingError, Options, Program, ProgramState};
use hopyard_engine::{Span, Time};
use hopyard_model::address::NodeId;
use hopyard_model::observe::{Outcome, PacketEvent, Probe};
use hopyard_model::packet::{Body, Packet};
use hopyard_model::world::{Advanced, Watch};
use hopyard_scenario::LinuxFlow;

use crate::common::{VERSIONS, at, skipped, spec, with_kernel, without_kernel};

/// Two hosts on a wire.
const WIRE: &str = r#"
duration = "9 s"
[nodes]
wired = 2
[[wire]]
between = [0, 1]
rate = "2 Mbps"
delay = "10 ms"
"#;

/// Two hosts with two ways between them, over a router each. `DOWN` is a key of the last wire.
const TWO_WAYS: &str = r#"
duration = "20 s"
[nodes]
wired = 4
[[wire]]
between = [0, 1]
rate = "2 Mbps"
delay = "5 ms"
[[wire]]
between = [0, 2]
rate = "2 Mbps"
delay = "5 ms"
[[wire]]
between = [1, 3]
rate = "2 Mbps"
delay = "5 ms"
[[wire]]
between = [2, 3]
rate = "2 Mbps"
delay = "5 ms"
DOWN
"#;

/// Two nodes with two radios each, on different channels.
const TWO_RADIOS: &str = r#"
duration = "20 s"
[nodes]
count = 2
spacing = "200 m"
[routing]
protocol = "static"
[[channel]]
nodes = [0, 1]
"#;

/// Three nodes in a row, with AODV and 802.11.
const CHAIN: &str = r#"
duration = "5 s"
[nodes]
count = 3
spacing = "200 m"
[radio]
receive = "250 m"
sense = "550 m"
[routing]
protocol = "aodv"
"#;

fn program(node: u32, start: u64, arguments: &[&str]) -> Program {
    Program {
        node: NodeId(node),
        arguments: arguments.iter().map(|&it| it.to_owned()).collect(),
        start: at(start),
        environment: Vec::new(),
        folder: "/tmp".into(),
    }
}

/// Options with these programs, if the kernel and they are there.
fn options(version: &str, programs: &[Program]) -> Option<Options> {
    let options = with_kernel(version)?;
    if let Some(error) = programs.iter().find_map(|it| it.find().err()) {
        skipped(error);
        return None;
    }
    Some(Options { programs: programs.to_vec(), ..options })
}

/// How many datagrams with more than 200 bytes each address has sent.
#[derive(Debug, Default)]
struct Ways(BTreeMap<[u8; 4], Vec<Time>>);

impl Probe for Ways {
    fn on_packet(&mut self, now: Time, _: NodeId, packet: &Packet, event: PacketEvent) {
        if event != PacketEvent::Originated {
            return;
        }
        if let Body::External(bytes) = &packet.body
            && bytes.len() > 200
        {
            let source = bytes[12..16].try_into().expect("four bytes");
            self.0.entry(source).or_default().push(now);
        }
    }
}

/// What became of the programs, what was sent, and the outcome.
fn run(text: &str, options: &Options) -> (Vec<ProgramState>, Ways, Outcome) {
    let spec = spec(text);
    let mut coupled = Coupled::start(&spec, &[], options, Ways::default()).unwrap_or_else(|error| panic!("{error}"));
    let reached = coupled.advance(Time::ZERO + spec.duration, &Watch::default());
    let reached = reached.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(reached, Advanced::Ended);
    let states = coupled.programs().iter().map(|(_, state)| state.clone()).collect();
    let (outcome, ways) = coupled.finish().expect("packets add up");
    (states, ways, outcome)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A folder of this test, which is removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("hopyard-programs-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left behind in a folder for temporary files does no harm.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn output_status_and_end_of_a_program_are_kept() {
    let script = "echo out; printf '%s\\n' 'a\\b' >&2; cat /etc/hosts; hostname; pwd; echo $MINE; sleep 2; exit 3";
    let trap = "trap 'echo told to end; exit' TERM; while :; do sleep 1; done";
    let mut programs = [program(0, 1000, &["sh", "-c", script]), program(0, 0, &["sh", "-c", trap])];
    programs[0].environment.push(("MINE".into(), "a b".into()));
    let late = program(1, 9500, &["true"]);
    for version in VERSIONS {
        let Some(options) = options(version, &[programs.as_slice(), std::slice::from_ref(&late)].concat()) else {
            continue;
        };
        let (states, _, outcome) = run(WIRE, &options);
        let hosts = "127.0.0.1 localhost\n10.0.0.1 node0\n10.0.0.2 node1\n";
        let output = text(&states[0].output[0].bytes());
        let names = output.strip_prefix("out\n").and_then(|it| it.strip_suffix("node0\n/tmp\na b\n"));
        let names: Vec<_> = names.unwrap_or_else(|| panic!("{output}")).lines().collect();
        assert_eq!(names.len(), hosts.lines().count(), "{names:?}");
        assert!(names[1].ends_with(" node0") && names[2].ends_with(" node1"), "{names:?}");
        assert_eq!(text(&states[0].output[1].bytes()), "a\\b\n");
        let (ended, status) = states[0].ended.expect("it has ended");
        assert_eq!(status, 3);
        assert!((3.0..3.01).contains(&ended.seconds()), "{ended}");
        assert_eq!((states[1].ended, text(&states[1].output[0].bytes())), (None, "told to end\n".to_owned()));
        assert_eq!(states[2], ProgramState::default(), "it does not begin");
        let rows: Vec<_> = outcome.programs.iter().map(|it| (it.program, it.node, it.status)).collect();
        assert_eq!(rows, [(0, 0, Some(3)), (1, 0, None), (2, 1, None)]);
    }
}

#[test]
fn nothing_of_the_machine_can_be_changed() {
    let script = "touch /etc/hopyard-test; rm /etc/passwd; echo here > /tmp/file; cat /tmp/file";
    let Some(options) = options("6.1", &[program(0, 0, &["sh", "-c", script])]) else { return };
    let (states, ..) = run(WIRE, &options);
    assert_eq!(text(&states[0].output[0].bytes()), "here\n");
    assert_eq!(text(&states[0].output[1].bytes()).matches("Read-only file system").count(), 2, "{states:?}");
    assert!(!Path::new("/etc/hopyard-test").exists() && Path::new("/etc/passwd").exists());
}

#[test]
fn iperf3_sees_the_simulated_wire() {
    let programs =
        [program(1, 0, &["iperf3", "-s", "-1"]), program(0, 1000, &["iperf3", "-c", "node1", "-n", "434400", "-J"])];
    for version in VERSIONS {
        let Some(options) = options(version, &programs) else { continue };
        let (states, ways, outcome) = run(WIRE, &options);
        let output = text(&states[0].output[0].bytes());
        assert_eq!(states[1].ended.map(|it| it.1), Some(0), "{}\n{states:?}", text(&states[1].output[0].bytes()));
        // iperf3 stops when it has written its bytes, of which some wait in the socket then.
        assert!(output.contains("Server listening on 5201"), "{output}");
        let sent = ways.0.values().map(Vec::len).max().unwrap_or_default();
        assert!((250..=320).contains(&sent), "{sent} segments");
        let received = output.lines().rfind(|line| line.contains("receiver")).unwrap_or_else(|| panic!("{output}"));
        let words: Vec<&str> = received.split_whitespace().collect();
        let place = words.iter().position(|it| it.ends_with("bits/sec")).expect("a rate");
        let rate: f64 = words[place - 1].parse().expect("a number");
        let kbps = rate * if words[place].starts_with('M') { 1e3 } else { 1.0 };
        // 1448 of 1500 bytes are payload; the first round trips do not fill the wire.
        assert!((1880.0..=1931.0).contains(&kbps), "{version}: {received}");
        let (again, _, second) = run(WIRE, &options);
        assert_eq!((again, second.digest), (states, outcome.digest), "the same in each run");
    }
}

/// iperf3's client computes without a pause while the server's answer is behind data: a short buffer keeps that short.
#[test]
fn iperf3_ends_over_three_radios() {
    let client = ["iperf3", "-c", "node2", "-t", "2", "-w", "16K"];
    let programs = [program(2, 0, &["iperf3", "-s"]), program(0, 1000, &client)];
    let Some(options) = options("6.1", &programs) else { return };
    let (states, _, _) = run(CHAIN, &options);
    let output = text(&states[1].output[0].bytes());
    let (ended, status) = states[1].ended.unwrap_or_else(|| panic!("{states:?}"));
    assert_eq!(status, 0, "{output}");
    assert!((3.0..4.5).contains(&ended.seconds()), "{ended}\n{output}");
    assert!(output.contains("iperf Done."), "{output}");
}

/// Datagrams that are longer than the devices' 1500 bytes: kernels send fragments, and put them together.
#[test]
fn long_datagrams_cross_the_network_in_fragments() {
    const RECEIVER: &str = "import socket
listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
listener.bind(('', 7000))
for _ in range(3):
    data, peer = listener.recvfrom(65536)
    print(len(data), data == bytes(i * 7 % 251 for i in range(len(data))), flush=True)
";
    const SENDER: &str = "import socket, time
peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for length in (8192, 1473, 65507):
    peer.sendto(bytes(i * 7 % 251 for i in range(length)), ('node2', 7000))
    time.sleep(1)
";
    let programs = [
        program(0, 500, &["ping", "-c", "3", "-i", "0.5", "-s", "3000", "node2"]),
        program(2, 0, &["/usr/bin/python3", "-c", RECEIVER]),
        program(0, 2000, &["/usr/bin/python3", "-c", SENDER]),
    ];
    for version in VERSIONS {
        let Some(options) = options(version, &programs) else { continue };
        let (states, ways, outcome) = run(CHAIN, &options);
        let ping = text(&states[0].output[0].bytes());
        assert!(ping.contains("3 packets transmitted, 3 received"), "{version}: {states:?}");
        assert!(ping.contains("3008 bytes from node2"), "{version}: {ping}");
        let received = text(&states[1].output[0].bytes());
        assert_eq!(received, "8192 True\n1473 True\n65507 True\n", "{version}: {:?}", outcome.drops);
        // Each fragment is a packet: 2 of 3 of a request have more than 200 bytes, and so on.
        let sent = ways.0[&[10, 0, 0, 1]].len();
        assert!(sent >= 3 * 2 + 6 + 1 + 44, "{version}: {sent}");
    }
}

#[test]
fn curl_fetches_a_file_by_the_name_of_a_node() {
    let folder = Folder::new("curl");
    let content: String = (0..9000).map(|it| format!("{it:05}\n")).collect();
    fs::write(folder.0.join("numbers"), &content).expect("written");
    let server = Program {
        folder: folder.0.clone(),
        environment: vec![("PYTHONUNBUFFERED".into(), "1".into())],
        ..program(1, 0, &["/usr/bin/python3", "-m", "http.server", "8080"])
    };
    let client = program(0, 3000, &["curl", "-sS", "http://node1:8080/numbers"]);
    let Some(options) = options("6.1", &[server, client]) else { return };
    let (states, _, outcome) = run(WIRE, &options);
    assert_eq!(text(&states[1].output[1].bytes()), "", "{}", text(&states[0].output[1].bytes()));
    assert!(states[1].output[0].bytes() == content.as_bytes(), "{} bytes", states[1].output[0].bytes().len());
    let (ended, status) = states[1].ended.expect("it has ended");
    assert_eq!(status, 0);
    // 54,000 bytes take 0.22 s on the wire, and a few round trips.
    assert!((3.25..3.3).contains(&ended.seconds()), "{ended}");
    let log = text(&states[0].output[1].bytes());
    assert!(log.contains("\"GET /numbers HTTP/1.1\" 200"), "{log}");
    // The clock of the guest is the simulation's: its time of day begins at the same moment in each run.
    assert!(log.contains("13/Sep/2020 12:26:43"), "{log}");
    let (again, _, second) = run(WIRE, &options);
    assert_eq!((again, second.digest), (states, outcome.digest), "the same in each run");
}

/// A server and a client of MPTCP, the latter with as many bytes as it sends.
const SERVER: &str = "import socket
listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
listener.bind(('', 5001))
listener.listen()
connection, _ = listener.accept()
count = 0
while data := connection.recv(65536):
    count += len(data)
print(count, flush=True)
";
const CLIENT: &str = "import socket, sys
connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
connection.connect((sys.argv[1], 5001))
connection.sendall(bytes(2_000_000))
connection.shutdown(socket.SHUT_WR)
print(connection.recv(1), flush=True)
";

#[test]
fn mptcp_uses_both_ways_and_survives_the_loss_of_one() {
    let programs = [
        program(3, 0, &["/usr/bin/python3", "-c", SERVER]),
        program(0, 1000, &["/usr/bin/python3", "-c", CLIENT, "node3"]),
    ];
    for version in VERSIONS {
        let Some(options) = options(version, &programs) else { continue };
        let both = run(&TWO_WAYS.replace("DOWN", ""), &options);
        assert_eq!(text(&both.0[0].output[0].bytes()), "2000000\n", "{:?}", both.0);
        let counts: Vec<usize> = both.1.0.values().map(Vec::len).collect();
        assert!(counts.len() == 2 && counts.iter().all(|it| *it > 400), "{version}: {counts:?}");
        let ended = both.0[0].ended.expect("it has ended").0;
        // One way alone would take 8.3 s.
        assert!(ended.seconds() < 1.0 + 5.0, "{version}: {ended}");

        let broken = run(&TWO_WAYS.replace("DOWN", "down = [{ from = \"3 s\", to = \"30 s\" }]"), &options);
        assert_eq!(text(&broken.0[0].output[0].bytes()), "2000000\n", "{:?}", broken.0);
        let late = broken.0[0].ended.expect("it has ended").0;
        assert!(late > ended, "{version}: {late}");
        let again = run(&TWO_WAYS.replace("DOWN", "down = [{ from = \"3 s\", to = \"30 s\" }]"), &options);
        assert_eq!((again.0, again.2.digest), (broken.0, broken.2.digest), "the same in each run");
    }
}

#[test]
fn mptcp_uses_both_radios_of_a_node() {
    let programs = [
        program(1, 0, &["/usr/bin/python3", "-c", SERVER]),
        program(0, 1000, &["/usr/bin/python3", "-c", CLIENT, "node1"]),
    ];
    let Some(options) = options("6.12", &programs) else { return };
    let both = run(TWO_RADIOS, &options);
    assert_eq!(text(&both.0[0].output[0].bytes()), "2000000\n", "{:?}", both.0);
    let counts: Vec<usize> = both.1.0.values().map(Vec::len).collect();
    assert!(counts.len() == 2 && counts.iter().all(|it| *it > 400), "{counts:?}");
    let one = run(TWO_RADIOS.split("[[channel]]").next().expect("a text"), &options);
    let [both, one] = [both, one].map(|it| it.0[0].ended.expect("it has ended").0.seconds() - 1.0);
    assert!(both < 0.65 * one, "{both} s over two radios, {one} s over one");
}

#[test]
fn a_program_that_is_not_there_is_an_error_before_anything_starts() {
    let options = Options { programs: vec![program(0, 0, &["no-such-program"])], ..without_kernel() };
    let refused = |options: &Options| {
        let error = Coupled::start(&spec(WIRE), &[], options, ()).err().expect("refused");
        assert!(!matches!(error, CouplingError::Kernels(_)), "no kernel was looked for");
        error.to_string()
    };
    let text = refused(&options);
    assert!(text.starts_with("program 0: there is no program `no-such-program` in /usr/local/sbin:"), "{text}");
    let nowhere = Options { programs: vec![program(7, 0, &["sh"])], ..options.clone() };
    assert_eq!(refused(&nowhere), "program 0: expected a node with an address, found 7");
    let many = Options { programs: vec![program(0, 0, &["sh"]); 257], ..options };
    assert_eq!(refused(&many), "expected at most 256 programs, found 257");
}

/// A program's socket has the port of a flow's source, at another node: it is none of the flow's.
#[test]
fn the_socket_of_a_program_is_not_taken_for_a_flow() {
    let client = "import socket\ns = socket.create_connection(('node0', 6000), source_address=('', 35000))\ns.sendall(bytes(10**6))";
    let server = "import socket\ns = socket.create_server(('', 6000))\nc, _ = s.accept()\nwhile c.recv(65536): pass";
    let programs = [program(0, 1000, &["python3", "-c", server]), program(1, 1500, &["python3", "-c", client])];
    let Some(options) = options("6.1", &programs) else { return };
    let options = Options { sample: Span::from_millis(100), ..options };
    let flow = LinuxFlow {
        number: 0,
        from: NodeId(0),
        to: NodeId(1),
        variant: "reno".to_owned(),
        start: at(6000),
        bytes: None,
        stop: None,
        writes: Vec::new(),
        segment: 1448,
        notices: false,
    };
    let spec = spec(WIRE);
    let mut coupled = Coupled::start(&spec, &[flow], &options, ()).unwrap_or_else(|error| panic!("{error}"));
    coupled.advance(Time::ZERO + spec.duration, &Watch::default()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(coupled.programs()[1].1.ended.map(|it| it.1), Some(0), "{:?}", coupled.programs());
    let samples = coupled.samples();
    assert!(coupled.flows()[0].measured.packets.sent > 0, "{:?}", coupled.flows());
    assert!(samples.iter().all(|it| it.at >= at(6000)), "{:?}", samples.first());
    assert!(samples.len() > 10, "{}", samples.len());
}
