//! A probe that records the segments of chosen flows: at the sender and at the receiver, each sent and received.

use std::fmt;
use std::str::FromStr;

use hopyard_engine::Time;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use strum::IntoStaticStr;

use super::network::{FlowView, NetworkView};
use super::probe::{FlowEvent, PacketEvent, Probe};
use super::row::{Report, Row};
use crate::address::NodeId;
use crate::packet::{Body, FlowId, Packet, TcpFlags, TcpHeader};
use crate::params::{Given, read_given};

/// A row for each TCP segment that the sender or the receiver of a flow passed to IP or received. The rows begin at the
/// start of the run, in the order of time. `measure.segments` says of which flows: by default, of none. Sequence
/// numbers count bytes from zero and do not wrap; a SYN and a FIN take one each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SegmentRow {
    /// The flow's number.
    pub flow: u32,
    /// Simulated time.
    #[schemars(extend("unit" = "s"))]
    pub time_s: f64,
    /// `data_sent` or `ack_received` at the sender of the flow's data, `data_received` or `ack_sent` at their receiver.
    /// Each segment from the sender counts as data, each one from the receiver as an acknowledgement.
    pub event: &'static str,
    /// The number of the connection within the flow: 0 unless the application opens several.
    pub connection: u32,
    /// The sequence number.
    #[schemars(extend("unit" = "bytes"))]
    pub seq: u64,
    /// The sequence number that follows the segment.
    #[schemars(extend("unit" = "bytes"))]
    pub end: u64,
    /// The payload.
    #[schemars(extend("unit" = "bytes"))]
    pub payload: u32,
    /// Whether the sender had sent this payload, or this SYN or FIN, before. No segment from the receiver counts.
    pub resent: bool,
    /// The acknowledgement number; empty for a SYN that acknowledges nothing.
    #[schemars(extend("unit" = "bytes"))]
    pub ack: Option<u64>,
    /// The window that the segment advertises, scaled.
    #[schemars(extend("unit" = "bytes"))]
    pub window: u32,
    /// The blocks of SACK, the most recent first, such as `2921-4381,5841-7301`; the byte after the dash is the first
    /// one that is not in the block.
    pub sack: Option<String>,
    /// The congestion window after the sender has sent the segment; only for `data_sent`.
    #[schemars(extend("unit" = "segments"))]
    pub cwnd: Option<f64>,
    /// The control bits that are set, such as `SYN ACK`.
    pub flags: String,
}

impl Row for SegmentRow {}

const FLOWS: &str = "true, false, or numbers of flows such as \"0,2..4\"";

/// No scenario has more flows.
const MOST: u64 = 10_000_000;

/// The flows whose segments are recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SegmentFlows {
    /// None.
    #[default]
    None,
    /// All of them.
    All,
    /// The flows in these ranges of numbers, whose ends belong to them. The ranges are in order and have gaps between
    /// them.
    Only(Vec<(u32, u32)>),
}

impl SegmentFlows {
    /// These flows.
    #[must_use]
    pub fn only(flows: impl IntoIterator<Item = u32>) -> Self {
        Self::of_ranges(flows.into_iter().map(|flow| (flow, flow)).collect())
    }

    fn of_ranges(mut ranges: Vec<(u32, u32)>) -> Self {
        ranges.sort_unstable();
        let mut joined: Vec<(u32, u32)> = Vec::new();
        for (first, last) in ranges {
            match joined.last_mut() {
                Some((_, end)) if end.saturating_add(1) >= first => *end = last.max(*end),
                _ => joined.push((first, last)),
            }
        }
        if joined.is_empty() { Self::None } else { Self::Only(joined) }
    }

    /// Whether the segments of a flow are recorded.
    #[must_use]
    pub fn has(&self, flow: u32) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Only(ranges) => ranges.iter().any(|&(first, last)| (first..=last).contains(&flow)),
        }
    }

    /// The ranges of the flows that are given by number.
    #[must_use]
    pub fn ranges(&self) -> &[(u32, u32)] {
        match self {
            Self::None | Self::All => &[],
            Self::Only(ranges) => ranges,
        }
    }
}

/// Numbers as `0,2..4`.
impl fmt::Display for SegmentFlows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (first, last)) in self.ranges().iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            if first == last { write!(f, "{comma}{first}")? } else { write!(f, "{comma}{first}..{last}")? }
        }
        Ok(())
    }
}

