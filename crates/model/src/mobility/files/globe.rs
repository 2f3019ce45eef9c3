//! Places on the globe, and the plane on which nodes move; the origin and the start of recorded tracks.

use crate::mobility::leg::Position;

/// The largest height, up or down, in metres.
const HIGHEST: f64 = 100_000.0;

/// A place on the globe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Globe {
    /// Degrees to the east.
    pub longitude: f64,
    /// Degrees to the north.
    pub latitude: f64,
    /// Metres.
    pub height: f64,
}

impl Globe {
    /// The place as east, north and up of an origin, in metres: the plane that touches the ellipsoid of WGS 84 there.
    #[must_use]
    pub fn seen_from(self, origin: Self) -> Position {
        const EQUATOR: f64 = 6_378_137.0;
        const ECCENTRICITY_SQUARED: f64 = 0.006_694_379_990_14;
        let latitude = origin.latitude.to_radians();
        let sine = libm::sin(latitude);
        let root = 1.0 - ECCENTRICITY_SQUARED * sine * sine;
        let across = EQUATOR / libm::sqrt(root);
        let along = across * (1.0 - ECCENTRICITY_SQUARED) / root;
        // The shorter way around the globe.
        let degrees = self.longitude - origin.longitude;
        let east = degrees - 360.0 * (degrees / 360.0).round_ties_even();
        Position {
            x: east.to_radians() * across * libm::cos(latitude),
            y: (self.latitude - origin.latitude).to_radians() * along,
            z: self.height - origin.height,
        }
    }

    /// The longitude, the latitude and the height, if there can be such a place.
    pub(super) fn checked(longitude: f64, latitude: f64, height: f64) -> Result<Self, &'static str> {
        match () {
            () if !(-180.0..=180.0).contains(&longitude) => Err("a longitude from -180 to 180 degrees"),
            () if !(-90.0..=90.0).contains(&latitude) => Err("a latitude from -90 to 90 degrees"),
            () if !(-HIGHEST..=HIGHEST).contains(&height) => Err("a height within 100000 m"),
            () => Ok(Self { longitude, latitude, height }),
        }
    }
}

/// The place that becomes (0, 0).
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum Origin {
    /// The first place of the file, at height zero.
    #[default]
    First,
    /// This place.
    At(Globe),
}

impl Origin {
    /// The origin of a text: "first", or longitude, latitude and perhaps a height.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text == "first" {
            return Ok(Self::First);
        }
        let numbers: Option<Vec<f64>> = text.split_ascii_whitespace().map(|word| word.parse().ok()).collect();
        let place = match numbers.as_deref() {
            Some([longitude, latitude]) => Globe::checked(*longitude, *latitude, 0.0),
            Some([longitude, latitude, height]) => Globe::checked(*longitude, *latitude, *height),
            _ => Err("\"first\", or longitude, latitude and perhaps a height such as \"8.5417 47.3769 408\""),
        };
        place.map(Self::At).map_err(|expected| format!("expected {expected}; found \"{text}\""))
    }
}

/// The time of a file at which the run starts.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum Epoch {
    /// Zero in a table, and the first time of a log.
    #[default]
    Detect,
    /// The first time of the file.
    First,
    /// This many seconds, in logs of satellite receivers since 1970.
    At(f64),
}

impl Epoch {
    /// The epoch of a text: "detect", "first", a number of seconds, or a date and time.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let seconds = || moment(text).or_else(|| date(text));
        match text {
            "detect" => Ok(Self::Detect),
            "first" => Ok(Self::First),
            _ => seconds().map(Self::At).ok_or_else(|| {
                let date = "or a time such as \"2026-05-01T10:00:00Z\"";
                format!("expected \"detect\", \"first\", {MOMENT}, {date}; found \"{text}\"")
            }),
        }
    }
}

/// The expected text of a time in seconds.
pub(super) const MOMENT: &str = "a time in seconds, within 2.6e11 of zero";

/// A time in seconds, in logs of satellite receivers since 1970; up to the year 9999, and as far back.
pub(super) fn moment(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|seconds| seconds.abs() <= 2.6e11)
}

/// The seconds since 1970 of a date and time (RFC 3339); without a zone, in the time of Greenwich.
pub(super) fn date(text: &str) -> Option<f64> {
    let (day, time) = text.trim().split_once(['T', 't', ' '])?;
    let mut parts = day.splitn(3, '-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 => 28 + i64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=days).contains(&day) {
        return None;
    }
    let (clock, zone) = match time.find(['Z', 'z', '+', '-']) {
        Some(at) => time.split_at(at),
        None => (time, "Z"),
    };
    let offset = match zone.strip_prefix(['+', '-']) {
        Some(size) => {
            let (hours, minutes) = size.split_once(':')?;
            let size = hours.parse::<f64>().ok()? * 3600.0 + minutes.parse::<f64>().ok()? * 60.0;
            if zone.starts_with('-') { -size } else { size }
        }
        None => 0.0,
    };
    let mut parts = clock.splitn(3, ':');
    let hours = parts.next()?.parse::<u32>().ok().filter(|it| *it < 24)?;
    let minutes = parts.next()?.parse::<u32>().ok().filter(|it| *it < 60)?;
    let seconds = parts.next()?.parse::<f64>().ok().filter(|it| (0.0..61.0).contains(it))?;
    // Days since the first of March of year 0 (H. Hinnant, "chrono-compatible low-level date algorithms").
    let year = if month <= 2 { year - 1 } else { year };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (153 * ((month + 9) % 12) + 2) / 5 + day - 1 - 719_468;
    Some(days as f64 * 86_400.0 + f64::from(hours) * 3600.0 + f64::from(minutes) * 60.0 + seconds - offset)
}
