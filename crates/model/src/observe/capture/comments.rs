//! Comments about packets: the state of the sender, and the reason of a drop.

use std::fmt::Write as _;

use hopyard_engine::Span;

use crate::address::NodeId;
use crate::context::DropReason;
use crate::packet::{Body, FlowId, Packet, TcpHeader};
use crate::transport::tcp::SenderState;

/// The state of a TCP sender after it passed a segment to IP, in the manner of Linux's `ss`. Windows are in segments,
/// the flight size is in bytes, and times are in milliseconds. Values that the sender does not have are left out.
pub fn of_segment(header: &TcpHeader, state: &SenderState) -> String {
    let mut text = format!("tcp: cwnd:{}", rounded(state.cwnd));
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            // Writing to a string does not fail.
            let _ = write!(text, " {name}:{value}");
        }
    };
    add("inflation", (state.inflation > 0.0).then(|| rounded(state.inflation)));
    add("ssthresh", state.ssthresh.is_finite().then(|| rounded(state.ssthresh)));
    add("flight", Some(state.flight.to_string()));
    add("srtt", state.srtt.map(milliseconds));
    add("rto", Some(milliseconds(state.rto)));
    add("bandwidth", state.bandwidth.map(|bandwidth| format!("{}kbit/s", rounded(bandwidth * 8.0 / 1e3))));
    add("pacing_gap", (!state.pacing_gap.is_zero()).then(|| milliseconds(state.pacing_gap)));
    add("state", Some(name_of(state).to_owned()));
    if header.retransmission {
        text += " retransmission";
    }
    text
}

/// The state of congestion control, with Linux's names, and "frozen".
const fn name_of(state: &SenderState) -> &'static str {
    if state.frozen {
        "frozen"
    } else if state.timeouts > 0 {
        "loss"
    } else if state.recovering {
        "recovery"
    } else if state.duplicate_acks > 0 {
        "disorder"
    } else {
        "open"
    }
}

/// The reason and the place of a packet's drop, and the packet.
pub fn of_drop(node: NodeId, packet: &Packet, reason: DropReason) -> String {
    let text = format!("dropped: {} at node {node}", reason.name());
    described(text, packet, &packet.body)
}

/// A text with the description of a packet behind it.
fn described(mut text: String, packet: &Packet, body: &Body) -> String {
    let _ = match body {
        Body::Tcp(header) => {
            let (seq, len, ack) = (header.seq, header.len, header.ack);
            write!(text, ", flow {} seq {seq} len {len} ack {ack}", packet.flow.0)
        }
        Body::Routing(message) | Body::Control { message, .. } => write!(text, ", {}", message.kind()),
        Body::Tunnelled(_, inner) => return described(text + ", in a tunnel", inner, &inner.body),
        Body::Extended(it) => return described(text + ", with options", packet, it.body()),
        _ if packet.flow != FlowId::NONE => write!(text, ", flow {}", packet.flow.0),
        _ => Ok(()),
    };
    text
}

/// Three decimals, and no zeros at the end.
fn rounded(value: f64) -> String {
    ((value * 1e3).round() / 1e3).to_string()
}

fn milliseconds(span: Span) -> String {
    format!("{}ms", rounded(span.seconds() * 1e3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> SenderState {
        SenderState {
            cwnd: 4.333_333,
            inflation: 0.0,
            ssthresh: 20.0,
            flight: 2920,
            srtt: Some(Span::from_micros(215_232)),
            rto: Span::from_secs(1),
            round_trip: None,
            duplicate_acks: 0,
            recovering: false,
            timeouts: 0,
            frozen: false,
            bandwidth: None,
            pacing_gap: Span::ZERO,
        }
    }

    #[test]
    fn the_state_of_a_sender() {
        let header = TcpHeader::default();
        let text = of_segment(&header, &state());
        assert_eq!(text, "tcp: cwnd:4.333 ssthresh:20 flight:2920 srtt:215.232ms rto:1000ms state:open");
        let paced = SenderState {
            ssthresh: f64::INFINITY,
            srtt: None,
            inflation: 3.0,
            bandwidth: Some(125_000.0),
            pacing_gap: Span::from_millis(4),
            ..state()
        };
        let again = TcpHeader { retransmission: true, ..header };
        assert_eq!(
            of_segment(&again, &paced),
            "tcp: cwnd:4.333 inflation:3 flight:2920 rto:1000ms bandwidth:1000kbit/s pacing_gap:4ms \
             state:open retransmission"
        );
    }

    #[test]
    fn the_state_of_congestion_control() {
        let disorder = SenderState { duplicate_acks: 2, ..state() };
        let recovery = SenderState { recovering: true, ..disorder };
        let loss = SenderState { timeouts: 1, ..recovery };
        let frozen = SenderState { frozen: true, ..loss };
        assert_eq!(
            [disorder, recovery, loss, frozen].map(|it| name_of(&it)),
            ["disorder", "recovery", "loss", "frozen"]
        );
    }
}