impl FromStr for SegmentFlows {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("expected {FLOWS}, found \"{text}\"");
        let number = |part: &str| part.trim().parse::<u32>().ok().filter(|&number| u64::from(number) < MOST);
        let range = |part: &str| {
            let (first, last) = part.split_once("..").unwrap_or((part, part));
            number(first).zip(number(last)).filter(|(first, last)| first <= last)
        };
        let ranges = text.split(',').map(range).collect::<Option<_>>().ok_or_else(wrong)?;
        Ok(Self::of_ranges(ranges))
    }
}

impl Serialize for SegmentFlows {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::None => serializer.serialize_bool(false),
            Self::All => serializer.serialize_bool(true),
            Self::Only(_) => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for SegmentFlows {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_given(deserializer, FLOWS, |given| match given {
            Given::Choice(all) => Some(if all { Self::All } else { Self::None }),
            Given::Whole(flow) => flow.to_string().parse().ok(),
            Given::Word(flows) => flows.parse().ok(),
            Given::List(flows) => Some(Self::only(flows)),
            Given::Number(_) => None,
        })
    }
}

impl JsonSchema for SegmentFlows {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "SegmentFlows".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let number = json_schema!({ "type": "integer", "minimum": 0 });
        json_schema!({
            "description": FLOWS,
            "anyOf": [
                { "type": "boolean" },
                { "type": "string", "examples": ["0,2..4"] },
                number,
                { "type": "array", "items": number }
            ]
        })
    }
}

/// Where a segment was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
enum Event {
    DataSent,
    DataReceived,
    AckSent,
    AckReceived,
}

impl Event {
    fn name(self) -> &'static str {
        self.into()
    }
}

/// The state of a flow: its ends, and when the first SYN of its latest connection was sent.
#[derive(Clone, Copy, Debug)]
struct Ends {
    from: NodeId,
    to: NodeId,
    opened: Option<(u32, Time)>,
    /// The flow of the data that goes the other way, if there is any. Each segment with ACK acknowledges that data too.
    other_way: Option<FlowId>,
}

/// Whether a segment is more than an acknowledgement.
const fn tells_more(header: &TcpHeader) -> bool {
    header.len > 0 || header.flags.syn || header.flags.fin || header.flags.rst
}

/// A segment that was sent or received.
#[derive(Clone, Copy, Debug)]
struct Entry {
    time: Time,
    flow: u32,
    event: Event,
    cwnd: Option<f64>,
    resent: bool,
    header: TcpHeader,
}

/// The segments so far.
#[derive(Clone, Debug, Default)]
pub struct SegmentLog {
    which: SegmentFlows,
    /// The flows that are recorded, by number.
    flows: Vec<Option<Ends>>,
    entries: Vec<Entry>,
}

impl SegmentLog {
    /// A log of some of the flows.
    #[must_use]
    pub fn new(which: SegmentFlows) -> Self {
        Self { which, ..Self::default() }
    }

    fn ends(&mut self, flow: FlowId) -> Option<&mut Ends> {
        self.flows.get_mut(flow.index())?.as_mut()
    }

    /// Adds an event of a flow, if it is recorded.
    fn note(&mut self, flow: FlowId, entry: Entry) {
        if self.which.has(flow.0) {
            self.entries.push(Entry { flow: flow.0, ..entry });
        }
    }

    fn on_sent(&mut self, time: Time, flow: FlowId, header: &TcpHeader, cwnd: Option<f64>) {
        let Some(ends) = self.ends(flow) else { return };
        if header.flags.syn && ends.opened.is_none_or(|(latest, _)| latest < header.connection) {
            ends.opened = Some((header.connection, time));
        }
        let is_again = header.flags.syn && ends.opened.is_some_and(|(_, first)| first < time);
        let (resent, other_way) = (header.retransmission || is_again, ends.other_way);
        let data = Entry { time, flow: 0, event: Event::DataSent, cwnd, resent, header: *header };
        if other_way.is_none() || tells_more(header) {
            self.note(flow, data);
        }
        if let Some(other) = other_way.filter(|_| header.flags.ack) {
            self.note(other, Entry { event: Event::AckSent, cwnd: None, resent: false, ..data });
        }
    }

    fn rows(&self) -> Vec<SegmentRow> {
        self.entries.iter().map(row).collect()
    }

