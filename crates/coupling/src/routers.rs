//! Nodes that are Linux kernels: their devices, their routing, and the routes that they report.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;

use hopyard_engine::{Span, Streams, Time};
use hopyard_kernels::agent::Order;
use hopyard_kernels::{Kind, Medium, Nic};
use hopyard_model::address::{InterfaceId, NodeId};
use hopyard_model::observe::RouteChanges;
use hopyard_model::routing;
use hopyard_model::world::{BuildError, Spec, Watch, World};
use hopyard_scenario::Scenario;
use hopyard_scenario::sections::{Linux, LinuxRouting, Wifi};
use hopyard_wire::HardwareAddress;

use crate::programs::Program;
use crate::radios::Wireless;
use crate::routes::{Change, RouteEvent};

/// The name of the radio's device, and with Linux's Wi-Fi. The mesh of batman-adv is another device, above it.
const RADIO: &str = "eth0";
const WIFI: &str = "wlan0";
const MESH: &str = "bat0";
/// The time within which the daemons of all nodes begin.
const SPREAD: Span = Span::from_secs(1);
/// How often batman-adv is asked for its routes: it sends OGMs, from which they follow, once a second.
const ASKING: Span = Span::from_secs(1);
/// How long after `zebra` the daemons begin that ask it.
const ZEBRA: Span = Span::from_secs(1);
/// A network with fewer bits for its hosts has an address for all of them that one of the nodes may have.
const LONGEST_PREFIX: u32 = 24;

/// The nodes of a run that are Linux kernels.
#[derive(Clone, Debug)]
pub struct Routers {
    /// Their numbers, in order.
    pub nodes: Vec<NodeId>,
    /// Their routing.
    pub routing: LinuxRouting,
    /// The largest datagram of their devices, in bytes.
    pub mtu: u32,
    /// The rate of their radios, in Mb/s, rounded up.
    pub speed: u32,
    /// Linux's Wi-Fi, if they have it.
    pub wireless: Option<Wireless>,
    /// Which changes of their routes are recorded.
    pub routes: RouteChanges,
}

/// The IPv6 address of the host with an IPv4 address: a local one (RFC 4193), which ends with the other.
#[must_use]
pub fn address6(address: Ipv4Addr) -> Ipv6Addr {
    let [a, b, c, d] = address.octets();
    Ipv6Addr::from([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, a, b, c, d])
}

/// The prefix of the smallest network with all of these addresses.
fn prefix_of(addresses: &[Vec<Ipv4Addr>]) -> u32 {
    let mut all = addresses.iter().filter_map(|it| it.first()).map(|it| it.to_bits());
    let Some(first) = all.next() else { return LONGEST_PREFIX };
    all.map(|it| (it ^ first).leading_zeros().saturating_sub(1)).fold(LONGEST_PREFIX, u32::min)
}

/// The programs of the routing of all nodes that are kernels, in this run. Each node begins at a random time within the
/// first second. Daemons that send in fixed intervals, such as OSPF's, would else send at the same nanosecond, and
/// their frames would collide for ever.
#[must_use]
pub fn daemons(scenario: &Scenario, spec: &Spec) -> Vec<Program> {
    let Some(linux) = scenario.linux() else { return Vec::new() };
    let (routing, radio) = (linux.routing(), radio_of(linux));
    let streams = Streams::new(spec.seed, spec.run);
    let of = |node: NodeId| {
        let offset = streams.stream(&format!("node/{node}/daemon")).below(SPREAD.nanos());
        daemons_of((&routing, radio), node, Time::from_nanos(offset))
    };
    scenario.linux_nodes().into_iter().flat_map(of).collect()
}

/// Why the routing of the nodes that are kernels cannot run on this machine, if it cannot.
#[must_use]
pub fn daemon_fault(scenario: &Scenario) -> Option<String> {
    let linux = scenario.linux()?;
    let routing = linux.routing();
    let node = *scenario.linux_nodes().first()?;
    let fault = |program: &Program| program.find().err().map(|error| error.to_string());
    match routing.package() {
        Some((program, package)) => {
            let only = Program { arguments: vec![program.to_owned()], ..program_of(node, Time::ZERO) };
            fault(&only).map(|error| format!("{error}: apt install {package}"))
        }
        None => {
            let error = daemons_of((&routing, radio_of(linux)), node, Time::ZERO).iter().find_map(fault)?;
            Some(format!("{error}: expected a command, or one of {}", LinuxRouting::NAMES.join(", ")))
        }
    }
}

