//! Reads tracks of GPX 1.0 and 1.1: each `trk` is a node, in the order of the file, with the points of all its
//! segments.
//!
//! Read: the schema of Topografix. Waypoints and routes have no times, and are not read. The parser is `quick-xml`,
//! which needs one small package and tells its place in the text. Parsers of GPX as a whole tell no line.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::globe::{Epoch, Globe, date};
use super::movements::Movements;
use super::samples::{Place, Sample, movements};
use super::text::Reading;
use crate::file::BadFile;

/// A point that is being read.
struct Point {
    line: usize,
    /// How deep its element lies. Times and heights in the extensions of a point lie deeper than its own.
    depth: u32,
    place: Result<(f64, f64), &'static str>,
    height: f64,
    seconds: Option<f64>,
    faulty: Option<(String, &'static str)>,
}

/// Reads the text of a file; faults are added to `problems`.
pub(super) fn read(text: &[u8], reading: &Reading, problems: &mut BadFile) -> Movements {
    let text = String::from_utf8_lossy(text);
    let mut reader = Reader::from_str(&text);
    let mut samples = Vec::new();
    let (mut tracks, mut point, mut words): (u32, Option<Point>, String) = (0, None, String::new());
    let (mut line, mut counted) = (1, 0);
    let mut depth = 0_u32;
    loop {
        let event = reader.read_event();
        let at = (reader.buffer_position() as usize).min(text.len());
        let begins = line;
        line += text.as_bytes()[counted..at].iter().filter(|byte| **byte == b'\n').count();
        counted = at;
        if problems.ends_at(begins) {
            break;
        }
        match event {
            Ok(Event::Start(tag)) => {
                depth += 1;
                words.clear();
                match tag.local_name().as_ref() {
                    "trk" => tracks += 1,
                    "trkpt" => point = Some(begin(&tag, (line, depth))),
                    _ => {}
                }
            }
            Ok(Event::Empty(tag)) if tag.local_name().as_ref() == "trkpt" => {
                end(begin(&tag, (line, depth)), tracks, &mut samples, problems);
            }
            Ok(Event::Text(said)) => words.push_str(&said),
            Ok(Event::End(tag)) => {
                depth = depth.saturating_sub(1);
                let own = point.as_mut().filter(|point| point.depth == depth);
                match (tag.local_name().as_ref(), own) {
                    ("trkpt", _) => {
                        if let Some(point) = point.take() {
                            end(point, tracks, &mut samples, problems);
                        }
                    }
                    ("ele", Some(point)) => match words.trim().parse::<f64>() {
                        Ok(height) => point.height = height,
                        Err(_) => point.faulty = Some((words.clone(), "a height in metres")),
                    },
                    ("time", Some(point)) => match date(&words) {
                        Some(seconds) => point.seconds = Some(seconds),
                        None => point.faulty = Some((words.clone(), "a time such as 2026-05-01T10:00:00Z")),
                    },
                    _ => {}
                }
            }
            Ok(Event::Eof) => {
                if depth > 0 {
                    problems.push(Some(line), "the end of the file", "well-formed XML: every element ends");
                }
                break;
            }
            Ok(_) => {}
            Err(error) => {
                problems.push(Some(line), &error.to_string(), "well-formed XML");
                break;
            }
        }
    }
    if samples.is_empty() && problems.is_empty() {
        problems.push(None, "", "a track with points: <trk>, <trkseg>, <trkpt lat=\"..\" lon=\"..\"> with <time>");
    }
    movements(&samples, Epoch::First, reading, problems)
}

fn begin(tag: &BytesStart<'_>, (line, depth): (usize, u32)) -> Point {
    let number = |name: &str| {
        let attribute = tag.try_get_attribute(name).ok().flatten()?;
        attribute.value.trim().parse::<f64>().ok()
    };
    let place = number("lon").zip(number("lat")).ok_or("a point with lon and lat in degrees");
    Point { line, depth, place, height: 0.0, seconds: None, faulty: None }
}

fn end(point: Point, tracks: u32, samples: &mut Vec<Sample>, problems: &mut BadFile) {
    let Point { line, depth: _, place, height, seconds, faulty } = point;
    let read = match (faulty, place) {
        (Some(fault), _) => Err(fault),
        (None, Err(expected)) => Err((String::new(), expected)),
        (None, Ok((longitude, latitude))) => {
            let shown = || format!("longitude {longitude}, latitude {latitude}");
            let globe = Globe::checked(longitude, latitude, height).map_err(|expected| (shown(), expected));
            globe.and_then(|globe| Ok((globe, seconds.ok_or_else(|| (shown(), "a point with a <time>"))?)))
        }
    };
    match read {
        Ok((globe, seconds)) => {
            let node = tracks.saturating_sub(1);
            samples.push(Sample { line: Some(line), node, seconds, place: Place::Globe(globe) });
        }
        Err((found, expected)) => problems.push(Some(line), &found, expected),
    }
}
