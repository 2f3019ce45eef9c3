//! Which computation of a variant is used.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The computation of a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Arithmetic {
    /// As published, with real numbers.
    Published,
    /// As in Linux: the window grows in whole segments, for the segments that were delivered.
    Linux,
}

/// Makes the enum of a variant with two computations: the published one, and Linux's where this parameter says so.
macro_rules! two_computations {
    ($variant:ident, $about:literal, $parameter:ident == $linux:path) => {
        #[doc = $about]
        #[::enum_dispatch::enum_dispatch(CongestionControl)]
        #[derive(Clone, Debug)]
        pub enum $variant {
            /// As published.
            Published,
            /// As in Linux.
            Linux,
        }

        impl $variant {
            /// The congestion control with these parameters.
            #[must_use]
            pub fn new(params: &Params) -> Self {
                if params.$parameter == $linux {
                    Linux::new(params.linux()).into()
                } else {
                    Published::new(params).into()
                }
            }
        }
    };
}

pub(in crate::transport::congestion) use two_computations;
