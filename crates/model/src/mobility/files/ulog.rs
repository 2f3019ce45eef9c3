//! Reads logs of PX4 (ULog): the positions of the vehicle on the globe (`vehicle_global_position`), or, if the log has
//! none, relative to where it started (`vehicle_local_position`).
//!
//! Read: the specification of the format (PX4's documentation, "ULog File Format"). A log has one vehicle, which is
//! node 0. Times are those of the flight computer, since it was switched on. Left out: the clocks of satellites, and
//! positions that the estimator itself calls invalid.

use std::collections::BTreeMap;

use super::globe::{Epoch, Globe};
use super::movements::Movements;
use super::samples::{Place, Sample, movements};
use super::text::Reading;
use crate::file::BadFile;
use crate::mobility::leg::Position;

/// The first bytes of every log.
pub(super) const MAGIC: &[u8] = b"ULog\x01\x12\x35";

/// The deepest nesting of formats.
const DEEPEST: usize = 8;

const GLOBAL: &str = "vehicle_global_position";
const LOCAL: &str = "vehicle_local_position";

/// The place of a field in a message, and its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Field {
    offset: usize,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    U64,
    I32,
    F32,
    F64,
    Bool,
    Other,
}

/// The size of a type, if it is a basic one, and its kind.
fn basic(name: &str) -> Option<(usize, Kind)> {
    Some(match name {
        "uint64_t" => (8, Kind::U64),
        "int64_t" => (8, Kind::Other),
        "double" => (8, Kind::F64),
        "float" => (4, Kind::F32),
        "int32_t" => (4, Kind::I32),
        "uint32_t" => (4, Kind::Other),
        "int16_t" | "uint16_t" => (2, Kind::Other),
        "int8_t" | "uint8_t" | "char" => (1, Kind::Other),
        "bool" => (1, Kind::Bool),
        _ => return None,
    })
}

impl Field {
    fn read(self, message: &[u8]) -> Option<f64> {
        let bytes = message.get(self.offset..)?;
        Some(match self.kind {
            Kind::U64 => u64::from_le_bytes(*bytes.first_chunk()?) as f64,
            Kind::I32 => f64::from(i32::from_le_bytes(*bytes.first_chunk()?)),
            Kind::F32 => f64::from(f32::from_le_bytes(*bytes.first_chunk()?)),
            Kind::F64 => f64::from_le_bytes(*bytes.first_chunk()?),
            Kind::Bool => f64::from(*bytes.first()?),
            Kind::Other => return None,
        })
    }
}

/// The fields of a message in order: type, number of elements, and name.
type Fields = Vec<(String, usize, String)>;

/// The formats of a log, by kind of message.
type Formats = BTreeMap<String, Fields>;

/// The fields of a format by name, and its size; nothing if a type is unknown.
fn lay_out(name: &str, formats: &Formats, depth: usize) -> Option<(BTreeMap<String, Field>, usize)> {
    let mut fields = BTreeMap::new();
    let mut offset = 0;
    for (kind, count, field) in formats.get(name).filter(|_| depth < DEEPEST)? {
        let (size, kind) = match basic(kind) {
            Some(basic) => basic,
            None => (lay_out(kind, formats, depth + 1)?.1, Kind::Other),
        };
        fields.insert(field.clone(), Field { offset, kind: if *count == 1 { kind } else { Kind::Other } });
        offset = size.checked_mul(*count)?.checked_add(offset).filter(|size| *size <= usize::from(u16::MAX))?;
    }
    Some((fields, offset))
}

/// A format's name and its fields, from a text such as `name:uint64_t timestamp;float[3] x;`.
fn format(text: &str) -> Option<(String, Fields)> {
    let (name, fields) = text.split_once(':')?;
    let field = |text: &str| {
        let (kind, field) = text.split_once(' ')?;
        let (kind, count) = match kind.split_once('[') {
            Some((kind, count)) => (kind, count.strip_suffix(']')?.parse().ok()?),
            None => (kind, 1),
        };
        Some((kind.to_owned(), count, field.to_owned()))
    };
    let fields: Option<Fields> = fields.split(';').filter(|text| !text.is_empty()).map(field).collect();
    Some((name.to_owned(), fields?))
}

/// A subscription to positions.
struct Positions {
    fields: BTreeMap<String, Field>,
    is_global: bool,
}

