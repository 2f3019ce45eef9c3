//! A sender's configuration.

use crate::transport::congestion;
use crate::transport::connection::Params;

/// A sender's configuration: TCP's own parameters, and which congestion control with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// TCP's own parameters.
    pub tcp: Params,
    /// The congestion control.
    pub congestion: congestion::Config,
}
