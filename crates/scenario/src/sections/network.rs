//! The key that gives the prefix of a network.

use std::fmt;
use std::str::FromStr;

use hopyard_engine::as_text;
use hopyard_model::address::Prefix;

/// The prefix of a channel or a wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Network {
    /// The next free one.
    #[default]
    Auto,
    /// This one.
    Prefix(Prefix),
}

impl Network {
    /// The prefix, if it is given.
    #[must_use]
    pub const fn prefix(self) -> Option<Prefix> {
        match self {
            Self::Auto => None,
            Self::Prefix(prefix) => Some(prefix),
        }
    }
}

const NETWORK: &str = "a prefix such as \"172.29.0.0/16\", or \"auto\"";

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Prefix(prefix) => prefix.fmt(f),
        }
    }
}

impl FromStr for Network {
    type Err = <Prefix as FromStr>::Err;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "auto" { Ok(Self::Auto) } else { text.parse().map(Self::Prefix) }
    }
}

as_text!(Network, "Network", NETWORK, ["172.29.0.0/16", "auto"]);
