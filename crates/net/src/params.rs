//! Parameters of models: typed, with units, a default for each profile, documented in one place.
//!
//! A model's `Params` struct is the only source of its defaults. The scenario reader, the command line's list, the JSON
//! schema and the documentation all come from it: field docs become descriptions, values carry their units. Parameters
//! are plain fields without `Option` (a feature that is not used has a value such as `"off"`), so that the list shows
//! every one of them.

mod given;

use std::fmt::Display;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use hopyard_engine::Span;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

pub use self::given::{Given, read_given};

/// The profile that follows the standards: the default.
pub const RFC: &str = "rfc";
/// The profile that behaves as ns-2.35 does.
pub const NS2: &str = "ns2";

/// The profile that behaves as Linux 6.1 does.
pub const LINUX: &str = "linux";

/// The parameters of a model.
pub trait Params: Serialize + DeserializeOwned + JsonSchema + Clone + std::fmt::Debug + PartialEq + 'static {
    /// The profiles for which the defaults differ. The first one is used when a scenario names a profile that is not in
    /// this list.
    const PROFILES: &'static [&'static str] = &[RFC];

    /// The defaults under a profile.
    fn of_profile(profile: &str) -> Self;

    /// The keys on which defaults of other keys depend, in the order in which they are followed.
    const LEADING: &'static [&'static str] = &[];

    /// Sets the defaults that depend on one of the leading keys, which has its value already.
    fn follow(&mut self, _key: &str) {}

    /// Checks that the values are possible together.
    ///
    /// # Errors
    /// The first parameter that is impossible, and why; of a list, all elements that are.
    fn check(&self) -> Result<(), Fault> {
        Ok(())
    }

    /// The parameters that do nothing beside the value of another one.
    fn unused(&self) -> Vec<Unused> {
        Vec::new()
    }

    /// The parameters that do nothing in a network without wires.
    const FOR_WIRES: &'static [&'static str] = &[];
}

/// Parameters that do nothing, and the parameter whose value makes them so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unused {
    /// The parameter that is a table and has them; empty if they stand alone.
    pub table: &'static str,
    /// The parameter that decides.
    pub by: &'static str,
    /// Those that do nothing.
    pub parameters: &'static [&'static str],
}

