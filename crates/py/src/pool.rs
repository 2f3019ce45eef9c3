//! Many runs on a few threads. The result of a run waits here until it is collected; then its memory is freed.
//!
//! Where there can be no thread, as in a browser, whoever waits for the runs makes them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use hopyard_engine::Span;
use hopyard_model::observe::Outcome;
use hopyard_model::world::Watch;

use crate::capture::Captured;
use crate::clock::Began;
use crate::order::Order;

/// [`Pool::wait`] returns when this many ended runs wait to be collected.
const TAKE_AT: usize = 32;
/// No run starts while this many ended runs wait to be collected, so that memory does not grow with the number of runs.
const FULL_AT: usize = 256;

/// A run that has ended.
pub struct Ended {
    /// The number of the run.
    pub number: usize,
    /// The result of the run, or why it failed.
    pub outcome: Result<Box<Outcome>, String>,
    /// Why the run's capture is not complete, if so.
    pub capture_error: Option<String>,
    /// The elapsed time of the run.
    pub wall: Duration,
    /// The processor time of the run, with the processor time of the processes that it has started.
    pub cpu: Duration,
}

struct State {
    /// The runs that have not been started.
    order: Order,
    finished: usize,
    failed: usize,
    /// The number of threads that may still start a run.
    threads: usize,
    cancelled: bool,
    /// The simulated time of all ended runs.
    simulated: Span,
    /// The current run of each thread.
    watches: Vec<Option<Arc<Watch>>>,
    ended: Vec<Ended>,
}

struct Shared {
    state: Mutex<State>,
    /// Signals that a run or a thread has ended.
    changed: Condvar,
    /// Signals that ended runs were collected, or that the pool was cancelled.
    taken: Condvar,
}

impl Shared {
    /// The state. No code panics while it holds the lock, so it is never poisoned.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next run for a thread. Waits until there is room for its result.
    fn next(&self, thread: usize) -> Option<(usize, Arc<Watch>)> {
        let mut state = self
            .taken
            .wait_while(self.lock(), |state| state.ended.len() >= FULL_AT && !state.cancelled)
            .unwrap_or_else(PoisonError::into_inner);
        let next = if state.cancelled { None } else { state.order.next() };
        let Some(number) = next else {
            state.threads -= 1;
            drop(state);
            self.changed.notify_all();
            return None;
        };
        let watch = Arc::new(Watch::default());
        state.watches[thread] = Some(Arc::clone(&watch));
        Some((number, watch))
    }

    /// Stores the result of a run, unless the run was cancelled.
    fn end(&self, thread: usize, watch: &Watch, ended: Ended) {
        let mut state = self.lock();
        state.watches[thread] = None;
        match &ended.outcome {
            Ok(outcome) if outcome.cancelled => return,
            Ok(_) => state.finished += 1,
            Err(_) => state.failed += 1,
        }
        state.simulated += watch.simulated();
        state.order.ended(ended.number, ended.cpu);
        state.ended.push(ended);
        drop(state);
        self.changed.notify_all();
    }
}

/// The progress of the runs.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// The number of finished runs.
    pub finished: usize,
    /// The number of failed runs.
    pub failed: usize,
    /// Whether no run is in progress and none will start.
    pub over: bool,
    /// The sum of the simulated times of all runs, in seconds.
    pub simulated: f64,
}

/// Runs in separate threads. Dropping the pool cancels them.
pub struct Pool {
    shared: Arc<Shared>,
    threads: Mutex<Vec<thread::JoinHandle<()>>>,
    /// Makes one run, if one is left. Only a pool without threads has it.
    turn: Option<Box<dyn Fn() + Send + Sync>>,
}

