//! The rate of a flow's first link, as its sender knows it.

use super::*;
use crate::mac::rate_control;
use crate::transport::{acking, congestion, tcp};
use crate::{app, mac};

/// A flow over one hop of 802.11a under a rate control: the rate that its sender knows in the end, in Mb/s.
fn known_rate(control: &str, routing: &str) -> u64 {
    let mut spec = Spec::network(RFC);
    spec.duration = Span::from_millis(700);
    let dcf = mac::dcf::Params::of_amendment(RFC, mac::dcf::Amendment::A);
    spec.channels[0].mac = mac::Config::Dcf(dcf.into());
    spec.channels[0].rates = rate_control::Config::of_profile(control, RFC).expect("a rate control");
    for node in 0..2 {
        let routing = routing::Config::of_profile(routing, RFC).expect("a protocol");
        spec.nodes.push(NodeSpec::stationary(mobility::Position::ground(30.0 * f64::from(node), 0.0), routing));
    }
    spec.flows.push(FlowSpec {
        from: NodeId(0),
        to: NodeId(1),
        start: Time::ZERO,
        stop: Time::NEVER,
        traffic: app::Config::of_profile("ftp", RFC).expect("traffic"),
        label: String::new(),
        dscp: 0,
        transport: Transport::Tcp {
            config: Box::new(tcp::Config {
                tcp: tcp::Params::of_profile(RFC),
                congestion: congestion::Config::of_profile("adaptive_pacing", RFC).expect("a TCP variant"),
            }),
            acking: acking::Config::of_profile("every", RFC).expect("a way of acknowledging"),
        },
    });
    let mut world = World::new(&spec).expect("a world");
    world.advance(Time::NEVER, &Watch::default());
    let rate = world.sender_mut(0).expect("a TCP flow").link_rate().expect("the link has a rate");
    world.finish().expect("packets add up");
    rate.bps() / 1_000_000
}

#[test]
fn a_sender_knows_the_rate_of_its_first_link() {
    for routing in ["static", "aodv"] {
        assert_eq!(known_rate("fixed", routing), 6, "{routing}");
        assert_eq!(known_rate("ideal", routing), 54, "{routing}");
        assert_eq!(known_rate("minstrel_ht", routing), 54, "{routing}");
    }
}
