//! Congestion control written in Python. A class is found by its name. Each connection of each run has its own
//! instance.
//!
//! During a run the interpreter is released; each call of a method acquires it. Events that a class does not define
//! cause no call. After an exception, the instance gets no further calls, and the run ends with the message of the
//! exception.

mod state;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use hopyard_engine::{Rng, Span, Time};
use hopyard_model::transport::congestion::external::ExternalConfig;
use hopyard_model::transport::congestion::{
    self, Answer, Condition, CongestionControl, ExternalControl, NetworkEvent, Pace, RecoveryChoice, View, Wants,
};
use hopyard_scenario::{Declaration, ExternalControllers, Refusal};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::{PyClass, PyClassInitializer};
use serde_json::{Map, Value, json};
use strum::{EnumCount, IntoStaticStr, VariantArray};

use self::state::Stage;
pub use self::state::{Ack, Arrival, Before, ControllerState, Duplicate, Loss, RateSample, Route, Sent, Timeout};

/// The Python module that finds classes and explains exceptions.
const MODULE: &str = "hopyard.congestion.loading";

/// Finds classes with Python's import system.
#[derive(Debug)]
pub struct PythonControllers;

impl ExternalControllers for PythonControllers {
    fn find(&self, name: &str, folder: &Path) -> Result<Declaration, Refusal> {
        Python::attach(|py| {
            let found = || {
                let found = py.import(MODULE)?.call_method1("find", (name, folder))?;
                Class::new(name, &found)
            };
            let class = found().map_err(|error| refusal(&error, py))?;
            let (defaults, class) = (class.defaults.clone(), Arc::new(class));
            Ok(Declaration::new(defaults, move |parameters| configure(&class, parameters)))
        })
    }
}

/// Converts an exception to a problem of the scenario; a `RuleError` gives its parts.
fn refusal(error: &PyErr, py: Python<'_>) -> Refusal {
    let part = |name: &str| -> Option<String> { error.value(py).getattr(name).ok()?.extract().ok() };
    match part("message") {
        Some(message) => Refusal { message, expected: part("expected"), hint: part("hint") },
        None => Refusal { message: error.to_string(), expected: None, hint: None },
    }
}

/// The events that a class defines, each with the name of its method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumCount, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case", prefix = "on_", const_into_str)]
#[repr(usize)]
enum Event {
    Arrival,
    Ack,
    Duplicate,
    Loss,
    Timeout,
    Recovered,
    Undo,
    Condition,
    Sent,
    Route,
    Idle,
    Timer,
}

/// A class, as `hopyard.congestion.loading.find` describes it.
struct Class {
    name: String,
    class: Py<PyAny>,
    defaults: Map<String, Value>,
    /// The hash of its source.
    source: String,
    events: Vec<Event>,
}

impl fmt::Debug for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Class").field("name", &self.name).field("source", &self.source).finish_non_exhaustive()
    }
}

impl Class {
    fn new(name: &str, found: &Bound<'_, PyAny>) -> PyResult<Self> {
        let defaults: String = found.getattr("defaults")?.extract()?;
        let names: Vec<String> = found.getattr("events")?.extract()?;
        Ok(Self {
            name: name.to_owned(),
            class: found.getattr("rule")?.unbind(),
            defaults: serde_json::from_str(&defaults).map_err(|error| PyValueError::new_err(error.to_string()))?,
            source: found.getattr("source")?.extract()?,
            events: Event::VARIANTS
                .iter()
                .copied()
                .filter(|event| names.iter().any(|name| name == event.into_str()))
                .collect(),
        })
    }

    /// The message of an exception, with the line in the user's file.
    fn explain(&self, error: &PyErr, py: Python<'_>, during: &str) -> String {
        let explained = || -> PyResult<String> {
            py.import(MODULE)?
                .call_method1("explain", (error.clone_ref(py).into_value(py), self.class.bind(py), during))?
                .extract()
        };
        explained().unwrap_or_else(|_| format!("{during}: {error}"))
    }
}

/// A class with its parameters as a configuration.
fn configure(class: &Arc<Class>, parameters: &Map<String, Value>) -> Result<ExternalConfig, Refusal> {
    // Create one instance now, so that an error is reported before the first run.
    if let Err(message) = PythonController::new(class, parameters, 0) {
        return Err(Refusal { message, expected: None, hint: None });
    }
    let identity = json!({ "parameters": parameters, "source": class.source });
    let (class, parameters) = (Arc::clone(class), parameters.clone());
    let name = class.name.clone();
    let build = move |mut rng: Rng| -> Box<dyn ExternalControl> {
        match PythonController::new(&class, &parameters, rng.next_u64()) {
            Ok(controller) => Box::new(controller),
            Err(message) => Box::new(FailedController(Some(message))),
        }
    };
    Ok(ExternalConfig::new(&name, identity, build))
}

