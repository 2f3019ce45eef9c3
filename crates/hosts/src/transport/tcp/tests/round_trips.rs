//! The round trips that a congestion control receives.

use super::*;

/// The round trips that the congestion control receives. They are kept outside the sender, which owns the congestion
/// control.
struct Listens {
    heard: std::sync::Arc<std::sync::Mutex<Vec<Option<Span>>>>,
    recovery: RecoveryChoice,
}

impl CongestionControl for Listens {
    fn on_ack(&mut self, ack: &Ack, _view: &View) -> Answer {
        self.heard.lock().expect("one thread").push(ack.round_trip);
        Answer::Keep
    }
    fn on_loss(&mut self, _loss: &Loss, _view: &View) -> Answer {
        Answer::Keep
    }
    fn on_timeout(&mut self, _timeout: &Timeout, _view: &View) -> Answer {
        Answer::Set { cwnd: 1.0, ssthresh: 5.0 }
    }
    fn recovery(&self) -> RecoveryChoice {
        self.recovery
    }
}

impl ExternalControl for Listens {}

#[test]
fn the_window_rule_is_not_given_the_time_that_a_hole_stood_open() {
    for choice in [RecoveryChoice::Reno, RecoveryChoice::NewReno, RecoveryChoice::Sack, RecoveryChoice::Rack] {
        for timeout in [false, true] {
            let heard = std::sync::Arc::default();
            let control = Listens { heard: std::sync::Arc::clone(&heard), recovery: choice };
            let (mut talk, _) = Talk::begin(&params(RFC), Controller::External(Box::new(control)));
            // Segment 1 is lost; its retransmission and all that waited for it are acknowledged together.
            talk.after(100).ack(1);
            for to in 3..=10 {
                if !timeout {
                    talk.sack(1, &[(2, to)]);
                }
            }
            if timeout {
                while talk.sender.counters().timeouts == 0 {
                    talk.timer();
                }
            }
            talk.after(100).ack(10);
            let longest = heard.lock().expect("one thread").iter().flatten().max().copied();
            assert_eq!(longest, Some(Span::from_millis(100)), "{choice:?}, timeout: {timeout}");
        }
    }
}
