//! The border between TCP and a congestion control: the trait, its events and answers, and parts of congestion controls
//! that are not variants.

mod answer;
mod arithmetic;
mod congestion_control;
mod event;
pub mod hystart;
pub mod offload;
mod round;
mod view;
mod whole;

pub use self::answer::{Answer, Cause, Decision, Pace, Restore, Sign, Wants};
pub use self::arithmetic::Arithmetic;
pub(super) use self::arithmetic::two_computations;
pub use self::congestion_control::{CongestionControl, ExternalControl};
pub use self::event::{
    Ack, Arrived, Before, Condition, Duplicate, Loss, LostSegment, Phase, RateSample, Sent, Timeout,
};
pub use self::round::{Round, RoundTrips};
pub use self::view::View;
pub use self::whole::{Whole, delivered, micros, slow_start};
