//! Nodes that are Linux kernels, and their routing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The system of the nodes with a radio.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum System {
    /// The models of this simulator: `[routing]`, address resolution, IP.
    #[default]
    Hopyard,
    /// A Linux kernel in simulated time at each node: its frames go to the node's MAC, and everything above is Linux's.
    Linux,
}

/// Linux's own Wi-Fi at Linux nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Wifi {
    /// None: the radio is a device of Ethernet to Linux.
    #[default]
    Off,
    /// An ad hoc network (IBSS).
    Ibss,
    /// A mesh (802.11s).
    Mesh,
}

/// The largest datagram of Ethernet, in bytes.
const ETHERNET: u32 = 1500;
/// The bytes that batman-adv adds to a datagram: its longest unicast header, and an Ethernet header.
const BATMAN: u32 = 32;

/// The routing of Linux nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinuxRouting {
    /// The routes that Hopyard's static routing would have: shortest paths at the start of the run.
    Static,
    /// The daemon `babeld`: Babel (RFC 8966).
    Babeld,
    /// The kernel's batman-adv with this algorithm, "BATMAN_IV" or "BATMAN_V".
    Batman(&'static str),
    /// The paths of a mesh of 802.11s (HWMP), which Linux finds below IP.
    Hwmp,
    /// FRR's `zebra` and `ospfd`: OSPF over a network of point-to-multipoint links.
    Ospf,
    /// A command: a program with its arguments.
    Command(Vec<String>),
}

impl LinuxRouting {
    /// The names that are no commands.
    pub const NAMES: [&str; 6] = ["static", "babeld", "batman_iv", "batman_v", "ospf", "hwmp"];

    /// The routing that a text names: one of [`Self::NAMES`], or a command with the quotes of a shell. Nothing if the
    /// text is empty, or its quotes are not in pairs.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "static" => Self::Static,
            "babeld" => Self::Babeld,
            "batman_iv" => Self::Batman("BATMAN_IV"),
            "batman_v" => Self::Batman("BATMAN_V"),
            "ospf" => Self::Ospf,
            "hwmp" => Self::Hwmp,
            _ => {
                let command = shlex::split(text).filter(|it| it.first().is_some_and(|name| !name.is_empty()))?;
                Self::Command(command)
            }
        })
    }

    /// The largest datagram of devices where the scenario says nothing: under batman-adv there is room for its headers.
    #[must_use]
    pub const fn mtu(&self) -> u32 {
        if let Self::Batman(_) = self { ETHERNET + BATMAN } else { ETHERNET }
    }

    /// The option of the kernel that this routing needs.
    #[must_use]
    pub fn option(&self) -> &'static str {
        match self {
            Self::Batman(algorithm) if *algorithm == "BATMAN_V" => "CONFIG_BATMAN_ADV_BATMAN_V",
            Self::Batman(_) => "CONFIG_BATMAN_ADV",
            // Kernels that were built before there were Linux nodes have no IPv6.
            _ => "CONFIG_IPV6",
        }
    }

    /// Whether a program of the machine does it.
    #[must_use]
    pub const fn has_daemon(&self) -> bool {
        !matches!(self, Self::Static | Self::Batman(_) | Self::Hwmp)
    }

    /// The program of the daemon, and its Debian package, if the name of the routing does not say the program.
    #[must_use]
    pub const fn package(&self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Babeld => Some(("babeld", "babeld")),
            Self::Ospf => Some(("/usr/lib/frr/ospfd", "frr")),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_a_name_or_a_command() {
        let options = LinuxRouting::NAMES.map(|name| LinuxRouting::parse(name).map(|it| it.option()));
        let batman = [Some("CONFIG_BATMAN_ADV"), Some("CONFIG_BATMAN_ADV_BATMAN_V")];
        assert_eq!(options, [&[Some("CONFIG_IPV6"); 2][..], &batman, &[Some("CONFIG_IPV6"); 2]].concat()[..]);
        let command = LinuxRouting::parse("olsrd2 -i 'eth 0'");
        assert_eq!(command, Some(LinuxRouting::Command(vec!["olsrd2".into(), "-i".into(), "eth 0".into()])));
        assert_eq!([" ", "a 'b"].map(LinuxRouting::parse), [None, None]);
        assert_eq!(
            ["babeld", "batman_v"].map(|it| LinuxRouting::parse(it).map(|it| it.mtu())),
            [Some(1500), Some(1532)]
        );
    }
}
