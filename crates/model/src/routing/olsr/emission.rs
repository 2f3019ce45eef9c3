//! The messages of a node, and their times (RFC 3626 §3.5, 5.2, 6.2, 9.3, 12.3).

use std::sync::Arc;

use hopyard_engine::{Span, Time};

use super::message::{Content, Hello, LinkType, Listed, NeighbourType, OlsrMessage, OlsrPacket, Tc, to_code};
use super::params::{Metric, Params};
use super::state::State;
use crate::address::{Address, InterfaceId, Prefix};
use crate::context::{Action, Context, Origin};
use crate::packet::RoutingMessage;
use crate::routing::RoutingFacts;

/// TTL of the IP packets, which go one hop. §3.3.1 leaves it open.
const PACKET_TTL: u8 = 1;
/// TTL of messages that are flooded (§5.2, 9.3, 12.3).
const FLOOD_TTL: u8 = 255;

impl State {
    /// Sets the timers of a node: the first messages come at random within their interval, so that nodes which start
    /// together do not send together.
    pub fn start(&mut self, now: Time) {
        if self.radios.is_empty() {
            return;
        }
        self.hello_at = now + self.params.hello_interval.mul_f64(self.rng.uniform());
        self.tc_at = now + self.params.tc_interval.mul_f64(self.rng.uniform());
        if self.radios.len() > 1 {
            self.mid_at = now + self.params.mid_interval.mul_f64(self.rng.uniform());
        }
        self.gateways.own = self.announced_networks();
        if !self.gateways.own.is_empty() {
            self.hna_at = now + self.params.hna_interval.mul_f64(self.rng.uniform());
        }
    }

    /// When the timer is next to be called.
    #[inline]
    pub fn deadline(&self) -> Time {
        let messages = self.hello_at.min(self.tc_at).min(self.mid_at).min(self.hna_at).min(self.emit_at);
        let expiries = self.interfaces.next_expiry.min(self.gateways.next_expiry).min(self.topology.next_expiry);
        messages.min(expiries).min(self.next_change).min(self.announce_at)
    }

    /// The networks that this node announces.
    fn announced_networks(&self) -> Vec<Prefix> {
        self.params.announced(&self.wired, &self.ad_hoc)
    }

    /// The time until the next message of a kind: the interval, shortened at random (§3.5).
    fn after(&mut self, interval: Span) -> Span {
        interval.saturating_sub(self.jitter())
    }

    fn message(&mut self, content: Content, validity: Span, ttl: u8) -> OlsrMessage {
        let sequence = self.sequence;
        self.sequence = sequence.wrapping_add(1);
        OlsrMessage { vtime: to_code(validity), originator: self.main, ttl, hops: 0, sequence, content }
    }

    /// Sends a message on (§3.4.1, steps 6 to 8), after a random time and together with others.
    pub fn forward(&mut self, message: &OlsrMessage, now: Time) {
        let hops = message.hops.saturating_add(1);
        self.queue.push((None, OlsrMessage { ttl: message.ttl - 1, hops, ..message.clone() }));
        if self.emit_at == Time::NEVER {
            self.emit_at = now + self.jitter();
        }
    }

    /// Makes the messages that are due, and sends what waits.
    pub fn emit(&mut self, cx: &mut Context) {
        let now = cx.now;
        let waiting = self.queue.len();
        if self.hello_at <= now {
            self.hello_at = now + self.after(self.params.hello_interval);
            self.choose_relays(now);
            for radio in 0..self.radios.len() {
                let hello = self.make_hello(radio, now);
                let message = self.message(Content::Hello(hello), self.params.neighbour_hold(), 1);
                self.queue.push((Some(radio), message));
            }
        }
        if self.tc_at <= now {
            self.tc_at = now + self.after(self.params.tc_interval);
            if let Some(tc) = self.make_tc(now) {
                let message = self.message(Content::Tc(tc), self.params.topology_hold(), FLOOD_TTL);
                self.queue.push((None, message));
            }
        }
        if self.mid_at <= now {
            self.mid_at = now + self.after(self.params.mid_interval);
            let further = self.own[1..].into();
            let message = self.message(Content::Mid(further), self.params.mid_hold(), FLOOD_TTL);
            self.queue.push((None, message));
        }
        if self.hna_at <= now {
            self.hna_at = now + self.after(self.params.hna_interval);
            let networks = self.announced_networks().into();
            let message = self.message(Content::Hna(networks), self.params.hna_hold(), FLOOD_TTL);
            self.queue.push((None, message));
        }
        if self.queue.len() > waiting {
            let at = if self.params.delay_own { now + self.jitter() } else { now };
            self.emit_at = self.emit_at.min(at);
        }
        if self.emit_at <= now {
            self.emit_at = Time::NEVER;
            self.send_queue(cx);
        }
    }

