//! Which IPv4 address each interface has, and which wires, channels and tunnels are which prefix.
//!
//! Every channel and every wire is a network with a prefix of its own. A scenario may give prefixes. The other networks
//! get prefixes around these, from the blocks in [`blocks`]. The first channel gets 10.0.0.0/8, and further channels
//! get 172.16.0.0/16 and the prefixes after it. Wires get 192.168.0.0/30 and the prefixes after it, tunnels
//! 198.18.0.0/30 and the prefixes after it. Within a prefix, interfaces get addresses in the order of their numbers.
//!
//! Read: RFC 6890 (blocks for special purposes), RFC 1918 (private addresses).

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use crate::address::{Address, InterfaceId, NodeId, Prefix};

/// A channel or a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Network {
    /// The channel with this number.
    Channel(usize),
    /// The wire with this number.
    Wire(usize),
    /// The tunnel with this number.
    Tunnel(usize),
    /// The network on a channel with this number that has a prefix of its own.
    Served(usize),
}

impl std::fmt::Display for Network {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Channel(number) => write!(f, "channel {number}"),
            Self::Wire(number) => write!(f, "wire {number}"),
            Self::Tunnel(number) => write!(f, "tunnel {number}"),
            Self::Served(number) => write!(f, "served network {number}"),
        }
    }
}

/// Prefixes and addresses that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Two networks have addresses in common.
    #[error("{one} and {other} have overlapping prefixes, {prefix} and {others}")]
    Overlap {
        /// A network.
        one: Network,
        /// Another one.
        other: Network,
        /// Its prefix.
        prefix: Prefix,
        /// The prefix of the other.
        others: Prefix,
    },
    /// Addresses of a prefix have a special purpose, so that no host has them.
    #[error("{network} cannot have the prefix {prefix}: the addresses of {block} are {purpose}")]
    Reserved {
        /// The network.
        network: Network,
        /// Its prefix.
        prefix: Prefix,
        /// The block of the addresses.
        block: Prefix,
        /// Their purpose.
        purpose: &'static str,
    },
    /// No prefix is left for a network without one. It is said of the first such network.
    #[error("no prefix is left for {network}")]
    NoPrefix {
        /// The network.
        network: Network,
    },
    /// A network has more interfaces than its prefix has addresses.
    #[error("{network} has {interfaces} interfaces, and its prefix {prefix} has not enough addresses")]
    Full {
        /// The network.
        network: Network,
        /// Its prefix.
        prefix: Prefix,
        /// How many interfaces it has.
        interfaces: usize,
    },
    /// An address is not in the prefix of its network, or is no address of a host.
    #[error("expected an address of a host in {prefix}, the prefix of {network}; found {address}")]
    Outside {
        /// The network.
        network: Network,
        /// Its prefix.
        prefix: Prefix,
        /// The address.
        address: Ipv4Addr,
    },
    /// A node has no interface in whose prefix an address is.
    #[error("node {node} has no interface in whose prefix the address {address} is")]
    Nowhere {
        /// The node.
        node: NodeId,
        /// The address.
        address: Ipv4Addr,
    },
    /// One interface is given two addresses.
    #[error("the interface of node {node} on {network} is given a second address, {address} besides {before}")]
    Again {
        /// The node.
        node: NodeId,
        /// The network.
        network: Network,
        /// The second address.
        address: Ipv4Addr,
        /// The first one.
        before: Ipv4Addr,
    },
    /// Two interfaces have one address.
    #[error("two interfaces of {network} have the address {address}")]
    Twice {
        /// The network.
        network: Network,
        /// The address.
        address: Ipv4Addr,
    },
}

/// A network to which addresses are given.
#[derive(Clone, Debug)]
pub struct Member {
    /// Which.
    pub network: Network,
    /// Its prefix, if the scenario gives one.
    pub prefix: Option<Prefix>,
    /// Its interfaces in the order of their numbers, each with its address if the scenario gives one.
    pub interfaces: Vec<(u32, Option<Ipv4Addr>)>,
}

