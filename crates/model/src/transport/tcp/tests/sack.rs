//! RFC 6675: where a recovery begins, and when the last segment is sent again.

use super::*;
use crate::transport::recovery::Choice;

fn talk(recovery: Choice) -> Talk {
    let (talk, sent) = Talk::with(&Params { recovery, ..params(RFC) }, "sack", RFC);
    assert_eq!(sent, "0 1 2 3 4 5 6 7 8 9");
    talk
}

#[test]
fn the_first_segment_behind_a_recovery_is_repaired_without_a_timeout() {
    for recovery in [Choice::Sack, Choice::Rack] {
        let mut talk = talk(recovery);
        // Segment 1 is lost, and the recovery ends with all below 14 acknowledged.
        talk.after(100).ack(1);
        let sent: Vec<String> = (3..=11).map(|to| talk.sack(1, &[(2, to)])).collect();
        assert_eq!(sent.concat().matches('r').count(), 1, "{recovery:?}: {sent:?}");
        assert!(sent.concat().contains("14"), "new data follows: {sent:?}");
        // Segment 14, the first that went out in the recovery, is lost too.
        talk.after(100).ack(14);
        talk.after(100);
        let sent: Vec<String> = (16..=19).map(|to| talk.sack(14, &[(15, to)])).collect();
        assert!(sent.concat().contains("r14"), "{recovery:?}: {sent:?}");
        assert_eq!(talk.sender.counters().timeouts, 0, "{recovery:?}");
    }
}
