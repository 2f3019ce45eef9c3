//! Requests and answers: a client asks for pages, one after the other, over one connection or a new one each time.
//!
//! A page is a main object, and then its parts. The client writes the request for the main object. When the whole
//! answer has arrived, it writes requests for the parts, at most so many unanswered at a time (HTTP/1.1 pipelining, RFC
//! 9112 §9.3.2). After the last answer it thinks, and asks for the next page. The server answers the requests in their
//! order, one at a time: it begins with a request when all of it has arrived and the answer before is written, and
//! writes the answer after the service time. Both ends count bytes of the stream, as programs do that read a length
//! (`Content-Length`, RFC 9110 §8.6): they draw the sizes in the same order from the same stream. At the stop the
//! client asks no more and closes its direction; the server answers what was asked, and closes. With a connection for
//! each request, the server closes behind its answer (RFC 9112 §9.6), and the client when it sees that, or when it asks
//! again. A client that has waited for a page too long resets the connection, and goes on with the next page on a new
//! one. The number of a connection after the first one is the number of its first request, from which the server knows
//! the requests that do not come. Validated by the times of transfers without loss, round by round.

use std::collections::VecDeque;

use hopyard_engine::units::Bytes;
use hopyard_engine::{Rng, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::application::packet_or_stop;
use super::input::Input;
use super::law::{Law, check_size};
use super::object::{Kind, Object};
use super::{Application, ApplicationFacts, Change, Offer, Period};
use crate::params::{self, Fault, Unused, unused_where};

/// When a client opens a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Connection {
    /// Once: it keeps the connection.
    Kept,
    /// For each request.
    Each,
}

/// Parameters of requests and answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Size of each request.
    pub request: Law<Bytes>,
    /// Size of the main object of a page.
    pub answer: Law<Bytes>,
    /// How many parts a page has beside its main object; each has a request of its own.
    pub parts: u32,
    /// Size of each part.
    pub part: Law<Bytes>,
    /// How many requests for parts may be unanswered at a time.
    pub pipelining: u32,
    /// Whether the client keeps its connection, or opens one for each request, which the server closes.
    pub connection: Connection,
    /// Time that the server takes for each answer before it writes it.
    pub service: Law<Span>,
    /// Time from the end of a page to the request for the next one.
    pub think: Law<Span>,
    /// Time within which a page should be complete; "0 s" for none.
    pub deadline: Span,
    /// Time for which the client waits for a page, before it resets the connection and gives the page up; "0 s" for no
    /// limit.
    pub patience: Span,
    /// How many pages the client asks for; 0 for no limit.
    pub pages: u64,
}

impl params::Params for Params {
    fn of_profile(_profile: &str) -> Self {
        Self {
            request: Law::Constant(Bytes::new(300)),
            answer: Law::Constant(Bytes::new(10_000)),
            parts: 0,
            part: Law::Constant(Bytes::new(10_000)),
            pipelining: 1,
            connection: Connection::Kept,
            service: Law::Constant(Span::ZERO),
            think: Law::Constant(Span::from_secs(1)),
            deadline: Span::ZERO,
            patience: Span::ZERO,
            pages: 0,
        }
    }

    fn check(&self) -> Result<(), Fault> {
        check_size("request", &self.request)?;
        check_size("answer", &self.answer)?;
        check_size("part", &self.part)?;
        Fault::unless("pipelining", self.pipelining, |it| it > 0, "at least 1")?;
        if self.connection == Connection::Each && self.pipelining > 1 {
            let problem = format!("expected 1 with `connection = \"each\"`, found {}", self.pipelining);
            return Err(Fault::new("pipelining", problem));
        }
        Ok(())
    }

    fn unused(&self) -> Vec<Unused> {
        unused_where([(self.parts == 0, "parts", &["part", "pipelining"])])
    }
}

impl ApplicationFacts for Params {
    const HAS_OBJECTS: bool = true;
    const NEEDS_TCP: bool = true;

    fn inputs(&mut self) -> Vec<Input<'_>> {
        let sizes = [("request", &mut self.request), ("answer", &mut self.answer), ("part", &mut self.part)];
        let times = [("service", &mut self.service), ("think", &mut self.think)];
        let sizes = sizes.into_iter().filter_map(|(key, law)| law.input(key));
        sizes.chain(times.into_iter().filter_map(|(key, law)| law.input(key))).collect()
    }
}

