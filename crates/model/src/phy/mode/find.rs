//! The modes of a standard, of a channel and of a rate.

use hopyard_engine::units::Rate;

use super::name::Name;
use super::row::{Carrier, Format, Mode, Preamble};
use super::table::MODES;
use crate::params::Fault;

impl Mode {
    /// The mode of DSSS with a rate, which the parameter of this name has, with a preamble; with the long one if none
    /// is given.
    ///
    /// # Errors
    /// If no row has the rate; the fault names the existing rates. Or if only the long preamble has the rate.
    pub fn of(parameter: &'static str, rate: Rate, preamble: Option<Preamble>) -> Result<&'static Self, Fault> {
        let mut rows = Self::dsss().filter(|mode| mode.rate() == rate);
        let Some(first) = rows.next() else {
            return Err(Fault::new(parameter, format!("expected {}, found {rate}", in_words(Self::dsss()))));
        };
        match preamble {
            Some(Preamble::Short) => {
                let short = rows.find(|mode| mode.has_short_preamble());
                short.ok_or_else(|| Fault::new(parameter, format!("a frame at {rate} has the long preamble")))
            }
            Some(Preamble::Long) | None => Ok(first),
        }
    }

    /// The modes of DSSS.
    pub fn dsss() -> impl Iterator<Item = &'static Self> {
        MODES.iter().filter(|mode| matches!(mode.format, Format::Dsss(_)))
    }

    /// The modes of OFDM, HT and VHT on a channel. They are in order of format, streams and rate.
    pub fn on(carrier: Carrier) -> impl Iterator<Item = &'static Self> {
        MODES.iter().filter(move |mode| {
            let Carrier { band, bandwidth, guard } = carrier;
            (mode.band(), mode.body.bandwidth, mode.guard) == (Some(band), bandwidth, guard)
        })
    }
}

impl Name {
    /// Whether a standard has a mode of this name.
    #[must_use]
    pub fn is_known(&self) -> bool {
        MODES.iter().any(|mode| mode.name() == *self)
    }
}

/// The names of modes in words, each once: "1, 2, 5.5 or 11 Mbps", "mcs0, mcs1 or mcs2".
#[must_use]
pub fn in_words<'a>(modes: impl Iterator<Item = &'a Mode>) -> String {
    let mut names: Vec<Name> = modes.map(Mode::name).collect();
    names.dedup();
    let unit = if names.iter().all(|name| matches!(name, Name::Rate(_))) { " Mbps" } else { "" };
    let words: Vec<String> = names.iter().map(|name| name.to_string().replace(unit, "")).collect();
    match words.split_last() {
        Some((last, [])) => format!("{last}{unit}"),
        Some((last, others)) => format!("{} or {last}{unit}", others.join(", ")),
        None => "nothing".to_owned(),
    }
}