    /// Sends what waits, in as few packets as its limits allow.
    fn send_queue(&mut self, cx: &mut Context) {
        let queue = std::mem::take(&mut self.queue);
        let limit = self.params.packet_limit.count() as u32;
        let most = match self.params.packet_messages {
            0 => usize::MAX,
            most => usize::from(most),
        };
        for radio in 0..self.radios.len() {
            let mut messages = Vec::new();
            let mut size = Params::HEADERS + OlsrPacket::HEADER;
            for (_, message) in queue.iter().filter(|(only, _)| only.is_none_or(|only| only == radio)) {
                let more = message.size();
                if !messages.is_empty() && (messages.len() >= most || size + more > limit) {
                    self.send_packet(radio, std::mem::take(&mut messages), cx);
                    size = Params::HEADERS + OlsrPacket::HEADER;
                }
                size += more;
                messages.push(message.clone());
            }
            if !messages.is_empty() {
                self.send_packet(radio, messages, cx);
            }
        }
    }

    fn send_packet(&mut self, radio: usize, messages: Vec<OlsrMessage>, cx: &mut Context) {
        let it = &mut self.radios[radio];
        let packet = OlsrPacket { sequence: it.sequence, messages };
        it.sequence = it.sequence.wrapping_add(1);
        let (address, size) = (it.address, Params::HEADERS + packet.size());
        let next_hop = Address::BROADCAST;
        // Each message in the packet says itself whether it is forwarded.
        let message = RoutingMessage::new(packet);
        let packet = cx.originate_routing(Origin::Own, address, next_hop, PACKET_TTL, size, message);
        cx.act(Action::SendBy { interface: InterfaceId::from(address), packet, next_hop });
    }

    /// The HELLO of a radio (§6.2): its links, and the symmetric neighbours that it has no link to.
    fn make_hello(&mut self, radio: usize, now: Time) -> Arc<Hello> {
        let qualities = self.params.metric == Metric::Etx;
        let kind = |main: Address| match self.neighbour(main) {
            Some(it) if it.relay => NeighbourType::Mpr,
            Some(it) if it.symmetric => NeighbourType::Symmetric,
            _ => NeighbourType::Not,
        };
        let quality = |it: (u8, u8)| if qualities { it } else { (0, 0) };
        let mut listed: Vec<Listed> = Vec::with_capacity(self.links.len());
        for link in self.links.iter().filter(|link| link.radio == radio) {
            if let Some(what) = link.link_type(now) {
                let quality = quality(link.qualities(&self.params));
                listed.push(Listed { address: link.address, link: what, neighbour: kind(link.main), quality });
            }
        }
        if self.radios.len() > 1 {
            for it in self.neighbours.iter().filter(|it| it.symmetric) {
                let here = |link: &&super::links::Link| link.main == it.main && link.radio == radio;
                if !self.links.iter().filter(here).any(|link| link.link_type(now).is_some()) {
                    let best = self.links.iter().find(|link| link.address == it.via);
                    let quality = quality(best.map_or((0, 0), |link| link.qualities(&self.params)));
                    listed.push(Listed {
                        address: it.main,
                        link: LinkType::Unspecified,
                        neighbour: kind(it.main),
                        quality,
                    });
                }
            }
            listed.sort_by_key(|it| it.address);
        }
        let htime = to_code(self.params.hello_interval);
        let hello = Hello { htime, willingness: self.params.willingness, qualities, listed };
        match &self.radios[radio].hello {
            Some(last) if **last == hello => Arc::clone(last),
            _ => Arc::clone(self.radios[radio].hello.insert(Arc::new(hello))),
        }
    }

    /// The TC that is due (§9.2, 9.3, 15.1): nothing if no neighbour is to be advertised, or has been lately.
    fn make_tc(&mut self, now: Time) -> Option<Arc<Tc>> {
        self.choose_relays(now);
        let redundancy = self.params.tc_redundancy;
        let advertised: Vec<_> = self
            .neighbours
            .iter()
            .filter(|it| it.symmetric)
            .filter(|it| it.selector_until > now || redundancy > 1 || redundancy > 0 && it.relay)
            .collect();
        let mut qualities = Vec::new();
        if self.params.metric == Metric::Etx {
            let link = |via: Address| self.link(via).map_or((0, 0), |place| self.links[place].qualities(&self.params));
            qualities.extend(advertised.iter().map(|it| link(it.via)));
        }
        let advertised: Vec<Address> = advertised.iter().map(|it| it.main).collect();
        let (ansn, known) = self.tc.as_ref().map_or((0, &[][..]), |tc| (tc.ansn, &tc.advertised[..]));
        let changed = advertised != known;
        if changed && advertised.is_empty() {
            self.empty_until = now + self.params.topology_hold();
        }
        if advertised.is_empty() && now >= self.empty_until {
            return None;
        }
        let tc = Tc { ansn: ansn.wrapping_add(u16::from(changed)), advertised, qualities };
        match &self.tc {
            Some(last) if **last == tc => Some(Arc::clone(last)),
            _ => Some(Arc::clone(self.tc.insert(Arc::new(tc)))),
        }
    }
}
