//! An external congestion control: it behaves as the same code inside the crate, has its own random stream, and ends
//! the run when it fails.

use std::sync::{Arc, Mutex};

use hopyard_engine::{Rng, Span, Time};
use hopyard_model::params::Params as _;
use hopyard_model::transport::congestion::external::ExternalConfig;
use hopyard_model::transport::congestion::newreno::{NewReno, Params};
use hopyard_model::transport::congestion::{
    Ack, Answer, Config, CongestionControl, ExternalControl, Loss, RecoveryChoice, Timeout, View,
};
use hopyard_model::world::{self, RuleFailure, RunError, RunFailure, Spec, Transport, Watch};
use serde_json::json;

use crate::common::{add_tcp, chain, network};

/// NewReno, until the time at which it fails.
struct Failing {
    newreno: NewReno,
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
        self.newreno.on_ack(ack, view)
    }
    fn on_loss(&mut self, loss: &Loss, view: &View) -> Answer {
        self.newreno.on_loss(loss, view)
    }
    fn on_timeout(&mut self, timeout: &Timeout, view: &View) -> Answer {
        self.newreno.on_timeout(timeout, view)
    }
    fn recovery(&self) -> RecoveryChoice {
        self.newreno.recovery()
    }
}

impl ExternalControl for Failing {
    fn failure(&mut self) -> Option<String> {
        self.failure.take()
    }
}

/// The first values of the random streams that congestion controls were given.
type Streams = Arc<Mutex<Vec<u64>>>;

/// NewReno from outside, which fails at a time.
fn failing_at(at: Time, streams: &Streams) -> Config {
    let streams = Arc::clone(streams);
    let build = move |mut rng: Rng| -> Box<dyn ExternalControl> {
        streams.lock().expect("nobody panics").push(rng.next_u64());
        let newreno = NewReno::new(&Params::of_profile("rfc"));
        Box::new(Failing { newreno, at, failure: None, failed: false })
    };
    Config::External(ExternalConfig::new("my:NewReno", json!([at.nanos()]), build))
}

fn spec(congestion: &Config) -> Spec {
    let mut spec = network("rfc", "aodv", &chain(4, 200.0));
    spec.duration = Span::from_secs(20);
    for (from, to) in [(0, 3), (3, 1)] {
        add_tcp(&mut spec, from, to, "rfc", "newreno", |_| {});
    }
    for flow in &mut spec.flows {
        if let Transport::Tcp { config, .. } = &mut flow.transport {
            config.congestion = congestion.clone();
        }
    }
    spec
}

fn run(spec: &Spec) -> Result<hopyard_model::observe::Outcome, RunFailure> {
    world::simulate(spec, &Watch::default())
}

#[test]
fn a_congestion_control_from_outside_behaves_as_the_same_one_within() {
    let newreno = Config::of_profile("newreno", "rfc").expect("a variant");
    let inside = run(&spec(&newreno)).expect("packets add up");
    let streams = Streams::default();
    let outside = spec(&failing_at(Time::NEVER, &streams));
    let first_run = run(&outside).expect("packets add up");
    assert_eq!(inside.digest, first_run.digest);
    assert!(inside.flows[0].delivered_bytes > 100_000, "{:?}", inside.flows[0]);
    assert_eq!(first_run.flows[0].transport, "my:NewReno");
    let mut first = streams.lock().expect("nobody panics").clone();
    assert_eq!(first.len(), 2, "one for each flow");
    run(&outside).expect("packets add up");
    let again = streams.lock().expect("nobody panics").clone();
    assert_eq!(again[2..], first[..], "the same seed gives the same streams");
    first.dedup();
    assert_eq!(first.len(), 2, "and each flow its own");
}

#[test]
fn a_congestion_control_that_fails_ends_the_run() {
    let at = Time::ZERO + Span::from_secs(5);
    let error = run(&spec(&failing_at(at, &Streams::default()))).expect_err("it fails");
    let RunFailure::Run(RunError::Rule(RuleFailure { flow, time, message })) = &error else { panic!("{error}") };
    assert!(*flow < 2 && *time >= at && *time < at + Span::from_secs(2), "{error}");
    assert_eq!(message, "it was to fail");
    assert!(error.to_string().starts_with(&format!("flow {flow} at 5.")), "{error}");
}

#[test]
fn external_configurations_are_equal_by_name_and_identity() {
    let external = |at| failing_at(at, &Streams::default());
    assert_eq!(external(Time::ZERO), external(Time::ZERO));
    assert_ne!(external(Time::ZERO), external(Time::NEVER));
    assert_ne!(external(Time::ZERO), Config::of_profile("newreno", "rfc").expect("a variant"));
    assert_eq!(external(Time::ZERO).name(), "my:NewReno");
}
