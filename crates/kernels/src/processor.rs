//! One processor for a run.
//!
//! At most one of a run's processes computes at any moment, and they pass control some twenty times for each segment.
//! Between two processors, each time costs an interrupt. On an idle machine each time also costs the end of a pause of
//! the other processor. A segment then takes three to five times as long. So a run and all its kernels stay on one
//! processor.

use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The processor of a run.
#[derive(Debug)]
pub struct Processor {
    only: CpuSet,
    /// A socket without a file, whose name only one process can have: other runs of this machine know by it that the
    /// processor has a run. The system closes it, however this process ends.
    _claim: Option<UnixListener>,
}

/// The calling thread, and the processes that it starts, compute on the run's processor until this is dropped.
#[derive(Debug)]
pub struct Stay(CpuSet);

impl Processor {
    /// Claims a processor that no other run has. If all processors are claimed, it is any that the thread may use.
    /// Nothing if the thread has one only, or the system refuses: runs are then as they would be without, but slower.
    pub fn claim() -> Option<Self> {
        let set = sched_getaffinity(None).ok()?;
        let usable: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&it| set.is_set(it)).collect();
        if usable.len() < 2 {
            return None;
        }
        // Processes have numbers in a row, so that runs beyond the number of processors are spread.
        let any = usable[std::process::id() as usize % usable.len()];
        let free = usable.iter().find_map(|&processor| Some((processor, claim(processor)?)));
        let (processor, claim) = free.map_or((any, None), |(processor, claim)| (processor, Some(claim)));
        let mut only = CpuSet::new();
        only.set(processor);
        Some(Self { only, _claim: claim })
    }

    /// Keeps the calling thread there. Nothing if the system refuses.
    pub fn stay(&self) -> Option<Stay> {
        let before = sched_getaffinity(None).ok()?;
        sched_setaffinity(None, &self.only).ok()?;
        Some(Stay(before))
    }
}

impl Drop for Stay {
    fn drop(&mut self) {
        // These were allowed before; if they no longer are, the thread stays where it is.
        let _ = sched_setaffinity(None, &self.0);
    }
}

fn claim(processor: usize) -> Option<UnixListener> {
    let name = SocketAddr::from_abstract_name(format!("hopyard-processor-{processor}")).ok()?;
    UnixListener::bind_addr(&name).ok()
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn usable() -> Vec<usize> {
        let set = sched_getaffinity(None).expect("it may be asked");
        (0..CpuSet::MAX_CPU).filter(|&it| set.is_set(it)).collect()
    }

    #[test]
    fn runs_beside_each_other_have_different_processors_and_give_them_back() {
        // In a thread of its own: others of this process are not concerned.
        let test = thread::spawn(|| {
            let all = usable();
            let [first, second] = [Processor::claim(), Processor::claim()];
            let (Some(first), Some(second)) = (first, second) else { return assert_eq!(all.len(), 1) };
            let stay = first.stay().expect("it may be chosen");
            let of_first = usable();
            assert_eq!(of_first.len(), 1);
            assert!(Processor::claim().is_none(), "a thread with one processor has no choice");
            let child = thread::spawn(usable);
            assert_eq!(child.join().expect("the child"), of_first, "what is started there stays there");
            drop(stay);
            assert_eq!(usable(), all);
            let stay = second.stay().expect("it may be chosen");
            // Other programs of the machine may have all names.
            assert!(usable() != of_first || first._claim.is_none() || second._claim.is_none());
            drop(stay);
        });
        test.join().expect("the thread");
    }

    #[test]
    fn a_claim_ends_with_its_owner() {
        let Some(one) = Processor::claim().filter(|it| it._claim.is_some()) else { return };
        let number = (0..CpuSet::MAX_CPU).find(|&it| one.only.is_set(it)).expect("it has one");
        assert!(claim(number).is_none());
        drop(one);
        // Another test may have it by now; then it gives it back soon.
        let again = (0..100).any(|_| {
            thread::sleep(std::time::Duration::from_millis(10));
            claim(number).is_some()
        });
        assert!(again, "processor {number}");
    }
}
