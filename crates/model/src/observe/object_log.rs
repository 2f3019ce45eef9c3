//! A probe that follows the objects of applications: messages, requests, answers and pages.
//!
//! An object is known by its place in what its flow writes: bytes of a stream over TCP, datagrams over UDP. A flow
//! whose application writes no objects has no rows.

use std::borrow::Cow;
use std::collections::VecDeque;

use hopyard_engine::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::network::{FlowView, NetworkView};
use super::probe::{FlowEvent, Probe};
use super::row::{Report, Row};
use crate::app::{Kind, Object};
use crate::packet::FlowId;

/// A row for each object that an application wrote in the measuring window, and for each page, in the order in which
/// they began. Only traffic whose data has bounds writes objects: `request_response`, `messages`, `trace`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObjectRow {
    /// The number of the flow that carries it; of a page, the flow of its requests.
    pub flow: u32,
    /// The flow's label.
    pub label: Cow<'static, str>,
    /// `message`; `request` or `answer`; `page`, which is complete with the last answer to its requests.
    #[schemars(extend("closed" = true))]
    pub kind: &'static str,
    /// Its number among the objects of its flow and kind: 0, 1, 2 and so on from the start of the run.
    pub number: u64,
    /// The number of the page to which a request or an answer belongs.
    pub page: Option<u64>,
    /// Its size; of a page, the size of all answers that were written.
    #[schemars(extend("unit" = "bytes"))]
    pub bytes: u64,
    /// When the application wrote it; of a page, when the client wrote the first request.
    #[schemars(extend("unit" = "s"))]
    pub written_s: f64,
    /// When the other application got its first data; of a page, when the client got the first data of an answer.
    #[schemars(extend("unit" = "s"))]
    pub first_byte_s: Option<f64>,
    /// When the other application got its last data; of a page, when the client got the last data of the last answer.
    #[schemars(extend("unit" = "s"))]
    pub delivered_s: Option<f64>,
    /// Time from `written_s` to `delivered_s`.
    #[schemars(extend("unit" = "ms"))]
    pub delivery_ms: Option<f64>,
    /// 1 if it was delivered within its deadline, otherwise 0; empty if it has none, or if it was on the way and the
    /// deadline not over when the run ended, or when the client stopped with a part of the page not asked for.
    pub in_time: Option<u8>,
}

impl Row for ObjectRow {}

/// What is known of an object.
#[derive(Clone, Debug)]
struct Known {
    flow: usize,
    kind: &'static str,
    number: u64,
    page: Option<u64>,
    bytes: u64,
    written: Time,
    within: Span,
    /// Of a page: all requests were written.
    is_asked: bool,
    first: Option<Time>,
    delivered: Option<Time>,
}

/// An object that has not arrived.
#[derive(Clone, Copy, Debug)]
struct Open {
    /// The number of its connection, and its place there: bytes of a stream, or datagrams.
    connection: u32,
    begin: u64,
    end: u64,
    /// The part of it that has not arrived.
    left: u64,
    /// Its place in the list of all; nothing if it was written before the measuring window.
    known: Option<usize>,
    /// Whether its page is complete with it.
    ends_page: bool,
}

/// The objects of a flow.
#[derive(Clone, Debug)]
struct OfFlow {
    label: String,
    measured_from: Time,
    stop: Time,
    /// The flow that opened the connection.
    connection: usize,
    /// The number of the latest connection, and the bytes, or datagrams, of all objects that were written to it.
    written: (u32, u64),
    open: VecDeque<Open>,
    /// How many objects there were.
    count: u64,
    /// The latest page: its number, and its place in the list if it was begun in the measuring window.
    page: Option<(u64, Option<usize>)>,
}

/// The objects of all flows.
#[derive(Clone, Debug, Default)]
pub struct ObjectLog {
    flows: Vec<OfFlow>,
    all: Vec<Known>,
}

impl ObjectLog {
    /// The row of the page of which requests and answers now pass on the connection of a flow.
    fn page(&mut self, flow: usize) -> Option<&mut Known> {
        let (_, place) = self.flows[self.flows[flow].connection].page?;
        self.all.get_mut(place?)
    }

    /// Adds an object if it is measured, and returns its place.
    fn add(&mut self, known: Known) -> Option<usize> {
        let is_measured = known.written >= self.flows[known.flow].measured_from;
        is_measured.then(|| {
            self.all.push(known);
            self.all.len() - 1
        })
    }

    fn row(&self, it: &Known, now: Time) -> ObjectRow {
        let flow = &self.flows[it.flow];
        let due = Some(it.written + it.within).filter(|_| !it.within.is_zero());
        // At the stop the client leaves the page at hand as it is.
        let is_at_hand = it.kind == "page" && !it.is_asked && flow.page.is_some_and(|(latest, _)| latest == it.number);
        let now = if is_at_hand { now.min(flow.stop) } else { now };
        let in_time = due.and_then(|due| match it.delivered {
            Some(delivered) => Some((delivered <= due).into()),
            None => (now > due).then_some(0),
        });
        ObjectRow {
            flow: it.flow as u32,
            label: Cow::Owned(flow.label.clone()),
            kind: it.kind,
            number: it.number,
            page: it.page,
            bytes: it.bytes,
            written_s: it.written.seconds(),
            first_byte_s: it.first.map(Time::seconds),
            delivered_s: it.delivered.map(Time::seconds),
            delivery_ms: it.delivered.map(|at| at.since(it.written).seconds() * 1e3),
            in_time,
        }
    }

