//! Checks of nodes that are Linux kernels.

use std::collections::BTreeSet;

use hopyard_engine::units::Frequency;
use hopyard_model::phy::mode::{Band, Guard, Name};
use hopyard_model::{mac, routing};

use super::flow_faults::Place;
use super::resolved::Resolved;
use super::resolver::Resolver;
use crate::catalogue::layout;
use crate::merge::PROFILE;
use crate::sections::{LinuxRouting, Stack, System, To, Wifi};

/// The words for such nodes.
const KERNELS: &str = "nodes with `system = \"linux\"`";
/// Sections, and keys of theirs, for what such nodes have of their own.
const OF_HOPYARD: [(&str, &[&str]); 2] =
    [("ip", &["ttl", "unreachable_interval"]), ("link", &["arp", "routing_packets"])];

impl Resolver<'_> {
    /// Reports what nodes cannot have that are Linux kernels, and keys that only such nodes follow.
    pub(super) fn check_routers(&mut self, resolved: &Resolved) {
        if resolved.nodes.system == System::Hopyard {
            for key in ["routing", "mtu", "wifi", "wifi_channel", "beacon_interval", "nodes"] {
                if self.is_given("linux", key) {
                    let message = format!("`{key}` is not used: it is for {KERNELS}");
                    self.unused(&format!("linux.{key}"), message);
                }
            }
            return;
        }
        // The list of kernels counts as empty then, which means all nodes.
        if self.is_faulty("linux") {
            return;
        }
        let talking = resolved.talking();
        let mut absent = false;
        for (place, &node) in resolved.linux.nodes.iter().enumerate().filter(|(_, node)| **node >= talking) {
            self.no_node(&format!("linux.nodes.{place}"), node, talking, "nodes with a radio");
            absent = true;
        }
        if resolved.mixes_systems() {
            // With the right number all nodes may be kernels.
            if !absent {
                self.check_mixture(resolved);
            }
        } else {
            self.complete.remove("routing");
            if self.table("routing").is_some() {
                let message = format!("{KERNELS} have the routing of Linux, and not that of Hopyard");
                self.problem("routing", message).hint =
                    Some("leave out [routing]; `routing` in [linux] chooses".to_owned());
            }
            self.warn_of_own_layers();
        }
        for (section, what) in [
            ("wire", "wires"),
            ("tunnel", "tunnels"),
            ("channel", "a second radio"),
            ("home_agent", "agents"),
            ("foreign_agent", "agents"),
            ("mobile_host", "agents"),
            ("agents", "agents"),
            ("group", "Hopyard's multicast"),
        ] {
            // A complete scenario has an empty list of agents.
            let is_empty = section == "agents" && resolved.agents.is_empty();
            if self.root.get(section).is_some() && !is_empty {
                let problem = self.problem(section, format!("{KERNELS} cannot have {what}: they have one radio each"));
                problem.expected = Some(format!("no [{section}]"));
            }
        }
        if resolved.nodes.wired > 0 {
            self.problem("nodes.wired", format!("there are no wires to {KERNELS}")).expected = Some("0".to_owned());
        }
        self.check_flows_of_routers(resolved);
        self.check_wifi(resolved);
        let has_flow = resolved.stacks().next().is_some();
        let room = resolved.linux.routing().mtu();
        if has_flow && resolved.linux.router_mtu() < room && room > LinuxRouting::Static.mtu() {
            let message = "batman-adv sends full datagrams in fragments, which the meters of flows do not see";
            self.problem("linux.mtu", message).expected = Some(format!("at least {room}"));
        }
        let most = resolved.mac.config.largest_packet();
        let mtu = resolved.linux.router_mtu();
        if let Some(most) = most.filter(|most| mtu > *most) {
            let given = if resolved.linux.mtu == 0 { ", which `routing` needs" } else { "" };
            let message = format!("the MAC does not carry datagrams of {mtu} bytes{given}");
            self.problem("linux.mtu", message).expected = Some(format!("at most {most}"));
        }
    }

    /// Warns of keys that nothing follows where all nodes are kernels, unless they have their defaults.
    fn warn_of_own_layers(&mut self) {
        for (section, keys) in OF_HOPYARD {
            let own = self.table(section).and_then(|table| table.get(PROFILE)).and_then(|it| it.node.as_str());
            let profile = own.unwrap_or(&self.profile);
            let defaults: Vec<_> = layout(section).parts.iter().map(|info| (info.defaults)(profile)).collect();
            for key in keys {
                let usual = defaults.iter().find_map(|it| it.get(*key));
                let is_usual = self.complete.get(section).and_then(|it| it.get(*key)) == usual;
                if self.is_given(section, key) && !is_usual {
                    let message = format!("`{key}` is not used: {KERNELS} have that of Linux");
                    self.unused(&format!("{section}.{key}"), message);
                }
            }
        }
    }

    /// Reports a MAC that cannot carry the frames of Linux's Wi-Fi, and keys that do nothing without it.
    fn check_wifi(&mut self, resolved: &Resolved) {
        let linux = &resolved.linux;
        if linux.wifi == Wifi::Off {
            for key in ["wifi_channel", "beacon_interval"] {
                if self.is_given("linux", key) {
                    self.unused(&format!("linux.{key}"), format!("`{key}` is not used: it is for `wifi`"));
                }
            }
        }
        if linux.routing() == LinuxRouting::Hwmp && linux.wifi != Wifi::Mesh {
            let message = "the paths of 802.11s are those of a mesh";
            self.problem("linux.routing", message).hint = Some("set `wifi = \"mesh\"` in [linux]".to_owned());
        }
        if linux.wifi == Wifi::Off {
            return;
        }
        let of_linux = "with `wifi` in [linux]";
        let mac::Config::Edca(params) = &resolved.mac.config else {
            let message = format!("{of_linux} the MAC has the four categories of Linux");
            self.problem("mac.model", message).expected = Some("\"edca\"".to_owned());
            return;
        };
        let dcf = &params.dcf;
        match dcf.standard {
            mac::dcf::Amendment::G => {}
            mac::dcf::Amendment::N => self.check_ht(linux.wifi, dcf),
            _ => {
                let message = format!("{of_linux} the MAC has the rates of 802.11g or n");
                self.problem("mac.edca.standard", message).expected = Some("\"g\" or \"n\"".to_owned());
            }
        }
        if resolved.rates.config.name() != "minstrel_ht" {
            let message = format!("{of_linux} rate control is that of Linux, which is Minstrel-HT");
            self.problem("mac.rate_control", message).expected = Some("\"minstrel_ht\"".to_owned());
        }
    }

    /// Reports parameters of 802.11n that the stations of Linux do not have.
    fn check_ht(&mut self, wifi: Wifi, dcf: &mac::dcf::Params) {
        let message = |of: &str| format!("the stations of `wifi` in [linux] have {of}");
        if dcf.band != Band::Low {
            self.problem("mac.edca.band", message("channels 1 to 11")).expected = Some("\"2.4 GHz\"".to_owned());
        }
        if dcf.bandwidth != Frequency::new(20e6) {
            self.problem("mac.edca.bandwidth", message("20 MHz")).expected = Some("\"20 MHz\"".to_owned());
        }
        let (first, last) = ([Name::Ht(7), Name::Ht(15)], Name::Ht(15));
        if !matches!(dcf.rate, Name::Ht(_)) {
            let problem = self.problem("mac.edca.rate", message("the modes of HT up to that of `rate`"));
            problem.expected = Some(format!("\"{}\" or \"{}\"", first[0], first[1]));
        } else if wifi == Wifi::Mesh && (dcf.rate != last || dcf.guard_interval != Guard::Short) {
            // Linux takes no other capabilities for a mesh than those of the driver.
            let problem = self.problem("mac.edca.rate", message("two streams and the short guard interval in a mesh"));
            problem.expected = Some(format!("\"{last}\", with `guard_interval = \"short\"`"));
        } else if matches!(dcf.rate, Name::Ht(16..)) {
            let problem = self.problem("mac.edca.rate", message("at most two streams"));
            problem.expected = Some(format!("at most \"{last}\""));
        }
    }

    /// Reports protocols of Hopyard's nodes that those of the kernels do not understand.
    fn check_mixture(&mut self, resolved: &Resolved) {
        if resolved.linux.wifi != Wifi::Off {
            let message =
                "nodes of Hopyard do not understand the frames of Linux's Wi-Fi: they join no network of 802.11";
            let problem = self.problem("linux.wifi", message);
            problem.expected = Some("\"off\", where some nodes are Hopyard's".to_owned());
            problem.hint = Some("leave out `nodes` in [linux]: all nodes are kernels then".to_owned());
        }
        let (linux, own) = (resolved.linux.routing(), &resolved.routing.config);
        let pair = match linux {
            LinuxRouting::Static => Some("static"),
            // A command may be a daemon of Babel with other settings.
            LinuxRouting::Babeld | LinuxRouting::Command(_) => Some("babel"),
            LinuxRouting::Batman(_) | LinuxRouting::Ospf | LinuxRouting::Hwmp => None,
        };
        let Some(pair) = pair else {
            let message = format!("Hopyard has no protocol that speaks to `{}` of kernels", resolved.linux.routing);
            let problem = self.problem("linux.routing", message);
            problem.expected = Some("\"babeld\" or \"static\", where some nodes are Hopyard's".to_owned());
            problem.hint = Some("leave out `nodes` in [linux]: all nodes are kernels then".to_owned());
            return;
        };
        if resolved.routing.model.name != pair {
            let name = resolved.routing.model.name;
            let message = format!("nodes with `{name}` do not understand kernels with `{}`", resolved.linux.routing);
            let further = if pair == "babel" { ", with `ipv6 = true` in [routing.babel]" } else { "" };
            self.problem("routing.protocol", message).expected = Some(format!("\"{pair}\"{further}"));
        }
        if let routing::Config::Babel(params) = own
            && !params.ipv6
        {
            let message = "kernels understand packets of Babel over IPv6 alone";
            self.problem("routing.babel.ipv6", message).expected = Some("`ipv6 = true` in [routing.babel]".to_owned());
        }
    }

    /// Reports flows whose ends are Hopyard's, where all nodes are kernels, and otherwise those with an end at a
    /// node of the other system.
    fn check_flows_of_routers(&mut self, resolved: &Resolved) {
        if resolved.mixes_systems() {
            return self.check_ends(resolved);
        }
        let listed = resolved.flows.iter().enumerate().map(|(i, (flow, _))| (Place::Listed(i), flow.stack));
        let drawn = resolved.random_flows.iter().map(|set| (Place::Drawn(set.number), set.flows.stack));
        for (place, _) in listed.chain(drawn).filter(|(_, stack)| *stack == Stack::Hopyard) {
            let message = format!("Hopyard's flows cannot go over {KERNELS}: the IP of these nodes is Linux's");
            let fault = self.flow_problem(place, "stack", message);
            fault.expected = Some("`stack = \"linux\"`, or a program in [[host]]".to_owned());
        }
    }

    /// Reports flows and programs with an end at a node of the other system.
    fn check_ends(&mut self, resolved: &Resolved) {
        let kernels: BTreeSet<u32> = resolved.linux_nodes().into_iter().collect();
        for (number, (flow, _)) in resolved.flows.iter().enumerate() {
            let at = Place::Listed(number);
            let To::Node(to) = flow.to else {
                self.flow_problem(at, "to", "kernels do not take part in Hopyard's multicast").expected =
                    Some("one node".to_owned());
                continue;
            };
            let is_linux = flow.stack == Stack::Linux;
            let wrong = |node: &u32| *node < resolved.talking() && kernels.contains(node) != is_linux;
            let Some(node) = [flow.from, to].into_iter().find(wrong) else { continue };
            let message = match is_linux {
                true => format!("node {node} is no kernel, and the flow is Linux's"),
                false => format!("node {node} is a kernel, and the flow is Hopyard's"),
            };
            self.flow_problem(at, "stack", message).expected =
                Some("both ends at nodes of the system that the flow has".to_owned());
        }
        for set in &resolved.random_flows {
            let message = "the ends of these flows are drawn among kernels and others alike";
            self.flow_problem(Place::Drawn(set.number), "stack", message).expected =
                Some("[[flow]] with both ends at nodes of one system".to_owned());
        }
        for (number, node, _) in resolved.programs().filter(|(_, node, _)| !kernels.contains(node)) {
            let message = format!("node {node} is no kernel, and programs run in kernels");
            self.problem(&format!("host.{number}.node"), message).expected =
                Some("a node of `nodes` in [linux]".to_owned());
        }
    }
}
