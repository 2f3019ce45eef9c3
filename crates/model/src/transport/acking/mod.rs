//! When a receiver acknowledges: one file for each policy.
//!
//! A policy only decides whether a segment is acknowledged now or later. The receiver decides the content of the
//! acknowledgement. A new policy is one file here and one line in the list below.

pub mod adaptive;
pub mod delayed;
pub mod every;

use hopyard_engine::Time;

/// A segment, as seen by the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The time.
    pub now: Time,
    /// It is the next segment in order, and the receiver has no segments beyond it.
    pub in_order: bool,
    /// It opens or closes the connection.
    pub control: bool,
    /// It is the first segment of a connection that opens without a SYN, or a duplicate of it.
    pub first: bool,
    /// It is a duplicate of the last segment in order, and the receiver has no segments beyond it.
    pub copy_of_last: bool,
}

/// The answer to an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Acknowledge at once.
    Now,
    /// Wait for another segment or for the deadline.
    Later,
}

/// Decides when a receiver acknowledges.
pub trait AckPolicy {
    /// A segment arrived.
    fn on_arrival(&mut self, arrival: &Arrival) -> Verdict;

    /// The time at which a delayed acknowledgement must be sent; [`Time::NEVER`] if there is none.
    fn deadline(&self) -> Time {
        Time::NEVER
    }

    /// The deadline has passed, and an acknowledgement is sent because of it.
    fn on_expired(&mut self) {}

    /// An acknowledgement is sent.
    fn on_acknowledged(&mut self) {}
}

/// Makes the registry, and the enum that forwards to the policy in use.
macro_rules! policies {
    ($($name:literal => $module:ident :: $variant:ident, $summary:literal;)+) => {
        crate::registry! {
            "acking": $($name => $module::$variant, $summary;)+
        }

        /// The policy of one receiver.
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

        impl AckPolicy for Policy {
            #[inline]
            fn on_arrival(&mut self, arrival: &Arrival) -> Verdict {
                match self { $(Self::$variant(policy) => policy.on_arrival(arrival),)+ }
            }

            #[inline]
            fn deadline(&self) -> Time {
                match self { $(Self::$variant(policy) => policy.deadline(),)+ }
            }

            fn on_expired(&mut self) {
                match self { $(Self::$variant(policy) => policy.on_expired(),)+ }
            }

            #[inline]
            fn on_acknowledged(&mut self) {
                match self { $(Self::$variant(policy) => policy.on_acknowledged(),)+ }
            }
        }
    };
}

policies! {
    "every" => every::Every, "Acknowledges every segment at once (ns-2's TCPSink).";
    "delayed" => delayed::Delayed, "Acknowledges every second segment, or after a delay (RFC 5681 §4.2).";
    "adaptive" => adaptive::Adaptive,
        "One acknowledgement for up to four segments while the channel is good (TCP-DAA, 2005).";
}
