//! The orders to the kernels: the ends of flows at their node, addresses, parameters.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::net::Ipv4Addr;
use std::path::PathBuf;

use hopyard_engine::{Span, Time};
use hopyard_kernels::agent::Order;
use hopyard_kernels::{Guest, Settings, initrd};
use hopyard_model::address::NodeId;
use hopyard_model::packet::{IP_HEADER, TCP_HEADER, TIMESTAMPS};
use hopyard_scenario::LinuxFlow;

use crate::hosts::mac;
use crate::programs::Program;
use crate::routers::{self, Routers, address6};

/// The port of the first flow's sink; the port of the n-th flow is n higher. From here on, ports belong to no protocol
/// (RFC 6335 §6), so that no reader of captures takes the payload for one.
const SINKS: u16 = 49_152;
/// The port of the first flow's source; from here on, few ports belong to a protocol.
const SOURCES: u16 = 35_000;
/// How many segments a source writes at a time, so that only the last one of a transfer is not full. Hopyard's own
/// applications write as many to the TCP of the profile `linux`.
const CHUNK: u32 = 44;

/// The bytes of the headers of IP and TCP, without options.
const HEADERS: u32 = IP_HEADER + TCP_HEADER;
/// The longest IP datagram of the devices, that of Ethernet: the kernels' receive buffers have no room for longer ones.
/// A device of a link that carries less has the link's.
const MTU: u32 = 1500;
/// How many addresses Linux announces over MPTCP.
const MOST_ENDPOINTS: usize = 8;
/// The least memory of a kernel with programs, in MiB.
pub const LEAST_WITH_PROGRAMS: u32 = 128;

/// The limits of sockets' buffers that Linux has with 1 GB of memory and more: least, first and most bytes. With the
/// little memory of a guest it would have smaller ones, and so a receiver's window below 100 kB.
const BUFFERS: [(&str, &str); 2] =
    [("net/ipv4/tcp_rmem", "4096 131072 6291456"), ("net/ipv4/tcp_wmem", "4096 16384 4194304")];

/// Settings that hold for all kernels of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The kernel, which `hopyard kernels build` has made.
    pub program: PathBuf,
    /// The program that is each guest's first process, made together with the kernel.
    pub agent: Vec<u8>,
    /// TCP variants that the kernel does not have itself: by name, the modules that `hopyard kernels build` has made.
    pub modules: BTreeMap<String, Vec<u8>>,
    /// The memory of each kernel, in MiB.
    pub memory: u32,
    /// Where random numbers begin. Each kernel has its own.
    pub seed: u64,
    /// How often the sockets are sampled; never if it is zero.
    pub sample: Span,
    /// Parameters of the kernels: paths below `/proc/sys`, and values.
    pub sysctls: Vec<(String, String)>,
    /// Programs of this machine. Their nodes have kernels too.
    pub programs: Vec<Program>,
    /// The nodes that are kernels, if there are any.
    pub routers: Option<Routers>,
    /// Completion, patience, and the like.
    pub settings: Settings,
}

impl Options {
    fn has_programs(&self, node: NodeId) -> bool {
        self.programs.iter().any(|it| it.node == node)
    }

    /// The nodes that are kernels, if this node is one of them.
    fn router(&self, node: NodeId) -> Option<&Routers> {
        self.routers.as_ref().filter(|it| it.has(node))
    }
}

/// The ports of a flow: of its source and of its sink.
pub fn ports(flow: usize) -> (u16, u16) {
    // More flows than ports are refused before.
    (SOURCES + flow as u16, SINKS + flow as u16)
}

/// The flow whose source has this port.
pub fn flow_of(source_port: u16) -> Option<usize> {
    source_port.checked_sub(SOURCES).map(usize::from)
}

/// The part of the network that the kernels are told of.
#[derive(Debug)]
pub struct Site<'a> {
    /// The addresses of each node.
    pub addresses: &'a [Vec<Ipv4Addr>],
    /// The largest packets on the link of each address, if there is a limit.
    pub mtus: &'a [Vec<Option<u32>>],
    /// The static routes of each kernel that is a node: destinations and next hops.
    pub routes: &'a BTreeMap<NodeId, Vec<(NodeId, NodeId)>>,
    /// Where each program is on this machine.
    pub paths: &'a [PathBuf],
    /// When the measuring begins.
    pub from: Time,
    /// The end of the run.
    pub end: Time,
}

