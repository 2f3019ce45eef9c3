//! Applications: when data is written, and how much.
//!
//! An application has one end of a flow. The model that a scenario names for a flow is at the flow's source. At the
//! destination is a [`Sink`], or the application that answers. An application has its own random stream, so that its
//! data does not depend on the transport protocol.

mod application;
pub mod cbr;
pub mod echo;
pub mod ftp;
mod input;
mod law;
pub mod messages;
mod object;
pub mod on_off;
mod pcap;
pub mod request_response;
mod sink;
pub mod trace;
pub mod transfer;

#[cfg(test)]
mod testing;

use enum_dispatch::enum_dispatch;
use hopyard_engine::units::Bytes;
use hopyard_engine::{Rng, Time};

pub use self::application::{Application, ApplicationFacts, Change, Offer, Period};
pub use self::input::{Entry, Format, Input};
pub use self::law::Law;
pub use self::object::{Kind, Object};
pub use self::sink::Sink;
use crate::registry;

/// Defines the registry, and the enum that forwards to one of the applications.
///
/// A model's module holds `Params`, which implements [`ApplicationFacts`], and a type of the variant's name, which
/// implements [`Application`] and has `new(&Params, Period, Rng)`. A model whose destination answers names the type of
/// the application there, which has `new(&Params, Rng)`.
macro_rules! models {
    ($($name:literal => $module:ident :: $variant:ident $(, answered by $answers:ident)?, $summary:literal;)+) => {
        registry! { "traffic": $($name => $module::$variant, $summary;)+ }

        /// An application of any kind.
        #[enum_dispatch(Application)]
        #[derive(Clone, Debug)]
        pub enum App {
            /// The destination of a flow without answers.
            Sink(Sink),
            $(#[doc = $summary] $variant($module::$variant),
              $(#[doc = concat!("The destination of `", $name, "`.")] $answers($module::$answers),)?)+
        }

        impl Config {
            /// Whether the model cannot use UDP ([`ApplicationFacts::NEEDS_TCP`]).
            #[must_use]
            pub const fn needs_tcp(&self) -> bool {
                match self { $(Self::$variant(_) => <$module::Params as ApplicationFacts>::NEEDS_TCP,)+ }
            }

            /// Whether the model writes objects ([`ApplicationFacts::HAS_OBJECTS`]).
            #[must_use]
            pub const fn has_objects(&self) -> bool {
                match self { $(Self::$variant(_) => <$module::Params as ApplicationFacts>::HAS_OBJECTS,)+ }
            }

            /// The payload of each packet over UDP, in bytes ([`ApplicationFacts::packet_size`]).
            #[must_use]
            pub fn packet_size(&self) -> Option<u64> {
                match self { $(Self::$variant(params) => params.packet_size(),)+ }
            }

            /// The parameter and the size of the largest object ([`ApplicationFacts::largest`]).
            #[must_use]
            pub fn largest(&self) -> Option<(&'static str, Bytes)> {
                match self { $(Self::$variant(params) => params.largest(),)+ }
            }

            /// The application at the source; a model that draws takes `rng`, the flow's own stream for traffic.
            #[must_use]
            pub fn source(&self, period: Period, rng: Rng) -> App {
                match self {
                    $(Self::$variant(params) => App::$variant($module::$variant::new(params, period, rng)),)+
                }
            }

            /// The files that the parameters name ([`ApplicationFacts::inputs`]).
            pub fn inputs(&mut self) -> Vec<Input<'_>> {
                match self { $(Self::$variant(params) => params.inputs(),)+ }
            }

            /// The application at the destination. It takes the same stream as the source, from its beginning: so each
            /// end knows the sizes that the other one draws, as if a message told its length.
            #[must_use]
            pub fn destination(&self, rng: Rng) -> App {
                match self {
                    $(Self::$variant(_params) => {
                        let answering: Option<App> = None;
                        $(let answering = answering.or(Some(App::$answers($module::$answers::new(_params, rng))));)?
                        answering.unwrap_or(App::Sink(Sink))
                    })+
                }
            }

            /// Whether the application at the destination sends data too.
            #[must_use]
            pub const fn is_answered(&self) -> bool {
                match self {
                    $(Self::$variant(_) => {
                        let answering: &[&str] = &[$(stringify!($answers))?];
                        !answering.is_empty()
                    })+
                }
            }
        }
    };
}

models! {
    "ftp" => ftp::Ftp, "An endless file: as much data as transport accepts, from start to stop.";
    "transfer" => transfer::Transfer, "A file of a given size, offered at the start.";
    "cbr" => cbr::Cbr, "Packets of one size at a constant rate, with or without jitter.";
    "on_off" => on_off::OnOff, "Bursts at a constant rate, with pauses between them.";
    "echo" => echo::Echo, answered by Answers, "Messages at an interval, each of which the destination sends back.";
    "request_response" => request_response::RequestResponse, answered by Server, "Requests and answers: pages with their parts.";
    "messages" => messages::Messages, "Messages with sizes and intervals that are drawn, each with a deadline.";
    "trace" => trace::Trace, "Packets with the sizes and times of a file, such as recorded voice or video.";
}

#[cfg(test)]
mod tests {
    use super::testing::{offers, rng, seconds};
    use super::*;
    use crate::params::{NS2, Params, RFC};

    #[test]
    fn every_source_keeps_to_its_period() {
        let period = Period { start: seconds(10.0), stop: seconds(20.0) };
        for model in MODELS {
            for profile in [RFC, NS2] {
                let config = Config::of_profile(model.name, profile).expect("a model of this room");
                let offers = offers(&mut config.source(period, rng()), seconds(1000.0));
                let ((first, _), (last, end)) = (offers[0], offers[offers.len() - 1]);
                assert!(first >= 10.0 && last <= 20.0, "{model:?}: from {first} s to {last} s");
                assert!(matches!(end, Offer::Last(_) | Offer::Close), "{model:?} ends");
                let ends = offers.iter().filter(|(_, offer)| matches!(offer, Offer::Last(_) | Offer::Close)).count();
                assert_eq!(ends, 1, "{model:?} ends once");
            }
        }
    }

    #[test]
    fn a_source_that_never_starts_offers_nothing() {
        let period = Period { start: seconds(10.0), stop: seconds(10.0) };
        for model in MODELS {
            let config = Config::of_profile(model.name, RFC).expect("a model of this room");
            let offers = offers(&mut config.source(period, rng()), seconds(1000.0));
            assert!(matches!(offers[..], [(10.0, Offer::Last(0) | Offer::Close)]), "{model:?}: {offers:?}");
        }
    }

    #[test]
    fn every_default_is_possible() {
        for model in MODELS {
            for profile in [RFC, NS2] {
                assert_eq!((model.check)(&(model.defaults)(profile)), Ok(()), "{model:?}");
            }
        }
        let params = cbr::Params { packet_size: Bytes::new(0), ..cbr::Params::of_profile(RFC) };
        assert_eq!(params.check().map_err(|fault| fault.parameter), Err("packet_size"));
    }
}
