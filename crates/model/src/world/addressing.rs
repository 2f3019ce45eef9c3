//! Which IPv4 address each interface has, and which wires and channels are which prefix.
//!
//! Every channel and every wire is a network with a prefix of its own. A scenario may give prefixes; the others are
//! given out in order: 10.0.0.0/8 to the first channel, 172.16.0.0/16 and those after it to further channels,
//! 192.168.0.0/30 and those after it to wires, 198.18.0.0/30 and those after it to tunnels. Within a prefix, interfaces
//! get addresses in the order of their numbers.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use crate::address::{NodeId, Prefix};

/// A channel or a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Network {
    /// The channel with this number.
    Channel(usize),
    /// The wire with this number.
    Wire(usize),
    /// The tunnel with this number.
    Tunnel(usize),
}

impl std::fmt::Display for Network {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Channel(number) => write!(f, "channel {number}"),
            Self::Wire(number) => write!(f, "wire {number}"),
            Self::Tunnel(number) => write!(f, "tunnel {number}"),
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
    /// An address is not in the prefix of its network, or is not that of a host.
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

impl Member {
    /// Its prefix, given or usual.
    #[must_use]
    pub fn usual_prefix(&self) -> Option<Prefix> {
        self.prefix.or_else(|| usual(self.network))
    }
}

/// The prefix of each network, and the address of each interface, by number. An interface that is in no network has
/// the address 0.0.0.0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The prefixes, in the order of the networks.
    pub prefixes: BTreeMap<Network, Prefix>,
    /// The addresses.
    pub names: Vec<Ipv4Addr>,
}

/// The prefix that a network gets when the scenario gives none.
const fn usual(network: Network) -> Option<Prefix> {
    let (first, length) = match network {
        Network::Channel(0) => (Ipv4Addr::new(10, 0, 0, 0).to_bits(), 8),
        Network::Channel(number) if number <= 16 => {
            (Ipv4Addr::new(172, 15, 0, 0).to_bits() + ((number as u32) << 16), 16)
        }
        Network::Wire(number) if number < 1 << 14 => {
            (Ipv4Addr::new(192, 168, 0, 0).to_bits() + ((number as u32) << 2), 30)
        }
        // 100.64.0.0/10 (RFC 6598) has room for a million more.
        Network::Wire(number) if number < (1 << 14) + (1 << 20) => {
            (Ipv4Addr::new(100, 64, 0, 0).to_bits() + ((number as u32 - (1 << 14)) << 2), 30)
        }
        // 198.18.0.0/15 (RFC 2544).
        Network::Tunnel(number) if number < 1 << 15 => {
            (Ipv4Addr::new(198, 18, 0, 0).to_bits() + ((number as u32) << 2), 30)
        }
        _ => return None,
    };
    Some(Prefix::of(Ipv4Addr::from_bits(first), length))
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
    pub fn plan(&self) -> Result<Plan, Vec<AddressError>> {
        // Interface n is the first of node n. Further radios follow, then those ends of wires whose node's first
        // interface is taken, then the ends of tunnels.
        let mut nodes: Vec<NodeId> = (0..self.radios.len() as u32).map(NodeId).collect();
        let mut taken: Vec<bool> = self.radios.iter().map(|channels| !channels.is_empty()).collect();
        let mut members: Vec<Member> = (self.channels.iter().enumerate())
            .map(|(number, &prefix)| Member { network: Network::Channel(number), prefix, interfaces: Vec::new() })
            .collect();
        for (number, channels) in self.radios.iter().enumerate() {
            if let Some(&channel) = channels.first() {
                members[usize::from(channel)].interfaces.push((number as u32, None));
            }
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
        let mut errors = Vec::new();
        for &(node, address) in &self.addresses {
            let mut own = (members.iter_mut())
                .filter(|member| member.usual_prefix().is_some_and(|prefix| prefix.contains(address)))
                .flat_map(|member| member.interfaces.iter_mut())
                .filter(|(interface, _)| nodes[*interface as usize] == node);
            match own.next() {
                Some((_, given)) => *given = Some(address),
                None => errors.push(AddressError::Nowhere { node, address }),
            }
        }
        match assign(&members, nodes.len()) {
            Ok(plan) if errors.is_empty() => Ok(plan),
            Ok(_) => Err(errors),
            Err(found) => {
                errors.extend(found);
                Err(errors)
            }
        }
    }
}

/// Gives every interface its address.
///
/// # Errors
/// Everything that cannot be.
fn assign(members: &[Member], interfaces: usize) -> Result<Plan, Vec<AddressError>> {
    let mut plan = Plan { prefixes: BTreeMap::new(), names: vec![Ipv4Addr::UNSPECIFIED; interfaces] };
    let mut errors = Vec::new();
    for member in members {
        let prefix = member.usual_prefix().unwrap_or(Prefix::DEFAULT);
        plan.prefixes.insert(member.network, prefix);
        errors.extend(assign_in(member, prefix, &mut plan.names));
    }
    // Blocks lie apart, or one holds the other. Sorted by first address, a block follows the widest that holds it.
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

    fn names(plan: &Plan) -> Vec<String> {
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
    fn usual_prefixes_do_not_overlap() {
        let networks = (0..16).map(Network::Channel).chain((0..20_000).map(Network::Wire));
        let members: Vec<_> = networks.map(|network| member(network, None, &[])).collect();
        assert!(assign(&members, 0).is_ok());
        assert_eq!(usual(Network::Channel(17)), None);
    }
}