/// A request with its answer.
#[derive(Clone, Copy, Debug)]
struct Exchange {
    request: u64,
    answer: u64,
    service: Span,
    /// The pause after its page.
    think: Span,
    page: u64,
    is_main: bool,
    is_last: bool,
}

/// All requests and answers, in order. Both ends have the same.
#[derive(Clone, Debug)]
struct Script {
    params: Params,
    rng: Rng,
    /// The count of numbers that each law has taken from its file.
    taken: [u64; 5],
    page: u64,
    /// The number of the next request within its page, and within all.
    within: u32,
    number: u32,
}

impl Script {
    fn new(params: &Params, rng: Rng) -> Self {
        Self { params: params.clone(), rng, taken: [0; 5], page: 0, within: 0, number: 0 }
    }

    fn next(&mut self) -> Exchange {
        let Self { params, rng, taken: [requests, answers, parts, services, thinks], .. } = self;
        let is_main = self.within == 0;
        let is_last = self.within == params.parts;
        let exchange = Exchange {
            request: params.request.draw(rng, requests).count(),
            answer: if is_main { params.answer.draw(rng, answers) } else { params.part.draw(rng, parts) }.count(),
            service: params.service.draw(rng, services),
            think: if is_last { params.think.draw(rng, thinks) } else { Span::ZERO },
            page: self.page,
            is_main,
            is_last,
        };
        self.number += 1;
        (self.page, self.within) = if is_last { (self.page + 1, 0) } else { (self.page, self.within + 1) };
        exchange
    }

    fn object(&self, kind: Kind, of: &Exchange) -> Object {
        let bytes = if kind == Kind::Request { of.request } else { of.answer };
        Object { kind, bytes, page: of.page, is_last: of.is_last, within: self.params.deadline }
    }
}

/// The client, which asks.
#[derive(Clone, Debug)]
pub struct RequestResponse {
    script: Script,
    period: Period,
    /// The requests without a complete answer.
    waiting: VecDeque<Exchange>,
    /// The bytes that the first of these lacks.
    left: u64,
    /// When it writes next; never while it waits for an answer.
    next: Time,
    /// When it gives the page up.
    patience: Time,
    /// The next request needs a new connection.
    must_open: bool,
    has_closed: bool,
}

impl RequestResponse {
    /// A client for this period.
    #[must_use]
    pub fn new(params: &Params, period: Period, rng: Rng) -> Self {
        let script = Script::new(params, rng);
        Self {
            script,
            period,
            waiting: VecDeque::new(),
            left: 0,
            next: period.start,
            patience: Time::NEVER,
            must_open: false,
            has_closed: false,
        }
    }

    /// Gives the page up: the client thinks, and goes on with the next page.
    fn give_up(&mut self, now: Time) {
        let mut last = self.waiting.pop_back();
        while self.script.within > 0 {
            last = Some(self.script.next());
        }
        self.waiting.clear();
        (self.left, self.patience, self.must_open) = (0, Time::NEVER, true);
        self.next = if self.is_complete() { now } else { now + last.map_or(Span::ZERO, |last| last.think) };
    }

    fn is_complete(&self) -> bool {
        let pages = self.script.params.pages;
        pages > 0 && self.script.page == pages && self.waiting.is_empty()
    }
}

impl Application for RequestResponse {
    fn on_timer(&mut self, now: Time) -> Offer {
        if now >= self.period.stop || self.is_complete() {
            self.has_closed = true;
            return Offer::Close;
        }
        if now >= self.patience {
            self.give_up(now);
            return Offer::Abort;
        }
        if std::mem::take(&mut self.must_open) {
            return Offer::Open(self.script.number);
        }
        let exchange = self.script.next();
        if self.waiting.is_empty() {
            self.left = exchange.answer;
        }
        if exchange.is_main && !self.script.params.patience.is_zero() {
            self.patience = now + self.script.params.patience;
        }
        self.waiting.push_back(exchange);
        // The main object names the parts.
        let must_wait = exchange.is_main || exchange.is_last;
        let is_full = self.waiting.len() >= self.script.params.pipelining as usize;
        self.next = if must_wait || is_full { Time::NEVER } else { now };
        Offer::Object(self.script.object(Kind::Request, &exchange))
    }