impl Pool {
    /// Starts the runs of `order` on `threads` threads (0: one for each core); there are never more threads than runs.
    /// `run` gets the number of the run, and adds the processor time of the processes that it starts.
    pub fn start<F>(order: Order, threads: usize, run: F) -> Self
    where
        F: Fn(usize, &Watch, &mut Duration) -> Result<Captured, String> + Send + Sync + 'static,
    {
        let threads = if threads == 0 { thread::available_parallelism().map_or(1, usize::from) } else { threads };
        let threads = threads.min(order.runs());
        let state = State {
            order,
            finished: 0,
            failed: 0,
            threads,
            cancelled: false,
            simulated: Span::ZERO,
            watches: vec![None; threads],
            ended: Vec::new(),
        };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new(), taken: Condvar::new() });
        let run = Arc::new(run);
        let mut handles = Vec::with_capacity(threads);
        let mut turn: Option<Box<dyn Fn() + Send + Sync>> = None;
        for number in 0..threads {
            let (of_thread, run) = (Arc::clone(&shared), Arc::clone(&run));
            let work = move || while one(&of_thread, number, &*run) {};
            match thread::Builder::new().name(format!("run-{number}")).spawn(work) {
                Ok(handle) => handles.push(handle),
                Err(_) => {
                    // The existing threads make all runs, or whoever waits for them.
                    shared.lock().threads -= threads - number.max(1);
                    break;
                }
            }
        }
        if handles.is_empty() && threads > 0 {
            let shared = Arc::clone(&shared);
            turn = Some(Box::new(move || {
                one(&shared, 0, &*run);
            }));
        }
        Self { shared, threads: Mutex::new(handles), turn }
    }

    /// Waits until all runs have ended, until many ended runs wait to be collected, or for `timeout`.
    pub fn wait(&self, timeout: Duration) -> Progress {
        let quiet = |state: &mut State| state.threads > 0 && state.ended.len() < TAKE_AT;
        if let Some(turn) = &self.turn {
            let began = Began::now();
            while quiet(&mut self.shared.lock()) {
                turn();
                if began.elapsed() >= timeout {
                    break;
                }
            }
        }
        let timeout = if self.turn.is_some() { Duration::ZERO } else { timeout };
        let waited = self.shared.changed.wait_timeout_while(self.shared.lock(), timeout, quiet);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let under_way = state.watches.iter().flatten().map(|watch| watch.simulated().seconds());
        let simulated = state.simulated.seconds() + under_way.sum::<f64>();
        let progress = Progress { finished: state.finished, failed: state.failed, over: state.threads == 0, simulated };
        drop(state);
        if progress.over {
            // The interpreter may end once all is over: no thread of the pool may outlive it. They have nothing left
            // to do but to return.
            let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
            threads.into_iter().for_each(|thread| drop(thread.join()));
        }
        progress
    }

    /// Stops the runs in progress and starts no more. Finished runs are kept.
    pub fn cancel(&self) {
        let mut state = self.shared.lock();
        state.cancelled = true;
        state.watches.iter().flatten().for_each(|watch| watch.cancel());
        drop(state);
        self.shared.taken.notify_all();
    }

    /// The runs that have ended since the last call, in their order.
    pub fn take(&self) -> Vec<Ended> {
        let mut ended = std::mem::take(&mut self.shared.lock().ended);
        self.shared.taken.notify_all();
        ended.sort_by_key(|run| run.number);
        ended
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.cancel();
    }
}

/// Makes the next run, in the calling thread. Returns whether there was one.
fn one(
    shared: &Shared,
    thread: usize,
    run: &impl Fn(usize, &Watch, &mut Duration) -> Result<Captured, String>,
) -> bool {
    let Some((number, watch)) = shared.next(thread) else { return false };
    let began = Began::now();
    let mut others = Duration::ZERO;
    // After a panic the run's world is dropped, so that no inconsistent state remains.
    let result = match catch_unwind(AssertUnwindSafe(|| run(number, &watch, &mut others))) {
        Ok(result) => result,
        Err(panic) => Err((panic.downcast_ref::<String>().cloned())
            .or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()))
            .unwrap_or_else(|| "it panicked".to_owned())),
    };
    let (wall, cpu) = (began.elapsed(), began.processor() + others);
    let (outcome, capture_error) = match result {
        Ok((outcome, capture_error)) => (Ok(Box::new(outcome)), capture_error),
        Err(error) => (Err(error), None),
    };
    shared.end(thread, &watch, Ended { number, outcome, capture_error, wall, cpu });
    true
}
