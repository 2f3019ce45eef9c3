//! An episode: a run in a thread of its own, which stops where a decision is due.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use hopyard_coupling::Meters;
use hopyard_engine::{Span, Time};
use hopyard_model::transport::congestion::external::ExternalConfig;
use hopyard_model::transport::congestion::{Config, CongestionControl as _, Controller};
use hopyard_model::world::{Advanced, Spec, Transport, Watch, World};
use hopyard_scenario as core;
use pyo3::prelude::*;
use serde_json::Value;

use super::agent::{Agent, Decide, Desk, Gate, Sets, Turn};
use crate::batch::has_rules;
use crate::network::Watching;

/// What is decided, of which flows, and when.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The flows whose senders follow decisions, by number.
    pub flows: Vec<usize>,
    pub decide: Decide,
    pub sets: Sets,
}

/// A run that waits for decisions, or makes its way to the next one.
pub struct Episode {
    pub turns: Receiver<Turn>,
    /// It is taken away when nobody decides any more.
    actions: Option<Sender<Vec<f64>>>,
    watch: Arc<Watch>,
    worker: Option<JoinHandle<()>>,
}

impl Episode {
    /// Starts a run.
    ///
    /// # Errors
    /// If there can be no thread.
    pub fn start(scenario: Arc<core::Scenario>, run: u32, plan: Plan) -> io::Result<Self> {
        let ((give, turns), (actions, take)) = (channel(), channel());
        let watch = Arc::new(Watch::default());
        let desks = plan.flows.iter().map(|_| Mutex::new(Desk::default())).collect();
        let gate = Gate { turns: give.clone(), actions: Mutex::new(take), watch: Arc::clone(&watch), desks };
        let work = move || {
            let played = catch_unwind(AssertUnwindSafe(|| play(&scenario, run, &plan, Arc::new(gate))));
            let last = played.unwrap_or_else(|_| Err("an internal check did not hold".to_owned()));
            // Whoever waits for it has it, or has gone.
            let _ = give.send(last.unwrap_or_else(|error| Turn::Failed(format!("run {run} failed: {error}"))));
        };
        let worker = thread::Builder::new().name("episode".to_owned()).spawn(work)?;
        Ok(Self { turns, actions: Some(actions), watch, worker: Some(worker) })
    }

    /// Gives decisions to the run.
    pub fn act(&self, actions: Vec<f64>) {
        // A run that has failed tells so when it is waited for.
        let _ = self.actions.as_ref().map(|to| to.send(actions));
    }

    /// Ends the run where it is, and waits for that.
    pub fn stop(mut self) {
        self.watch.cancel();
        self.actions = None;
        // A panic was told as the last turn.
        let _ = self.worker.take().map(JoinHandle::join);
    }
}

impl Drop for Episode {
    /// The run ends soon. Nobody waits for that here, where the interpreter may be held.
    fn drop(&mut self) {
        self.watch.cancel();
    }
}

/// Makes a run, and asks for decisions.
fn play(scenario: &core::Scenario, run: u32, plan: &Plan, gate: Arc<Gate>) -> Result<Turn, String> {
    let mut spec = scenario.spec(u64::from(run));
    let rules = has_rules(&spec);
    seat(&mut spec, plan, &gate);
    let go = || {
        let probes = (Meters::default(), spec.observe.recorded.probes());
        let world = World::with_probe(&spec, probes).map_err(|error| error.to_string())?;
        drive(world, plan.decide, &gate)
    };
    if !rules {
        return go();
    }
    // A thread that is registered with Python acquires the interpreter much faster.
    gate.watch.look_after_each_event();
    Python::attach(|py| py.detach(go))
}

/// Puts the agents in the place of the senders' congestion controls.
fn seat(spec: &mut Spec, plan: &Plan, gate: &Arc<Gate>) {
    for (number, &flow) in plan.flows.iter().enumerate() {
        gate.desk(number).seen.begin(spec.flows[flow].start);
        let Transport::Tcp { config, .. } = &mut spec.flows[flow].transport else { continue };
        let (gate, before, Plan { decide, sets, .. }) = (Arc::clone(gate), config.congestion.clone(), plan.clone());
        let build = move |rng| {
            let recovery = Controller::new(&before, rng).recovery();
            Box::new(Agent::new(Arc::clone(&gate), number, decide, sets, recovery)) as _
        };
        config.congestion = Config::External(ExternalConfig::new("agent", Value::from(flow), build));
    }
}

// With the observers of a run in steps, whose code is in the library already.
fn drive(mut world: World<Watching>, decide: Decide, gate: &Gate) -> Result<Turn, String> {
    let failed = |world: &World<Watching>| world.failure().map_or(Ok(()), |failure| Err(failure.to_string()));
    if let Decide::Every(mut at, interval) = decide {
        while at < world.end() {
            // A decision for a time knows everything before that time.
            if at > Time::ZERO && world.advance(at - Span::from_nanos(1), &gate.watch) != Advanced::Reached {
                break;
            }
            failed(&world)?;
            let Some(actions) = gate.ask(gate.observe(at)) else { break };
            for (number, action) in actions.into_iter().enumerate() {
                gate.desk(number).decided = Some(action);
            }
            at += interval;
        }
    }
    world.advance(Time::NEVER, &gate.watch);
    failed(&world)?;
    if gate.watch.is_cancelled() {
        return Err("it was stopped".to_owned());
    }
    let observation = gate.observe(world.now());
    let (outcome, _) = world.finish().map_err(|error| error.to_string())?;
    Ok(Turn::Over(observation, Box::new(outcome)))
}