/// Those of these cases that hold: each has its condition, the parameter that decides, and those that do nothing then.
pub fn unused_where<const N: usize>(cases: [(bool, &'static str, &'static [&'static str]); N]) -> Vec<Unused> {
    let holding = cases.into_iter().filter(|(holds, ..)| *holds);
    holding.map(|(_, by, parameters)| Unused { table: "", by, parameters }).collect()
}

/// A parameter with an impossible value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{parameter}: {problem}")]
pub struct Fault {
    /// The parameter's name.
    pub parameter: &'static str,
    /// The expected value and the found one.
    pub problem: String,
    /// The elements that are at fault, by their places, each with its own problem, where the value is a list and not
    /// wrong as a whole. Then `problem` has all of theirs.
    pub elements: Vec<(usize, String)>,
}

impl Fault {
    /// A fault in `parameter`.
    #[must_use]
    pub fn new(parameter: &'static str, problem: impl Into<String>) -> Self {
        Self { parameter, problem: problem.into(), elements: Vec::new() }
    }

    /// Checks the value of `parameter`.
    ///
    /// # Errors
    /// When the value is not as `expected`, which `is_possible` decides.
    pub fn unless<T: Copy + Display>(
        parameter: &'static str,
        value: T,
        is_possible: impl FnOnce(T) -> bool,
        expected: impl Display,
    ) -> Result<(), Self> {
        if is_possible(value) {
            return Ok(());
        }
        Err(Self::new(parameter, format!("expected {expected}, found {value}")))
    }

    /// Checks a list with these faulty elements, by their places.
    ///
    /// # Errors
    /// When there is any: all of them at once.
    pub fn of_elements(parameter: &'static str, elements: Vec<(usize, String)>) -> Result<(), Self> {
        if elements.is_empty() {
            return Ok(());
        }
        let problems: Vec<&str> = elements.iter().map(|(_, problem)| &**problem).collect();
        Err(Self { parameter, problem: problems.join("; "), elements })
    }
}

/// Checks the random part of a timer's period, which shortens it by as much. A timer that jitter could shorten to a
/// fraction of its period would send many times what was asked for (RFC 5148 §5.4).
///
/// # Errors
/// When the random part is longer than half of the period, whose key is `of`.
pub fn check_jitter(parameter: &'static str, jitter: Span, of: &'static str, period: Span) -> Result<(), Fault> {
    if jitter * 2 <= period {
        return Ok(());
    }
    Err(Fault::new(
        parameter,
        format!("expected at most half of `{of}`, which is {period} (RFC 5148 §5.4); found {jitter}"),
    ))
}

/// Values that are not a model's parameters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParamsError {
    /// No model has this name.
    #[error("no {room} model is called \"{name}\"")]
    UnknownModel {
        /// The kind of model.
        room: &'static str,
        /// The name given.
        name: String,
    },
    /// The values do not have the parameters' types.
    #[error("{0}")]
    Malformed(String),
    /// A value is impossible.
    #[error(transparent)]
    Fault(#[from] Fault),
}

/// Reads parameters from their serialised form and checks them.
///
/// # Errors
/// When a value has the wrong type or unit, or is impossible.
pub fn read<P: Params>(value: &Value) -> Result<P, ParamsError> {
    let params = P::deserialize(value).map_err(|error| ParamsError::Malformed(error.to_string()))?;
    params.check()?;
    Ok(params)
}

/// Parameters in their serialised form.
fn to_value<P: Params>(params: &P) -> Value {
    serde_json::to_value(params).expect("parameters can be serialised")
}

/// Defaults in their serialised form where these keys are given, and the leading ones among them are followed. A value
/// that is malformed or impossible leads to nothing: where it is read, it is refused.
fn led<P: Params>(defaults: &Value, given: &Map<String, Value>) -> Value {
    let step = |mut values: Value, key: &str| {
        if let Some(value) = given.get(key) {
            values[key] = value.clone();
            // Not by value: each type's code would be compiled a second time for it.
            let mut params = P::deserialize(&values).ok()?;
            params.follow(key);
            values = to_value(&params);
        }
        Some(values)
    };
    let possible = |values: &Value| P::deserialize(values).is_ok_and(|params| params.check().is_ok());
    // Two keys may be possible together only, such as the bounds of a range.
    let together = P::LEADING.iter().try_fold(defaults.clone(), |values, key| step(values, key));
    if let Some(values) = together.filter(possible) {
        return values;
    }
    P::LEADING.iter().fold(defaults.clone(), |values, key| step(values.clone(), key).filter(possible).unwrap_or(values))
}

/// A counter that only one model has: a column of the table of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// The name of the column.
    pub name: &'static str,
    /// The unit.
    pub unit: &'static str,
    /// The counted event.
    pub meaning: &'static str,
}

/// The description of a model for the lists, the schema and the documentation.
#[derive(Clone, Copy)]
pub struct ModelInfo {
    /// The kind of model, such as "routing".
    pub room: &'static str,
    /// The model's name in scenarios.
    pub name: &'static str,
    /// One sentence: the model, and its source.
    pub summary: &'static str,
    /// The profiles for which its defaults differ.
    pub profiles: &'static [&'static str],
    /// Its parameters' defaults under a profile, as an object.
    pub defaults: fn(profile: &str) -> Value,
    /// The same where these keys are given, on some of which other defaults depend ([`Params::LEADING`]).
    pub led: fn(defaults: &Value, given: &Map<String, Value>) -> Value,
    /// The JSON schema of its parameters; descriptions are the documentation of each.
    pub schema: fn() -> Schema,
    /// Whether serialised values are parameters of this model.
    pub check: fn(&Value) -> Result<(), ParamsError>,
    /// The normal form of such values: "2000 kbps" and "2 Mbps" are the same rate, and must give the same configuration
    /// hash.
    pub canonical: fn(&Value) -> Result<Value, ParamsError>,
    /// The parameters among such values that do nothing ([`Params::unused`]).
    pub unused: fn(&Value) -> Vec<Unused>,
    /// The parameters that do nothing in a network without wires.
    pub for_wires: &'static [&'static str],
    /// Whether Linux has this model too.
    pub has_twin: bool,
    /// Linux's name of this model. For a model that Linux lacks, the name of the nearest one there.
    pub in_linux: Option<&'static str>,
}

impl ModelInfo {
    /// The information on a model with parameters `P`.
    #[must_use]
    pub const fn of<P: Params>(room: &'static str, name: &'static str, summary: &'static str) -> Self {
        Self {
            room,
            name,
            summary,
            profiles: P::PROFILES,
            defaults: |profile| to_value(&P::of_profile(profile)),
            led: led::<P>,
            schema: || schemars::schema_for!(P),
            check: |value| read::<P>(value).map(|_| ()),
            canonical: |value| read::<P>(value).map(|params| to_value(&params)),
            unused: |value| read::<P>(value).map_or(Vec::new(), |params| params.unused()),
            for_wires: P::FOR_WIRES,
            has_twin: false,
            in_linux: None,
        }
    }

    /// The same model, which Linux has too under the same name: in the kernel itself, or as a module of Hopyard.
    #[must_use]
    pub const fn twin_in_linux(self) -> Self {
        self.twin_in_linux_as(self.name)
    }

