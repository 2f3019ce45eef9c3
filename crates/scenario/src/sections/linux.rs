//! `[linux]`: the kernels of flows whose TCP is Linux's.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use hopyard_engine::Span;
use hopyard_model::params::{Fault, Given, Params, read_given};
use hopyard_model::transport::congestion;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};

use super::router::{LinuxRouting, Wifi};

/// Whose TCP a flow has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stack {
    /// The models of this simulator.
    #[default]
    Hopyard,
    /// A Linux kernel at each end, in simulated time.
    Linux,
}

/// When a kernel gets the buffer of a sent frame back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Completion {
    /// When the node's MAC has sent the frame or has given it up, or the wire has its last bit, as from a real driver.
    #[default]
    Sent,
    /// At once: the kernel fills the simulated queue.
    Immediate,
}

/// Which Westwood the kernels have under the name `westwood`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Westwood {
    /// Linux's own, which is Westwood+.
    #[default]
    Linux,
    /// Westwood as published in 2001, a module of Hopyard.
    Published,
}

/// `[linux]`: the kernels of flows with `stack = "linux"`, and of programs. A node with an end of such a flow, or with
/// a program (`[[host]]`), has one kernel, which is the host of all of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Linux {
    /// The version of the kernel, which `hopyard kernels build` has made: "6.1" or "6.12", or the name of one with
    /// patches of your own, such as "6.1+a1b2c3d4". With `wifi`, "6.1" is "6.1+wifi".
    #[serde(deserialize_with = "version")]
    pub version: String,
    /// When a kernel gets the buffer of a sent frame back: "sent" or "immediate".
    pub completion: Completion,
    /// Parameters of the kernels, such as `"net.ipv4.tcp_sack=0"`.
    pub sysctls: Vec<String>,
    /// The interval between samples of the kernels' sockets.
    pub sample: Span,
    /// What the kernels have as `westwood`: "linux" (their own, which is Westwood+) or "published" (a module of
    /// Hopyard).
    pub westwood: Westwood,
    /// The memory of each kernel, in MiB; one with programs has at least 128. What a kernel does not touch takes no
    /// memory of the machine.
    pub memory: u32,
    /// The routing of nodes with `system = "linux"`: "static", "babeld", "batman_iv", "batman_v", "ospf", "hwmp" (with
    /// `wifi = "mesh"`), or a command such as "mydaemon -i eth0", which runs at each node from the start.
    pub routing: String,
    /// The largest datagram of the devices of such nodes, in bytes; 0: 1500, or 1532 under batman-adv.
    pub mtu: u32,
    /// The numbers of such nodes; empty: all with a radio. The others are Hopyard's, in the same network.
    pub nodes: Vec<u32>,
    /// Linux's own Wi-Fi (mac80211) at such nodes: "off" (the radio is a device of Ethernet to Linux), "ibss" (an ad
    /// hoc network) or "mesh" (802.11s).
    pub wifi: Wifi,
    /// The number of the Wi-Fi channel, 1 to 11 in the band at 2.4 GHz. It does not change the range of radios.
    pub wifi_channel: u32,
    /// The interval between the beacons of a node, in units of 1024 us. Each beacon costs the kernels of all neighbours
    /// some processor time; access points have 100.
    pub beacon_interval: u32,
}

/// Reads a version, which may be written as a number: so `--set linux.version=6.1,6.12` needs no quotes.
fn version<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    read_given(deserializer, "a version such as \"6.1\"", |given: Given<'_, de::IgnoredAny>| match given {
        Given::Word(text) => Some(text.to_owned()),
        Given::Number(number) => Some(number.to_string()),
        _ => None,
    })
}

impl Default for Linux {
    fn default() -> Self {
        Self {
            version: "6.1".to_owned(),
            completion: Completion::Sent,
            sysctls: Vec::new(),
            sample: Span::from_millis(100),
            westwood: Westwood::Linux,
            memory: 32,
            routing: "static".to_owned(),
            mtu: 0,
            nodes: Vec::new(),
            wifi: Wifi::Off,
            wifi_channel: 6,
            beacon_interval: 1000,
        }
    }
}