    fn on_originated(&mut self, time: Time, node: NodeId, packet: &Packet) {
        let Some(ends) = self.ends(packet.flow) else { return };
        // What the sender passes to IP is known already, with its state.
        if node == ends.to
            && let &Body::Tcp(header) = packet.carried()
        {
            let entry = Entry { time, flow: 0, event: Event::AckSent, cwnd: None, resent: false, header };
            self.note(packet.flow, entry);
        }
    }

    fn on_delivered(&mut self, time: Time, node: NodeId, packet: &Packet) {
        let Some(&mut Ends { from, to, opened, other_way }) = self.ends(packet.flow) else { return };
        let &Body::Tcp(header) = packet.carried() else { return };
        let entry = Entry { time, flow: 0, event: Event::AckReceived, cwnd: None, resent: false, header };
        if node == to {
            let is_again = header.flags.syn
                && opened.is_some_and(|(number, first)| number == header.connection && first < packet.created);
            let resent = header.retransmission || is_again;
            if other_way.is_none() || tells_more(&header) {
                self.note(packet.flow, Entry { event: Event::DataReceived, resent, ..entry });
            }
            if let Some(other) = other_way.filter(|_| header.flags.ack) {
                self.note(other, entry);
            }
        } else if node == from {
            self.note(packet.flow, entry);
        }
    }
}

impl Probe for SegmentLog {
    fn on_start(&mut self, network: &NetworkView<'_>) {
        let ends = |(number, flow): (u32, &FlowView<'_>)| {
            let mut others = (0..).map(FlowId).zip(network.flows);
            let is_other = |it: &FlowView<'_>| it.connection == flow.connection && it.from == flow.to;
            let other_way = others.find(|(_, it)| is_other(it)).map(|(other, _)| other);
            let is_recorded = self.which.has(number) || other_way.is_some_and(|it| self.which.has(it.0));
            is_recorded.then_some(Ends { from: flow.from, to: flow.to, opened: None, other_way })
        };
        self.flows = (0..).zip(network.flows).map(ends).collect();
    }

    fn on_flow(&mut self, time: Time, flow: FlowId, event: &FlowEvent<'_>) {
        if let FlowEvent::Sent { header, state } = event {
            self.on_sent(time, flow, header, state.map(|it| it.cwnd));
        }
    }

    fn on_packet(&mut self, time: Time, node: NodeId, packet: &Packet, event: PacketEvent) {
        match event {
            PacketEvent::Originated => self.on_originated(time, node, packet),
            PacketEvent::Delivered => self.on_delivered(time, node, packet),
            _ => {}
        }
    }

    fn report(&self, report: &mut Report<'_>) {
        report.table(|| self.rows());
    }
}