    /// The same model, which Linux has under another name.
    #[must_use]
    pub const fn twin_in_linux_as(mut self, name: &'static str) -> Self {
        (self.has_twin, self.in_linux) = (true, Some(name));
        self
    }

    /// A model that Linux lacks. The model that Linux has under `name` comes nearest; it may be the name of this one.
    #[must_use]
    pub const fn nearest_in_linux(mut self, name: &'static str) -> Self {
        self.in_linux = Some(name);
        self
    }

    /// Whether flows of Linux can have a variant of this name.
    #[must_use]
    pub fn is_name_in_linux(&self) -> bool {
        self.has_twin || self.in_linux == Some(self.name)
    }
}

impl std::fmt::Debug for ModelInfo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.room, self.name)
    }
}

/// The parameters of a model, which all objects with equal ones may share: the nodes of a large network mostly do.
/// A change makes a copy of its own if others share them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shared<P>(Arc<P>);

impl<P: Params> Shared<P> {
    /// The defaults under a profile.
    #[must_use]
    pub fn of_profile(profile: &str) -> Self {
        P::of_profile(profile).into()
    }
}

impl<P> From<P> for Shared<P> {
    fn from(params: P) -> Self {
        Self(Arc::new(params))
    }
}

impl<P> Deref for Shared<P> {
    type Target = P;

    #[inline]
    fn deref(&self) -> &P {
        &self.0
    }
}

impl<P: Clone> DerefMut for Shared<P> {
    fn deref_mut(&mut self) -> &mut P {
        Arc::make_mut(&mut self.0)
    }
}

/// Makes the registry of a kind of models, with one line for each model.
///
/// `name => module::Variant, "summary"` makes the model known to scenarios, the command line's list, the JSON schema,
/// the Python stubs and the documentation. The macro defines a `Config` enum with one variant for the parameters of
/// each model, the models' names and [`ModelInfo`]s, and `Config::read`. Each module must have a `Params` type.
///
/// Properties of a model follow its summary, each a call of a function of [`ModelInfo`]: `"summary", twin_in_linux();`.
///
/// A registry that accepts models from outside this crate names their type after its own name: `"congestion" +
/// External(external::ExternalConfig)` adds that variant to `Config`. The type must have a `name`.
#[macro_export]
macro_rules! registry {
    (@config $text:ty, [$($custom:ident($type:ty))?], $room:literal:
        $($name:literal => $module:ident :: $variant:ident, $summary:literal $(, $property:ident($($value:literal)?))*;)+) => {
        /// Which model of this kind to use, with its parameters.
        ///
        /// The parameters are shared, for the nodes of a large network mostly have equal ones.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Config {
            $(#[doc = $summary] $variant($crate::params::Shared<$module::Params>),)+
            $(/// A model from outside this crate.
            $custom($type),)?
        }

        /// Every model of this kind.
        pub static MODELS: &[$crate::params::ModelInfo] =
            &[$($crate::params::ModelInfo::of::<$module::Params>($room, $name, $summary)$(.$property($($value)?))*),+];

        impl Config {
            /// A model's defaults under a profile.
            ///
            /// # Errors
            /// When no model of this room has the name.
            pub fn of_profile(name: &str, profile: &str) -> Result<Self, $crate::params::ParamsError> {
                match name {
                    $($name => Ok(Self::$variant($crate::params::Shared::of_profile(profile))),)+
                    _ => Err($crate::params::ParamsError::UnknownModel { room: $room, name: name.to_owned() }),
                }
            }

            /// The first model of the list, with its defaults under a profile.
            ///
            /// # Panics
            /// Never: the list has a first model.
            #[must_use]
            pub fn first(profile: &str) -> Self {
                Self::of_profile(MODELS[0].name, profile).expect("the first model of the list is one of it")
            }

            /// Reads a model's parameters from their serialised form.
            ///
            /// # Errors
            /// When no model has the name, or the values are not its parameters.
            pub fn read(name: &str, value: &serde_json::Value) -> Result<Self, $crate::params::ParamsError> {
                match name {
                    $($name => Ok(Self::$variant($crate::params::read::<$module::Params>(value)?.into())),)+
                    _ => Err($crate::params::ParamsError::UnknownModel { room: $room, name: name.to_owned() }),
                }
            }

            /// The model's name.
            #[must_use]
            pub fn name(&self) -> $text {
                match self { $(Self::$variant(_) => $name,)+ $(Self::$custom(model) => model.name(),)? }
            }
        }
    };
    ($room:literal + $custom:ident($type:ty): $($entries:tt)+) => {
        $crate::registry! { @config &str, [$custom($type)], $room: $($entries)+ }
    };
    ($room:literal: $($entries:tt)+) => {
        $crate::registry! { @config &'static str, [], $room: $($entries)+ }
    };
}
