//! The centres of groups, as members see them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hopyard_engine::units::{Coordinate, Distance};
use hopyard_engine::{Span, Time};

use super::params::Params;
use crate::address::NodeId;
use crate::mobility::random_waypoint::{self, RandomWaypoint, Start};
use crate::mobility::{Leg, Mobility, Nodes};

/// The path of a centre: random waypoint, at least a radius from the edges of the area.
#[derive(Clone, Debug)]
pub(super) struct Path(RandomWaypoint);

impl Path {
    pub(super) fn new(params: &Params, head: NodeId, nodes: &Nodes<'_>) -> Self {
        let radius = params.radius.metres();
        let room = |length: Distance| Distance::new((length.metres() - 2.0 * radius).max(0.0));
        let edge = |coordinate: Coordinate| Coordinate::new(coordinate.metres() + radius);
        let way = random_waypoint::Params {
            x: edge(params.x),
            y: edge(params.y),
            width: room(params.width),
            height: room(params.height),
            bottom: Coordinate::new(0.0),
            top: Coordinate::new(0.0),
            speed_min: params.speed_min,
            speed_max: params.speed_max,
            pause_min: Span::ZERO,
            pause_max: params.pause_max,
            start: Start::Uniform,
        };
        Self(RandomWaypoint::new(&way, nodes.group_stream(head, "mobility/centre")))
    }
}

impl Mobility for Path {
    fn next_leg(&mut self) -> Leg {
        self.0.next_leg()
    }
}

/// When a centre is near a member, in seconds since the start of the member's leg.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pass {
    pub comes: f64,
    pub goes: f64,
}

/// The centre of a member's group; of all groups, if members change their group.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "the large one is the usual one, and a member is in a box of its own")]
pub(super) enum Centres {
    /// A copy of the path, and its leg.
    One(Path, Leg),
    /// The paths of all groups, which all members share; the member's place among them, and the number of its group.
    All { paths: Arc<Mutex<Paths>>, member: usize, group: usize },
}

impl Centres {
    /// The view of a node whose group is formed of a table's nodes.
    pub(super) fn new(params: &Params, node: NodeId, table: u32, nodes: &Nodes<'_>) -> Self {
        let head = nodes.head(node);
        if params.change <= 0.0 {
            let mut path = Path::new(params, head, nodes);
            let leg = path.next_leg();
            return Self::One(path, leg);
        }
        let paths = nodes.shared(table, || {
            let heads = nodes.formed(table);
            let paths = heads.iter().map(|head| Known::new(Path::new(params, *head, nodes))).collect();
            let members = vec![Time::ZERO; nodes.of_table(table)];
            Mutex::new(Paths { heads, paths, members, built: 0, most: 0 })
        });
        let (member, group) = {
            let mut all = lock(&paths);
            (all.register(), all.heads.binary_search(&head).unwrap_or_default())
        };
        Self::All { paths, member, group }
    }

    /// The leg of the member's centre at a time. This time is not earlier than the time of the call before.
    pub(super) fn leg(&mut self, at: Time) -> Leg {
        match self {
            Self::One(path, leg) => {
                while leg.until <= at {
                    *leg = path.next_leg();
                }
                *leg
            }
            Self::All { paths, member, group } => {
                let mut all = lock(paths);
                all.members[*member] = at;
                all.forget();
                all.paths[*group].leg(at)
            }
        }
    }

    /// The member belongs to another group.
    pub(super) const fn change(&mut self, to: usize) {
        if let Self::All { group, .. } = self {
            *group = to;
        }
    }

    /// The other groups whose centres come within the radius of a member during its leg.
    pub(super) fn passes(&self, leg: &Leg, radius: f64) -> Vec<(usize, Pass)> {
        let Self::All { paths, group: own, .. } = self else { return Vec::new() };
        let mut all = lock(paths);
        let others = all.paths.iter_mut().enumerate().filter(|(group, _)| group != own);
        others.filter_map(|(group, path)| Some((group, path.pass(leg, radius)?))).collect()
    }
}