/// Linux's name of its Westwood, and the name of Hopyard's module.
const WESTWOOD: &str = "westwood";
const PUBLISHED_WESTWOOD: &str = "westwood_2001";
/// The versions that Hopyard has patches and configurations for.
const VERSIONS: [&str; 2] = ["6.1", "6.12"];
/// How many digits the name of a kernel with patches has for them.
const DIGITS: usize = 8;
/// A kernel with less memory does not start, and one with more could not count its pages.
const MEMORY: RangeInclusive<u32> = 16..=65_536;
/// IPv6 needs as many bytes in a datagram (RFC 8200 §5), and the length in IPv4's header has 16 bits.
const MTU: RangeInclusive<u32> = 1280..=65_535;
/// The channels that the built-in rules of Linux allow everywhere, and the beacon intervals that it takes for a mesh
/// and for an ad hoc network.
const CHANNELS: RangeInclusive<u32> = 1..=11;
const BEACONS: RangeInclusive<u32> = 20..=10_000;
/// What the name of a kernel with Wi-Fi has behind its version.
const WITH_WIFI: &str = "wifi";
/// The shortest interval between samples: each takes some processor time.
const FINEST: Span = Span::from_micros(100);

impl Linux {
    /// The kernels' name for a TCP variant of a scenario.
    #[must_use]
    pub fn name_of<'a>(&self, variant: &'a str) -> &'a str {
        match (variant, self.westwood) {
            (WESTWOOD, Westwood::Published) => PUBLISHED_WESTWOOD,
            _ => congestion::MODELS.iter().find(|it| it.name == variant).and_then(|it| it.in_linux).unwrap_or(variant),
        }
    }

    /// The remark for a user who compares a TCP variant with Hopyard's of the same name: Linux's variant under the
    /// name, and the remedy.
    pub(crate) fn difference(&self, variant: &str) -> Option<(&'static str, &'static str)> {
        let differs = variant == WESTWOOD && self.westwood == Westwood::Linux;
        differs.then_some((
            "what Linux calls `westwood` is Westwood+, and Hopyard's `westwood` is that of 2001",
            "Hopyard's twin is `westwood_plus`; `westwood = \"published\"` in [linux] gives the kernels that of 2001",
        ))
    }

    /// The name of the kernel: one with Wi-Fi if that is used.
    #[must_use]
    pub fn kernel(&self) -> String {
        match self.version.split_once('+') {
            None if self.wifi != Wifi::Off => format!("{}+{WITH_WIFI}", self.version),
            _ => self.version.clone(),
        }
    }

    /// The frequency of the Wi-Fi channel, in MHz.
    #[must_use]
    pub const fn frequency(&self) -> u32 {
        2407 + 5 * self.wifi_channel
    }

    /// The option of the kernel that Linux nodes need.
    #[must_use]
    pub fn option(&self) -> &'static str {
        match self.wifi {
            Wifi::Off => self.routing().option(),
            Wifi::Ibss => "CONFIG_MAC80211_HWSIM",
            Wifi::Mesh => "CONFIG_MAC80211_MESH",
        }
    }

    /// The routing of Linux nodes.
    #[must_use]
    pub fn routing(&self) -> LinuxRouting {
        // A scenario with another text was refused.
        LinuxRouting::parse(&self.routing).unwrap_or(LinuxRouting::Static)
    }

    /// The largest datagram of the devices of Linux nodes.
    #[must_use]
    pub fn router_mtu(&self) -> u32 {
        if self.mtu == 0 { self.routing().mtu() } else { self.mtu }
    }

    /// The parameters of the kernels, as paths below `/proc/sys` with their values.
    #[must_use]
    pub fn parameters(&self) -> Vec<(String, String)> {
        self.sysctls.iter().filter_map(|text| parameter(text)).collect()
    }
}

/// A parameter of the kernels as its path below `/proc/sys`, with its value.
fn parameter(text: &str) -> Option<(String, String)> {
    let (name, value) = text.split_once('=')?;
    Some((name.trim().replace('.', "/"), value.trim().to_owned()))
}

impl Params for Linux {
    fn of_profile(_profile: &str) -> Self {
        Self::default()
    }

