//! A path that is known in advance: positions at given times, with straight lines between them.
//!
//! Scripted waypoints and movement files of every format become tracks. A node stores only a pointer to its track and
//! an index. A track needs 32 bytes for each waypoint.

use std::sync::Arc;

use hopyard_engine::{Span, Time};

use crate::mobility::leg::{Leg, Mobility, Position};

/// The highest speed of a recorded track, in metres per second. A satellite in the lowest orbit has 8 km/s, so that a
/// higher speed is a mistake in times or places.
pub(super) const FASTEST_RECORDED: f64 = 10_000.0;

/// The highest speed of a script, in metres per second: that of light. A script may take a node out of range in no time
/// worth mention.
pub(in crate::mobility) const FASTEST: f64 = 3e8;

/// The fault of a move between two places that is faster than `most`: the text found, and the text expected.
pub(in crate::mobility) fn too_fast(from: Position, to: Position, seconds: f64, most: f64) -> Option<(String, String)> {
    let distance = from.distance(to);
    let nanoseconds = (seconds * 1e9).round() / 1e9;
    let found = || format!("{distance:.0} m in {nanoseconds} s, {:.3e} m/s", distance / seconds);
    (distance > most * seconds).then(|| (found(), format!("a speed of at most {most} m/s")))
}

/// A position at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fix {
    /// When.
    pub at: Time,
    /// Where.
    pub position: Position,
}

/// A command to move to a destination, like ns-2's `setdest`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Command {
    /// When the node sets out.
    pub at: Time,
    /// How far to the east and to the north the destination is, in metres.
    pub to: (f64, f64),
    /// The height of the destination in metres; nothing for the height that the node has when it sets out.
    pub height: Option<f64>,
    /// The speed in metres per second; zero stops the node.
    pub speed: f64,
}

/// An event of a script.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    /// The node sets out.
    Go(Command),
    /// The node is placed elsewhere on one axis (0 to 2), in no time.
    Place { at: Time, axis: usize, value: f64 },
}

impl Step {
    pub(super) const fn at(&self) -> Time {
        match self {
            Self::Go(Command { at, .. }) | Self::Place { at, .. } => *at,
        }
    }
}

/// Positions at increasing times, two of the same time where the node is placed elsewhere. Before the first and after
/// the last time the node does not move.
#[derive(Clone, Debug, PartialEq)]
pub struct Track(Arc<[Fix]>);

impl Track {
    /// A track through these positions.
    ///
    /// # Errors
    /// The index of the first fix that is not later than the previous one, or 0 if the list is empty.
    /// Two equal consecutive fixes count as one.
    pub fn through(mut fixes: Vec<Fix>) -> Result<Self, usize> {
        if fixes.is_empty() {
            return Err(0);
        }
        if let Some(i) = fixes.windows(2).position(|pair| pair[0].at >= pair[1].at && pair[0] != pair[1]) {
            return Err(i + 1);
        }
        fixes.dedup();
        Ok(Self(fixes.into()))
    }

    /// The track of a node that starts at `start` and executes `commands` in this order.
    ///
    /// A command before the arrival replaces the previous command. Arrival is rounded to the nanosecond.
    ///
    /// # Panics
    /// In debug builds, if the commands are not in order of time.
    #[must_use]
    pub fn from_commands(start: Position, commands: impl IntoIterator<Item = Command>) -> Self {
        Self::from_steps(start, commands.into_iter().map(Step::Go)).0
    }

