//! The network of a run in steps: alone, or with Linux kernels as the hosts of some of its nodes.

use std::sync::mpsc::{Sender, channel};
use std::{io, thread};

use hopyard_coupling::{Coupled, Meters};
use hopyard_engine::Time;
use hopyard_model::observe::{Outcome, Probes};
use hopyard_model::world::{Advanced, Watch, World};

/// The observers of a run in steps. The meters see flows of kernels only.
pub type Watching = (Meters, Probes);

/// A network, until it is finished.
pub enum Network {
    /// Without kernels.
    Alone(Box<World<Watching>>),
    /// With kernels.
    Kernels(Box<Kernels>),
}

/// A network with kernels.
pub struct Kernels {
    // First, so that the processes have ended when their thread does.
    pub coupled: Coupled<Probes>,
    pub thread: Keeper,
    /// The process that has started the kernels.
    pub owner: u32,
}

impl Network {
    /// Carries out all events up to and including a time.
    pub fn advance(&mut self, until: Time, watch: &Watch) -> Result<Advanced, String> {
        match self {
            Self::Alone(world) => {
                let advanced = world.advance(until, watch);
                world.failure().map_or(Ok(advanced), |failure| Err(failure.to_string()))
            }
            Self::Kernels(it) => it.coupled.advance(until, watch).map_err(|error| error.to_string()),
        }
    }

    /// Ends the run at the time that it has reached. Returns the observers too.
    pub fn finish(self) -> Result<(Outcome, Probes), String> {
        match self {
            Self::Alone(world) => {
                world.finish().map(|(outcome, (_, probes))| (outcome, probes)).map_err(|error| error.to_string())
            }
            Self::Kernels(it) => {
                let Kernels { coupled, thread, .. } = *it;
                let finished = coupled.finish();
                drop(thread);
                finished.map_err(|error| error.to_string())
            }
        }
    }

    /// The world.
    pub fn world(&self) -> &World<Watching> {
        match self {
            Self::Alone(world) => world,
            Self::Kernels(it) => it.coupled.world(),
        }
    }

    /// The world, if nothing but it decides what happens.
    pub fn alone(&mut self) -> Option<&mut World<Watching>> {
        match self {
            Self::Alone(world) => Some(world),
            Self::Kernels(_) => None,
        }
    }

    /// The process that alone can use the network, if this is another one. A forked process has the same sockets of
    /// kernels. Data that one process reads from them, or writes, the other one lacks.
    pub fn foreign(&self) -> Option<u32> {
        match self {
            Self::Alone(_) => None,
            Self::Kernels(it) => Some(it.owner).filter(|it| *it != std::process::id()),
        }
    }

    /// The results as of now: all tables, or the one with this name.
    pub fn outcome(&self, only: Option<&str>) -> Outcome {
        match self {
            Self::Alone(world) => world.outcome(only),
            Self::Kernels(it) => it.coupled.outcome(only),
        }
    }

    /// When something happens next, if it does before the end of the run.
    pub fn next_event(&self) -> Option<Time> {
        match self {
            Self::Alone(world) => world.next_event(),
            Self::Kernels(it) => it.coupled.next_event(),
        }
    }
}

/// A thread in which something was made, and which stays until this is dropped: the system ends the process of a kernel
/// with the thread that has started it.
pub struct Keeper {
    stay: Option<Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
    /// The process of the thread.
    owner: u32,
}

impl Keeper {
    /// Makes something in a thread of its own.
    ///
    /// # Errors
    /// If there can be no thread.
    pub fn make<T: Send + 'static>(make: impl FnOnce() -> T + Send + 'static) -> io::Result<(T, Self)> {
        let ((give, take), (stay, stays)) = (channel(), channel::<()>());
        let work = move || {
            // Whoever waits for it has it, or has gone.
            let _ = give.send(make());
            let _ = stays.recv();
        };
        let thread = thread::Builder::new().name("kernels".to_owned()).spawn(work)?;
        let made = take.recv().map_err(|_| io::Error::other("the thread that starts kernels has panicked"))?;
        Ok((made, Self { stay: Some(stay), thread: Some(thread), owner: std::process::id() }))
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.stay.take());
        // A process that was forked has no other thread than that which forked, and would wait for ever.
        if let Some(thread) = self.thread.take().filter(|_| self.owner == std::process::id()) {
            // A panic was told when it was made.
            let _ = thread.join();
        }
    }
}