    fn check(&self) -> Result<(), Fault> {
        let (version, patched) = self.version.split_once('+').map_or((&*self.version, None), |it| (it.0, Some(it.1)));
        let is_number = |it: &str| it.len() == DIGITS && it.bytes().all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'));
        let is_patched = |it: &str| {
            let number = it.strip_prefix(WITH_WIFI).map_or(Some(it), |rest| rest.strip_prefix('-'));
            it == WITH_WIFI || number.is_some_and(is_number)
        };
        if !VERSIONS.contains(&version) || !patched.is_none_or(is_patched) {
            let versions = VERSIONS.map(|it| format!("\"{it}\"")).join(" or ");
            let message = format!(
                "expected {versions}, or the name of a kernel with patches such as \"6.1+a1b2c3d4\", found \"{}\"",
                self.version
            );
            return Err(Fault::new("version", message));
        }
        if !MEMORY.contains(&self.memory) {
            let (least, most) = (MEMORY.start(), MEMORY.end());
            return Err(Fault::new("memory", format!("expected {least} to {most} MiB, found {}", self.memory)));
        }
        Fault::unless("sample", self.sample, |it| it >= FINEST, format_args!("at least {FINEST}"))?;
        if LinuxRouting::parse(&self.routing).is_none() || self.routing.contains(char::is_control) {
            let names = LinuxRouting::NAMES.map(|it| format!("\"{it}\"")).join(", ");
            let message = format!("expected {names} or a command with quotes in pairs, found \"{}\"", self.routing);
            return Err(Fault::new("routing", message));
        }
        if self.mtu != 0 && !MTU.contains(&self.mtu) {
            let (least, most) = (MTU.start(), MTU.end());
            return Err(Fault::new("mtu", format!("expected 0 or {least} to {most}, found {}", self.mtu)));
        }
        let twice = self.nodes.iter().enumerate().filter(|(place, node)| self.nodes[..*place].contains(node));
        Fault::of_elements(
            "nodes",
            twice.map(|(place, node)| (place, format!("node {node} is listed twice"))).collect(),
        )?;
        if !CHANNELS.contains(&self.wifi_channel) {
            let (least, most) = (CHANNELS.start(), CHANNELS.end());
            return Err(Fault::new("wifi_channel", format!("expected {least} to {most}, found {}", self.wifi_channel)));
        }
        if !BEACONS.contains(&self.beacon_interval) {
            let (least, most) = (BEACONS.start(), BEACONS.end());
            let message = format!("expected {least} to {most}, found {}", self.beacon_interval);
            return Err(Fault::new("beacon_interval", message));
        }
        // A name leads nowhere but below /proc/sys.
        let name = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
        let is_sound = |text: &String| {
            text.len() < 100
                && text.split_once('=').is_some_and(|(key, value)| {
                    let key = key.trim();
                    key.contains('.')
                        && key.chars().all(name)
                        && !key.contains("..")
                        && !value.trim().is_empty()
                        && !value.contains('=')
                })
                && !text.contains(char::is_control)
        };
        let mut faults = Vec::new();
        let mut seen = BTreeSet::new();
        for (place, text) in self.sysctls.iter().enumerate() {
            if !is_sound(text) {
                let expected = format!("expected a parameter such as \"net.ipv4.tcp_sack=0\", found \"{text}\"");
                faults.push((place, expected));
            } else if let Some((path, _)) = parameter(text)
                && !seen.insert(path.clone())
            {
                let name = path.replace('/', ".");
                faults.push((place, format!("expected each parameter once, found {name} again")));
            }
        }
        Fault::of_elements("sysctls", faults)
    }
}

/// The nodes at which a program runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected the number of a node, a list of numbers, or \"all\"")]
pub enum At {
    /// One.
    Node(u32),
    /// Several, each with a program of its own.
    Nodes(Vec<u32>),
    /// A word for nodes.
    Word(Everywhere),
}

/// The word for all nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Everywhere {
    /// All that send and receive packets.
    All,
}

impl At {
    /// The numbers of the nodes, where these are all.
    #[must_use]
    pub fn nodes(&self, all: impl Iterator<Item = u32>) -> Vec<u32> {
        match self {
            Self::Node(node) => vec![*node],
            Self::Nodes(nodes) => nodes.clone(),
            Self::Word(Everywhere::All) => all.collect(),
        }
    }
}