/// The device of the radio.
const fn radio_of(linux: &Linux) -> &'static str {
    match linux.wifi {
        Wifi::Off => RADIO,
        Wifi::Ibss | Wifi::Mesh => WIFI,
    }
}

/// A program at a node, without a command yet.
fn program_of(node: NodeId, start: Time) -> Program {
    Program { node, arguments: Vec::new(), start, environment: Vec::new(), folder: PathBuf::from("/tmp") }
}

/// The programs of a node's routing over the device of its radio.
fn daemons_of((routing, radio): (&LinuxRouting, &str), node: NodeId, begin: Time) -> Vec<Program> {
    let program = |start: Time, arguments: Vec<String>| Program { arguments, ..program_of(node, start) };
    let words = |text: &[&str]| text.iter().map(|&it| it.to_owned()).collect::<Vec<_>>();
    match routing {
        LinuxRouting::Static | LinuxRouting::Batman(_) | LinuxRouting::Hwmp => Vec::new(),
        LinuxRouting::Babeld => {
            let files = ["-I", "/tmp/babeld.pid", "-S", "/tmp/babeld.state"];
            let interface = format!("interface {radio} type wireless");
            let settings = ["-C", &interface, "-C", "redistribute local"];
            vec![program(begin, words(&[&["babeld"], &files[..], &settings, &[radio]].concat()))]
        }
        // FRR's daemons refuse to be root, and need a folder of their user.
        LinuxRouting::Ospf => {
            let options = "-u frr -g frr --vty_socket /run/frr -z /run/frr/zserv.api";
            let zebra = format!(
                "mkdir -p /run/frr && chown frr:frr /run/frr && printf 'log stdout\\n' > /run/frr/zebra.conf && \
                 exec /usr/lib/frr/zebra {options} -i /run/frr/zebra.pid -f /run/frr/zebra.conf"
            );
            let lines = format!(
                "log stdout\\ninterface {radio}\\n ip ospf network point-to-multipoint\\n ip ospf hello-interval \
                 1\\n ip ospf dead-interval 4\\nrouter ospf\\n network 0.0.0.0/0 area 0\\n"
            );
            let ospfd = format!(
                "printf '{lines}' > /run/frr/ospfd.conf && \
                 exec /usr/lib/frr/ospfd {options} -i /run/frr/ospfd.pid -f /run/frr/ospfd.conf"
            );
            let shell = |start, text: String| program(start, vec!["sh".to_owned(), "-c".to_owned(), text]);
            vec![shell(begin, zebra), shell(begin + ZEBRA, ospfd)]
        }
        LinuxRouting::Command(arguments) => vec![program(begin, arguments.clone())],
    }
}

impl Routers {
    /// The nodes of a scenario that are kernels, if there are any.
    #[must_use]
    pub fn of(scenario: &Scenario, spec: &Spec) -> Option<Self> {
        let (linux, nodes) = (scenario.linux()?, scenario.linux_nodes());
        let channel = &spec.channels[0];
        // With rate control, devices tell the highest rate, as those of Ethernet do.
        let modes = channel.mac.modes(&channel.rates).unwrap_or_default();
        let fastest = modes.iter().map(|mode| mode.rate().bps()).max().unwrap_or(0);
        (!nodes.is_empty()).then(|| Self {
            nodes,
            routing: linux.routing(),
            mtu: linux.router_mtu(),
            speed: u32::try_from(fastest.div_ceil(1_000_000)).unwrap_or(u32::MAX),
            wireless: Wireless::of(linux, spec),
            routes: spec.observe.recorded.routes,
        })
    }

    /// Whether a program does the routing of its node.
    pub fn has_daemon(&self, program: &Program) -> bool {
        daemons_of((&self.routing, self.radio()), program.node, program.start)
            .iter()
            .any(|it| it.arguments == program.arguments)
    }

