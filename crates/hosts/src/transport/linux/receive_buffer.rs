//! Linux's receive buffer. Its window may grow ([`Growth`]): then the buffer announces less than its room at first, and
//! data beyond gaps takes memory. There an application that reads at once reads when the segment has been processed,
//! and acknowledged if it is acknowledged at once.

use hopyard_engine::Time;

use super::params::ReceiveWindow;
use super::receive_memory::Held;
use super::receive_window::{Growth, Window};
use crate::packet::TcpHeader;
use crate::transport::acking::quick::Room;
use crate::transport::acking::{Order, Reading};
use crate::transport::connection::{Buffer, Intake, Params, Placed};

/// A receive buffer.
#[derive(Clone, Debug)]
pub(super) struct ReceiveBuffer {
    pub base: Buffer,
    /// The growth of the window, if it is not fixed; and the memory of the data, which counts then.
    growth: Option<Growth>,
    held: Held,
}

impl ReceiveBuffer {
    pub fn new(params: &Params) -> Self {
        let mut base = Buffer::new(params);
        let growth = (params.linux.receive_window == ReceiveWindow::Growing).then(|| Growth::new(params));
        if let Some(growth) = &growth {
            (base.size, base.edge, base.announced) = (growth.room(), growth.first(), growth.first());
        }
        Self { base, growth, held: Held::default() }
    }

    /// The connection is open.
    pub fn open(&mut self, now: Time) {
        if let Some(growth) = &mut self.growth {
            growth.open(now);
        }
    }

    /// The window that a SYN announces which opens the connection, if the window grows.
    pub fn announce_first(&mut self, params: &Params) -> Option<u32> {
        let first = self.growth.as_ref()?.first_of_opener(params);
        (self.base.announced, self.base.edge) = (first, 1 + first);
        Some(first as u32)
    }

    /// A segment was put in order. A full segment has a payload of `full` bytes. Without SACK, data beyond a gap does
    /// not let the limit of the window grow: all duplicate acknowledgements have the same window.
    pub fn on_segment(&mut self, tcp: &Intake, header: &TcpHeader, placed: &Placed, full: u32, now: Time) -> Room {
        let Some(growth) = &mut self.growth else {
            self.base.fill(placed.delivered, now);
            return Room::default();
        };
        growth.full = full.into();
        let len = u64::from(header.len);
        let (from, is_ahead) = (header.seq, placed.arrival.order == Order::Ahead);
        let mut grew = false;
        if placed.fresh > 0 && len > 0 {
            let begun = if is_ahead {
                self.held.put_beyond(from, from + len)
            } else {
                self.held.put(from, from + len);
                0
            };
            if !is_ahead || tcp.sack {
                grew = growth.grow(len, is_ahead, self.held.memory() - begun);
            }
            self.held.close_gap(tcp.next);
        }
        if !self.base.reads_at_once() {
            self.base.fill(placed.delivered, now);
        }
        Room { grew, ..self.room() }
    }

    /// The application reads what it can. The sender must know if the window at least doubles by that, from less than
    /// half of the largest one.
    pub fn on_read(&mut self, tcp: &Intake, now: Time) -> Reading {
        self.base.read(now);
        let unread = self.base.unread();
        if let Some(growth) = &mut self.growth {
            let read = tcp.next - unread.min(tcp.next);
            // The first piece that is read counts; the rest belongs to the next round trip.
            let first = self.held.read(read).unwrap_or(read);
            growth.on_read(first, tcp.trip.micros(), now);
            self.base.size = growth.room();
        }
        let left = self.base.edge.saturating_sub(tcp.next);
        let opens = self.growth.as_ref().is_some_and(|growth| growth.opens(left, self.held.memory()));
        tcp.reading(unread, opens && tcp.fin.is_none())
    }

    /// The window if it were announced now.
    fn window(&self, growth: &Growth) -> Window {
        growth.window(self.held.memory())
    }

    /// The room of the buffer now.
    pub fn room(&self) -> Room {
        let Some(growth) = &self.growth else { return Room::default() };
        let window = self.window(growth);
        Room { grew: false, shrinks: window.bytes < self.base.announced, cramped: window.cramped }
    }

    /// The first sequence number that does not fit, when `next` is expected.
    pub const fn limit(&self, next: u64) -> u64 {
        if self.growth.is_some() { self.base.edge } else { self.base.limit(next) }
    }

    /// The window to announce. In a SYN it has no scale.
    pub fn announce(&mut self, tcp: &Intake, now: Time) -> u32 {
        let Some(growth) = &self.growth else { return self.base.announce(tcp.next, now) };
        if tcp.answer_syn {
            self.base.announced = growth.first();
            self.base.edge = tcp.next + self.base.announced;
            return self.base.announced as u32;
        }
        self.base.read(now);
        if !self.base.reads_at_once() {
            self.held.read(tcp.next - self.base.unread().min(tcp.next));
        }
        // What was announced is not taken back.
        let left = self.base.edge.saturating_sub(tcp.next);
        let window = self.window(growth).bytes;
        let window = if window < left { growth.whole(left) } else { window };
        // Only a piece that is read whole frees memory.
        let opening = self.held.frees().find(|(_, taken)| growth.opens(window, *taken));
        let enough = opening.map(|(read, _)| tcp.next.saturating_sub(read));
        self.base.settle(tcp.next + window, tcp.next, enough, now)
    }
}