/// `[[host]]`: a program of this machine that runs at a node in simulated time. Its network is the simulated one, and
/// its TCP that of the node's kernel (`[linux]`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// The number of the node. A list of numbers, or "all": the program runs at each of these nodes, begun together.
    pub node: At,
    /// The program and its arguments, such as "iperf3 -s", with the quotes of a shell, and nothing else of one.
    pub run: String,
    /// When it begins. Programs that take an uptime below one second for none, as `ping` does, are wrong before 1 s.
    pub start: Span,
    /// What is in its environment besides `NODE` and `ADDRESS`, the node's number and its address, `PATH`, `HOME`,
    /// `LANG` and `TZ`, or in their places, such as `"DEBUG=1"`.
    pub environment: Vec<String>,
    /// Its working folder: an absolute path of this machine. "/tmp" is an empty folder of the node, which the program
    /// may write to.
    pub folder: String,
}

impl Default for Host {
    fn default() -> Self {
        Self {
            node: At::Node(0),
            run: String::new(),
            start: Span::from_secs(1),
            environment: Vec::new(),
            folder: "/tmp".to_owned(),
        }
    }
}

impl Host {
    /// The program and its arguments, if the quotes are in pairs.
    #[must_use]
    pub fn arguments(&self) -> Option<Vec<String>> {
        shlex::split(&self.run)
    }

    /// The names and values of the environment.
    #[must_use]
    pub fn variables(&self) -> Vec<(String, String)> {
        let pairs = self.environment.iter().filter_map(|text| text.split_once('='));
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }
}