    /// The device of the radio.
    pub const fn radio(&self) -> &'static str {
        if self.wireless.is_some() { WIFI } else { RADIO }
    }

    /// Whether a node is one of them.
    pub fn has(&self, node: NodeId) -> bool {
        self.nodes.binary_search(&node).is_ok()
    }

    /// For each node its destinations with their next hops, neighbours first, if routing is static. These are the
    /// shortest paths over the links at the start.
    pub fn static_routes(&self, spec: &Spec) -> Result<BTreeMap<NodeId, Vec<(NodeId, NodeId)>>, BuildError> {
        let mut found = BTreeMap::new();
        let Some(config) =
            routing::Config::of_profile("static", "rfc").ok().filter(|_| self.routing == LinuxRouting::Static)
        else {
            return Ok(found);
        };
        let mut spec = spec.clone();
        spec.nodes.iter_mut().for_each(|node| node.routing = config.clone());
        let mut world: World = World::new(&spec)?;
        world.advance(Time::ZERO, &Watch::default());
        for &node in &self.nodes {
            let rows = world.routes(node).into_iter().map(|it| (NodeId(it.destination), NodeId(it.next_hop)));
            let mut routes: Vec<_> = rows.collect();
            routes.sort_by_key(|(to, by)| (to != by, *to));
            found.insert(node, routes);
        }
        Ok(found)
    }

    /// A change of a route, as a node's agent reports it. Nothing if the destination is no other node. `addresses` has
    /// the destination's address and then the next hop's: of IPv4, where it is zero if the destination is a neighbour,
    /// or those of the radios of batman-adv.
    pub fn route_event(
        &self,
        (at, node): (Time, NodeId),
        (added, prefix): (u32, u32),
        addresses: &[u8],
        owner: impl Fn(Ipv4Addr) -> Option<NodeId>,
    ) -> Option<RouteEvent> {
        let station = |mac: &[u8]| <[u8; 6]>::try_from(mac).ok().map(HardwareAddress).and_then(InterfaceId::of_station);
        let of_radio = |mac: &[u8]| station(mac).map(|it| NodeId(it.0));
        let of_ip = |bytes: &[u8]| <[u8; 4]>::try_from(bytes).ok().and_then(|it| owner(it.into()));
        let (destination, by) = addresses.split_at(addresses.len() / 2);
        let find = |bytes: &[u8]| match (bytes.len(), prefix) {
            (4, 32) => of_ip(bytes),
            (6, _) => of_radio(bytes),
            _ => None,
        };
        let destination = find(destination).filter(|it| *it != node)?;
        let next_hop = || if by == [0; 4] { Some(destination) } else { find(by) };
        let change = match added {
            0 => Change::Removed(next_hop()?),
            1 => Change::Added(next_hop()?),
            _ => Change::Unreachable,
        };
        Some(RouteEvent { at, node, destination, change })
    }

    /// The devices of a node.
    pub fn devices(&self, node: NodeId) -> Vec<Nic> {
        if self.wireless.is_some() {
            return vec![Nic { kind: Kind::Radio, ..Nic::default() }];
        }
        let HardwareAddress(mac) = InterfaceId::from(node).station();
        // A larger datagram than the MAC carries was refused.
        let mtu = u16::try_from(self.mtu).unwrap_or(u16::MAX);
        vec![Nic { link: Some(Medium { mtu, speed: self.speed, carrier: true }), ..mac.into() }]
    }

    /// The orders that set a node up: its devices, their addresses, and its routing.
    pub fn orders(&self, node: NodeId, addresses: &[Vec<Ipv4Addr>], static_routes: &[(NodeId, NodeId)]) -> Vec<Order> {
        // Before there is an address, so that the kernel's own routes are the only ones that are not reported.
        let mut orders = vec![Order::Routes { start: Time::ZERO }];
        let address = addresses[node.index()].first().copied().unwrap_or(Ipv4Addr::UNSPECIFIED);
        let device = |name: &str| name.to_owned();
        let radio = self.radio();
        orders.push(Order::Mtu { bytes: self.mtu, device: device(radio) });
        if let Some(wireless) = &self.wireless {
            let [a, b, c, d, e, f] = InterfaceId::from(node).station().0;
            let finds_paths = self.routing == LinuxRouting::Hwmp;
            orders.push(Order::Wifi {
                mac: u64::from_ne_bytes([a, b, c, d, e, f, 0, 0]),
                basic: wireless.basic,
                mesh: if wireless.kind == Wifi::Ibss { 0 } else { 1 + u32::from(finds_paths) },
                frequency: wireless.frequency,
                beacon: wireless.beacon,
                group_rate: wireless.group_rate,
                streams: wireless.ht().0,
                short_guard: u32::from(wireless.ht().1),
                device: device(radio),
            });
        }
        let (name, prefix, prefix6) = match &self.routing {
            LinuxRouting::Batman(algorithm) => {
                orders.push(Order::Up { device: device(radio) });
                // A local address that no radio has.
                let [_, rest @ ..] = InterfaceId::from(node).station().0;
                let mac = [0x06, rest[0], rest[1], rest[2], rest[3], rest[4], 0, 0];
                let algorithm = (*algorithm).to_owned();
                let mac = u64::from_ne_bytes(mac);
                orders.push(Order::Mesh { mac, mesh: device(MESH), device: device(radio), algorithm });
                orders.push(Order::Originators { interval: ASKING, mesh: device(MESH) });
                (MESH, prefix_of(addresses), 64)
            }
            // Neighbours of OSPF have to be of one network; and the paths of a mesh are found below IP.
            LinuxRouting::Ospf | LinuxRouting::Hwmp => (radio, prefix_of(addresses), 64),
            // Which neighbours there are is for the routing to find out.
            LinuxRouting::Static | LinuxRouting::Babeld | LinuxRouting::Command(_) => (radio, 32, 128),
        };
        orders.push(Order::Address { address, prefix, arp: 1, device: device(name) });
        orders.push(Order::Address6 { address: address6(address), prefix: prefix6, device: device(name) });
        let first = |node: &NodeId| addresses[node.index()].first().copied();
        for &(to, by) in static_routes {
            let (Some(address), Some(router)) = (first(&to), first(&by)) else { continue };
            let mut router6 = address6(router);
            if to == by {
                orders.push(Order::Route { address, prefix: 32, device: device(radio) });
                router6 = Ipv6Addr::UNSPECIFIED;
            } else {
                orders.push(Order::Via { address, router, device: device(radio) });
            }
            orders.push(Order::Route6 { address: address6(address), router: router6, device: device(radio) });
        }
        orders
    }
}