    /// An application has written an object to a connection, which so many bytes of its stream carry, or so many
    /// datagrams.
    fn on_written(&mut self, now: Time, flow: usize, object: &Object, (connection, units): (u32, u64)) {
        let Object { kind, bytes, page, is_last, within } = *object;
        let it = &mut self.flows[flow];
        let is_earlier = connection < it.written.0;
        let begin = if it.written.0 == connection { it.written.1 } else { 0 };
        let number = it.count;
        it.count += 1;
        if !is_earlier {
            it.written = (connection, begin + units);
        }
        let of_page = (kind != Kind::Message).then_some(page);
        let known = Known {
            flow,
            kind: kind.into(),
            number,
            page: of_page,
            bytes,
            written: now,
            within: if kind == Kind::Message { within } else { Span::ZERO },
            is_asked: false,
            first: None,
            delivered: None,
        };
        match kind {
            Kind::Request if it.page.is_none_or(|(latest, _)| latest != page) => {
                let begun = Known { kind: "page", number: page, bytes: 0, within, ..known.clone() };
                self.flows[flow].page = Some((page, self.add(begun)));
            }
            _ => {}
        }
        match kind {
            Kind::Request if is_last => {
                if let Some(page) = self.page(flow) {
                    page.is_asked = true;
                }
            }
            Kind::Answer => {
                // The server may not know yet that the client has given a page up.
                if let Some(page) = self.page(flow).filter(|it| it.number == page) {
                    page.bytes += bytes;
                }
            }
            Kind::Message | Kind::Request => {}
        }
        let known = self.add(known);
        // Nobody reads from an earlier connection.
        if is_earlier {
            return;
        }
        let ends_page = kind == Kind::Answer && is_last;
        let end = begin + units;
        self.flows[flow].open.push_back(Open { connection, begin, end, left: units, known, ends_page });
    }

    /// The far end has got its bytes or datagrams of a connection from `begin` up to the one before `end`. It reads no
    /// more from earlier connections.
    fn on_read(&mut self, now: Time, flow: usize, connection: u32, (begin, end): (u64, u64)) {
        let open = &mut self.flows[flow].open;
        while open.front().is_some_and(|it| it.connection < connection) {
            open.pop_front();
        }
        let mut place = open.partition_point(|it| (it.connection, it.end) <= (connection, begin));
        let is_read = |it: &&mut Open| it.connection == connection && it.begin < end;
        while let Some(open) = self.flows[flow].open.get_mut(place).filter(is_read) {
            place += 1;
            open.left -= end.min(open.end) - begin.max(open.begin);
            let Open { left, known, ends_page, .. } = *open;
            if let Some(known) = known.map(|known| &mut self.all[known]) {
                known.first.get_or_insert(now);
                known.delivered = (left == 0).then_some(now);
            }
            // Requests do not count for the first byte of a page.
            if self.flows[flow].connection != flow
                && let Some(page) = self.page(flow)
            {
                page.first.get_or_insert(now);
                if left == 0 && ends_page {
                    page.delivered = Some(now);
                }
            }
        }
        let open = &mut self.flows[flow].open;
        while open.front().is_some_and(|it| it.left == 0) {
            open.pop_front();
        }
    }
}

impl Probe for ObjectLog {
    fn on_start(&mut self, network: &NetworkView<'_>) {
        let of_flow = |it: &FlowView<'_>| OfFlow {
            label: it.label.to_owned(),
            measured_from: it.measured_from,
            stop: it.stop,
            connection: it.connection.index(),
            written: (0, 0),
            open: VecDeque::new(),
            count: 0,
            page: None,
        };
        self.flows = network.flows.iter().map(of_flow).collect();
    }

    fn on_flow(&mut self, now: Time, flow: FlowId, event: &FlowEvent<'_>) {
        match *event {
            FlowEvent::Written { object, connection, units } => {
                self.on_written(now, flow.index(), object, (connection, units));
            }
            FlowEvent::Read { connection, begin, end } => self.on_read(now, flow.index(), connection, (begin, end)),
            FlowEvent::Sent { .. } | FlowEvent::Decided(_) => {}
        }
    }

    fn report(&self, report: &mut Report<'_>) {
        let now = report.now;
        report.table(|| self.all.iter().map(|it| self.row(it, now)).collect::<Vec<_>>());
    }
}

#[cfg(test)]
mod tests {
    use super::super::network::MobileView;
    use super::*;
    use crate::address::NodeId;
    use crate::observe::Outcome;

    const fn ms(time: u64) -> Time {
        Time::from_nanos(time * 1_000_000)
    }