/// The prefix of each network, and the address of each interface, by number. An interface that is in no network has
/// the address 0.0.0.0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressPlan {
    /// The prefixes, in the order of the networks.
    pub prefixes: BTreeMap<Network, Prefix>,
    /// The addresses.
    pub names: Vec<Ipv4Addr>,
    /// The interfaces of each network: their nodes and their addresses, in order; the interfaces of a wire in the order
    /// of its ends.
    pub members: BTreeMap<Network, Vec<(NodeId, Address)>>,
}

impl AddressPlan {
    /// The prefix in which each interface has its address.
    #[must_use]
    pub fn of_interfaces(&self) -> BTreeMap<InterfaceId, Prefix> {
        let all = self.members.iter().filter_map(|(network, members)| Some((*self.prefixes.get(network)?, members)));
        all.flat_map(|(prefix, members)| members.iter().map(move |&(_, at)| (at.into(), prefix))).collect()
    }

    /// The interfaces in networks that have prefixes of their own on a channel, each with its network.
    #[must_use]
    pub fn served(&self) -> BTreeMap<InterfaceId, Network> {
        let all = self.members.iter().filter(|(network, _)| matches!(network, Network::Served(_)));
        all.flat_map(|(network, members)| members.iter().map(|&(_, at)| (at.into(), *network))).collect()
    }
}

const fn block(a: u8, b: u8, length: u8) -> Prefix {
    Prefix::of(Ipv4Addr::new(a, b, 0, 0), length)
}

/// The blocks of addresses that belong to no host (RFC 6890 §2.2.2).
const RESERVED: [(Prefix, &str); 5] = [
    (block(0, 0, 8), "for \"this network\" (RFC 1122 §3.2.1.3)"),
    (block(127, 0, 8), "those of a host itself (loopback, RFC 1122 §3.2.1.3)"),
    (block(169, 254, 16), "valid on one link only and never forwarded (link-local, RFC 3927)"),
    (block(224, 0, 4), "those of multicast groups (RFC 5771)"),
    (block(240, 0, 4), "reserved, and the broadcast address (RFC 1112 §4, RFC 919)"),
];

/// The blocks from which networks without a given prefix get one, each with the number of bits of these prefixes, in
/// the order in which they are tried. The first network of a kind gets the first prefix, and so on.
const fn blocks(network: Network) -> &'static [(Prefix, u8)] {
    // 100.64.0.0/10: RFC 6598. 198.18.0.0/15: RFC 2544.
    const TEN: Prefix = block(10, 0, 8);
    const FIRST: &[(Prefix, u8)] =
        &[(TEN, 8), (TEN, 9), (TEN, 10), (TEN, 12), (TEN, 16), (block(172, 16, 12), 16), (block(100, 64, 10), 16)];
    const FURTHER: &[(Prefix, u8)] = &[(block(172, 16, 12), 16), (block(100, 64, 10), 16), (TEN, 16)];
    const WIRES: &[(Prefix, u8)] = &[(block(192, 168, 16), 30), (block(100, 64, 10), 30)];
    const TUNNELS: &[(Prefix, u8)] = &[(block(198, 18, 15), 30)];
    const SERVED: &[(Prefix, u8)] = &[(block(172, 16, 12), 24), (block(100, 64, 10), 24), (TEN, 24)];
    match network {
        Network::Channel(0) => FIRST,
        Network::Channel(_) => FURTHER,
        Network::Wire(_) => WIRES,
        Network::Tunnel(_) => TUNNELS,
        Network::Served(_) => SERVED,
    }
}

/// The prefix with this number in a list of blocks.
fn numbered(blocks: &[(Prefix, u8)], mut number: u32) -> Option<Prefix> {
    for &(block, length) in blocks {
        let count = 1_u32 << (length - block.length());
        if number < count {
            let first = block.first().to_bits() + (number << (32 - length));
            return Some(Prefix::of(Ipv4Addr::from_bits(first), length));
        }
        number -= count;
    }
    None
}