fn row(entry: &Entry) -> SegmentRow {
    let Entry { time, flow, event, cwnd, resent, header } = entry;
    let TcpFlags { syn, ack, fin, rst, psh, ece, cwr } = header.flags;
    let names = [(syn, "SYN"), (fin, "FIN"), (rst, "RST"), (psh, "PSH"), (ack, "ACK"), (ece, "ECE"), (cwr, "CWR")];
    let block = |(start, end)| format!("{start}-{end}");
    SegmentRow {
        flow: *flow,
        time_s: time.seconds(),
        event: event.name(),
        connection: header.connection,
        seq: header.seq,
        end: header.seq + u64::from(header.len) + u64::from(syn) + u64::from(fin),
        payload: header.len,
        resent: *resent,
        ack: ack.then_some(header.ack),
        window: header.window,
        sack: (!header.sack.is_empty()).then(|| header.sack.iter().map(block).collect::<Vec<_>>().join(",")),
        cwnd: *cwnd,
        flags: names.iter().filter(|(is_set, _)| *is_set).map(|(_, name)| *name).collect::<Vec<_>>().join(" "),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json, to_value};

    use super::*;
    use crate::address::Address;
    use crate::observe::MobileView;
    use crate::packet::SackBlocks;

    #[test]
    fn flows_are_read_and_written() {
        for (value, flows, written) in [
            (json!(true), SegmentFlows::All, json!(true)),
            (json!(false), SegmentFlows::None, json!(false)),
            (json!("2..4, 0,3"), SegmentFlows::only([0, 2, 3, 4]), json!("0,2..4")),
            (json!([5, 0, 1]), SegmentFlows::only([0, 1, 5]), json!("0..1,5")),
            (json!(3), SegmentFlows::only([3]), json!("3")),
            (json!([]), SegmentFlows::None, json!(false)),
        ] {
            assert_eq!(from_value::<SegmentFlows>(value).ok(), Some(flows.clone()));
            assert_eq!(to_value(&flows).ok(), Some(written));
        }
        for value in [json!(""), json!("a"), json!("1,"), json!("4..2"), json!(-1), json!("1..99999999999"), json!({})]
        {
            let error = from_value::<SegmentFlows>(value.clone()).expect_err("no flows").to_string();
            assert!(error.contains(FLOWS), "{value}: {error}");
        }
        let flows = SegmentFlows::only([0, 2, 3]);
        assert_eq!([0, 1, 2, 3, 4].map(|flow| flows.has(flow)), [true, false, true, true, false]);
    }

    fn packet(flow: u32, created: Time, header: TcpHeader) -> Packet {
        Packet {
            created,
            destination: Address(3),
            flow: FlowId(flow),
            ..crate::samples::packet(header.length(), Body::Tcp(header))
        }
    }

    fn started(which: SegmentFlows, flows: &[FlowView<'_>]) -> SegmentLog {
        let mut log = SegmentLog::new(which);
        log.on_start(&NetworkView { nodes: 4, interfaces: &[], flows, mobile: &MobileView::default() });
        log
    }

    #[test]
    fn only_chosen_flows_are_recorded_and_each_end_sees_its_part() {
        let at = |seconds: u64| Time::from_nanos(seconds * 1_000_000_000);
        let (from, to) = (NodeId(0), NodeId(3));
        let mut log = started(SegmentFlows::only([1]), &[FlowView::between(from, to); 2]);
        let flags = TcpFlags { ack: true, ..TcpFlags::default() };
        let data = TcpHeader { seq: 1_461, len: 1_460, retransmission: true, flags, ..TcpHeader::default() };
        for flow in [0, 1, 2] {
            log.on_sent(at(1), FlowId(flow), &data, Some(2.5));
            log.on_originated(at(1), from, &packet(flow, at(1), data));
            log.on_delivered(at(2), to, &packet(flow, at(1), data));
            let sack = SackBlocks::new(1_461, [(2_921, 4_381), (5_841, 7_301)]);
            let ack = TcpHeader { ack: 1_461, window: 9_000, sack, flags, ..TcpHeader::default() };
            log.on_originated(at(2), to, &packet(flow, at(2), ack));
            log.on_delivered(at(3), from, &packet(flow, at(2), ack));
        }
        let rows = log.rows();
        let short: Vec<_> = rows.iter().map(|row| (row.time_s, row.event, row.end, row.resent, row.cwnd)).collect();
        assert_eq!(
            short,
            [
                (1.0, "data_sent", 2_921, true, Some(2.5)),
                (2.0, "data_received", 2_921, true, None),
                (2.0, "ack_sent", 0, false, None),
                (3.0, "ack_received", 0, false, None),
            ]
        );
        assert!(rows.iter().all(|row| row.flow == 1));
        let ack = &rows[3];
        assert_eq!((ack.ack, ack.window, ack.flags.as_str()), (Some(1_461), 9_000, "ACK"));
        assert_eq!(ack.sack.as_deref(), Some("2921-4381,5841-7301"));
        assert_eq!((rows[0].sack.as_deref(), rows[0].payload), (None, 1_460));
    }

    #[test]
    fn a_syn_is_sent_again_if_it_is_not_the_first_one() {
        let at = Time::from_nanos;
        let (from, to) = (NodeId(0), NodeId(3));
        let mut log = started(SegmentFlows::All, &[FlowView::between(from, to)]);
        let syn = TcpHeader { flags: TcpFlags { syn: true, ..TcpFlags::default() }, ..TcpHeader::default() };
        log.on_sent(at(1), FlowId(0), &syn, Some(1.0));
        log.on_sent(at(5), FlowId(0), &syn, Some(1.0));
        log.on_delivered(at(6), to, &packet(0, at(5), syn));
        log.on_delivered(at(7), to, &packet(0, at(1), syn));
        let rows: Vec<_> = log.rows().into_iter().map(|row| (row.resent, row.end, row.ack)).collect();
        assert_eq!(rows, [(false, 1, None), (true, 1, None), (true, 1, None), (false, 1, None)]);
    }

    #[test]
    fn nothing_is_kept_where_nothing_is_recorded() {
        let mut log = started(SegmentFlows::None, &[FlowView::between(NodeId(0), NodeId(3))]);
        log.on_sent(Time::ZERO, FlowId(0), &TcpHeader::default(), Some(1.0));
        assert!(log.rows().is_empty());
    }
}
