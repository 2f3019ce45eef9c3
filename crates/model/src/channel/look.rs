//! Slots that follow from who hears whom: the simulator looks, and the MACs are told.

use hopyard_engine::{Queue, Time};

use super::Channel;
use crate::address::InterfaceId;
use crate::context::Context;
use crate::mac::Slotted;

impl<M: Slotted> Channel<M> {
    /// When the simulator must look at who hears whom; `before` is when it did last.
    #[must_use]
    pub fn next_look(&self, before: Option<Time>) -> Option<Time> {
        M::next_look(&self.shared, before)
    }

    /// The simulator looks at who hears whom, and gives the MACs their slots. Returns the interfaces whose slots have
    /// changed.
    pub fn look<E: Copy>(&mut self, cx: &mut Context, queue: &mut Queue<E>) -> Vec<InterfaceId> {
        let now = cx.now;
        let mut near = Vec::new();
        let mut neighbours: Vec<Vec<u32>> = Vec::with_capacity(self.macs.len());
        for station in 0..self.macs.len() {
            self.medium.in_range(station, now, &mut near);
            let on = near.iter().filter(|&&it| !self.is_off(station) && !self.is_off(it));
            neighbours.push(on.map(|&it| it as u32).collect());
        }
        if neighbours == self.neighbours {
            return Vec::new();
        }
        let given = M::slots_for(&neighbours);
        let mut changed = Vec::new();
        for (station, slots) in given.iter().enumerate() {
            // A station whose battery is empty does nothing any more: its timer must not be set.
            if self.given.get(station) != Some(slots) && !self.is_off(station) {
                self.macs[station].on_slots(slots, &self.shared, cx);
                self.arm(station, now, queue);
                changed.push(self.interfaces[station]);
            }
        }
        (self.neighbours, self.given) = (neighbours, given);
        changed
    }
}
