//! Fading: the factor on the median power of path loss that differs from signal to signal.
//!
//! A channel has any number of these beside its path loss, and their factors are multiplied. A model draws its factor
//! from keys of the signal ([`Signal`]) and not from a random stream. Therefore a pair of radios that the search leaves
//! out, or that does not send, changes the draws of no other pair.

pub use scatter::Coherence;
pub use signal::{Fading, Signal};

use crate::registry;

pub mod log_normal;
pub mod nakagami;
pub mod none;
pub mod rayleigh;
pub mod rician;
mod scatter;
mod signal;

/// Makes the registry, and the enum that forwards to one of the models.
///
/// A model's module holds `Params`, and a type of the variant's name, which implements [`Fading`] and has
/// `new(&Params)`.
macro_rules! models {
    ($($name:literal => $module:ident :: $variant:ident, $summary:literal;)+) => {
        registry! { "fading": $($name => $module::$variant, $summary;)+ }

        /// Any model of fading, ready for use.
        #[derive(Clone, Debug)]
        pub enum Fader {
            $(#[doc = $summary] $variant($module::$variant),)+
        }

        impl Config {
            /// Compiles the parameters.
            #[must_use]
            pub fn fader(&self) -> Fader {
                match self { $(Self::$variant(params) => Fader::$variant($module::$variant::new(params)),)+ }
            }
        }

        impl Fading for Fader {
            fn factor(&mut self, signal: &Signal) -> f64 {
                match self { $(Self::$variant(model) => model.factor(signal),)+ }
            }

            fn limit(&self) -> f64 {
                match self { $(Self::$variant(model) => model.limit(),)+ }
            }

            fn is_none(&self) -> bool {
                match self { $(Self::$variant(model) => model.is_none(),)+ }
            }
        }
    };
}

models! {
    "none" => none::NoFading, "No fading: path loss alone decides.";
    "log_normal" => log_normal::LogNormal,
        "Log-normal shadowing, drawn for each reception of each transmission (Rappaport 2002 §4.9).";
    "nakagami" => nakagami::Nakagami, "Nakagami fading, whose severity depends on the distance (Nakagami 1960).";
    "rayleigh" => rayleigh::Rayleigh, "Scattered paths alone, with memory by movement or by time (Xiao et al. 2006).";
    "rician" => rician::Rician, "A direct path and scattered ones, with memory by movement or by time (Rice 1948).";
}

/// The largest factor of several models together.
#[must_use]
pub fn limit<'a>(faders: impl IntoIterator<Item = &'a Fader>) -> f64 {
    faders.into_iter().map(Fading::limit).product()
}

#[cfg(test)]
mod tests {
    use hopyard_engine::{Span, Time};

    use super::*;
    use crate::params::{NS2, RFC};

    #[test]
    fn no_draw_passes_the_limit_and_equal_keys_give_equal_draws() {
        for model in MODELS {
            for profile in [RFC, NS2] {
                assert_eq!((model.check)(&(model.defaults)(profile)), Ok(()), "{model:?}");
                let mut fader = Config::of_profile(model.name, profile).expect("a model of this room").fader();
                // Some models draw for each transmission, others for a time.
                let at = |key| Time::ZERO + Span::from_millis(key);
                let (limit, is_none) = (fader.limit(), fader.is_none());
                let mut draw =
                    |key, metres, least| fader.factor(&Signal { at: at(key), least, ..Signal::keyed(key, metres) });
                for metres in [1.0, 150.0, 500.0] {
                    let draws: Vec<_> = (0..100_000).map(|key| draw(key, metres, 0.0)).collect();
                    let strongest = draws.iter().copied().fold(0.0, f64::max);
                    assert!(strongest <= limit, "{model:?}: {strongest}");
                    assert_eq!(draw(5, metres, 0.0).to_bits(), draws[5].to_bits(), "{model:?}");
                    assert_eq!(draws.iter().all(|factor| *factor == 1.0), is_none, "{model:?}");
                    for (key, &factor) in draws.iter().enumerate().take(10_000) {
                        for least in [0.5 * factor, factor, 2.0 * factor, 3.0] {
                            let found = draw(key as u64, metres, least);
                            let right = if factor < least { found < least } else { found == factor };
                            assert!(right, "{model:?}, {key}: {found} for {factor}, least {least}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn limits_are_multiplied() {
        let of = |name| Config::of_profile(name, RFC).expect("a model").fader();
        assert_eq!(limit(&[of("none")]), 1.0);
        assert_eq!(limit(&[of("nakagami"), of("log_normal")]), of("nakagami").limit() * of("log_normal").limit());
    }
}
