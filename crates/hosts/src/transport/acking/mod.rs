//! When a receiver acknowledges: one file for each policy.
//!
//! A policy only decides whether a segment is acknowledged now or later. The receiver decides the content of the
//! acknowledgement. A new policy is one file here and one line in the list below.

pub mod adaptive;
pub mod delayed;
pub mod every;
mod policy;
pub mod quick;

use enum_dispatch::enum_dispatch;
use hopyard_engine::Time;

pub use self::policy::{AckPolicy, Arrival, Order, Reading, Verdict};

/// Makes the registry, and the enum that forwards to the policy in use.
macro_rules! policies {
    ($($name:literal => $module:ident :: $variant:ident, $summary:literal;)+) => {
        crate::registry! {
            "acking": $($name => $module::$variant, $summary;)+
        }

        /// The policy of one receiver.
        #[enum_dispatch(AckPolicy)]
        #[derive(Clone, Debug)]
        pub enum Policy {
            $(#[doc = $summary] $variant($module::$variant),)+
        }

        impl Policy {
            /// The policy that a configuration names.
            #[must_use]
            pub fn new(config: &Config) -> Self {
                match config { $(Config::$variant(params) => Self::$variant($module::$variant::new(params)),)+ }
            }
        }
    };
}

policies! {
    "every" => every::Every, "Acknowledges every segment at once (ns-2's TCPSink).";
    "delayed" => delayed::Delayed, "Acknowledges every second segment, or after a delay (RFC 5681 §4.2).";
    "adaptive" => adaptive::Adaptive,
        "One acknowledgement for up to four segments while the channel is good (TCP-DAA, 2005).";
    "quick" => quick::Quick,
        "As a Linux receiver: quick, then delayed acknowledgements, and compressed ones while disorder lasts.";
}
