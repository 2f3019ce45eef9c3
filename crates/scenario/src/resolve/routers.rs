//! Checks of nodes that are Linux kernels.

use hopyard_model::mac;

use super::flow_faults::Place;
use super::resolved::Resolved;
use super::resolver::Resolver;
use crate::sections::{LinuxRouting, Stack, System, Wifi};

impl Resolver<'_> {
    /// Reports what nodes cannot have that are Linux kernels, and keys that only such nodes follow.
    pub(super) fn check_routers(&mut self, resolved: &Resolved) {
        if resolved.nodes.system == System::Hopyard {
            for key in ["routing", "mtu", "wifi", "wifi_channel", "beacon_interval"] {
                if self.is_given("linux", key) {
                    let message = format!("`{key}` is not used: it is for nodes with `system = \"linux\"`");
                    self.unused(&format!("linux.{key}"), message);
                }
            }
            return;
        }
        self.complete.remove("routing");
        let kernels = "nodes with `system = \"linux\"`";
        if self.table("routing").is_some() {
            let message = format!("{kernels} have the routing of Linux, and not that of Hopyard");
            self.problem("routing", message).hint =
                Some("leave out [routing]; `routing` in [linux] chooses".to_owned());
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
                let problem = self.problem(section, format!("{kernels} cannot have {what}: they have one radio each"));
                problem.expected = Some(format!("no [{section}]"));
            }
        }
        if resolved.nodes.wired > 0 {
            self.problem("nodes.wired", format!("there are no wires to {kernels}")).expected = Some("0".to_owned());
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
        if params.dcf.standard != mac::dcf::Amendment::G {
            let message = format!("{of_linux} the MAC has the rates of 802.11g");
            self.problem("mac.edca.standard", message).expected = Some("\"g\"".to_owned());
        }
        if resolved.rates.config.name() != "minstrel_ht" {
            let message = format!("{of_linux} rate control is that of Linux, which is Minstrel-HT");
            self.problem("mac.rate_control", message).expected = Some("\"minstrel_ht\"".to_owned());
        }
    }

    /// Reports flows whose ends are Hopyard's.
    fn check_flows_of_routers(&mut self, resolved: &Resolved) {
        let listed = resolved.flows.iter().enumerate().map(|(i, (flow, _))| (Place::Listed(i), flow.stack));
        let drawn = resolved.random_flows.iter().map(|set| (Place::Drawn(set.number), set.flows.stack));
        for (place, _) in listed.chain(drawn).filter(|(_, stack)| *stack == Stack::Hopyard) {
            let message =
                "Hopyard's flows cannot go over nodes with `system = \"linux\"`: the IP of these nodes is Linux's";
            let fault = self.flow_problem(place, "stack", message);
            fault.expected = Some("`stack = \"linux\"`, or a program in [[host]]".to_owned());
        }
    }
}