/// Prefixes in use. Among prefixes that overlap, the widest one counts.
#[derive(Debug, Default)]
struct Taken(BTreeMap<Ipv4Addr, Prefix>);

impl Taken {
    /// Blocks lie apart, or one holds the other.
    fn overlaps(&self, prefix: Prefix) -> bool {
        let before = self.0.range(..=prefix.first()).next_back();
        let after = self.0.range(prefix.first()..).next();
        before.into_iter().chain(after).any(|(_, it)| it.overlaps(prefix))
    }

    fn insert(&mut self, prefix: Prefix) {
        while let Some((&first, it)) = self.0.range(prefix.first()..).next()
            && it.overlaps(prefix)
            && it.length() >= prefix.length()
        {
            self.0.remove(&first);
        }
        if !self.overlaps(prefix) {
            self.0.insert(prefix.first(), prefix);
        }
    }
}

/// The prefix of each network: the given one, or one that no other network has. A network without a given prefix gets
/// the prefix of its number if it is free, and otherwise the first free one.
fn prefixes(members: &[Member]) -> Vec<Option<Prefix>> {
    let mut taken = Taken::default();
    for prefix in members.iter().filter_map(|member| member.prefix) {
        taken.insert(prefix);
    }
    let mut chosen: Vec<Option<Prefix>> = members.iter().map(|member| member.prefix).collect();
    for (member, chosen) in members.iter().zip(&mut chosen) {
        let number = match member.network {
            Network::Channel(number) => number.saturating_sub(1),
            Network::Wire(number) | Network::Tunnel(number) | Network::Served(number) => number,
        };
        let own = || numbered(blocks(member.network), u32::try_from(number).ok()?);
        if chosen.is_none()
            && let Some(own) = own().filter(|own| !taken.overlaps(*own))
        {
            taken.insert(own);
            *chosen = Some(own);
        }
    }
    // What is not free once is never free again.
    let mut next: BTreeMap<&[(Prefix, u8)], u32> = BTreeMap::new();
    for (member, chosen) in members.iter().zip(&mut chosen).filter(|(_, chosen)| chosen.is_none()) {
        let blocks = blocks(member.network);
        let next = next.entry(blocks).or_default();
        while let Some(prefix) = numbered(blocks, *next) {
            *next += 1;
            let has_room = u32::try_from(member.interfaces.len()).is_ok_and(|it| prefix.host(it.max(1)).is_some());
            if has_room && !taken.overlaps(prefix) {
                taken.insert(prefix);
                *chosen = Some(prefix);
                break;
            }
        }
    }
    chosen
}

/// The networks of a specification.
#[derive(Clone, Debug, Default)]
pub struct Layout<'a> {
    /// The channels on which each node has a radio, in order of nodes.
    pub radios: Vec<&'a [u16]>,
    /// The prefix of each channel, if it is given.
    pub channels: Vec<Option<Prefix>>,
    /// The nodes at the ends of each wire, and its prefix, if it is given.
    pub wires: Vec<([NodeId; 2], Option<Prefix>)>,
    /// The networks on channels with prefixes of their own: the router, the prefix if it is given, the other members.
    pub served: Vec<(NodeId, Option<Prefix>, &'a [NodeId])>,
    /// The nodes at the ends of each tunnel.
    pub tunnels: Vec<[NodeId; 2]>,
    /// The addresses that are given.
    pub addresses: Vec<(NodeId, Ipv4Addr)>,
}

