//! An external congestion control: it behaves as the same code inside the crate, has its own random stream, and ends
//! the run when it fails.

mod common;

use std::sync::{Arc, Mutex};

use common::{add_tcp, chain, network};
use hopyard_engine::{Rng, Span, Time};
use hopyard_model::params::Params as _;
use hopyard_model::transport::congestion::custom::{Custom, CustomRule};
use hopyard_model::transport::congestion::newreno::{NewReno, Params};
use hopyard_model::transport::congestion::{
    Ack, Answer, Config, CongestionControl, Loss, RecoveryChoice, Timeout, View,
};
use hopyard_model::world::{RuleFailure, RunError, Spec, Transport, Watch, World};
use serde_json::{Value, json};

/// NewReno, until the time at which it fails.
struct Failing {
    rule: NewReno,
    at: Time,
    failure: Option<String>,
    failed: bool,
}

impl CongestionControl for Failing {
    fn on_ack(&mut self, ack: &Ack, view: &View) -> Answer {
        if self.failed {
            return Answer::Keep;
        }
        if view.now >= self.at {
            self.failed = true;
            self.failure = Some("it was to fail".to_owned());
            return Answer::Keep;
        }
        self.rule.on_ack(ack, view)
    }
    fn on_loss(&mut self, loss: &Loss, view: &View) -> Answer {
        self.rule.on_loss(loss, view)
    }
    fn on_timeout(&mut self, timeout: &Timeout, view: &View) -> Answer {
        self.rule.on_timeout(timeout, view)
    }
    fn recovery(&self) -> RecoveryChoice {
        self.rule.recovery()
    }
    fn failure(&mut self) -> Option<String> {
        self.failure.take()
    }
}

/// Makes instances, and records the first values of their streams.
#[derive(Debug)]
struct Rule {
    at: Time,
    streams: Mutex<Vec<u64>>,
}

impl Rule {
    fn failing_at(at: Time) -> Arc<Self> {
        Arc::new(Self { at, streams: Mutex::default() })
    }
}

impl CustomRule for Rule {
    fn name(&self) -> &str {
        "my:NewReno"
    }
    fn identity(&self) -> Value {
        json!([self.at.nanos()])
    }
    fn build(&self, mut rng: Rng) -> Box<dyn CongestionControl + Send> {
        self.streams.lock().expect("nobody panics").push(rng.next_u64());
        let rule = NewReno::new(&Params::of_profile("rfc"));
        Box::new(Failing { rule, at: self.at, failure: None, failed: false })
    }
}

fn spec(rule: Option<Arc<Rule>>) -> Spec {
    let mut spec = network("rfc", "aodv", &chain(4, 200.0));
    spec.duration = Span::from_secs(20);
    for (from, to) in [(0, 3), (3, 1)] {
        add_tcp(&mut spec, from, to, "rfc", "newreno", |_| {});
    }
    for flow in &mut spec.flows {
        if let (Transport::Tcp { config, .. }, Some(rule)) = (&mut flow.transport, &rule) {
            config.congestion = Config::Custom(Custom::new(Arc::<Rule>::clone(rule)));
        }
    }
    spec
}

fn run(spec: &Spec) -> Result<hopyard_model::observe::Outcome, RunError> {
    World::new(spec).expect("a world").run(&Watch::default())
}

#[test]
fn a_rule_from_outside_behaves_as_the_same_rule_within() {
    let inside = run(&spec(None)).expect("packets add up");
    let rule = Rule::failing_at(Time::NEVER);
    let outside = run(&spec(Some(Arc::clone(&rule)))).expect("packets add up");
    assert_eq!(inside.digest, outside.digest);
    assert!(inside.flows[0].delivered_bytes > 100_000, "{:?}", inside.flows[0]);
    assert_eq!(outside.flows[0].transport, "my:NewReno");
    let mut streams = rule.streams.lock().expect("nobody panics").clone();
    assert_eq!(streams.len(), 2, "an instance for each flow");
    let first = streams[0];
    run(&spec(Some(Arc::clone(&rule)))).expect("packets add up");
    let again = rule.streams.lock().expect("nobody panics").clone();
    assert_eq!(again[2..], streams[..], "the same seed gives the same streams");
    streams.dedup();
    assert_eq!((streams.len(), streams[0]), (2, first), "and each flow its own");
}

#[test]
fn a_rule_that_fails_ends_the_run() {
    let at = Time::ZERO + Span::from_secs(5);
    let error = run(&spec(Some(Rule::failing_at(at)))).expect_err("it fails");
    let RunError::Rule(RuleFailure { flow, time, message }) = &error else { panic!("{error}") };
    assert!(*flow < 2 && *time >= at && *time < at + Span::from_secs(2), "{error}");
    assert_eq!(message, "it was to fail");
    assert!(error.to_string().starts_with(&format!("flow {flow} at 5.")), "{error}");
}

#[test]
fn rules_are_equal_by_name_and_identity() {
    let custom = |at| Config::Custom(Custom::new(Rule::failing_at(at)));
    assert_eq!(custom(Time::ZERO), custom(Time::ZERO));
    assert_ne!(custom(Time::ZERO), custom(Time::NEVER));
    assert_ne!(custom(Time::ZERO), Config::of_profile("newreno", "rfc").expect("a variant"));
    assert_eq!(custom(Time::ZERO).name(), "my:NewReno");
}