    fn deadline(&self) -> Time {
        if self.has_closed { Time::NEVER } else { packet_or_stop(self.next.min(self.patience), self.period) }
    }

    fn on_received(&mut self, mut bytes: u64, now: Time) -> Offer {
        while bytes >= self.left
            && let Some(answered) = self.waiting.pop_front()
        {
            bytes -= self.left;
            self.left = self.waiting.front().map_or(0, |next| next.answer);
            self.must_open = self.script.params.connection == Connection::Each;
            if answered.is_last {
                self.patience = Time::NEVER;
                self.next = if self.is_complete() { now } else { now + answered.think };
            } else if self.script.within > 0 {
                self.next = now;
            }
        }
        self.left = self.left.saturating_sub(bytes);
        Offer::Nothing
    }

    fn on_change(&mut self, change: Change, now: Time) -> Offer {
        match change {
            Change::Ended => return Offer::Close,
            Change::Reset if !self.waiting.is_empty() => self.give_up(now),
            Change::Reset => self.must_open = true,
            Change::Opened(_) => {}
        }
        Offer::Nothing
    }
}

/// The server, which answers.
#[derive(Clone, Debug)]
pub struct Server {
    script: Script,
    /// The request of which a part has not arrived.
    coming: Exchange,
    /// The bytes that it lacks.
    left: u64,
    /// The requests without an answer.
    waiting: VecDeque<Exchange>,
    next: Time,
    /// The client asks no more.
    has_ended: bool,
}

impl Server {
    /// A server that knows the lengths that the client will tell.
    #[must_use]
    pub fn new(params: &Params, rng: Rng) -> Self {
        let mut script = Script::new(params, rng);
        let coming = script.next();
        Self { script, coming, left: coming.request, waiting: VecDeque::new(), next: Time::NEVER, has_ended: false }
    }

    fn schedule(&mut self, now: Time) {
        self.next = self.waiting.front().map_or(Time::NEVER, |first| now + first.service);
    }
}

impl Application for Server {
    fn on_timer(&mut self, now: Time) -> Offer {
        let Some(exchange) = self.waiting.pop_front() else {
            self.next = Time::NEVER;
            return Offer::Close;
        };
        self.schedule(now);
        if self.waiting.is_empty() && (self.has_ended || self.script.params.connection == Connection::Each) {
            self.next = now;
        }
        Offer::Object(self.script.object(Kind::Answer, &exchange))
    }

    fn deadline(&self) -> Time {
        self.next
    }

    fn on_received(&mut self, mut bytes: u64, now: Time) -> Offer {
        while bytes >= self.left {
            bytes -= self.left;
            self.waiting.push_back(self.coming);
            if self.waiting.len() == 1 {
                self.schedule(now);
            }
            self.coming = self.script.next();
            self.left = self.coming.request;
        }
        self.left -= bytes;
        Offer::Nothing
    }