    fn log(flows: usize) -> ObjectLog {
        let mut log = ObjectLog::default();
        let flow = |_| FlowView { measured_from: ms(10), stop: ms(100), ..FlowView::between(NodeId(0), NodeId(1)) };
        let flows: Vec<FlowView<'_>> = (0..flows).map(flow).collect();
        log.on_start(&NetworkView { nodes: 2, interfaces: &[], flows: &flows, mobile: &MobileView::default() });
        log
    }

    fn rows(log: &ObjectLog, now: Time) -> Vec<ObjectRow> {
        let mut outcome = Outcome::default();
        outcome.fill(None, now, |report| log.report(report));
        outcome.objects
    }

    fn object(kind: Kind, bytes: u64, page: u64, is_last: bool) -> Object {
        Object { kind, bytes, page, is_last, within: Span::from_millis(50) }
    }

    const FLOW: FlowId = FlowId(0);
    const BACK: FlowId = FlowId(1);

    #[test]
    fn bytes_of_a_stream_belong_to_the_objects_in_order() {
        let mut log = log(1);
        for (at, bytes) in [(5, 100), (10, 200), (11, 300), (12, 50)] {
            log.on_written(ms(at), FLOW.index(), &object(Kind::Message, bytes, 0, false), (0, bytes));
        }
        log.on_read(ms(20), FLOW.index(), 0, (0, 150));
        log.on_read(ms(62), FLOW.index(), 0, (150, 620));
        let found: Vec<_> = rows(&log, ms(70))
            .into_iter()
            .map(|row| (row.number, row.first_byte_s, row.delivered_s, row.in_time))
            .collect();
        assert_eq!(
            found,
            [
                (1, Some(0.02), Some(0.062), Some(0)),
                (2, Some(0.062), Some(0.062), Some(0)),
                (3, Some(0.062), None, Some(0)),
            ],
            "the first was written before the window"
        );
        assert_eq!(rows(&log, ms(62))[2].in_time, None, "its time is not over");
    }

    #[test]
    fn datagrams_may_be_lost_and_come_in_any_order() {
        let mut log = log(1);
        for at in 10..13 {
            log.on_written(ms(at), FLOW.index(), &object(Kind::Message, 2500, 0, false), (0, 3));
        }
        for (at, datagram) in [(20, 2), (21, 8), (22, 7), (23, 0), (24, 6), (25, 4), (26, 1)] {
            log.on_read(ms(at), FLOW.index(), 0, (datagram, datagram + 1));
        }
        let found: Vec<_> =
            rows(&log, ms(30)).into_iter().map(|row| (row.first_byte_s, row.delivered_s, row.delivery_ms)).collect();
        assert_eq!(found[0], (Some(0.02), Some(0.026), Some(16.0)));
        assert_eq!(found[1], (Some(0.025), None, None), "two datagrams are missing");
        assert_eq!(found[2], (Some(0.021), Some(0.024), Some(12.0)));
    }

    #[test]
    fn a_page_lasts_from_the_first_request_to_the_last_answer() {
        let mut log = log(2);
        for (at, flow, it) in [
            (10, FLOW, object(Kind::Request, 100, 7, false)),
            (15, BACK, object(Kind::Answer, 1000, 7, false)),
            (20, FLOW, object(Kind::Request, 100, 7, true)),
            (25, BACK, object(Kind::Answer, 3000, 7, true)),
        ] {
            log.on_written(ms(at), flow.index(), &it, (0, it.bytes));
            let begin = log.flows[flow.index()].written.1 - it.bytes;
            log.on_read(ms(at + 4), flow.index(), 0, (begin, begin + 1));
            log.on_read(ms(at + 5), flow.index(), 0, (begin + 1, begin + it.bytes));
        }
        let rows = rows(&log, ms(90));
        let kinds: Vec<_> = rows.iter().map(|row| (row.kind, row.flow, row.number, row.page, row.bytes)).collect();
        assert_eq!(
            kinds,
            [
                ("page", 0, 7, Some(7), 4000),
                ("request", 0, 0, Some(7), 100),
                ("answer", 1, 0, Some(7), 1000),
                ("request", 0, 1, Some(7), 100),
                ("answer", 1, 1, Some(7), 3000),
            ]
        );
        let page = &rows[0];
        let times = (page.written_s, page.first_byte_s, page.delivered_s, page.in_time);
        assert_eq!(times, (0.01, Some(0.019), Some(0.03), Some(1)));
        assert!(rows[1..].iter().all(|row| row.in_time.is_none() && row.delivery_ms == Some(5.0)), "{rows:?}");
    }

    #[test]
    fn a_page_that_the_stop_leaves_is_late_only_if_its_time_was_over() {
        for (written, is_last, expected) in [(80, false, None), (80, true, Some(0)), (40, false, Some(0))] {
            let mut log = log(2);
            log.on_written(ms(written), FLOW.index(), &object(Kind::Request, 100, 0, is_last), (0, 100));
            assert_eq!(rows(&log, ms(900))[0].in_time, expected, "written at {written} ms, all asked: {is_last}");
        }
    }
}
