//! Data that an application writes as a whole, and whose delivery is measured as a whole.

use hopyard_engine::Span;
use strum::IntoStaticStr;

/// The purpose of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Kind {
    /// A message to the destination, which does not answer it.
    Message,
    /// A request for an answer.
    Request,
    /// The answer to a request.
    Answer,
}

/// Data that an application writes as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its purpose.
    pub kind: Kind,
    /// Its size.
    pub bytes: u64,
    /// The number of the page that it belongs to, if it is a request or an answer.
    pub page: u64,
    /// Whether it is the last answer of its page.
    pub is_last: bool,
    /// The time within which it should be delivered, or its page if it is a request; zero if there is no such time.
    pub within: Span,
}
