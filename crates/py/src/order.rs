//! The order in which runs are started: the longest first, so that at the end no thread is left with a long run while
//! the others have none.
//!
//! How long a run takes is not known before. The first run of each case is started first, by a guess; then the case
//! whose ended runs took longest on average has precedence.

use std::collections::VecDeque;
use std::time::Duration;

/// The runs of a case that have not been started, and how long the others took.
struct Case {
    /// The numbers of the runs, in order.
    waiting: VecDeque<usize>,
    /// The length of a run, in comparison with other cases only.
    guess: f64,
    /// How many runs have ended, and how long they took together, in seconds.
    ended: u32,
    seconds: f64,
}

/// The runs that have not been started.
pub struct Order {
    cases: Vec<Case>,
    /// The case of each run.
    of_run: Vec<usize>,
    /// The cases with no started run: the last one is next.
    first: Vec<usize>,
    /// The cases with runs left after their first one.
    open: Vec<usize>,
}

impl Order {
    /// The runs of cases, given as the guessed length and the number of runs of each. The runs have numbers from 0 on,
    /// in the order of cases.
    pub fn new(cases: impl IntoIterator<Item = (f64, usize)>) -> Self {
        let mut of_run = Vec::new();
        let cases: Vec<Case> = (cases.into_iter().enumerate())
            .map(|(case, (guess, runs))| {
                let start = of_run.len();
                of_run.resize(start + runs, case);
                Case { waiting: (start..of_run.len()).collect(), guess, ended: 0, seconds: 0.0 }
            })
            .collect();
        let mut first: Vec<usize> = (0..cases.len()).rev().filter(|&case| !cases[case].waiting.is_empty()).collect();
        // Of cases with the same guess, the one that comes first is started first.
        first.sort_by(|&one, &other| cases[one].guess.total_cmp(&cases[other].guess));
        Self { cases, of_run, first, open: Vec::new() }
    }

    /// The number of runs, started or not.
    pub const fn runs(&self) -> usize {
        self.of_run.len()
    }

    /// The next run to start.
    pub fn next(&mut self) -> Option<usize> {
        let case = if let Some(case) = self.first.pop() {
            self.open.push(case);
            case
        } else {
            self.longest()?
        };
        let run = self.cases[case].waiting.pop_front();
        if self.cases[case].waiting.is_empty() {
            self.open.retain(|&other| other != case);
        }
        run
    }

    /// Notes how long a run took.
    pub fn ended(&mut self, run: usize, took: Duration) {
        let case = &mut self.cases[self.of_run[run]];
        case.ended += 1;
        case.seconds += took.as_secs_f64();
    }

    /// The case with runs left whose runs take longest. The guess of a case with no ended run is compared with the
    /// times of the others at the scale of all ended runs.
    fn longest(&self) -> Option<usize> {
        let ended = |case: &Case| (f64::from(case.ended) * case.guess, case.seconds);
        let (guessed, took) =
            self.cases.iter().map(ended).fold((0.0, 0.0), |sum, each| (sum.0 + each.0, sum.1 + each.1));
        let scale = if guessed > 0.0 { took / guessed } else { 1.0 };
        let length = |&case: &usize| {
            let case = &self.cases[case];
            if case.ended > 0 { case.seconds / f64::from(case.ended) } else { case.guess * scale }
        };
        self.open.iter().copied().reduce(|best, case| if length(&case) > length(&best) { case } else { best })
    }
}