    fn on_change(&mut self, change: Change, _now: Time) -> Offer {
        match change {
            Change::Ended => {
                self.has_ended = true;
                return if self.waiting.is_empty() { Offer::Close } else { Offer::Nothing };
            }
            Change::Reset | Change::Opened(_) => {
                self.waiting.clear();
                (self.next, self.has_ended) = (Time::NEVER, false);
            }
        }
        if let Change::Opened(number) = change {
            while self.script.number <= number {
                self.coming = self.script.next();
            }
            self.left = self.coming.request;
        }
        Offer::Nothing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::testing::{rng, seconds};
    use crate::params::{Params as _, RFC};

    fn params(parts: u32, pipelining: u32) -> Params {
        Params {
            request: "uniform(100 B, 900 B)".parse().expect("sizes"),
            answer: Law::Constant(Bytes::new(1000)),
            part: "exponential(2 kB)".parse().expect("sizes"),
            parts,
            pipelining,
            think: Law::Constant(Span::from_secs(2)),
            ..Params::of_profile(RFC)
        }
    }

    const WHOLE: Period = Period { start: Time::ZERO, stop: Time::NEVER };

    /// The objects that an application writes at once.
    fn written(app: &mut impl Application, now: Time) -> Vec<Object> {
        let mut found = Vec::new();
        while app.deadline() <= now {
            let Offer::Object(object) = app.on_timer(now) else { panic!("an object") };
            found.push(object);
        }
        found
    }

    #[test]
    fn parts_are_asked_for_after_the_main_object_and_as_deep_as_allowed() {
        for pipelining in [1, 2, 5] {
            let params = params(4, pipelining);
            let (mut client, mut server) = (RequestResponse::new(&params, WHOLE, rng()), Server::new(&params, rng()));
            let mut now = Time::ZERO;
            for page in 0..3 {
                let mut rounds = Vec::new();
                loop {
                    let asked = written(&mut client, now);
                    let bytes = asked.iter().map(|it| it.bytes).sum();
                    assert_eq!(server.on_received(bytes, now), Offer::Nothing);
                    let answers = written(&mut server, now);
                    assert!(asked.iter().chain(&answers).all(|it| it.page == page));
                    assert_eq!(asked.len(), answers.len());
                    rounds.push(answers.len());
                    let is_last = answers.last().is_some_and(|it| it.is_last);
                    // In pieces that end nowhere in particular.
                    let mut bytes: u64 = answers.iter().map(|it| it.bytes).sum();
                    while bytes > 0 {
                        let piece = bytes.min(700);
                        client.on_received(piece, now);
                        bytes -= piece;
                    }
                    if is_last {
                        break;
                    }
                }
                let expected: &[usize] = match pipelining {
                    1 => &[1; 5],
                    2 => &[1, 2, 2],
                    _ => &[1, 4],
                };
                assert_eq!(rounds, expected, "{pipelining} at a time");
                assert_eq!(client.deadline(), now + Span::from_secs(2), "it thinks");
                now = client.deadline();
            }
        }
    }

    #[test]
    fn the_server_answers_one_request_after_the_other() {
        let service = Law::Constant(Span::from_millis(30));
        let params = Params { service, request: Law::Constant(Bytes::new(100)), ..params(0, 1) };
        let mut server = Server::new(&params, rng());
        server.on_received(99, seconds(1.0));
        assert_eq!(server.deadline(), Time::NEVER, "a byte is missing");
        server.on_received(101, seconds(2.0));
        assert_eq!(server.deadline(), seconds(2.03));
        assert_eq!(server.on_change(Change::Ended, seconds(2.01)), Offer::Nothing, "two answers are due");
        let object = |page| Object { kind: Kind::Answer, bytes: 1000, page, is_last: true, within: Span::ZERO };
        assert_eq!(server.on_timer(seconds(2.03)), Offer::Object(object(0)));
        assert_eq!(server.deadline(), seconds(2.06), "the second waits for the first");
        assert_eq!(server.on_timer(seconds(2.06)), Offer::Object(object(1)));
        assert_eq!((server.on_timer(seconds(2.06)), server.deadline()), (Offer::Close, Time::NEVER));
    }

    #[test]
    fn the_client_closes_at_its_stop_or_after_its_last_page() {
        let params = Params { pages: 1, ..params(0, 1) };
        let mut client = RequestResponse::new(&params, Period { start: seconds(1.0), stop: seconds(9.0) }, rng());
        assert_eq!(written(&mut client, seconds(1.0)).len(), 1);
        assert_eq!(client.deadline(), seconds(9.0), "no answer yet");
        let mut impatient = client.clone();
        assert_eq!((impatient.on_timer(seconds(9.0)), impatient.deadline()), (Offer::Close, Time::NEVER));
        impatient.on_received(1000, seconds(10.0));
        assert_eq!(impatient.deadline(), Time::NEVER, "an answer after the stop changes nothing");
        client.on_received(1000, seconds(2.0));
        assert_eq!(client.deadline(), seconds(2.0));
        assert_eq!((client.on_timer(seconds(2.0)), client.deadline()), (Offer::Close, Time::NEVER));
    }

    /// A client and a server that pass each other what they write, without time between.
    fn exchange(client: &mut RequestResponse, server: &mut Server, now: Time, answers: bool) -> Vec<Offer> {
        let mut offers = Vec::new();
        while client.deadline() <= now {
            offers.push(client.on_timer(now));
            match offers[offers.len() - 1] {
                Offer::Object(request) => drop(server.on_received(request.bytes, now)),
                Offer::Open(number) => drop(server.on_change(Change::Opened(number), now)),
                _ => {}
            }
            while server.deadline() <= now {
                offers.push(server.on_timer(now));
                if let (Offer::Object(answer), true) = (offers[offers.len() - 1], answers) {
                    client.on_received(answer.bytes, now);
                }
            }
        }
        offers
    }

    #[test]
    fn each_request_may_have_its_connection() {
        let params = Params { connection: Connection::Each, pages: 2, ..params(2, 1) };
        let (mut client, mut server) = (RequestResponse::new(&params, WHOLE, rng()), Server::new(&params, rng()));
        let mut found = Vec::new();
        for now in [0.0, 2.0, 4.0] {
            found.extend(exchange(&mut client, &mut server, seconds(now), true));
        }
        let kind = |it: &Offer| match it {
            Offer::Object(object) if object.kind == Kind::Request => "request".to_owned(),
            Offer::Object(_) => "answer".to_owned(),
            other => format!("{other:?}"),
        };
        let mut expected = "request answer Close".to_owned();
        for number in 1..6 {
            expected += &format!(" Open({number}) request answer Close");
        }
        let found: Vec<_> = found.iter().map(kind).collect();
        assert_eq!(found.join(" "), expected + " Close", "the server closes behind each answer");
        assert_eq!(client.on_change(Change::Ended, seconds(5.0)), Offer::Close);
    }

    #[test]
    fn a_page_is_given_up_after_some_time() {
        for connection in [Connection::Kept, Connection::Each] {
            let patience = Span::from_secs(3);
            let params = Params { connection, patience, ..params(4, 1) };
            let (mut client, mut server) = (RequestResponse::new(&params, WHOLE, rng()), Server::new(&params, rng()));
            // The main object comes, and the answer for the first part does not.
            let [main] = written(&mut client, seconds(0.0))[..] else { panic!("a request") };
            server.on_received(main.bytes, seconds(0.0));
            server.on_timer(seconds(0.0));
            client.on_received(1000, seconds(1.0));
            let given = exchange(&mut client, &mut server, seconds(1.0), false);
            assert!(given.iter().any(|it| matches!(it, Offer::Object(answer) if answer.kind == Kind::Answer)));
            assert_eq!(client.deadline(), seconds(3.0), "counted from the first request");
            assert_eq!(client.on_timer(seconds(3.0)), Offer::Abort);
            assert_eq!(client.deadline(), seconds(5.0), "it thinks");
            assert_eq!(client.on_timer(seconds(5.0)), Offer::Open(5), "the next page begins with the sixth request");
            assert_eq!(server.on_change(Change::Reset, seconds(3.1)), Offer::Nothing);
            server.on_change(Change::Opened(5), seconds(5.0));
            let [next] = written(&mut client, seconds(5.0))[..] else { panic!("a request") };
            assert_eq!(next.page, 1);
            server.on_received(next.bytes, seconds(5.0));
            let Offer::Object(answer) = server.on_timer(seconds(5.0)) else { panic!("an answer") };
            assert_eq!((answer.page, answer.is_last), (1, false));
            assert_eq!(client.deadline(), seconds(8.0));
        }
    }

    #[test]
    fn a_reset_by_the_server_ends_the_page() {
        let params = params(4, 1);
        let mut client = RequestResponse::new(&params, WHOLE, rng());
        assert_eq!(written(&mut client, seconds(0.0)).len(), 1);
        assert_eq!(client.on_change(Change::Reset, seconds(1.0)), Offer::Nothing);
        assert_eq!((client.deadline(), client.on_timer(seconds(3.0))), (seconds(3.0), Offer::Open(5)));
    }

    #[test]
    fn impossible_parameters_are_named() {
        let fault = |params: &Params| params.check().map_err(|fault| fault.parameter);
        assert_eq!(fault(&params(3, 0)), Err("pipelining"));
        let empty = Law::Constant(Bytes::new(0));
        assert_eq!(fault(&Params { answer: empty, ..params(3, 1) }), Err("answer"));
        let each = Params { connection: Connection::Each, ..params(3, 2) };
        assert_eq!(fault(&each), Err("pipelining"));
        assert_eq!(params(0, 1).unused()[0].parameters, ["part", "pipelining"]);
    }
}
