//! How each TCP variant answers each event: a page of the documentation, computed with the variants themselves.
//!
//! Every registered variant is brought into the same state by the same acknowledgements, and then receives one
//! event. The page lists the answers. It includes new variants without further changes.

use hopyard_engine::units::Rate;
use hopyard_engine::{Span, Streams, Time};
use hopyard_model::params::RFC;
use hopyard_model::transport::congestion::{
    self, Ack, Answer, Config, CongestionControl, Controller, Duplicate, Loss, NetworkEvent, Phase, RateSample, Sent,
    Timeout, View,
};
use serde_json::Value;

/// Payload of a segment in bytes.
const SEGMENT: u64 = 1000;
/// The windows before an event, in segments.
const CWND: f64 = 20.0;
const SSTHRESH: f64 = 10.0;
const FLIGHT: f64 = 16.0;
/// The round trip on the idle path, and with a queue.
const SHORT: Span = Span::from_millis(100);
const LONG: Span = Span::from_millis(150);
/// The length of the route in hops.
const HOPS: u8 = 4;
/// Acknowledgements in a round trip.
const ACKS: u64 = CWND as u64;

/// A variant, its connection's state, and the time.
struct Subject {
    control: Controller,
    view: View,
    delivered: u64,
}

/// The effect of one event.
struct Effect {
    before: View,
    after: View,
    notes: Vec<String>,
}

impl Subject {
    /// A variant after ten round trips on an idle path, with the windows before each event.
    fn new(name: &str) -> Self {
        let config = Config::of_profile(name, RFC).expect("the registry lists it");
        let view = View {
            now: Time::ZERO + Span::from_secs(1),
            cwnd: CWND,
            ssthresh: SSTHRESH,
            inflation: 0.0,
            advertised: 64.0,
            flight: FLIGHT,
            pipe: FLIGHT,
            recovering: false,
            lost: 0.0,
            app_limited: false,
            segment: SEGMENT as u32,
            una: 0,
            next: FLIGHT as u64 * SEGMENT,
            max: FLIGHT as u64 * SEGMENT,
            duplicates: 0,
            duplicate_threshold: 3,
            srtt: Some(SHORT),
            rto: Span::from_secs(1),
            hops: HOPS,
            ack_hops: HOPS,
            link_rate: Some(Rate::from_bps(2_000_000)),
        };
        let control = Controller::new(&config, Streams::new(1, 0).stream("events"));
        let mut subject = Self { control, view, delivered: 0 };
        for _ in 0..10 {
            subject.round_trip(SHORT, Phase::Open);
        }
        (subject.view.cwnd, subject.view.ssthresh) = (CWND, SSTHRESH);
        subject
    }

    fn apply(&mut self, answer: Answer, notes: &mut Vec<String>) {
        match answer {
            Answer::Keep => {}
            Answer::Set { cwnd, ssthresh } => (self.view.cwnd, self.view.ssthresh) = (cwnd, ssthresh),
            Answer::Rescale { cwnd, ssthresh, rto } => {
                (self.view.cwnd, self.view.ssthresh) = (cwnd, ssthresh);
                notes.push(format!("RTO × {}", number(rto)));
            }
            Answer::Freeze { probe, .. } => notes.push(format!("freeze, probes every {} s", number(probe.seconds()))),
            Answer::Thaw => notes.push("thaw".to_owned()),
        }
    }

    /// A delivery rate sample of twenty segments in a round trip.
    fn rate(&mut self, round_trip: Span) -> Option<RateSample> {
        self.delivered += SEGMENT;
        self.control.wants().rate.then_some(RateSample {
            delivered: ACKS * SEGMENT,
            interval: Some(round_trip),
            app_limited: false,
            prior_delivered: self.delivered.saturating_sub(ACKS * SEGMENT),
            newly_delivered: SEGMENT,
            newly_lost: 0,
            total_delivered: self.delivered,
            prior_pipe: FLIGHT,
            round_trip: Some(round_trip),
            sent_pipe: FLIGHT,
            ..RateSample::default()
        })
    }

