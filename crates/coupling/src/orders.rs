//! What the kernels are told: the ends of flows at their node, addresses, parameters.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::net::Ipv4Addr;
use std::path::PathBuf;

use hopyard_engine::{Span, Time};
use hopyard_kernels::{Guest, Settings, initrd};
use hopyard_model::address::NodeId;

use crate::hosts::mac;

/// The port of the first flow's sink; that of the n-th flow is n higher.
const SINKS: u16 = 5000;
/// The port of the first flow's source.
const SOURCES: u16 = 20_000;
/// How many segments a source writes at a time, so that only the last one of a transfer is not full.
const CHUNK: u32 = 16;

/// The bytes of the headers of IP and TCP, without options.
const HEADERS: u32 = 40;
/// The bytes of TCP's timestamps in each segment (RFC 7323 §3.2, and two of padding).
const TIMESTAMPS: u32 = 12;
/// The longest IP datagram of the devices, that of Ethernet: the kernels' receive buffers have no room for longer ones.
const MTU: u32 = 1500;

/// The limits of sockets' buffers that Linux has with 1 GB of memory and more: least, first and most bytes. With the
/// little memory of a guest it would have smaller ones, and so a receiver's window below 100 kB.
const BUFFERS: [(&str, &str); 2] =
    [("net/ipv4/tcp_rmem", "4096 131072 6291456"), ("net/ipv4/tcp_wmem", "4096 16384 4194304")];

/// A flow between two kernels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The node of the kernel that sends.
    pub from: NodeId,
    /// The node of the kernel that receives.
    pub to: NodeId,
    /// Linux's name of the TCP variant, such as `cubic`.
    pub variant: String,
    /// When the source connects.
    pub start: Time,
    /// How many bytes it sends; without end if there is no number.
    pub bytes: Option<u64>,
    /// The payload of a full segment, in bytes; less where the datagram would have more than 1500 bytes.
    pub segment: u32,
    /// Whether the variant uses ICMP errors about segments that routing cannot forward.
    pub notices: bool,
}

/// What holds for all kernels of a run.
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
    /// Completion, patience, and the like.
    pub settings: Settings,
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

/// How many flows there can be: their ports are different.
pub const MOST_FLOWS: usize = (SOURCES - SINKS) as usize;

/// The kernel of a node, with the ends of all flows at it. `address` gives the address of a node.
pub fn guest(node: NodeId, flows: &[Flow], options: &Options, address: impl Fn(NodeId) -> Ipv4Addr) -> Guest {
    let mut orders = String::new();
    let off = ("net/ipv4/tcp_timestamps".to_owned(), "0".to_owned());
    let timestamps = !options.sysctls.contains(&off);
    let mut order = |line: std::fmt::Arguments<'_>| {
        // Writing into a text cannot fail.
        let _ = writeln!(orders, "{line}");
    };
    for (path, value) in BUFFERS {
        order(format_args!("sysctl {path} {value}"));
    }
    for (path, value) in &options.sysctls {
        order(format_args!("sysctl {path} {value}"));
    }
    order(format_args!("mtu eth0 {MTU}"));
    // The simulated network finds the way to every address.
    order(format_args!("address eth0 {} 32", address(node)));
    order(format_args!("route 0.0.0.0 0 eth0"));
    let own = || flows.iter().filter(|it| it.from == node);
    if own().any(|it| it.notices) {
        // An error that the node's own routing reports has the source address of the kernel itself.
        order(format_args!("sysctl net/ipv4/conf/eth0/accept_local 1"));
    }
    let variants: BTreeSet<&str> = own().map(|it| it.variant.as_str()).collect();
    let mut modules: Vec<(String, &[u8])> = Vec::new();
    for variant in variants {
        if let Some(module) = options.modules.get(variant) {
            order(format_args!("module hopyard_{variant}"));
            modules.push((format!("modules/hopyard_{variant}.ko"), module));
        }
    }
    for (number, flow) in flows.iter().enumerate() {
        let (source, sink) = ports(number);
        if flow.to == node {
            order(format_args!("sink {sink}"));
        }
        if flow.from == node {
            let Flow { variant, bytes, .. } = flow;
            let chunk = CHUNK * flow.segment;
            let (to, start, bytes) = (address(flow.to), flow.start.nanos(), bytes.unwrap_or(0));
            // Linux counts the options of each segment as a part of it (RFC 6691 §3).
            let mss = (flow.segment + if timestamps { TIMESTAMPS } else { 0 }).min(MTU - HEADERS);
            order(format_args!("source {to} {sink} {source} {variant} {start} {bytes} {chunk} {mss}"));
        }
    }
    order(format_args!("sample {}", options.sample.nanos()));
    let mut files = vec![("init", 0o755, options.agent.as_slice()), ("orders", 0o644, orders.as_bytes())];
    files.extend(modules.iter().map(|(name, bytes)| (name.as_str(), 0o644, *bytes)));
    Guest {
        name: format!("node {node}"),
        program: options.program.clone(),
        initrd: initrd::archive(&files),
        parameters: Vec::new(),
        memory: options.memory,
        devices: vec![mac(node)],
        // Seeds that are near to each other give numbers that have nothing in common.
        seed: options.seed.wrapping_mul(0x1_0000_0001).wrapping_add(node.0.into()),
    }
}