/// The parameters of every kernel that is a node. Those of the scenario come after them.
pub fn sysctls(radio: &str) -> impl Iterator<Item = Order> {
    let mut all: Vec<(String, &str)> = vec![
        // The default of distributions, for devices that are set up later.
        ("net/core/default_qdisc".to_owned(), "fq_codel"),
        ("net/ipv4/ip_forward".to_owned(), "1"),
        ("net/ipv6/conf/all/forwarding".to_owned(), "1"),
    ];
    for device in ["all", "default", radio] {
        // A datagram that leaves by the radio by which it came is no sign of a shorter way.
        all.push((format!("net/ipv4/conf/{device}/send_redirects"), "0"));
        // Nobody else has the IPv6 addresses, so that none is asked for before it is used.
        all.push((format!("net/ipv6/conf/{device}/accept_dad"), "0"));
    }
    all.into_iter().map(|(path, value)| Order::Sysctl { path, value: value.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_ipv6_ends_with_that_of_ipv4() {
        assert_eq!(address6(Ipv4Addr::new(10, 0, 0, 3)).to_string(), "fd00::a00:3");
    }

    #[test]
    fn a_network_has_all_addresses_and_none_of_them_for_all() {
        let addresses = |last: [u8; 2]| last.map(|last| vec![Ipv4Addr::new(10, 0, last, 1)]);
        assert_eq!([[0, 0], [0, 1], [3, 5]].map(|last| prefix_of(&addresses(last))), [24, 22, 20]);
        assert_eq!(prefix_of(&[]), 24);
    }
}
