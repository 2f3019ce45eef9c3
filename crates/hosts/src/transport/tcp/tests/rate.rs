//! The information about deliveries, losses and the pipe that a congestion control receives.

use std::sync::{Arc, Mutex};

use super::*;
use crate::transport::congestion::{Duplicate, RateSample};

/// The information for a congestion control on an event: the sample, and from the view the pipe, the losses and whether
/// there is a recovery.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Told {
    rate: Option<RateSample>,
    pipe: f64,
    lost: f64,
    recovering: bool,
    app_limited: bool,
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<Told>>>);

impl Log {
    fn push(&self, rate: Option<RateSample>, view: &View) {
        let &View { pipe, lost, recovering, app_limited, .. } = view;
        self.0.lock().expect("one thread").push(Told { rate, pipe, lost, recovering, app_limited });
    }

    fn last(&self) -> Told {
        *self.0.lock().expect("one thread").last().expect("an event")
    }
}

/// A window of 10 segments, halved at a loss, that records the information it receives.
struct Curious {
    log: Log,
    asks: bool,
    recovery: RecoveryChoice,
}

impl CongestionControl for Curious {
    fn on_ack(&mut self, ack: &Ack, view: &View) -> Answer {
        self.log.push(ack.rate, view);
        Answer::Keep
    }
    fn on_duplicate(&mut self, duplicate: &Duplicate, view: &View) -> Answer {
        self.log.push(duplicate.rate, view);
        Answer::Keep
    }
    fn on_loss(&mut self, _loss: &Loss, _view: &View) -> Answer {
        Answer::Set { cwnd: 5.0, ssthresh: 5.0 }
    }
    fn on_timeout(&mut self, _timeout: &Timeout, view: &View) -> Answer {
        self.log.push(None, view);
        Answer::Set { cwnd: 1.0, ssthresh: 5.0 }
    }
    fn wants(&self) -> Wants {
        Wants { rate: self.asks, ..Wants::default() }
    }
    fn recovery(&self) -> RecoveryChoice {
        self.recovery
    }
}

impl ExternalControl for Curious {}

fn curious(asks: bool, recovery: RecoveryChoice) -> (Talk, Log) {
    let log = Log::default();
    let control = Controller::External(Box::new(Curious { log: log.clone(), asks, recovery }));
    let (talk, sent) = Talk::begin(&params(RFC), control);
    assert_eq!(sent, "0 1 2 3 4 5 6 7 8 9");
    (talk, log)
}

#[test]
fn a_rule_that_does_not_ask_gets_no_samples() {
    let (mut talk, log) = curious(false, RecoveryChoice::Sack);
    talk.after(100).ack(1);
    assert_eq!(log.last().rate, None);
    talk.sack(1, &[(2, 3)]);
    assert_eq!(log.last().rate, None);
}

#[test]
fn every_acknowledgement_with_news_carries_a_sample() {
    let (mut talk, log) = curious(true, RecoveryChoice::Sack);
    assert_eq!(talk.after(100).ack(1), "10");
    let told = log.last();
    let sample = told.rate.expect("asked for");
    assert_eq!(sample.rate(), Some(10_000.0));
    assert_eq!((sample.newly_delivered, sample.prior_pipe, sample.newly_lost), (1000, 10.0, 0));
    assert_eq!((told.pipe, told.lost, told.recovering), (9.0, 0.0, false));

    // Segment 1 is lost. Segments that SACK reports are delivered and have left the network.
    talk.after(10).sack(1, &[(2, 3)]);
    let told = log.last();
    let sample = told.rate.expect("asked for");
    assert_eq!((sample.newly_delivered, sample.total_delivered, told.pipe), (1000, 2000, 9.0));
    assert_eq!(sample.round_trip, Some(Span::from_millis(110)));
    talk.after(10).sack(1, &[(2, 4)]);
    assert_eq!(talk.after(10).sack(1, &[(2, 5)]), "r1");
    // 11 were sent last by limited transmit: 1 is lost, 2 to 4 are reported, 5 to 12 are in the network.
    let told = log.last();
    assert_eq!((told.rate.map(|sample| sample.newly_lost), told.lost, told.pipe), (Some(1000), 1.0, 8.0));
    talk.after(10).sack(1, &[(2, 6)]);
    let told = log.last();
    assert_eq!((told.pipe, told.recovering), (8.0, true), "1 again and 6 to 12");
    assert_eq!(told.rate.map(|sample| sample.newly_lost), Some(0), "told once");
    talk.after(70).ack(13);
    let told = log.last();
    assert!(!told.recovering);
    assert_eq!(told.rate.map(|sample| sample.total_delivered), Some(13_000));
}

#[test]
fn without_a_scoreboard_the_pipe_is_what_is_outstanding() {
    let (mut talk, log) = curious(true, RecoveryChoice::NewReno);
    talk.after(100).ack(1);
    (0..3).for_each(|_| drop(talk.ack(1)));
    let told = log.last();
    assert_eq!((told.pipe, told.lost), (10.0, 0.0), "limited transmit does not count");
    talk.after(100).ack(4);
    let told = log.last();
    assert_eq!((told.recovering, told.lost), (true, 1.0), "what is sent again is deemed lost");
}

#[test]
fn a_timeout_gives_up_what_is_outstanding() {
    let (mut talk, log) = curious(true, RecoveryChoice::Sack);
    talk.sack(0, &[(3, 5)]);
    assert_eq!(talk.timer(), "r0");
    assert_eq!((log.last().pipe, log.last().lost), (0.0, 8.0 + 1.0), "10 was let out by limited transmit");
    talk.after(100).ack(1);
    assert_eq!(log.last().rate.map(|sample| sample.newly_lost), Some(9000));
}

#[test]
fn a_pause_of_the_application_marks_samples() {
    let (mut talk, log) = curious(true, RecoveryChoice::Sack);
    talk.sender.stop(talk.now);
    for segment in 1..=10 {
        talk.after(10).ack(segment);
        let told = log.last();
        assert!(told.app_limited);
        assert_eq!(told.rate.map(|sample| sample.app_limited), Some(false), "sent before the pause");
    }
    talk.sender.write(5 * SEGMENT, talk.now);
    talk.drain();
    talk.after(100).ack(11);
    assert_eq!(log.last().rate.map(|sample| sample.app_limited), Some(true));
}