impl Layout<'_> {
    /// Gives every interface its address.
    ///
    /// # Errors
    /// Everything that cannot be.
    pub fn plan(&self) -> Result<AddressPlan, Vec<AddressError>> {
        // Interface n is the first of node n. Further radios follow, then those ends of wires whose node's first
        // interface is taken, then the ends of tunnels.
        let mut nodes: Vec<NodeId> = (0..self.radios.len() as u32).map(NodeId).collect();
        let mut taken: Vec<bool> = self.radios.iter().map(|channels| !channels.is_empty()).collect();
        let mut members: Vec<Member> = (self.channels.iter().enumerate())
            .map(|(number, &prefix)| Member { network: Network::Channel(number), prefix, interfaces: Vec::new() })
            .collect();
        let served: BTreeSet<NodeId> = self
            .served
            .iter()
            .flat_map(|(router, _, members)| std::iter::once(router).chain(*members))
            .copied()
            .collect();
        for (number, channels) in self.radios.iter().enumerate() {
            if let Some(&channel) = channels.first()
                && !served.contains(&NodeId(number as u32))
            {
                members[usize::from(channel)].interfaces.push((number as u32, None));
            }
        }
        for (number, &(router, prefix, others)) in self.served.iter().enumerate() {
            // A node without a radio is no member; the checks of a scenario name it.
            let all = std::iter::once(&router).chain(others);
            let own = all.filter(|node| self.radios.get(node.index()).is_some_and(|radios| !radios.is_empty()));
            let interfaces = own.map(|node| (node.0, None)).collect();
            members.push(Member { network: Network::Served(number), prefix, interfaces });
        }
        for (number, channels) in self.radios.iter().enumerate() {
            for &channel in channels.get(1..).unwrap_or_default() {
                members[usize::from(channel)].interfaces.push((nodes.len() as u32, None));
                nodes.push(NodeId(number as u32));
            }
        }
        for (number, &(ends, prefix)) in self.wires.iter().enumerate() {
            let interfaces = ends.map(|node| {
                if !std::mem::replace(&mut taken[node.index()], true) {
                    return (node.0, None);
                }
                nodes.push(node);
                (nodes.len() as u32 - 1, None)
            });
            members.push(Member { network: Network::Wire(number), prefix, interfaces: interfaces.into() });
        }
        for (number, ends) in self.tunnels.iter().enumerate() {
            let interfaces = ends.map(|node| {
                nodes.push(node);
                (nodes.len() as u32 - 1, None)
            });
            members.push(Member { network: Network::Tunnel(number), prefix: None, interfaces: interfaces.into() });
        }
        let chosen = prefixes(&members);
        // Where each node's interfaces are.
        let mut places: BTreeMap<NodeId, Vec<(usize, usize)>> = BTreeMap::new();
        for (m, member) in members.iter().enumerate() {
            for (place, (interface, _)) in member.interfaces.iter().enumerate() {
                places.entry(nodes[*interface as usize]).or_default().push((m, place));
            }
        }
        let mut errors = Vec::new();
        for &(node, address) in &self.addresses {
            let mut own = places.get(&node).into_iter().flatten();
            let own = own.find(|(m, _)| chosen[*m].is_some_and(|prefix| prefix.contains(address)));
            let Some(&(m, place)) = own else {
                errors.push(AddressError::Nowhere { node, address });
                continue;
            };
            let network = members[m].network;
            match &mut members[m].interfaces[place].1 {
                Some(before) => errors.push(AddressError::Again { node, network, address, before: *before }),
                given => *given = Some(address),
            }
        }
        match assign(&members, &chosen, &nodes) {
            Ok(plan) if errors.is_empty() => Ok(plan),
            Ok(_) => Err(errors),
            Err(found) => {
                errors.extend(found);
                Err(errors)
            }
        }
    }
}

