//! The amendments of 802.11: the modes that each one has, and its constants.

use std::fmt;

use hopyard_engine::Span;
use hopyard_engine::units::{Frequency, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::phy::mode::{Band, Carrier, DSSS_BANDWIDTH, Guard, Mode, Name, in_words};

/// An amendment of the standard, whose modes and constants the stations of a channel use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Amendment {
    /// 802.11b: DSSS and HR-DSSS.
    B,
    /// 802.11g: OFDM in the 2.4 GHz band, beside DSSS.
    G,
    /// 802.11a: OFDM in the 5 GHz band; with half of the bandwidth, 802.11p.
    A,
    /// 802.11n: HT, beside the modes of the older ones in its band.
    N,
    /// 802.11ac: VHT, beside HT and OFDM.
    Ac,
}

impl fmt::Display for Amendment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letters = match self {
            Self::B => "b",
            Self::G => "g",
            Self::A => "a",
            Self::N => "n",
            Self::Ac => "ac",
        };
        write!(f, "\"{letters}\"")
    }
}

/// The constants of the MAC that follow from amendment, band and bandwidth.
#[derive(Clone, Copy, Debug)]
pub(super) struct Constants {
    pub slot: Span,
    pub sifs: Span,
    pub cw_min: u32,
}

impl Amendment {
    /// Its bands; the usual one comes first.
    pub(super) const fn bands(self) -> &'static [Band] {
        match self {
            Self::B | Self::G => &[Band::Low],
            Self::A | Self::Ac => &[Band::High],
            Self::N => &[Band::High, Band::Low],
        }
    }

    /// Its bandwidths; the usual one comes first.
    pub(super) const fn bandwidths(self) -> &'static [Frequency] {
        const NARROW: &[Frequency] = &[Frequency::new(20e6), Frequency::new(10e6), Frequency::new(5e6)];
        const WIDE: &[Frequency] = &[Frequency::new(20e6), Frequency::new(40e6), Frequency::new(80e6)];
        match self {
            Self::B => &[DSSS_BANDWIDTH],
            Self::G => NARROW.split_at(1).0,
            Self::A => NARROW,
            Self::N => WIDE.split_at(2).0,
            Self::Ac => WIDE,
        }
    }

    /// Whether there are modes with a short guard interval.
    pub(super) const fn has_short_guard(self) -> bool {
        matches!(self, Self::N | Self::Ac)
    }

    /// The usual mode of data frames: the slowest of the newest format.
    pub(super) const fn first_mode(self) -> Name {
        match self {
            Self::B => Name::Rate(Rate::from_bps(2_000_000)),
            Self::A | Self::G => Name::Rate(Rate::from_bps(6_000_000)),
            Self::N => Name::Ht(0),
            Self::Ac => Name::Vht { mcs: 0, streams: 1 },
        }
    }

    /// See [`Constants`].
    ///
    /// IEEE Std 802.11-2016 Table 15-5 (DSSS), 17-21 (OFDM), 18-5 (ERP), 19-25 (HT), 21-29 (VHT). In an ad hoc network
    /// of the 2.4 GHz band the slot is the long one (§18.4.5).
    pub(super) fn constants(self, band: Band, bandwidth: Frequency) -> Constants {
        let us = Span::from_micros;
        let (slot, sifs) = match (self, band) {
            (_, Band::Low) => (20, 10),
            (_, Band::High) if bandwidth.hertz() < 8e6 => (21, 64),
            (_, Band::High) if bandwidth.hertz() < 16e6 => (13, 32),
            (_, Band::High) => (9, 16),
        };
        Constants { slot: us(slot), sifs: us(sifs), cw_min: if self == Self::B { 31 } else { 15 } }
    }

    /// The modes of OFDM that every station on a channel can decode. They have the bandwidth of the channel, or 20 MHz
    /// where the channel is wider.
    pub(super) fn legacy(self, carrier: Carrier) -> impl Iterator<Item = &'static Mode> {
        let bandwidth = Frequency::new(carrier.bandwidth.hertz().min(20e6));
        let has = self != Self::B;
        Mode::on(Carrier { bandwidth, guard: Guard::Long, ..carrier })
            .filter(move |mode| has && matches!(mode.name(), Name::Rate(_)))
    }

    /// The modes of HT and VHT on a channel.
    pub(super) fn newer(self, carrier: Carrier) -> impl Iterator<Item = &'static Mode> {
        Mode::on(carrier).filter(move |mode| match mode.name() {
            Name::Rate(_) | Name::Ofdm(_) => false,
            Name::Ht(_) => matches!(self, Self::N | Self::Ac),
            Name::Vht { .. } => self == Self::Ac,
        })
    }

    /// Whether there are modes of DSSS on a channel of a band.
    pub(super) fn has_dsss(self, band: Band) -> bool {
        self == Self::B || self != Self::A && band == Band::Low
    }

    /// The modes by which `rate` can be named, in words.
    pub(super) fn choices(self, carrier: Carrier) -> String {
        let dsss = Mode::dsss().filter(|_| self.has_dsss(carrier.band));
        let rates = in_words(dsss.chain(self.legacy(carrier)));
        let newer: Vec<Name> = self.newer(carrier).map(Mode::name).collect();
        let mut words = vec![rates];
        for is_ht in [true, false] {
            let mut names = newer.iter().filter(|name| matches!(name, Name::Ht(_)) == is_ht);
            if let (Some(first), Some(last)) = (names.next(), names.next_back()) {
                words.push(format!("{first} to {last}"));
            }
        }
        words.join(", or ")
    }
}