impl Site<'_> {
    /// The address by which a node is known.
    pub fn first(&self, node: NodeId) -> Ipv4Addr {
        // A node without an address has no kernel.
        self.addresses[node.index()].first().copied().unwrap_or(Ipv4Addr::UNSPECIFIED)
    }

    /// The addresses of a node's kernel. Each has a device. A node with programs has all of its addresses, any other
    /// node only the first.
    pub fn devices(&self, node: NodeId, options: &Options) -> &[Ipv4Addr] {
        let all = &self.addresses[node.index()];
        if options.has_programs(node) { all } else { &all[..all.len().min(1)] }
    }

    /// The longest datagram of a device of a node.
    fn mtu(&self, node: NodeId, device: usize) -> u32 {
        self.mtus[node.index()].get(device).copied().flatten().map_or(MTU, |it| it.min(MTU))
    }

    /// The names of all nodes with their addresses, as in /etc/hosts. The further addresses of a node have names with
    /// their numbers.
    fn names(&self, options: &Options) -> String {
        let mut text = "127.0.0.1 localhost\n".to_owned();
        for &node in options.routers.iter().flat_map(|it| &it.nodes) {
            let _ = writeln!(text, "{} node{node}-v6", address6(self.first(node)));
        }
        for (node, addresses) in self.addresses.iter().enumerate() {
            for (number, address) in addresses.iter().enumerate() {
                let further = if number == 0 { String::new() } else { format!("-{number}") };
                let _ = writeln!(text, "{address} node{node}{further}");
            }
        }
        text
    }
}

/// The kernel of a node, with the ends of all flows at it, and its programs.
pub fn guest(node: NodeId, flows: &[LinuxFlow], options: &Options, site: &Site<'_>) -> Guest {
    let (orders, modules) = orders(node, flows, options, site);
    let mut files: Vec<(String, &[u8])> = Vec::new();
    for (variant, module) in modules {
        files.push((format!("modules/hopyard_{variant}.ko"), module));
    }
    let names = site.names(options);
    let (has_programs, router) = (options.has_programs(node), options.router(node));
    if has_programs {
        files.push(("hosts".into(), names.as_bytes()));
        files.push(("nobody".into(), b"# There are no name servers: /etc/hosts has the names.\n"));
    }
    let files: Vec<_> = files.iter().map(|(name, content)| (name.as_str(), *content)).collect();
    Guest {
        name: format!("node {node}"),
        program: options.program.clone(),
        initrd: initrd::archive(&options.agent, &orders, &files),
        // Hosts of Hopyard's nodes have IPv4 alone: nothing carries their messages of IPv6.
        parameters: match router {
            None => vec!["ipv6.disable=1".to_owned()],
            // Two radios would be the default.
            Some(routers) if routers.wireless.is_some() => vec!["mac80211_hwsim.radios=1".to_owned()],
            Some(_) => Vec::new(),
        },
        memory: if has_programs { options.memory.max(LEAST_WITH_PROGRAMS) } else { options.memory },
        devices: match router {
            Some(routers) => routers.devices(node),
            None => (0..site.devices(node, options).len()).map(|device| mac(node, device).into()).collect(),
        },
        // Seeds that are near to each other give numbers that have nothing in common.
        seed: options.seed.wrapping_mul(0x1_0000_0001).wrapping_add(node.0.into()),
    }
}

/// The orders that set up the devices of a host, whose datagrams the simulated network routes.
fn host_orders(node: NodeId, flows: &[LinuxFlow], options: &Options, site: &Site<'_>) -> Vec<Order> {
    let device = |number: usize| format!("eth{number}");
    let devices = site.devices(node, options);
    let mut orders = Vec::new();
    for (number, &address) in devices.iter().enumerate() {
        orders.push(Order::Mtu { bytes: site.mtu(node, number), device: device(number) });
        // The simulated network finds the way to every address.
        orders.push(Order::Address { address, prefix: 32, arp: 0, device: device(number) });
    }
    orders.push(Order::Route { address: Ipv4Addr::UNSPECIFIED, prefix: 0, device: device(0) });
    let is_narrow = (0..site.mtus[node.index()].len()).any(|number| site.mtu(node, number) < MTU);
    if is_narrow || flows.iter().any(|it| it.from == node && it.notices) {
        // An error that the node itself reports has the source address of the kernel itself: what its routing cannot
        // forward, and what another link of the node than that of the device does not carry.
        orders.push(Order::Sysctl { path: "net/ipv4/conf/eth0/accept_local".to_owned(), value: "1".to_owned() });
    }
    for (number, &address) in devices.iter().enumerate().skip(1) {
        if number <= MOST_ENDPOINTS {
            orders.push(Order::Mptcp { address, device: device(number) });
        }
        // The further addresses of others are reached from the own address of the same number.
        for (_, others) in site.addresses.iter().enumerate().filter(|(other, _)| *other != node.index()) {
            if let Some(&address) = others.get(number) {
                orders.push(Order::Route { address, prefix: 32, device: device(number) });
            }
        }
    }
    orders
}