    fn ack(&mut self, round_trip: Span, phase: Phase, notes: &mut Vec<String>) {
        let rate = self.rate(round_trip);
        let sent = Sent {
            seq: self.view.max,
            len: SEGMENT as u32,
            retransmission: false,
            departs: Time::ZERO,
            app_limited: false,
        };
        self.view.una += SEGMENT;
        let ack = Ack {
            bytes: SEGMENT,
            delivered: SEGMENT,
            counted: SEGMENT,
            segments: 1,
            round_trip: Some(round_trip),
            newest_round_trip: Some(round_trip),
            one_way: Some(round_trip / 2),
            phase,
            duplicates: 0,
            window_limited: true,
            rate,
        };
        let answer = self.control.on_ack(&ack, &self.view);
        self.apply(answer, notes);
        self.view.next += SEGMENT;
        self.view.max = self.view.next;
        self.control.on_sent(&sent, &self.view);
    }

    /// The acknowledgements of one round trip.
    fn round_trip(&mut self, length: Span, phase: Phase) -> Vec<String> {
        let mut notes = Vec::new();
        self.view.srtt = Some(length);
        for _ in 0..ACKS {
            self.view.now += Span::from_nanos(length.nanos() / ACKS);
            self.ack(length, phase, &mut notes);
        }
        notes
    }

    /// Gives the variant what `tell` sends, and records the effect.
    fn told(mut self, tell: impl FnOnce(&mut Self, &mut Vec<String>)) -> Effect {
        let (gap, before) = (self.control.pace().gap, self.view);
        let mut notes = Vec::new();
        tell(&mut self, &mut notes);
        if let Some(decision) = self.control.decision() {
            notes.push(format!("classified as {}", decision.cause.name().replace('_', " ")));
        }
        if self.control.pace().gap != gap {
            notes.push(format!("pacing gap {} ms", number(self.control.pace().gap.seconds() * 1e3)));
        }
        notes.dedup();
        Effect { before, after: self.view, notes }
    }

    /// Gives the variant one event.
    fn event(self, tell: impl FnOnce(&mut Controller, &View) -> Answer) -> Effect {
        self.told(|it, notes| {
            let answer = tell(&mut it.control, &it.view);
            it.apply(answer, notes);
        })
    }
}

/// At most three decimals.
fn number(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

impl std::fmt::Display for Effect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut parts = Vec::new();
        for (name, before, after) in
            [("cwnd", self.before.cwnd, self.after.cwnd), ("ssthresh", self.before.ssthresh, self.after.ssthresh)]
        {
            if number(before) != number(after) {
                parts.push(format!("{name} {}", number(after)));
            }
        }
        parts.extend(self.notes.iter().cloned());
        f.write_str(&if parts.is_empty() { "–".to_owned() } else { parts.join(", ") })
    }
}

/// The events from the network layer, with the titles of their columns.
fn network_events() -> Vec<(&'static str, NetworkEvent)> {
    vec![
        ("route lost", NetworkEvent::RouteLost),
        ("route restored", NetworkEvent::RouteRestored),
        ("route of 8 hops", NetworkEvent::HopCount(8)),
        ("new care-of address", NetworkEvent::CareOfChanged),
        ("segment unreachable", NetworkEvent::Unreachable { seq: 0 }),
    ]
}