section!(Host, |host| {
    let problem = match host.arguments() {
        None => Some(format!("expected quotes in pairs, found \"{}\"", host.run)),
        Some(arguments) if arguments.first().is_none_or(String::is_empty) && host != &Host::default() => {
            Some("expected a program and its arguments, such as \"iperf3 -s\", found nothing".to_owned())
        }
        Some(_) if host.run.contains('\0') => Some("expected a text without a zero byte".to_owned()),
        Some(_) => None,
    };
    if let Some(problem) = problem {
        return Err(Fault::new("run", problem));
    }
    if let At::Nodes(nodes) = &host.node {
        let again = nodes.iter().enumerate().find(|(place, node)| nodes[..*place].contains(node));
        let found = if nodes.is_empty() { Some("none".to_owned()) } else { again.map(|it| format!("{} again", it.1)) };
        if let Some(found) = found {
            return Err(Fault::new("node", format!("expected at least one node, and each once, found {found}")));
        }
    }
    let is_sound =
        |text: &&String| text.split_once('=').is_some_and(|(name, _)| !name.is_empty() && !text.contains('\0'));
    if let Some(text) = host.environment.iter().find(|text| !is_sound(text)) {
        return Err(Fault::new("environment", format!("expected a text such as \"NAME=value\", found \"{text}\"")));
    }
    if !host.folder.starts_with('/') || host.folder.contains(char::is_control) || host.folder.len() > 1000 {
        return Err(Fault::new("folder", format!("expected an absolute path, found \"{}\"", host.folder)));
    }
    Ok(())
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_has_the_arguments_of_a_shell() {
        let host = |run: &str| Host { run: run.to_owned(), ..Host::default() };
        assert_eq!(host("sh -c 'a  b'").arguments(), Some(vec!["sh".into(), "-c".into(), "a  b".into()]));
        let parameter = |host: Host| host.check().err().map(|fault| fault.parameter);
        assert_eq!(parameter(host("true")), None);
        assert_eq!(parameter(host("sh -c 'a")), Some("run"));
        assert_eq!(parameter(Host { node: At::Node(1), ..host(" ") }), Some("run"));
        let at = |nodes: &[u32]| Host { node: At::Nodes(nodes.to_vec()), ..host("true") };
        assert_eq!([&[][..], &[1, 2, 1], &[2, 1]].map(|it| parameter(at(it))), [Some("node"), Some("node"), None]);
        assert_eq!(parameter(Host { environment: vec!["=1".into()], ..host("true") }), Some("environment"));
        assert_eq!(parameter(Host { folder: "tmp".into(), ..host("true") }), Some("folder"));
        let variables = Host { environment: vec!["A=b=c".into()], ..host("true") }.variables();
        assert_eq!(variables, [("A".to_owned(), "b=c".to_owned())]);
    }

    #[test]
    fn parameters_are_paths_and_values() {
        let sysctls = vec!["net.ipv4.tcp_sack=0".to_owned(), "net.ipv4.tcp_rmem = 4096 8192 16384".to_owned()];
        let linux = Linux { sysctls, ..Linux::default() };
        assert_eq!(linux.check().err().map(|fault| fault.parameter), None);
        let expected = [("net/ipv4/tcp_sack", "0"), ("net/ipv4/tcp_rmem", "4096 8192 16384")];
        assert_eq!(linux.parameters(), expected.map(|(path, value)| (path.to_owned(), value.to_owned())));
    }

    #[test]
    fn westwood_is_linuxs_or_the_published_one() {
        let published = Linux { westwood: Westwood::Published, ..Linux::default() };
        let variants = ["westwood", "westwood_plus", "cubic"];
        assert_eq!(variants.map(|it| Linux::default().name_of(it)), ["westwood", "westwood", "cubic"]);
        assert_eq!(variants.map(|it| published.name_of(it)), ["westwood_2001", "westwood", "cubic"]);
    }

    #[test]
    fn impossible_values_are_named() {
        let parameter = |linux: Linux| linux.check().err().map(|fault| fault.parameter);
        assert_eq!(parameter(Linux { memory: 15, ..Linux::default() }), Some("memory"));
        assert_eq!(parameter(Linux { mtu: 1279, ..Linux::default() }), Some("mtu"));
        assert_eq!(parameter(Linux { routing: "a 'b".to_owned(), ..Linux::default() }), Some("routing"));
        assert_eq!(parameter(Linux { sample: Span::ZERO, ..Linux::default() }), Some("sample"));
        assert_eq!(parameter(Linux { wifi_channel: 12, ..Linux::default() }), Some("wifi_channel"));
        assert_eq!(parameter(Linux { beacon_interval: 19, ..Linux::default() }), Some("beacon_interval"));
        for version in ["6.1+wifi-", "6.1+wifi-a1b2c3d", "6.1+a1b2c3d4-wifi", "6.1+"] {
            assert_eq!(parameter(Linux { version: version.to_owned(), ..Linux::default() }), Some("version"));
        }
    }

    #[test]
    fn a_kernel_with_wifi_has_a_name_of_its_own() {
        let named = |version: &str, wifi| Linux { version: version.to_owned(), wifi, ..Linux::default() };
        for (version, wifi, name) in [
            ("6.1", Wifi::Off, "6.1"),
            ("6.1", Wifi::Ibss, "6.1+wifi"),
            ("6.1+wifi-a1b2c3d4", Wifi::Mesh, "6.1+wifi-a1b2c3d4"),
            ("6.1+a1b2c3d4", Wifi::Mesh, "6.1+a1b2c3d4"),
        ] {
            let linux = named(version, wifi);
            assert!(linux.check().is_ok(), "{version}");
            assert_eq!(linux.kernel(), name);
        }
        assert_eq!(Linux::default().frequency(), 2437);
    }

    #[test]
    fn parameters_of_kernels_have_names() {
        let parameter = |linux: Linux| linux.check().err().map(|fault| fault.parameter);
        for text in ["", "tcp_sack=0", "net.ipv4.tcp_sack", "net.x=", "net. x=1", "../../x.y=1", "net.x=1\n"] {
            assert_eq!(parameter(Linux { sysctls: vec![text.to_owned()], ..Linux::default() }), Some("sysctls"));
        }
        let sysctls = ["net.ipv4.tcp_sack=0", "net.ipv4.tcp_ecn=0", "net/ipv4.tcp_sack = 1"].map(str::to_owned);
        let fault = Linux { sysctls: sysctls.to_vec(), ..Linux::default() }.check().expect_err("one is there twice");
        let again = "expected each parameter once, found net.ipv4.tcp_sack again";
        assert_eq!(fault.elements, [(2, again.to_owned())]);
    }
}