/// A class whose instance could not be created.
struct FailedController(Option<String>);

impl CongestionControl for FailedController {
    fn on_ack(&mut self, _ack: &congestion::Ack, _view: &View) -> Answer {
        Answer::Keep
    }

    fn on_loss(&mut self, _loss: &congestion::Loss, _view: &View) -> Answer {
        Answer::Keep
    }

    fn on_timeout(&mut self, _timeout: &congestion::Timeout, _view: &View) -> Answer {
        Answer::Keep
    }

    fn recovery(&self) -> RecoveryChoice {
        RecoveryChoice::NewReno
    }
}

impl ExternalControl for FailedController {
    fn failure(&mut self) -> Option<String> {
        self.0.take()
    }
}

/// The instance of one connection.
struct PythonController {
    class: Arc<Class>,
    state: Py<ControllerState>,
    /// The method for each event; `None` for events that the class does not define.
    methods: [Option<Py<PyAny>>; Event::COUNT],
    recovery: RecoveryChoice,
    wants: Wants,
    /// The values that the instance has set last. They are read without the interpreter.
    deadline: Time,
    gap: Span,
    bandwidth: Option<f64>,
    limits_itself: bool,
    failed: bool,
    failure: Option<String>,
}

impl PythonController {
    /// An instance of a class.
    fn new(class: &Arc<Class>, parameters: &Map<String, Value>, seed: u64) -> Result<Self, String> {
        Python::attach(|py| {
            let during = "__init__";
            let made = || -> PyResult<Self> {
                let parameters = Value::Object(parameters.clone()).to_string();
                let made = py.import(MODULE)?.call_method1("make", (class.class.bind(py), parameters, seed))?;
                let recovery: String = made.getattr("recovery")?.extract()?;
                let recovery = serde_json::from_value(json!(recovery)).map_err(|error| {
                    let error = error.to_string().replace("unknown variant", "recovery is");
                    PyValueError::new_err(error)
                })?;
                let mut methods = [const { None }; Event::COUNT];
                for &event in &class.events {
                    methods[event as usize] = Some(made.getattr(event.into_str())?.unbind());
                }
                let mut controller = Self {
                    class: Arc::clone(class),
                    recovery,
                    wants: Wants {
                        rate: made.getattr("wants_rate")?.is_truthy()?,
                        notices: made.getattr("wants_notices")?.is_truthy()?,
                        recovery_window: made.getattr("governs_recovery")?.is_truthy()?,
                    },
                    state: made.cast_into::<ControllerState>()?.unbind(),
                    methods,
                    deadline: Time::NEVER,
                    gap: Span::ZERO,
                    bandwidth: None,
                    limits_itself: false,
                    failed: false,
                    failure: None,
                };
                controller.take_settings(py);
                Ok(controller)
            };
            made().map_err(|error| class.explain(&error, py, during))
        })
    }

    fn take_settings(&mut self, py: Python<'_>) {
        let state = self.state.borrow(py);
        self.deadline = state.deadline;
        self.gap = state.gap;
        self.bandwidth = state.bandwidth;
        self.limits_itself = state.limits_itself;
    }

    fn defines(&self, event: Event) -> bool {
        !self.failed && self.methods[event as usize].is_some()
    }

    /// Calls the method of an event. `argument` creates its argument.
    fn call<'py>(
        &mut self,
        py: Python<'py>,
        event: Event,
        view: &View,
        argument: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Answer> {
        let Some(method) = &self.methods[event as usize] else { return Ok(Answer::Keep) };
        let stage = if matches!(event, Event::Sent | Event::Condition) { Stage::Told } else { Stage::Event };
        {
            let mut state = self.state.borrow_mut(py);
            state.begin(view, stage);
            if event == Event::Timer {
                // The deadline has arrived. The method may set the next one.
                state.deadline = Time::NEVER;
            }
        }
        let method = method.bind(py);
        let given = match argument {
            Some(argument) => method.call1((argument,))?,
            None => method.call0()?,
        };
        if !given.is_none() {
            let given = given.repr()?;
            let text = format!("an event gives None, not {given}: windows are set as self.cwnd and self.ssthresh");
            return Err(PyValueError::new_err(text));
        }
        let answer = self.state.borrow_mut(py).end();
        self.take_settings(py);
        Ok(answer)
    }