/// The paths of all groups of a table.
#[derive(Debug)]
pub(super) struct Paths {
    /// The first node of each group, in increasing order.
    heads: Vec<NodeId>,
    paths: Vec<Known>,
    /// The time of each member. Earlier legs are not needed again, if no further copy of a member is built.
    members: Vec<Time>,
    /// How many members have been built.
    built: usize,
    /// The number of legs at which old ones are looked for.
    most: usize,
}

impl Paths {
    /// The place of a further member, which starts at time zero. A node that follows a member has a copy of it.
    fn register(&mut self) -> usize {
        if self.built == self.members.len() {
            self.members.push(Time::ZERO);
        }
        self.built += 1;
        self.built - 1
    }

    /// Forgets legs that no member needs, each time there are twice as many as were needed.
    fn forget(&mut self) {
        let known = |paths: &[Known]| paths.iter().map(|path| path.legs.len()).sum::<usize>();
        if known(&self.paths) < self.most {
            return;
        }
        let earliest = self.members.iter().copied().min().unwrap_or(Time::ZERO);
        for path in &mut self.paths {
            while path.legs.front().is_some_and(|leg| leg.until <= earliest) {
                path.legs.pop_front();
            }
        }
        self.most = 2 * known(&self.paths).max(self.paths.len());
    }
}

/// Nothing that holds the lock can fail, so that the paths are sound in any case.
fn lock(paths: &Mutex<Paths>) -> MutexGuard<'_, Paths> {
    paths.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The legs of a path that a member may still need.
#[derive(Debug)]
struct Known {
    /// The path from its start, for parts that are needed again after they were forgotten.
    whole: Path,
    path: Path,
    legs: VecDeque<Leg>,
}

impl Known {
    fn new(whole: Path) -> Self {
        Self { path: whole.clone(), whole, legs: VecDeque::new() }
    }

    /// The place in the list of the leg at a time.
    fn place(&mut self, at: Time) -> usize {
        if self.legs.front().is_some_and(|leg| at < leg.start) {
            (self.path, self.legs) = (self.whole.clone(), VecDeque::new());
        }
        while self.legs.back().is_none_or(|leg| leg.until <= at) {
            let leg = self.path.next_leg();
            self.legs.push_back(leg);
        }
        self.legs.partition_point(|leg| leg.until <= at)
    }

    fn leg(&mut self, at: Time) -> Leg {
        let place = self.place(at);
        self.legs[place]
    }

    /// When the centre first comes within the radius of a member during the member's leg, and when it goes.
    fn pass(&mut self, leg: &Leg, radius: f64) -> Option<Pass> {
        let end = leg.until.since(leg.start).seconds();
        let mut comes = None;
        let mut at = leg.start;
        let mut place = self.place(at);
        while at < leg.until {
            let centre = self.legs[place];
            let until = centre.until.min(leg.until);
            // The distance squared is a quadratic function of time while both move in straight lines.
            let way = centre.position(at) - leg.position(at);
            let (x, y) = (centre.velocity.0 - leg.velocity.0, centre.velocity.1 - leg.velocity.1);
            let (a, b, c) = (x * x + y * y, way.x * x + way.y * y, way.x * way.x + way.y * way.y - radius * radius);
            let root = b * b - a * c;
            if a > 0.0 && root > 0.0 {
                let (start, length) = (at.since(leg.start).seconds(), until.since(at).seconds());
                let root = libm::sqrt(root);
                let [first, second] = [(-b - root) / a, (-b + root) / a];
                if comes.is_none() && first >= 0.0 && first < length {
                    comes = Some(start + first);
                }
                if let Some(comes) = comes
                    && second >= 0.0
                    && second < length
                    && start + second > comes
                {
                    return Some(Pass { comes, goes: start + second });
                }
            }
            at = until;
            if at < leg.until {
                place = self.place(at);
            }
        }
        comes.map(|comes| Pass { comes, goes: end })
    }
}

#[cfg(test)]
mod tests {
    use hopyard_engine::Streams;

    use super::*;
    use crate::mobility::{Config, Position, Spec};
    use crate::params::Params as _;