/// Gives every interface its address. `chosen` are the prefixes of the networks, and `nodes` the nodes of the
/// interfaces.
///
/// # Errors
/// Everything that cannot be.
fn assign(members: &[Member], chosen: &[Option<Prefix>], nodes: &[NodeId]) -> Result<AddressPlan, Vec<AddressError>> {
    let mut plan = AddressPlan { names: vec![Ipv4Addr::UNSPECIFIED; nodes.len()], ..AddressPlan::default() };
    let mut errors = Vec::new();
    for (member, prefix) in members.iter().zip(chosen) {
        let network = member.network;
        let Some(prefix) = *prefix else {
            if !errors.iter().any(|error| matches!(error, AddressError::NoPrefix { .. })) {
                errors.push(AddressError::NoPrefix { network });
            }
            continue;
        };
        let purpose = RESERVED.iter().find(|(block, _)| block.overlaps(prefix));
        errors.extend(purpose.map(|&(block, purpose)| AddressError::Reserved { network, prefix, block, purpose }));
        plan.prefixes.insert(network, prefix);
        errors.extend(assign_in(member, prefix, &mut plan.names));
        let members = member.interfaces.iter().map(|&(it, _)| (nodes[it as usize], InterfaceId(it).into()));
        plan.members.insert(network, members.collect());
    }
    // Sorted by first address, a block follows the widest that holds it.
    let mut sorted: Vec<_> = plan.prefixes.iter().map(|(&network, &prefix)| (prefix, network)).collect();
    sorted.sort_unstable();
    let mut widest: Option<(Prefix, Network)> = None;
    for &(others, other) in &sorted {
        match widest {
            Some((prefix, one)) if prefix.overlaps(others) => {
                errors.push(AddressError::Overlap { one, other, prefix, others });
            }
            _ => widest = Some((others, other)),
        }
    }
    if errors.is_empty() { Ok(plan) } else { Err(errors) }
}

