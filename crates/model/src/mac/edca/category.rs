//! Access categories, and which packets go in which.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An access category. A later one has precedence within a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Category {
    /// AC_BK.
    Background,
    /// AC_BE.
    BestEffort,
    /// AC_VI.
    Video,
    /// AC_VO.
    Voice,
}

impl Category {
    /// Every category, the lowest first.
    pub const ALL: [Self; 4] = [Self::Background, Self::BestEffort, Self::Video, Self::Voice];

    /// The category of a user priority (IEEE Std 802.11-2016 Table 10-1).
    #[must_use]
    pub const fn of_priority(priority: u8) -> Self {
        match priority {
            1 | 2 => Self::Background,
            0 | 3 => Self::BestEffort,
            4 | 5 => Self::Video,
            _ => Self::Voice,
        }
    }

    /// The traffic identifier of its frames: the user priority that most packets of the category have.
    #[must_use]
    pub const fn tid(self) -> u8 {
        match self {
            Self::Background => 1,
            Self::BestEffort => 0,
            Self::Video => 5,
            Self::Voice => 6,
        }
    }
}

/// The user priority of a packet with a differentiated services code point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Priorities {
    /// The upper three bits of the code point, as Linux 6.1 does it.
    #[serde(rename = "precedence")]
    Precedence,
    /// The recommendations of RFC 8325, as Linux 6.12 follows them; otherwise the upper three bits.
    #[serde(rename = "rfc8325")]
    Rfc8325,
}

impl Priorities {
    /// The category of a code point: by its user priority.
    #[must_use]
    pub const fn category(self, dscp: u8) -> Category {
        Category::of_priority(self.priority(dscp))
    }

    const fn priority(self, dscp: u8) -> u8 {
        match (self, dscp) {
            // AF1x and CS2; AF2x; CS3 and AF3x; VOICE-ADMIT and EF; CS6.
            (Self::Rfc8325, 10 | 12 | 14 | 16) => 0,
            (Self::Rfc8325, 18 | 20 | 22) => 3,
            (Self::Rfc8325, 24 | 26 | 28 | 30) => 4,
            (Self::Rfc8325, 44 | 46) => 6,
            (Self::Rfc8325, 48) => 7,
            _ => dscp >> 3,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Dscp;

    #[test]
    fn categories_are_those_of_linux() {
        use Category::{Background as BK, BestEffort as BE, Video as VI, Voice as VO};
        for (name, old, new) in [
            ("cs0", BE, BE),
            ("cs1", BK, BK),
            ("af11", BK, BE),
            ("cs2", BK, BE),
            ("af21", BK, BE),
            ("cs3", BE, VI),
            ("af33", BE, VI),
            ("cs4", VI, VI),
            ("af41", VI, VI),
            ("cs5", VI, VI),
            ("va", VI, VO),
            ("ef", VI, VO),
            ("cs6", VO, VO),
            ("cs7", VO, VO),
        ] {
            let dscp = name.parse::<Dscp>().expect("a class").bits();
            let found = (Priorities::Precedence.category(dscp), Priorities::Rfc8325.category(dscp));
            assert_eq!(found, (old, new), "{name}");
        }
    }
}