impl Positions {
    /// A message's time in seconds and place; nothing if the estimator calls the place invalid.
    fn sample(&self, message: &[u8]) -> Result<Option<(f64, Place)>, String> {
        let field = |name: &str| self.fields.get(name).and_then(|field| field.read(message));
        let seconds = field("timestamp").ok_or("a field timestamp")? / 1e6;
        let invalid = |name: &str| field(name) == Some(0.0);
        if self.is_global {
            let (Some(latitude), Some(longitude)) = (field("lat"), field("lon")) else {
                return Err("fields lat and lon".to_owned());
            };
            if invalid("lat_lon_valid") {
                return Ok(None);
            }
            // Older logs have integers of 1e-7 degrees.
            let is_whole = self.fields.get("lat").is_some_and(|field| field.kind == Kind::I32);
            let unit = if is_whole { 1e-7 } else { 1.0 };
            let globe = Globe::checked(longitude * unit, latitude * unit, field("alt").unwrap_or(0.0));
            let found = || format!("; found longitude {longitude}, latitude {latitude} at {seconds} s");
            return Ok(Some((seconds, Place::Globe(globe.map_err(|expected| expected.to_owned() + &found())?))));
        }
        let (Some(north), Some(east), Some(down)) = (field("x"), field("y"), field("z")) else {
            return Err("fields x, y and z".to_owned());
        };
        if invalid("xy_valid") || invalid("z_valid") {
            return Ok(None);
        }
        let position = Position { x: east, y: north, z: -down };
        if ![east, north, down].iter().all(|it| it.is_finite()) {
            return Err(format!("numbers; found ({north}, {east}, {down}) at {seconds} s"));
        }
        Ok(Some((seconds, Place::Plane(position))))
    }
}

/// Reads the bytes of a log; faults are added to `problems`.
pub(super) fn read(bytes: &[u8], reading: &Reading, problems: &mut BadFile) -> Movements {
    /// The magic, the version, and the time of the start.
    const HEADER: usize = 16;
    let mut formats = Formats::new();
    let mut subscriptions: BTreeMap<u16, Positions> = BTreeMap::new();
    let (mut global, mut local) = (Vec::new(), Vec::new());
    let (mut at, mut cut) = (HEADER, None);
    while let Some(&[low, high, kind]) = bytes.get(at..).and_then(|rest| rest.first_chunk::<3>()) {
        let size = usize::from(u16::from_le_bytes([low, high]));
        let Some(message) = bytes.get(at + 3..at + 3 + size) else {
            // A flight computer that loses its power writes no end; the messages before are whole.
            cut = Some(format!("the last message, at byte {at}, is cut: what comes before it was read"));
            break;
        };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match kind {
            b'F' => formats.extend(format(&text(message))),
            b'A' if size > 3 => {
                let (instance, name) = (message[0], text(&message[3..]));
                if instance == 0 && [GLOBAL, LOCAL].contains(&&*name) {
                    match lay_out(&name, &formats, 0) {
                        Some((fields, _)) => {
                            let number = u16::from_le_bytes([message[1], message[2]]);
                            subscriptions.insert(number, Positions { fields, is_global: name == GLOBAL });
                        }
                        None => problems.push(None, &name, "a format of known types for it"),
                    }
                }
            }
            b'D' if size > 2 => {
                let number = u16::from_le_bytes([message[0], message[1]]);
                if let Some(positions) = subscriptions.get(&number) {
                    match positions.sample(&message[2..]) {
                        Ok(Some((seconds, place))) => {
                            let samples = if positions.is_global { &mut global } else { &mut local };
                            samples.push(Sample { line: None, node: 0, seconds, place });
                        }
                        Ok(None) => {}
                        Err(expected) => problems.push(None, &format!("a message at byte {at}"), expected),
                    }
                }
            }
            _ => {}
        }
        at += 3 + size;
        if problems.count >= crate::file::MAX_FAULTS {
            break;
        }
    }
    let samples = if global.is_empty() { local } else { global };
    if samples.is_empty() && problems.is_empty() {
        problems.push(None, "", format!("valid messages {GLOBAL} or {LOCAL}"));
    }
    Movements { cut, ..movements(&samples, Epoch::First, reading, problems) }
}