/// A column: its title, and the effect on a variant.
type Column = (&'static str, Box<dyn Fn(Subject) -> String>);

fn column(title: &'static str, effect: impl Fn(Subject) -> Effect + 'static) -> Column {
    (title, Box::new(move |subject| effect(subject).to_string()))
}

fn acknowledgements() -> Vec<Column> {
    let round_trip =
        |length, phase| move |it: Subject| it.told(move |it, notes| notes.extend(it.round_trip(length, phase)));
    vec![
        column("slow start", move |mut it| {
            it.view.ssthresh = 2.0 * CWND;
            round_trip(SHORT, Phase::Open)(it)
        }),
        column("avoidance", round_trip(SHORT, Phase::Open)),
        column("avoidance, a queue", round_trip(LONG, Phase::Open)),
        column("in recovery", move |mut it| {
            it.view.recovering = true;
            round_trip(SHORT, Phase::Partial)(it)
        }),
        column("duplicate", |it| {
            it.told(|it, notes| {
                let rate = it.rate(SHORT);
                it.view.duplicates = 1;
                let answer = it.control.on_duplicate(&Duplicate { count: 1, sacked: SEGMENT, rate }, &it.view);
                it.apply(answer, notes);
            })
        }),
    ]
}

fn loss(view: &View) -> Loss {
    Loss { sent: Time::ZERO + view.now.since(Time::ZERO + SHORT), transmissions: 1 }
}

fn losses() -> Vec<Column> {
    vec![
        column("loss", |it| it.event(|control, view| control.on_loss(&loss(view), view))),
        column("loss behind a queue", |mut it| {
            it.round_trip(LONG, Phase::Open);
            (it.view.cwnd, it.view.ssthresh) = (CWND, SSTHRESH);
            it.event(|control, view| control.on_loss(&loss(view), view))
        }),
        column("recovered", |mut it| {
            let answer = it.control.on_loss(&loss(&it.view), &it.view);
            let _ = it.control.decision();
            it.apply(answer, &mut Vec::new());
            it.view.recovering = true;
            it.told(|it, notes| {
                let answer = it.control.on_recovered(&it.view);
                it.apply(answer, notes);
                it.view.recovering = false;
                it.ack(SHORT, Phase::Recovered, notes);
            })
        }),
        column("timeout", |it| it.event(|control, view| control.on_timeout(&Timeout { repeated: 0 }, view))),
        column("timeout again", |mut it| {
            let answer = it.control.on_timeout(&Timeout { repeated: 0 }, &it.view);
            let _ = it.control.decision();
            it.apply(answer, &mut Vec::new());
            it.view.flight = it.view.cwnd;
            it.event(|control, view| control.on_timeout(&Timeout { repeated: 1 }, view))
        }),
    ]
}

fn others() -> Vec<Column> {
    let mut columns: Vec<Column> = Vec::new();
    for (title, event) in network_events() {
        columns.push(column(title, move |mut it| {
            if event == NetworkEvent::RouteRestored {
                for lost in [NetworkEvent::RouteLost, NetworkEvent::Unreachable { seq: it.view.una }] {
                    let answer = it.control.on_network(lost, &it.view);
                    it.apply(answer, &mut Vec::new());
                }
            }
            let event = match event {
                NetworkEvent::Unreachable { .. } => NetworkEvent::Unreachable { seq: it.view.una },
                NetworkEvent::HopCount(hops) => {
                    it.view.hops = hops;
                    event
                }
                other => other,
            };
            it.event(|control, view| control.on_network(event, view))
        }));
    }
    columns.push(column("after a pause", |it| it.event(|control, view| control.on_idle(10.0, view))));
    columns.push((
        "properties",
        Box::new(|it| {
            let mut traits = Vec::new();
            if !it.control.pace().gap.is_zero() {
                traits.push(format!("paces, {} ms apart", number(it.control.pace().gap.seconds() * 1e3)));
            }
            if it.control.deadline() < Time::NEVER {
                traits.push("has a timer".to_owned());
            }
            if let Some(bandwidth) = it.control.bandwidth() {
                traits.push(format!("estimates {} kbit/s", number(bandwidth * 8.0 / 1e3)));
            }
            for (has, what) in [
                (it.control.wants().rate, "uses rate samples"),
                (it.control.wants().notices, "uses notices of unreachable segments"),
                (it.control.classifies(), "classifies losses"),
                (it.control.wants().recovery_window, "sets the window in recovery"),
            ] {
                traits.extend(has.then(|| what.to_owned()));
            }
            if traits.is_empty() { "–".to_owned() } else { traits.join(", ") }
        }),
    ));
    columns.push((
        "recovery",
        Box::new(|it| {
            let recovery = serde_json::to_value(it.control.recovery());
            recovery.ok().as_ref().and_then(Value::as_str).map_or_else(String::new, |name| format!("`{name}`"))
        }),
    ));
    columns
}

fn table(text: &mut String, title: &str, columns: &[Column]) {
    text.push_str(&format!("\n## {title}\n\n| variant |"));
    for (title, _) in columns {
        text.push_str(&format!(" {title} |"));
    }
    text.push_str(&format!("\n|{}\n", "---|".repeat(columns.len() + 1)));
    for model in congestion::MODELS {
        text.push_str(&format!("| [{0}](models/{0}.md) |", model.name));
        for (_, effect) in columns {
            text.push_str(&format!(" {} |", effect(Subject::new(model.name))));
        }
        text.push('\n');
    }
}

/// The page.
pub(crate) fn page() -> String {
    let mut text = format!(
        "The tables show how each congestion control answers each event of the \
         [interface](../crates/hosts/src/transport/congestion/control/congestion_control.rs), with the defaults of the profile `rfc` or the \
         most similar profile. Before an event, cwnd is {CWND} segments, ssthresh is {SSTHRESH} segments, {FLIGHT} \
         segments are outstanding, the route has {HOPS} hops, and ten round trips of {} ms each have passed without a \
         loss. A cell names what the event changes; `–` means no change. The tables do not show how loss recovery \
         itself changes the window.\n",
        number(SHORT.seconds() * 1e3)
    );
    table(&mut text, "A round trip of acknowledgements", &acknowledgements());
    text.push_str(&format!(
        "\nThe first four columns show the effect of {ACKS} acknowledgements of new data, one segment each; the last \
         column shows the effect of one duplicate acknowledgement. In slow start, ssthresh is {}. With a queue, a \
         round trip is {} ms.\n",
        2.0 * CWND,
        number(LONG.seconds() * 1e3)
    ));
    table(&mut text, "Losses", &losses());
    text.push_str(
        "\nBefore \"recovered\" and \"timeout again\", the window is that after the loss or after the first timeout. \
         The cell shows what the event itself changes.\n",
    );
    table(&mut text, "Network events, time, and properties", &others());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effect(name: &str, columns: &[Column], title: &str) -> String {
        let (_, effect) = columns.iter().find(|(known, _)| *known == title).expect("a column of this title");
        effect(Subject::new(name))
    }

    #[test]
    fn the_tables_say_what_the_standards_say() {
        // RFC 5681 eq. 2 to 4: a segment for each acknowledgement, one for each round trip, half of what is
        // outstanding.
        let (acks, losses) = (acknowledgements(), losses());
        assert_eq!(effect("newreno", &acks, "slow start"), "cwnd 40");
        assert_eq!(effect("newreno", &acks, "avoidance"), "cwnd 20.977");
        assert_eq!(effect("newreno", &acks, "in recovery"), "–");
        assert_eq!(effect("newreno", &losses, "loss"), "cwnd 8, ssthresh 8");
        assert_eq!(effect("newreno", &losses, "timeout"), "cwnd 1, ssthresh 8");
        assert_eq!(effect("newreno", &losses, "timeout again"), "–");
        assert_eq!(effect("newreno", &others(), "after a pause"), "cwnd 10");
        // Vegas reduces its window when there is a queue.
        assert_eq!(effect("vegas", &acks, "avoidance, a queue"), "cwnd 19");
    }

    #[test]
    fn every_variant_is_in_every_table() {
        let page = page();
        for model in congestion::MODELS {
            assert_eq!(page.matches(&format!("\n| [{}](", model.name)).count(), 3, "{}", model.name);
        }
        assert_eq!(page, super::page(), "the same each time");
    }
}