    /// The same with steps of every kind, and the time of the first one that places a node that is under way. Other
    /// simulators do not agree where such a node goes then.
    pub(super) fn from_steps(start: Position, steps: impl IntoIterator<Item = Step>) -> (Self, Option<Time>) {
        let mut fixes = vec![Fix { at: Time::ZERO, position: start }];
        // The destination and the time of arrival, from the last fix on.
        let mut bound: Option<Fix> = None;
        let mut last_command = Time::ZERO;
        let mut disturbed = None;
        for step in steps {
            let now = step.at();
            debug_assert!(now >= last_command, "commands are carried out in order of time");
            last_command = now;
            let from = *fixes.last().expect("the start is a fix");
            let here = match bound.take() {
                None => from.position,
                Some(goal) if goal.at <= now => {
                    append(&mut fixes, goal);
                    goal.position
                }
                Some(goal) => {
                    let here = Leg::between(from.at, from.position, goal.position, goal.at).position(now);
                    append(&mut fixes, Fix { at: now, position: here });
                    if matches!(step, Step::Place { .. }) {
                        disturbed = disturbed.or(Some(now));
                    }
                    here
                }
            };
            let command = match step {
                Step::Go(command) => command,
                Step::Place { axis, value, .. } => {
                    let mut place = [here.x, here.y, here.z];
                    place[axis] = value;
                    let [x, y, z] = place;
                    // Of two fixes of one time the first ends a leg, and the second begins the next one.
                    if fixes.last().is_some_and(|last| last.at < now) {
                        fixes.push(Fix { at: now, position: here });
                        fixes.push(Fix { at: now, position: here });
                    }
                    append(&mut fixes, Fix { at: now, position: Position { x, y, z } });
                    continue;
                }
            };
            let (x, y) = command.to;
            let to = Position { x, y, z: command.height.unwrap_or(here.z) };
            let distance = here.distance(to);
            if command.speed > 0.0 && distance > 0.0 {
                append(&mut fixes, Fix { at: command.at, position: here });
                let arrival = command.at + Span::from_secs_f64(distance / command.speed);
                bound = Some(Fix { at: arrival, position: to });
            }
        }
        if let Some(goal) = bound {
            append(&mut fixes, goal);
        }
        (Self(fixes.into()), disturbed)
    }

    /// The fixes, in order of time.
    #[must_use]
    pub fn fixes(&self) -> &[Fix] {
        &self.0
    }

    /// The position at a time.
    #[must_use]
    pub fn position(&self, time: Time) -> Position {
        match self.0.partition_point(|fix| fix.at <= time) {
            0 => self.0[0].position,
            i if i == self.0.len() => self.0[i - 1].position,
            i => {
                Leg::between(self.0[i - 1].at, self.0[i - 1].position, self.0[i].position, self.0[i].at).position(time)
            }
        }
    }

    /// A node that follows the track from the start of the run.
    #[must_use]
    pub fn follow(&self) -> Follower {
        Follower { track: self.clone(), next: 0 }
    }
}

/// Adds a fix. It replaces the last one if both have the same time (a leg shorter than a nanosecond).
fn append(fixes: &mut Vec<Fix>, fix: Fix) {
    match fixes.last_mut() {
        Some(last) if last.at >= fix.at => last.position = fix.position,
        _ => fixes.push(fix),
    }
}

/// A node on a [`Track`].
#[derive(Clone, Debug)]
pub struct Follower {
    track: Track,
    /// The index of the fix at which the next leg ends.
    next: usize,
}