    fn event<F>(&mut self, event: Event, view: &View, argument: F) -> Answer
    where
        F: for<'py> FnOnce(Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>>,
    {
        if !self.defines(event) {
            return Answer::Keep;
        }
        Python::attach(|py| {
            let called = argument(py).and_then(|argument| self.call(py, event, view, argument));
            called.unwrap_or_else(|error| {
                self.failed = true;
                self.failure = Some(self.class.explain(&error, py, event.into_str()));
                (self.deadline, self.gap) = (Time::NEVER, Span::ZERO);
                Answer::Keep
            })
        })
    }
}

fn object<T>(py: Python<'_>, value: T) -> PyResult<Option<Bound<'_, PyAny>>>
where
    T: PyClass + Into<PyClassInitializer<T>>,
{
    Ok(Some(Bound::new(py, value)?.into_any()))
}

/// The word for a sender's knowledge of losses.
const fn word(condition: Condition) -> &'static str {
    match condition {
        Condition::Open => "open",
        Condition::Disorder => "disorder",
        Condition::Reduced => "reduced",
        Condition::Recovery => "recovery",
        Condition::Loss => "loss",
    }
}

impl CongestionControl for PythonController {
    fn on_arrival(&mut self, arrived: &congestion::Arrived, view: &View) -> Answer {
        self.event(Event::Arrival, view, |py| object(py, Arrival::new(arrived)))
    }

    fn on_ack(&mut self, ack: &congestion::Ack, view: &View) -> Answer {
        self.event(Event::Ack, view, |py| object(py, Ack::new(py, ack)?))
    }

    fn on_duplicate(&mut self, duplicate: &congestion::Duplicate, view: &View) -> Answer {
        self.event(Event::Duplicate, view, |py| object(py, Duplicate::new(py, duplicate)?))
    }

    fn on_loss(&mut self, loss: &congestion::Loss, view: &View) -> Answer {
        self.event(Event::Loss, view, |py| object(py, Loss::new(loss)))
    }

    fn on_timeout(&mut self, timeout: &congestion::Timeout, view: &View) -> Answer {
        self.event(Event::Timeout, view, |py| object(py, Timeout::new(timeout)))
    }

    fn on_recovered(&mut self, view: &View) -> Answer {
        self.event(Event::Recovered, view, |_| Ok(None))
    }

    fn on_sent(&mut self, sent: &congestion::Sent, view: &View) {
        self.event(Event::Sent, view, |py| object(py, Sent::new(sent)));
    }

    fn on_network(&mut self, event: NetworkEvent, view: &View) -> Answer {
        self.event(Event::Route, view, |py| object(py, Route::new(event)))
    }

    fn on_idle(&mut self, restart: f64, view: &View) -> Answer {
        if self.methods[Event::Idle as usize].is_none() {
            return Answer::Set { cwnd: view.cwnd.min(restart), ssthresh: view.ssthresh };
        }
        self.event(Event::Idle, view, |py| Ok(Some(restart.into_pyobject(py)?.into_any())))
    }

    fn on_timer(&mut self, view: &View) -> Answer {
        self.event(Event::Timer, view, |_| Ok(None))
    }

    fn deadline(&self) -> Time {
        self.deadline
    }

    fn pace(&self) -> Pace {
        Pace { limits_itself: self.limits_itself, ..Pace::of(self.gap) }
    }

    fn bandwidth(&self) -> Option<f64> {
        self.bandwidth
    }

    fn wants(&self) -> Wants {
        self.wants
    }

    fn recovery(&self) -> RecoveryChoice {
        self.recovery
    }
}

impl ExternalControl for PythonController {
    fn on_undo(&mut self, before: &congestion::Before, view: &View) -> Answer {
        if self.methods[Event::Undo as usize].is_none() {
            return before.restored(view);
        }
        self.event(Event::Undo, view, |py| object(py, Before::new(before)))
    }

    fn on_condition(&mut self, condition: Condition, view: &View) {
        self.event(Event::Condition, view, |py| Ok(Some(word(condition).into_pyobject(py)?.into_any())));
    }

    fn failure(&mut self) -> Option<String> {
        self.failure.take()
    }
}
