//! The parts that the readers of both formats share: how a file is to be read, numbers, times and positions.

use hopyard_engine::units::Distance;
use hopyard_engine::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::globe::{Epoch, Origin};
use super::track::FASTEST;
use crate::mobility::leg::Position;

/// Node numbers in files stay below this, so that a mistyped number does not fill the memory.
pub(super) const MAX_NODES: u32 = 1_000_000;
/// Positions lie within this many metres of the origin.
const MAX_COORDINATE: f64 = 1e9;
/// Times lie below this many seconds: fifty years.
const MAX_SECONDS: f64 = 1.6e9;

/// The formats of movement files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// Detected from the first line that is not a comment.
    Detect,
    /// ns-2's Tcl lines.
    Setdest,
    /// BonnMotion's native format.
    Bonnmotion,
    /// A table of positions, in metres or on the globe.
    Csv,
    /// Tracks of satellite receivers.
    Gpx,
    /// A log of PX4.
    Ulog,
}

/// How many coordinates a BonnMotion file gives for each time; the file itself does not say, nor reliably does its
/// `.params`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Dimensions {
    /// The number for which all times increase; two if both are possible.
    Detect,
    /// Time, x and y.
    Two,
    /// Time, x, y and height.
    Three,
}

/// How a file is to be read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// The format.
    pub format: Format,
    /// For BonnMotion files, how many coordinates there are.
    pub dimensions: Dimensions,
    /// The area that positions must not leave, width and height, its border included; unchecked when it is not given.
    pub area: Option<(Distance, Distance)>,
    /// For places on the globe, the place that becomes (0, 0).
    pub origin: Origin,
    /// For recorded tracks, the time at which the run starts.
    pub epoch: Epoch,
}

impl Reading {
    /// The reading of a format in which everything else is detected.
    #[must_use]
    pub const fn of(format: Format) -> Self {
        Self { format, dimensions: Dimensions::Detect, area: None, origin: Origin::First, epoch: Epoch::Detect }
    }
}

impl Default for Reading {
    fn default() -> Self {
        Self::of(Format::Detect)
    }
}

/// A number of moderate size.
fn number(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|value| value.abs() <= MAX_COORDINATE)
}

pub(super) const COORDINATE: &str = "a coordinate in metres, within 1e9 m of the origin";
pub(super) const TIME: &str = "a time in seconds, from 0 to 1.6e9";
pub(super) const SPEED: &str = "a speed in metres a second, from 0 to 3e8";

/// A coordinate in metres.
pub(super) fn coordinate(text: &str) -> Result<f64, &'static str> {
    number(text).ok_or(COORDINATE)
}

/// A time in seconds.
pub(super) fn time(text: &str) -> Result<Time, &'static str> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.0..=MAX_SECONDS).contains(seconds)).ok_or(TIME)?;
    Ok(Time::ZERO + Span::from_secs_f64(seconds))
}

/// A speed in metres a second.
pub(super) fn speed(text: &str) -> Result<f64, &'static str> {
    number(text).filter(|speed| (0.0..=FASTEST).contains(speed)).ok_or(SPEED)
}

/// Whether a position lies in the area, up to the precision of twelve decimals.
pub(super) fn within(area: Option<(Distance, Distance)>, position: Position) -> Result<(), String> {
    const MARGIN: f64 = 1e-6;
    match area {
        Some((width, height))
            if !(-MARGIN..=width.metres() + MARGIN).contains(&position.x)
                || !(-MARGIN..=height.metres() + MARGIN).contains(&position.y) =>
        {
            Err(format!("a position in the area, {} by {} m", width.metres(), height.metres()))
        }
        _ => Ok(()),
    }
}
