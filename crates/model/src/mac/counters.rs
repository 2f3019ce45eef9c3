//! The counts of a MAC: data frames, as for every MAC, and its own counters. Its own counters are columns of the table
//! of nodes.

use std::fmt::Debug;

use crate::params::Metric;

/// The counts of every MAC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Data frames sent to one receiver, retries included.
    pub data: u64,
    /// Data frames broadcast.
    pub broadcasts: u64,
}

/// The counters of a MAC.
pub trait Counters: Copy + Debug {
    /// The MAC's own counters.
    const METRICS: &'static [Metric];

    /// The counts of every MAC.
    fn common(&self) -> Counted;

    /// The values of [`Self::METRICS`], in their order.
    fn own(&self) -> Vec<u64>;
}

/// Makes the type of a MAC's counters: the common ones, and its own, each with its documentation and its unit.
macro_rules! counters {
    ($(#[$about:meta])* pub struct $type:ident { $($(#[doc = $meaning:literal])+ $name:ident: $unit:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $type {
            /// Data frames sent to one receiver, retries included.
            pub data: u64,
            /// Data frames broadcast.
            pub broadcasts: u64,
            $($(#[doc = $meaning])+ pub $name: u64,)+
        }

        impl $crate::mac::Counters for $type {
            const METRICS: &'static [$crate::params::Metric] = &[$($crate::params::Metric {
                name: stringify!($name),
                unit: $unit,
                meaning: concat!($($meaning),+),
            },)+];

            fn common(&self) -> $crate::mac::Counted {
                $crate::mac::Counted { data: self.data, broadcasts: self.broadcasts }
            }

            fn own(&self) -> Vec<u64> {
                vec![$(self.$name),+]
            }
        }
    };
}
pub(super) use counters;