impl Mobility for Follower {
    fn next_leg(&mut self) -> Leg {
        let fixes = &self.track.0;
        if self.next == 0 {
            self.next = 1;
            if fixes[0].at > Time::ZERO {
                return Leg::between(Time::ZERO, fixes[0].position, fixes[0].position, fixes[0].at);
            }
        }
        // A node that is placed elsewhere begins its next leg there.
        if fixes.get(self.next).is_some_and(|to| to.at == fixes[self.next - 1].at) {
            self.next += 1;
        }
        let from = fixes[self.next - 1];
        match fixes.get(self.next) {
            None => Leg::still(from.at, from.position),
            Some(to) => {
                self.next += 1;
                Leg::between(from.at, from.position, to.position, to.at)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn secs(s: f64) -> Time {
        Time::ZERO + Span::from_secs_f64(s)
    }

    fn fix(at: f64, x: f64, y: f64) -> Fix {
        Fix { at: secs(at), position: Position::ground(x, y) }
    }

    fn go(at: f64, x: f64, y: f64, speed: f64) -> Command {
        Command { at: secs(at), to: (x, y), height: None, speed }
    }

    #[test]
    fn a_command_before_arrival_replaces_the_old_one() {
        let start = Position::ground(0.0, 0.0);
        let track = Track::from_commands(start, [go(1.0, 100.0, 0.0, 10.0), go(6.0, 50.0, 20.0, 5.0)]);
        assert_eq!(track.fixes(), [fix(0.0, 0.0, 0.0), fix(1.0, 0.0, 0.0), fix(6.0, 50.0, 0.0), fix(10.0, 50.0, 20.0)]);
        assert_eq!(track.position(secs(3.0)), Position::ground(20.0, 0.0));
        assert_eq!(track.position(secs(99.0)), Position::ground(50.0, 20.0));
    }

    #[test]
    fn speed_zero_stops() {
        let start = Position::ground(0.0, 0.0);
        let track = Track::from_commands(start, [go(0.0, 100.0, 0.0, 10.0), go(4.0, 100.0, 0.0, 0.0)]);
        assert_eq!(track.fixes(), [fix(0.0, 0.0, 0.0), fix(4.0, 40.0, 0.0)]);
    }

    #[test]
    fn of_two_commands_at_once_the_later_holds() {
        let start = Position::ground(5.0, 5.0);
        let track = Track::from_commands(start, [go(0.0, 100.0, 0.0, 10.0), go(0.0, 5.0, 25.0, 2.0)]);
        assert_eq!(track.fixes(), [fix(0.0, 5.0, 5.0), fix(10.0, 5.0, 25.0)]);
    }

    #[test]
    fn a_node_keeps_its_height_unless_a_command_gives_one() {
        let start = Position { x: 0.0, y: 0.0, z: 5.0 };
        let climb = Command { height: Some(45.0), ..go(20.0, 60.0, 0.0, 10.0) };
        let track = Track::from_commands(start, [go(0.0, 30.0, 0.0, 10.0), climb, go(30.0, 60.0, 10.0, 5.0)]);
        let at = |time, x, y, z| Fix { at: secs(time), position: Position { x, y, z } };
        // Going up takes its time: 30 m to the east and 40 m up are 50 m.
        let expected = [
            at(0.0, 0.0, 0.0, 5.0),
            at(3.0, 30.0, 0.0, 5.0),
            at(20.0, 30.0, 0.0, 5.0),
            at(25.0, 60.0, 0.0, 45.0),
            at(30.0, 60.0, 0.0, 45.0),
            at(32.0, 60.0, 10.0, 45.0),
        ];
        assert_eq!(track.fixes(), expected);
        assert_eq!(track.position(secs(22.5)), Position { x: 45.0, y: 0.0, z: 25.0 });
    }

    #[test]
    fn a_track_needs_increasing_times() {
        assert_eq!(Track::through(vec![]), Err(0));
        assert_eq!(Track::through(vec![fix(0.0, 1.0, 1.0), fix(2.0, 1.0, 1.0), fix(1.0, 1.0, 1.0)]), Err(2));
        assert_eq!(Track::through(vec![fix(0.0, 1.0, 1.0), fix(0.0, 2.0, 1.0)]), Err(1));
        let twice = Track::through(vec![fix(1.0, 1.0, 1.0), fix(1.0, 1.0, 1.0)]).expect("one fix, said twice");
        assert_eq!(twice.fixes().len(), 1);
    }

    #[test]
    fn a_follower_waits_for_the_first_fix_and_stays_at_the_last() {
        let track = Track::through(vec![fix(2.0, 10.0, 0.0), fix(4.0, 30.0, 0.0)]).expect("a track");
        let mut follower = track.follow();
        let (wait, way, stay) = (follower.next_leg(), follower.next_leg(), follower.next_leg());
        assert!(wait.is_pause() && wait.start == Time::ZERO && wait.until == secs(2.0));
        assert_eq!(way.velocity, (10.0, 0.0, 0.0));
        assert_eq!(stay, Leg::still(secs(4.0), Position::ground(30.0, 0.0)));
    }

    proptest! {
        #[test]
        fn legs_are_contiguous_and_agree_with_the_track(
            mut commands in prop::collection::vec(
                (0.0..100.0_f64, 0.0..1000.0_f64, 0.0..1000.0_f64, prop_oneof![Just(0.0), 0.1..30.0_f64]), 0..40)
        ) {
            commands.sort_by(|a, b| a.0.total_cmp(&b.0));
            let start = Position::ground(500.0, 500.0);
            let track = Track::from_commands(start, commands.into_iter().map(|(at, x, y, speed)| go(at, x, y, speed)));
            let mut follower = track.follow();
            let mut leg = follower.next_leg();
            prop_assert_eq!(leg.start, Time::ZERO);
            prop_assert_eq!(leg.from, start);
            for _ in 0..200 {
                if leg.until == Time::NEVER {
                    return Ok(());
                }
                prop_assert!(leg.until > leg.start);
                let middle = Time::from_nanos(leg.start.nanos() / 2 + leg.until.nanos() / 2);
                prop_assert!(track.position(middle).distance(leg.position(middle)) < 1e-9);
                let next = follower.next_leg();
                prop_assert_eq!(next.start, leg.until);
                prop_assert!(next.from.distance(leg.position(leg.until)) < 1e-6);
                leg = next;
            }
            prop_assert!(false, "a finite script has finitely many legs");
        }
    }
}