    fn path(seed: u64) -> Known {
        let params = Params { radius: Distance::new(100.0), ..Params::of_profile("rfc") };
        let config = Config::ReferencePointGroup(params.clone().into());
        let specs = [Spec { model: &config, start: Position::default(), movements: None, table: 0 }];
        Known::new(Path::new(&params, NodeId(0), &Nodes::new(&specs, Streams::new(seed, 0))))
    }

    #[test]
    fn a_centre_keeps_a_radius_from_the_edges() {
        let mut path = path(1);
        for second in 0..4000 {
            let at = Time::ZERO + Span::from_secs(second);
            let place = path.leg(at).position(at);
            let inside = |x: f64| (100.0 - 1e-6..=900.0 + 1e-6).contains(&x);
            assert!(inside(place.x) && inside(place.y), "{place:?}");
        }
    }

    #[test]
    fn a_pass_is_when_the_distance_is_below_the_radius() {
        let (mut found, mut late) = (0, 0);
        for seed in 0..400 {
            let mut path = path(seed);
            let (start, until) = (Time::ZERO + Span::from_secs(1000), Time::ZERO + Span::from_secs(1300));
            let leg = Leg::between(start, Position::ground(100.0, 300.0), Position::ground(900.0, 700.0), until);
            let pass = path.pass(&leg, 100.0);
            // The distance in steps of a tenth of a second.
            let near = |step: u64| {
                let at = start + Span::from_millis(100 * step);
                path.leg(at).position(at).distance(leg.position(at)) < 100.0
            };
            let near: Vec<bool> = (0..3000).map(near).collect();
            let comes = (1..3000).find(|&step| near[step] && !near[step - 1]);
            let Some(pass) = pass else {
                assert_eq!(comes, None, "seed {seed}");
                continue;
            };
            found += 1;
            // A pass of less than a step may be missed by the steps.
            let Some(comes) = comes else {
                assert!(pass.goes - pass.comes < 0.1, "{pass:?}");
                continue;
            };
            let goes = (comes..3000).find(|&step| !near[step]).unwrap_or(3000);
            assert!((comes as f64 / 10.0 - pass.comes).abs() <= 0.1 + 1e-6, "{comes} {pass:?}");
            assert!((goes as f64 / 10.0 - pass.goes).abs() <= 0.1 + 1e-6, "{goes} {pass:?}");
            late += i32::from(goes == 3000);
        }
        assert!(found > 60 && late > 0, "{found} passes, {late} of them to the end");
    }

    #[test]
    fn legs_that_nobody_needs_are_forgotten_and_made_again() {
        let params = Params { change: 0.5, ..Params::of_profile("rfc") };
        let config = Config::ReferencePointGroup(params.clone().into());
        let specs = [Spec { model: &config, start: Position::default(), movements: None, table: 3 }; 24];
        let nodes = Nodes::new(&specs, Streams::new(9, 0));
        let mut members: Vec<_> = (0..24).map(|node| Centres::new(&params, NodeId(node), 3, &nodes)).collect();
        let Centres::All { paths, .. } = &members[0] else { panic!("members change their group") };
        let paths = Arc::clone(paths);
        for minute in 0..20_000 {
            let at = Time::ZERO + Span::from_secs(60 * minute);
            for (number, member) in members.iter_mut().enumerate() {
                assert_eq!(member.leg(at), lock(&paths).paths[number / 6].leg(at));
                // Whoever looks at the others needs their legs too.
                let leg = Leg { start: at, until: at + Span::from_secs(60), ..Leg::still(at, Position::default()) };
                member.passes(&leg, 1.0);
            }
            let known: usize = lock(&paths).paths.iter().map(|path| path.legs.len()).sum();
            assert!(known <= 40, "{known} legs of four paths after {minute} minutes");
        }
        // A copy of a member that is built later begins at the beginning.
        let mut late = Centres::new(&params, NodeId(7), 3, &nodes);
        assert_eq!(late.leg(Time::ZERO), Path::new(&params, NodeId(6), &nodes).next_leg());
        let at = Time::ZERO + Span::from_secs(60 * 19_999);
        assert_eq!(members[7].leg(at), late.leg(at));
    }
}