/// Gives the interfaces of one network their addresses.
fn assign_in(member: &Member, prefix: Prefix, names: &mut [Ipv4Addr]) -> Vec<AddressError> {
    let network = member.network;
    let mut errors = Vec::new();
    let mut given: BTreeMap<Ipv4Addr, u32> = BTreeMap::new();
    for &(interface, address) in &member.interfaces {
        let Some(address) = address else { continue };
        let number = address.to_bits().wrapping_sub(prefix.first().to_bits());
        if prefix.host(number) != Some(address) {
            errors.push(AddressError::Outside { network, prefix, address });
        } else if given.insert(address, interface).is_some() {
            errors.push(AddressError::Twice { network, address });
        }
        names[interface as usize] = address;
    }
    let mut next = 0;
    for &(interface, address) in &member.interfaces {
        if address.is_some() {
            continue;
        }
        let free = loop {
            next += 1;
            match prefix.host(next) {
                Some(address) if given.contains_key(&address) => {}
                found => break found,
            }
        };
        let Some(address) = free else {
            errors.push(AddressError::Full { network, prefix, interfaces: member.interfaces.len() });
            break;
        };
        names[interface as usize] = address;
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(network: Network, prefix: Option<&str>, interfaces: &[(u32, Option<&str>)]) -> Member {
        Member {
            network,
            prefix: prefix.map(|text| text.parse().expect("a prefix")),
            interfaces: (interfaces.iter())
                .map(|&(interface, text)| (interface, text.map(|text| text.parse().expect("an address"))))
                .collect(),
        }
    }

    fn assign(members: &[Member], interfaces: u32) -> Result<AddressPlan, Vec<AddressError>> {
        super::assign(members, &prefixes(members), &(0..interfaces).map(NodeId).collect::<Vec<_>>())
    }

    fn names(plan: &AddressPlan) -> Vec<String> {
        plan.names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn addresses_are_given_out_in_order() {
        let members = [
            member(Network::Channel(0), None, &[(0, None), (1, None), (2, None)]),
            member(Network::Wire(0), None, &[(3, None), (5, None)]),
            member(Network::Wire(1), None, &[(4, None), (6, None)]),
        ];
        let plan = assign(&members, 8).expect("a plan");
        let expected =
            ["10.0.0.1", "10.0.0.2", "10.0.0.3", "192.168.0.1", "192.168.0.5", "192.168.0.2", "192.168.0.6", "0.0.0.0"];
        assert_eq!(names(&plan), expected);
    }

    #[test]
    fn given_addresses_are_left_out_of_the_order() {
        let members = [member(
            Network::Channel(0),
            Some("10.9.0.0/29"),
            &[(0, None), (1, Some("10.9.0.1")), (2, Some("10.9.0.3")), (3, None)],
        )];
        assert_eq!(names(&assign(&members, 4).expect("a plan")), ["10.9.0.2", "10.9.0.1", "10.9.0.3", "10.9.0.4"]);
    }

    #[test]
    fn everything_that_cannot_be_is_said_at_once() {
        let members = [
            member(Network::Channel(0), Some("10.0.0.0/30"), &[(0, None), (1, None), (2, None)]),
            member(Network::Wire(0), Some("10.0.0.0/29"), &[(3, Some("10.0.0.5")), (4, Some("10.0.0.5"))]),
            member(Network::Wire(1), Some("10.1.0.0/30"), &[(5, Some("10.1.0.3")), (6, Some("10.2.0.1"))]),
        ];
        let errors = assign(&members, 7).expect_err("four mistakes");
        let text = errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        for words in [
            "channel 0 has 3 interfaces, and its prefix 10.0.0.0/30 has not enough addresses",
            "two interfaces of wire 0 have the address 10.0.0.5",
            "expected an address of a host in 10.1.0.0/30, the prefix of wire 1; found 10.1.0.3",
            "found 10.2.0.1",
            "overlapping prefixes",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }

    #[test]
    fn prefixes_that_are_not_given_do_not_overlap() {
        let networks = (0..30).map(Network::Channel).chain((0..20_000).map(Network::Wire));
        let networks = networks.chain((0..3000).map(Network::Tunnel));
        let members: Vec<_> = networks.map(|network| member(network, None, &[])).collect();
        let plan = assign(&members, 0).expect("a plan");
        let prefix = |plan: &AddressPlan, network| plan.prefixes[&network].to_string();
        for (network, expected) in [
            (Network::Channel(0), "10.0.0.0/8"),
            (Network::Channel(1), "172.16.0.0/16"),
            (Network::Channel(16), "172.31.0.0/16"),
            (Network::Channel(17), "100.64.0.0/16"),
            (Network::Wire(1), "192.168.0.4/30"),
            (Network::Wire(16_384), "100.77.0.0/30"),
            (Network::Tunnel(2), "198.18.0.8/30"),
        ] {
            assert_eq!(prefix(&plan, network), expected, "{network}");
        }
        // There is a limit, which is said.
        let mut members: Vec<_> = (0..81).map(|n| member(Network::Channel(n), None, &[])).collect();
        assert!(assign(&members, 0).is_ok());
        members.push(member(Network::Channel(81), None, &[]));
        let errors = assign(&members, 0).expect_err("too many channels");
        assert_eq!(errors, [AddressError::NoPrefix { network: Network::Channel(81) }]);
    }

    #[test]
    fn prefixes_that_are_not_given_are_chosen_around_those_that_are() {
        let given = [
            (Network::Channel(0), Some("192.168.0.0/29"), "192.168.0.0/29"),
            (Network::Channel(1), Some("172.17.0.0/16"), "172.17.0.0/16"),
            (Network::Channel(2), None, "172.16.0.0/16"),
            (Network::Channel(3), None, "172.18.0.0/16"),
            (Network::Wire(0), None, "192.168.0.12/30"),
            (Network::Wire(1), None, "192.168.0.16/30"),
            (Network::Wire(2), None, "192.168.0.8/30"),
            (Network::Tunnel(0), None, "198.18.0.0/30"),
        ];
        let members: Vec<_> = given.iter().map(|&(network, prefix, _)| member(network, prefix, &[])).collect();
        let plan = assign(&members, 0).expect("a plan");
        for (network, _, expected) in given {
            assert_eq!(plan.prefixes[&network].to_string(), expected, "{network}");
        }
        // The first channel has the largest block that is left and has room.
        let radios: Vec<_> = (0..70_000).map(|interface| (interface, None)).collect();
        let given = ["10.1.0.0/16", "10.128.0.0/16"].into_iter().zip(1..);
        let mut members: Vec<_> = given.map(|(it, n)| member(Network::Channel(n), Some(it), &[])).collect();
        members.push(member(Network::Channel(0), None, &radios));
        let plan = assign(&members, 70_000).expect("a plan");
        assert_eq!(plan.prefixes[&Network::Channel(0)].to_string(), "10.64.0.0/10");
    }

    #[test]
    fn blocks_with_a_special_purpose_are_refused() {
        for (prefix, words) in [
            ("127.0.0.0/8", "loopback"),
            ("127.1.0.0/16", "loopback"),
            ("224.0.0.0/4", "multicast"),
            ("0.0.0.0/8", "this network"),
            ("0.0.0.0/0", "this network"),
            ("240.0.0.0/4", "broadcast"),
            ("255.255.255.0/24", "broadcast"),
            ("169.254.0.0/16", "link-local"),
            ("169.254.3.0/30", "link-local"),
            ("168.0.0.0/7", "link-local"),
        ] {
            let errors = assign(&[member(Network::Wire(0), Some(prefix), &[])], 0).expect_err(prefix);
            assert!(errors.len() == 1 && errors[0].to_string().contains(words), "{prefix}: {errors:?}");
        }
        assert!(assign(&[member(Network::Wire(0), Some("223.255.255.0/24"), &[])], 0).is_ok());
    }

    #[test]
    fn an_interface_is_given_one_address() {
        let [one, other, third] = [7, 8, 9].map(|last| Ipv4Addr::new(10, 0, 0, last));
        let mut layout = Layout { radios: vec![&[0], &[0]], channels: vec![None], ..Layout::default() };
        layout.addresses = vec![(NodeId(1), one), (NodeId(0), third), (NodeId(1), other)];
        let errors = layout.plan().expect_err("node 1 has two");
        let network = Network::Channel(0);
        assert_eq!(errors, [AddressError::Again { node: NodeId(1), network, address: other, before: one }]);
        layout.addresses.pop();
        let plan = layout.plan().expect("a plan");
        assert_eq!(plan.names, [third, one]);
        assert_eq!(plan.members[&network], [(NodeId(0), Address(0)), (NodeId(1), Address(1))]);
    }

    /// Nodes 0 to 4 have radios on channel 0, and node 5 has a wire to node 0.
    fn with_agents<'a>(served: Vec<(NodeId, Option<Prefix>, &'a [NodeId])>) -> Layout<'a> {
        let mut radios: Vec<&[u16]> = vec![&[0]; 5];
        radios.push(&[]);
        let wires = vec![([NodeId(0), NodeId(5)], None)];
        Layout { radios, channels: vec![None], wires, served, ..Layout::default() }
    }

    #[test]
    fn a_served_network_has_a_prefix_of_its_own_on_the_channel() {
        let hosts = [NodeId(4), NodeId(2)];
        let plan = with_agents(vec![(NodeId(3), None, &hosts), (NodeId(0), None, &[])]).plan().expect("a plan");
        let text = |network| plan.prefixes[&network].to_string();
        assert_eq!(text(Network::Served(0)), "172.16.0.0/24");
        assert_eq!(text(Network::Served(1)), "172.16.1.0/24");
        // The router comes first, whatever its number; who is in no such network has an address of the channel.
        let names = |node: usize| plan.names[node].to_string();
        assert_eq!([3, 4, 2].map(names), ["172.16.0.1", "172.16.0.2", "172.16.0.3"]);
        assert_eq!([0, 1].map(names), ["172.16.1.1", "10.0.0.1"]);
        let members = |network| plan.members[&network].iter().map(|(node, _)| node.0).collect::<Vec<_>>();
        assert_eq!(members(Network::Served(0)), [3, 4, 2]);
        assert_eq!(members(Network::Channel(0)), [1]);
        assert_eq!(plan.served().len(), 4);
        assert_eq!(plan.of_interfaces()[&InterfaceId(4)].to_string(), "172.16.0.0/24");
        // More than 172.16.0.0/12 has.
        let many: Vec<_> = (0..4097).map(|n| member(Network::Served(n), None, &[])).collect();
        assert_eq!(assign(&many, 0).expect("a plan").prefixes[&Network::Served(4096)].to_string(), "100.64.0.0/24");
    }

    #[test]
    fn a_served_network_is_checked_as_any_other_one() {
        let hosts = [NodeId(1), NodeId(2)];
        let prefix = |text: &str| Some(text.parse::<Prefix>().expect("a prefix"));
        let served = |text: &str| with_agents(vec![(NodeId(0), prefix(text), &hosts), (NodeId(3), None, &[])]);
        let said = |layout: &Layout<'_>| {
            let errors = layout.plan().err().into_iter().flatten();
            errors.map(|it| it.to_string()).collect::<Vec<_>>().join("; ")
        };
        assert_eq!(said(&served("10.7.0.0/24")), "");
        // Those that are not given make room.
        assert_eq!(
            served("172.16.1.0/24").plan().expect("a plan").prefixes[&Network::Served(1)].to_string(),
            "172.16.0.0/24"
        );
        assert_eq!(
            served("10.0.0.0/8").plan().expect("a plan").prefixes[&Network::Channel(0)].to_string(),
            "172.17.0.0/16"
        );
        assert!(said(&served("10.7.0.0/31")).contains("served network 0 has 3 interfaces"), "two addresses too few");
        assert!(said(&served("224.1.0.0/24")).contains("served network 0 cannot have the prefix"));
        let mut layout = served("10.7.0.0/24");
        layout.channels = vec![prefix("10.7.0.0/16")];
        assert!(
            said(&layout).contains("channel 0 and served network 0 have overlapping prefixes"),
            "{}",
            said(&layout)
        );
        // A host has its address in the network of its home agent, and nowhere else.
        let address = |node: u32, last: [u8; 4]| (NodeId(node), Ipv4Addr::from(last));
        layout.channels = vec![None];
        layout.addresses = vec![address(2, [10, 7, 0, 1]), address(1, [10, 7, 0, 9])];
        let plan = layout.plan().expect("a plan");
        assert_eq!([0, 1, 2].map(|node: usize| plan.names[node].to_string()), ["10.7.0.2", "10.7.0.9", "10.7.0.1"]);
        layout.addresses = vec![address(2, [10, 7, 1, 1]), address(1, [10, 7, 0, 255]), address(4, [10, 7, 0, 3])];
        let [outside, nowhere] = [2, 4].map(|node| format!("node {node} has no interface in whose prefix"));
        let shown = said(&layout);
        assert!(shown.contains(&outside) && shown.contains(&nowhere) && shown.contains("found 10.7.0.255"), "{shown}");
        layout.addresses = vec![address(2, [10, 7, 0, 5]), address(1, [10, 7, 0, 5])];
        assert_eq!(said(&layout), "two interfaces of served network 0 have the address 10.7.0.5");
    }

    #[test]
    fn a_node_without_a_radio_is_in_no_served_network() {
        // A router with wires only: its hosts are in the network of their wire.
        let hosts = [NodeId(5)];
        let plan = with_agents(vec![(NodeId(5), None, &[]), (NodeId(0), None, &hosts)]).plan().expect("a plan");
        assert_eq!(plan.members[&Network::Served(0)], []);
        assert_eq!(plan.members[&Network::Served(1)], [(NodeId(0), Address(0))]);
        assert_eq!(plan.names[5].to_string(), "192.168.0.2");
    }

    #[test]
    fn a_second_radio_of_a_router_is_on_its_channel() {
        let mut layout = with_agents(vec![(NodeId(0), None, &[])]);
        layout.radios[0] = &[0, 1];
        layout.channels.push(None);
        let plan = layout.plan().expect("a plan");
        let of_node: Vec<_> = plan.members.iter().filter(|(_, it)| it.iter().any(|(node, _)| node.0 == 0)).collect();
        let networks: Vec<Network> = of_node.into_iter().map(|(network, _)| *network).collect();
        assert_eq!(networks, [Network::Channel(1), Network::Wire(0), Network::Served(0)]);
    }
}
