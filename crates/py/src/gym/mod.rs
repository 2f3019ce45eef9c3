//! Episodes for `hopyard.gym`: runs that stop where a decision about a sender is due, many at a time.
//!
//! Each run has a thread, which waits for decisions without the interpreter. A decision is taken within the event that
//! asks for it, so that an agent with the rules of a variant makes the same run as the variant.

mod agent;
mod episode;

use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::Duration;

use hopyard_engine::{Span, Time};
use hopyard_model::observe::Outcome;
use hopyard_model::world::Transport;
use hopyard_scenario as core;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use self::agent::{Decide, OBSERVED, Sets, Turn};
use self::episode::{Episode, Plan};
use crate::errors::SimulationError;
use crate::scenario::Scenario;

/// How often a wait looks for signals, such as Ctrl-C.
const LOOK: Duration = Duration::from_millis(50);

/// Runs in which the senders of flows follow decisions. Each place has one run after another.
#[pyclass(frozen, module = "hopyard._core")]
pub struct Episodes {
    plan: Plan,
    /// The numbers that a decision of one agent has.
    width: usize,
    /// The payload of a full segment in bytes, and the receiver's window in segments, of each agent's flow.
    #[pyo3(get)]
    senders: Vec<(u32, u32)>,
    places: Mutex<Vec<Place>>,
}

/// A place for runs.
#[derive(Default)]
struct Place {
    episode: Option<Episode>,
    /// Whether the run makes its way to the next decision.
    is_busy: bool,
    ending: Option<Box<Outcome>>,
    /// The last observations.
    seen: Vec<f64>,
}

#[pymethods]
impl Episodes {
    /// Places for runs of a scenario. Flows are given by number. A decision is due every `interval` nanoseconds, or at
    /// each "event", or once in a "round_trip". It sets the "window" or the "rate".
    #[new]
    #[pyo3(signature = (scenario, flows, places, decide, sets, interval=0))]
    fn new(
        scenario: &Scenario,
        flows: Vec<usize>,
        places: usize,
        decide: &str,
        sets: &str,
        interval: u64,
    ) -> PyResult<Self> {
        let sets = match sets {
            "window" => Sets::Window,
            "rate" => Sets::Rate,
            _ => return Err(PyValueError::new_err(format!("action: expected \"window\" or \"rate\", found {sets:?}"))),
        };
        let scenario = scenario.inner();
        let (senders, first) = senders(&scenario, &flows).map_err(PyValueError::new_err)?;
        let decide = match decide {
            "event" => Decide::Event,
            "round_trip" => Decide::RoundTrip,
            _ if interval > 0 => Decide::Every(first, Span::from_nanos(interval)),
            _ => return Err(PyValueError::new_err("step: expected an interval above zero, found 0 s")),
        };
        let several = !matches!(decide, Decide::Every(..)) && flows.len() > 1;
        if several || flows.is_empty() {
            let found = flows.len();
            let message = format!("flows: expected one flow, or several with an interval as step, found {found}");
            return Err(PyValueError::new_err(message));
        }
        let width = if (decide, sets) == (Decide::Event, Sets::Window) { 2 } else { 1 };
        let places = Mutex::new((0..places).map(|_| Place::default()).collect());
        Ok(Self { plan: Plan { flows, decide, sets }, width, senders, places })
    }