/// The orders to the agent of a node's kernel, and the modules that it loads, by their variants.
fn orders<'a>(
    node: NodeId,
    flows: &[LinuxFlow],
    options: &'a Options,
    site: &Site<'_>,
) -> (Vec<Order>, Vec<(&'a str, &'a [u8])>) {
    let off = ("net/ipv4/tcp_timestamps".to_owned(), "0".to_owned());
    let timestamps = !options.sysctls.contains(&off);
    let sysctl = |path: &str, value: &str| Order::Sysctl { path: path.to_owned(), value: value.to_owned() };
    let mut orders: Vec<Order> = BUFFERS.iter().map(|(path, value)| sysctl(path, value)).collect();
    let has_programs = options.has_programs(node);
    if has_programs {
        // The default of distributions; the kernels' own is Reno. Flows name theirs.
        orders.push(sysctl("net/ipv4/tcp_congestion_control", "cubic"));
        if options.router(node).is_none() && !flows.iter().any(|it| [it.from, it.to].contains(&node)) {
            // So is this, for devices that are set up later. Flows compare TCP with Hopyard's: the simulated network
            // alone has queues there.
            orders.push(sysctl("net/core/default_qdisc", "fq_codel"));
        }
    }
    if let Some(last) = flows.len().checked_sub(1).filter(|_| has_programs) {
        // No program gets a port of a flow unless it asks for that.
        let ((source, sink), (last_source, last_sink)) = (ports(0), ports(last));
        let reserved = format!("{source}-{last_source},{sink}-{last_sink}");
        orders.push(sysctl("net/ipv4/ip_local_reserved_ports", &reserved));
    }
    let router = options.router(node);
    orders.extend(router.iter().flat_map(|it| routers::sysctls(it.radio())));
    orders.extend(options.sysctls.iter().map(|(path, value)| sysctl(path, value)));
    if let Some(routers) = router {
        let routes = site.routes.get(&node).map_or(&[][..], Vec::as_slice);
        orders.extend(routers.orders(node, site.addresses, routes));
    } else {
        orders.extend(host_orders(node, flows, options, site));
    }
    let own = || flows.iter().filter(|it| it.from == node);
    let variants: BTreeSet<&str> = own().map(|it| it.variant.as_str()).collect();
    let modules = options.modules.iter().filter(|(variant, _)| variants.contains(variant.as_str()));
    let modules: Vec<_> = modules.map(|(variant, module)| (variant.as_str(), module.as_slice())).collect();
    orders.extend(modules.iter().map(|(variant, _)| Order::Module { name: format!("hopyard_{variant}") }));
    for (number, flow) in flows.iter().enumerate() {
        let (own_port, port) = ports(number);
        // Linux counts the options of each segment as a part of it (RFC 6691 §3). Both ends announce the size: the
        // receiver's window grows by it.
        let most = site.mtu(flow.from, 0).min(site.mtu(flow.to, 0)) - HEADERS;
        let mss = (flow.segment + if timestamps { TIMESTAMPS } else { 0 }).min(most);
        if flow.to == node {
            orders.push(Order::Sink { port, mss });
        }
        if flow.from == node {
            orders.push(Order::Source {
                to: site.first(flow.to),
                port,
                own_port,
                mss,
                chunk: CHUNK * flow.segment,
                start: flow.start,
                bytes: flow.bytes,
                stop: flow.stop.map(Time::nanos),
                variant: flow.variant.clone(),
                writes: flow.writes.iter().flat_map(|(at, bytes)| [at.nanos(), *bytes]).collect(),
            });
        }
    }
    let programs = options.programs.iter().zip(site.paths).zip(0..).filter(|((it, _), _)| it.node == node);
    let programs: Vec<_> = programs.collect();
    if has_programs {
        orders.push(Order::Root { name: format!("node{node}") });
        let hidden: BTreeSet<_> = programs.iter().flat_map(|((it, path), _)| it.hidden(path)).collect();
        orders.extend(hidden.iter().map(|folder| Order::Show { folder: folder.display().to_string() }));
        orders.push(Order::End { start: site.end });
    }
    orders.extend(programs.iter().map(|((program, path), number)| program.order(*number, path, site.first(node))));
    if options.sample > Span::ZERO {
        orders.push(Order::Sample { interval: options.sample, from: site.from, to: site.end });
    }
    (orders, modules)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use hopyard_model::world::MOST_FLOWS;

    use super::*;
    use crate::built::skipped;

    #[test]
    fn nodes_with_programs_have_the_defaults_of_distributions_before_what_the_scenario_says() {
        let program = Program {
            node: NodeId(1),
            arguments: vec!["true".to_owned()],
            start: Time::ZERO,
            environment: Vec::new(),
            folder: PathBuf::new(),
        };
        let options = Options {
            program: PathBuf::new(),
            agent: Vec::new(),
            modules: BTreeMap::new(),
            memory: 32,
            seed: 1,
            sample: Span::ZERO,
            sysctls: vec![("net/ipv4/tcp_congestion_control".to_owned(), "vegas".to_owned())],
            programs: vec![program],
            routers: None,
            settings: Settings::default(),
        };
        let addresses = [1, 2].map(|last| vec![Ipv4Addr::new(10, 0, 0, last)]);
        let mtus = [Some(2296), Some(1000)].map(|mtu| vec![mtu]);
        let paths = [PathBuf::from("/bin/true")];
        let (routes, [from, end]) = (BTreeMap::new(), [Time::ZERO; 2]);
        let site = Site { addresses: &addresses, mtus: &mtus, routes: &routes, paths: &paths, from, end };
        let values = |node, flows: &[LinuxFlow], sysctl: &str| {
            let (orders, _) = orders(NodeId(node), flows, &options, &site);
            let value = |order| match order {
                Order::Sysctl { path, value } if path == sysctl => Some(value),
                _ => None,
            };
            orders.into_iter().filter_map(value).collect::<Vec<_>>()
        };
        let variants = |node| values(node, &[], "net/ipv4/tcp_congestion_control");
        assert_eq!(variants(0), ["vegas"]);
        assert_eq!(variants(1), ["cubic", "vegas"]);
        // A device is as wide as its link, and not wider than Ethernet.
        assert_eq!([0, 1].map(|node| site.mtu(NodeId(node), 0)), [1500, 1000]);
        // A device has the queueing discipline that is the default when it is set up.
        let queues = |node, flows: &[LinuxFlow]| values(node, flows, "net/core/default_qdisc");
        let (first, _) = orders(NodeId(1), &[], &options, &site);
        let place = |is: fn(&Order) -> bool| first.iter().position(is);
        let queue = |it: &Order| matches!(it, Order::Sysctl { path, .. } if path.ends_with("default_qdisc"));
        assert!(place(queue) < place(|it| matches!(it, Order::Mtu { .. })));
        let flow = LinuxFlow {
            number: 0,
            from: NodeId(0),
            to: NodeId(1),
            variant: "cubic".to_owned(),
            start: Time::ZERO,
            bytes: None,
            stop: None,
            writes: Vec::new(),
            segment: 1448,
            notices: false,
        };
        assert_eq!(queues(1, &[]), ["fq_codel"]);
        assert!(queues(0, &[]).is_empty() && queues(1, &[flow]).is_empty());
    }

    #[test]
    fn no_two_flows_have_a_port_in_common() {
        let last = MOST_FLOWS - 1;
        assert!(ports(last).0 < SINKS && SINKS.checked_add(last as u16).is_some(), "{:?}", ports(last));
        assert_eq!(flow_of(ports(last).0), Some(last));
    }

    /// Wireshark would show the payload of a flow as the messages of another protocol.
    #[test]
    fn no_dissector_takes_the_ports_of_the_first_thousands_of_flows() {
        let Ok(listed) = Command::new("tshark").args(["-G", "decodes"]).output() else {
            return skipped("tshark (Debian: apt install tshark) does not run");
        };
        let text = String::from_utf8_lossy(&listed.stdout).into_owned();
        let taken =
            text.lines().filter_map(|it| it.strip_prefix("tcp.port\t")?.split('\t').next()?.parse::<u16>().ok());
        let taken: BTreeSet<u16> = taken.collect();
        assert!(taken.contains(&80), "{} dissectors", taken.len());
        let claimed: Vec<_> = (0..5000).map(ports).filter(|(a, b)| taken.contains(a) || taken.contains(b)).collect();
        assert_eq!(claimed, []);
    }
}
