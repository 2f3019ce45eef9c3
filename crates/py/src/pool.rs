//! Many runs on many threads; their outcomes are kept in the order of the runs, whatever thread finished first.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hopyard_model::observe::Outcome;
use hopyard_model::world::Watch;
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

/// What has become of a run.
enum Slot {
    /// It waits or runs.
    Pending,
    /// It is finished.
    Done(Box<Outcome>),
    /// It was cancelled before its end.
    Cancelled,
    /// It could not be made, or broke an invariant; the message says which.
    Failed(String),
}

struct State {
    slots: Vec<Slot>,
    finished: usize,
    ended: usize,
}

struct Shared {
    watches: Vec<Watch>,
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    /// The state. No code panics while it holds the lock, so it is never poisoned.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cancel(&self) {
        self.watches.iter().for_each(Watch::cancel);
    }

    fn one(&self, number: usize, run: impl FnOnce(&Watch) -> Result<Outcome, String>) -> Slot {
        let watch = &self.watches[number];
        if watch.is_cancelled() {
            return Slot::Cancelled;
        }
        // The run's world is gone after a panic, so nothing broken is left behind.
        match catch_unwind(AssertUnwindSafe(|| run(watch))) {
            Ok(Ok(outcome)) if outcome.cancelled => Slot::Cancelled,
            Ok(Ok(outcome)) => Slot::Done(Box::new(outcome)),
            Ok(Err(message)) => Slot::Failed(message),
            Err(panic) => Slot::Failed(
                (panic.downcast_ref::<String>().cloned())
                    .or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()))
                    .unwrap_or_else(|| "it panicked".to_owned()),
            ),
        }
    }
}

/// How far the runs are.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Runs finished.
    pub finished: usize,
    /// Runs that have come to an end in any way.
    pub ended: usize,
    /// Simulated time of all runs together, in seconds.
    pub simulated: f64,
}

/// Runs that go on in threads of their own until all have ended. Dropping the pool cancels them.
pub struct Pool {
    shared: Arc<Shared>,
    // Its threads end when it is dropped and their runs have seen the cancellation.
    _threads: ThreadPool,
}

impl Pool {
    /// Starts `count` runs, in order, on `threads` threads (0: one for each core). `run` gets the number.
    ///
    /// # Errors
    /// When the threads cannot be made.
    pub fn start<F>(count: usize, threads: usize, run: F) -> Result<Self, ThreadPoolBuildError>
    where
        F: Fn(usize, &Watch) -> Result<Outcome, String> + Send + Sync + 'static,
    {
        let pool = ThreadPoolBuilder::new().num_threads(threads).thread_name(|i| format!("run-{i}")).build()?;
        let shared = Arc::new(Shared {
            watches: (0..count).map(|_| Watch::default()).collect(),
            state: Mutex::new(State { slots: (0..count).map(|_| Slot::Pending).collect(), finished: 0, ended: 0 }),
            changed: Condvar::new(),
        });
        let run = Arc::new(run);
        for number in 0..count {
            let (shared, run) = (Arc::clone(&shared), Arc::clone(&run));
            pool.spawn_fifo(move || {
                let slot = shared.one(number, |watch| run(number, watch));
                if matches!(slot, Slot::Failed(_)) {
                    // One broken run makes the others worthless.
                    shared.cancel();
                }
                let mut state = shared.lock();
                state.finished += usize::from(matches!(slot, Slot::Done(_)));
                state.ended += 1;
                state.slots[number] = slot;
                drop(state);
                shared.changed.notify_all();
            });
        }
        Ok(Self { shared, _threads: pool })
    }

    /// Waits until all runs have ended, but no longer than `timeout`.
    pub fn wait(&self, timeout: Duration) -> Progress {
        let state = self.shared.lock();
        let (state, _) = self
            .shared
            .changed
            .wait_timeout_while(state, timeout, |state| state.ended < state.slots.len())
            .unwrap_or_else(PoisonError::into_inner);
        let simulated = self.shared.watches.iter().map(|watch| watch.simulated().seconds()).sum();
        Progress { finished: state.finished, ended: state.ended, simulated }
    }

    /// Ends the runs that are under way and does not start those that wait; finished ones are kept.
    pub fn cancel(&self) {
        self.shared.cancel();
    }

    /// The first run that failed, and its message.
    pub fn failure(&self) -> Option<(usize, String)> {
        self.shared.lock().slots.iter().enumerate().find_map(|(number, slot)| match slot {
            Slot::Failed(message) => Some((number, message.clone())),
            _ => None,
        })
    }

    /// Calls `visit` with each finished run's number and outcome, in the order of the runs, until it fails.
    ///
    /// # Errors
    /// That of `visit`.
    pub fn each_finished<E>(&self, mut visit: impl FnMut(usize, &Outcome) -> Result<(), E>) -> Result<(), E> {
        for (number, slot) in self.shared.lock().slots.iter().enumerate() {
            if let Slot::Done(outcome) = slot {
                visit(number, outcome)?;
            }
        }
        Ok(())
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.cancel();
    }
}
