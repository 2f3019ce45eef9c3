//! The names of modes in scenarios and results.

use std::fmt;
use std::str::FromStr;

use hopyard_engine::as_text;
use hopyard_engine::units::Rate;

/// The name of a mode. Bandwidth, guard interval and band are those of its channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Name {
    /// A mode of DSSS or OFDM, by its rate.
    Rate(Rate),
    /// A mode of OFDM by its rate, where modes of HT or VHT have that rate too. Only scenarios have this form.
    Ofdm(Rate),
    /// A mode of HT, by its index, which includes the number of streams.
    Ht(u8),
    /// A mode of VHT.
    Vht {
        /// Its index.
        mcs: u8,
        /// The number of spatial streams.
        streams: u8,
    },
}

const NAME: &str = "a rate above zero such as \"2 Mbps\", up to 1e15 bps, or the name of a mode of HT or VHT such as \"mcs7\" or \"vht-mcs9-2ss\"";
const OFDM: &str = "ofdm ";
as_text!(Name, "ModeName", NAME, ["2 Mbps", "mcs7", "vht-mcs9-2ss"]);

impl From<Rate> for Name {
    fn from(rate: Rate) -> Self {
        Self::Rate(rate)
    }
}

impl FromStr for Name {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let name = text.trim();
        let vht = || {
            let rest = name.strip_prefix("vht-mcs")?;
            let (mcs, streams) = match rest.split_once('-') {
                Some((mcs, streams)) => (mcs, streams.strip_suffix("ss")?),
                None => (rest, "1"),
            };
            Some(Self::Vht { mcs: mcs.parse().ok()?, streams: streams.parse().ok()? })
        };
        let ht = || Some(Self::Ht(name.strip_prefix("mcs")?.parse().ok()?));
        let ofdm = || Some(Self::Ofdm(name.strip_prefix(OFDM)?.parse().ok()?));
        let named = vht().or_else(ht).or_else(ofdm).or_else(|| text.parse().map(Self::Rate).ok());
        named.ok_or_else(|| format!("expected {NAME}, found \"{text}\""))
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate(rate) => rate.fmt(f),
            Self::Ofdm(rate) => write!(f, "{OFDM}{rate}"),
            Self::Ht(mcs) => write!(f, "mcs{mcs}"),
            Self::Vht { mcs, streams } => write!(f, "vht-mcs{mcs}-{streams}ss"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_as_it_is_written() {
        for text in ["1 Mbps", "5.5 Mbps", "ofdm 54 Mbps", "mcs0", "mcs31", "vht-mcs9-2ss"] {
            assert_eq!(text.parse::<Name>().map(|name| name.to_string()), Ok(text.to_owned()));
        }
        assert_eq!("vht-mcs9".parse(), Ok(Name::Vht { mcs: 9, streams: 1 }));
    }

    #[test]
    fn other_words_are_no_names() {
        for text in [
            "",
            "mcs",
            "mcs-1",
            "mcs7.5",
            "vht-mcs",
            "vht-mcs9-2",
            "vht-mcs9-ss",
            "vht-9",
            "54",
            "fast",
            "ofdm",
            "ofdm 54",
            "ofdm mcs7",
        ] {
            let error = text.parse::<Name>().expect_err(text);
            assert!(error.starts_with("expected a rate above zero such as"), "{error}");
        }
    }
}
