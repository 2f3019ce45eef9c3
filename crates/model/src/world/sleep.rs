//! Radios that sleep at the times that the scenario gives.
//!
//! A radio that sleeps receives nothing and sends nothing, and takes the power of sleep. Its MAC knows until when: it
//! keeps what it has to send. All else in the node goes on. A radio that is sending when it is to sleep first sends its
//! frame to the end. It breaks off an exchange of frames.

use super::World;
use super::sleepers::Sleeper;
use super::spec::SleepSpec;
use crate::clock::{Event, Wake};
use crate::node::Attachment;
use crate::observe::Probe;
use crate::order;

impl<P: Probe> World<P> {
    /// Schedules the first sleep of each radio of these nodes.
    pub(super) fn plan_sleep(&mut self, sleeps: &[SleepSpec]) {
        let nodes = self.nodes.len();
        for it in sleeps.iter().filter(|it| it.node.index() < nodes) {
            let interfaces: Vec<_> = self.nodes[it.node.index()].interfaces().collect();
            for interface in interfaces {
                let Attachment::Radio { channel, station } = self.topology.attachment(interface) else { continue };
                let station = station as usize;
                self.channels[channel.index()].expect_sleep(station);
                let (node, times, every) = (it.node, it.times.clone(), it.every);
                self.energy.sleepers.push(Sleeper {
                    node,
                    interface,
                    channel,
                    station,
                    times,
                    every,
                    next: 0,
                    rounds: 0,
                });
                self.schedule_sleep(self.energy.sleepers.len() - 1);
            }
        }
    }

    fn schedule_sleep(&mut self, place: usize) {
        let it = &self.energy.sleepers[place];
        if let Some((from, _)) = it.span().filter(|&(from, _)| from < self.clock.end) {
            self.clock.queue.push(from, order::sleep(it.node.0, it.interface.0), Event::Sleep(place as u32));
        }
    }

    /// A radio falls asleep, or does so when it has sent its frame.
    #[cold]
    pub(super) fn fall_asleep(&mut self, place: u32) {
        let now = self.cx.now;
        let it = &mut self.energy.sleepers[place as usize];
        let (node, station) = (it.node, it.station);
        let Some((_, until)) = it.span() else { return };
        let channel = &mut self.channels[it.channel.index()];
        let awake_until = channel.sends_until(station);
        if now < awake_until && awake_until < until {
            let rank = order::sleep(node.0, it.interface.0);
            return self.clock.queue.push(awake_until, rank, Event::Sleep(place));
        }
        it.step();
        if self.energy.is_dead(node) {
            return;
        }
        if awake_until <= now {
            self.channels[self.energy.sleepers[place as usize].channel.index()].sleep(
                station,
                until,
                now,
                &mut self.clock.queue,
            );
            self.cx.digest.fold(until.nanos() ^ u64::from(node.0) << 44);
            if self.energy.batteries.is_some() {
                self.clock.set(Wake::Battery(node), now);
            }
        }
        self.schedule_sleep(place as usize);
    }
}