    /// The names of the numbers in the observation of an agent.
    #[classattr]
    const OBSERVED: [&'static str; OBSERVED.len()] = OBSERVED;

    /// Starts a run at a place, in which no other run goes on then.
    fn begin(&self, py: Python<'_>, place: usize, scenario: &Scenario, run: u32) -> PyResult<()> {
        let mut places = self.places()?;
        let there = places.get_mut(place).ok_or_else(|| PyValueError::new_err(format!("there is no place {place}")))?;
        let before = std::mem::take(there).episode;
        let (scenario, plan) = (scenario.inner(), self.plan.clone());
        let started = py.detach(|| {
            before.into_iter().for_each(Episode::stop);
            Episode::start(scenario, run, plan)
        });
        let episode = started.map_err(|error| PyOSError::new_err(format!("no thread can be made: {error}")))?;
        *there = Place { episode: Some(episode), is_busy: true, ..Place::default() };
        Ok(())
    }

    /// Gives decisions to the runs that wait for them: the bytes of the numbers of each place, of one agent after
    /// another.
    fn act(&self, actions: &[u8]) -> PyResult<()> {
        let actions: Vec<f64> = actions.as_chunks().0.iter().map(|bytes| f64::from_ne_bytes(*bytes)).collect();
        let row = self.width * self.plan.flows.len();
        let mut places = self.places()?;
        if actions.len() != row * places.len() {
            let (expected, found) = (row * places.len(), actions.len());
            return Err(PyValueError::new_err(format!("action: expected {expected} numbers, found {found}")));
        }
        for (place, action) in places.iter_mut().zip(actions.chunks(row)) {
            if let Some(episode) = place.episode.as_ref().filter(|_| !place.is_busy) {
                episode.act(action.to_vec());
                place.is_busy = true;
            }
        }
        Ok(())
    }

    /// Waits until no run makes its way any more. Returns for each place whether a run waits for a decision there, and
    /// the bytes of the last observations at all places.
    fn wait<'py>(&self, py: Python<'py>) -> PyResult<(Vec<bool>, Bound<'py, PyBytes>)> {
        let mut places = self.places()?;
        for place in places.iter_mut().filter(|place| place.is_busy) {
            let Some(episode) = &mut place.episode else { continue };
            let turn = loop {
                let turns = &mut episode.turns;
                match py.detach(move || turns.recv_timeout(LOOK)) {
                    Err(RecvTimeoutError::Timeout) => py.check_signals()?,
                    Err(RecvTimeoutError::Disconnected) => break Turn::Failed("a run has no thread".to_owned()),
                    Ok(turn) => break turn,
                }
            };
            place.is_busy = false;
            match turn {
                Turn::Decide(observation) => place.seen = observation,
                Turn::Over(observation, outcome) => {
                    (place.episode, place.ending, place.seen) = (None, Some(outcome), observation);
                }
                Turn::Failed(error) => {
                    place.episode = None;
                    return Err(SimulationError::new_err(error));
                }
            }
        }
        let mut bytes = Vec::new();
        for place in places.iter() {
            for number in 0..OBSERVED.len() * self.plan.flows.len() {
                bytes.extend(place.seen.get(number).copied().unwrap_or(0.0).to_ne_bytes());
            }
        }
        Ok((places.iter().map(|place| place.episode.is_some()).collect(), PyBytes::new(py, &bytes)))
    }

    /// The digest of the run that ended at a place, and the rows of its flows as JSON.
    fn ending(&self, place: usize) -> PyResult<(String, String)> {
        let places = self.places()?;
        let none = || PyValueError::new_err(format!("no run has ended at place {place}"));
        let outcome = places.get(place).and_then(|place| place.ending.as_ref()).ok_or_else(none)?;
        let flows = serde_json::to_string(&outcome.flows).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok((format!("{:016x}", outcome.digest), flows))
    }

    /// Ends all runs where they are.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let mut places = self.places()?;
        let episodes: Vec<_> = places.iter_mut().filter_map(|place| std::mem::take(place).episode).collect();
        py.detach(|| episodes.into_iter().for_each(Episode::stop));
        Ok(())
    }
}

impl Episodes {
    fn places(&self) -> PyResult<MutexGuard<'_, Vec<Place>>> {
        match self.places.try_lock() {
            Ok(places) => Ok(places),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => {
                Err(PyRuntimeError::new_err("the environment is used by another thread: expected one at a time"))
            }
        }
    }
}

/// The segment and the window of each flow's sender, and when the first flow starts.
fn senders(scenario: &core::Scenario, flows: &[usize]) -> Result<(Vec<(u32, u32)>, Time), String> {
    if scenario.linux().is_some() {
        return Err(
            "scenario: expected senders of the simulator, found Linux kernels (`stack = \"linux\"` or [[host]])"
                .to_owned(),
        );
    }
    let (spec, mut senders) = (scenario.spec(0), Vec::new());
    let count = spec.flows.len();
    let mut first = Time::NEVER;
    for (place, &flow) in flows.iter().enumerate() {
        let Some(found) = spec.flows.get(flow) else {
            let known = if count == 0 { "a scenario with flows".to_owned() } else { format!("0 to {}", count - 1) };
            return Err(format!("flow: expected {known}, found {flow}"));
        };
        if flows[..place].contains(&flow) {
            return Err(format!("flow: expected each flow once, found {flow} twice"));
        }
        let Transport::Tcp { config, .. } = &found.transport else {
            return Err(format!("flow {flow}: expected a flow of TCP, found one of UDP"));
        };
        if found.traffic.is_answered() {
            return Err(format!("flow {flow}: expected data in one direction, found traffic that is answered"));
        }
        if spec.casts.contains_key(&flow) {
            return Err(format!("flow {flow}: expected one destination, found several"));
        }
        senders.push((config.tcp.mss(), config.tcp.window));
        first = first.min(found.start);
    }
    Ok((senders, first))
}
