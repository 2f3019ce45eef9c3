//! Linux's receive buffer. Its window may grow ([`Growth`]): then the buffer announces less than its room at first, and
//! data beyond gaps takes memory. There an application that reads at once reads when the segment has been processed,
//! and acknowledged if it is acknowledged at once.

use hopyard_engine::Time;

use super::params::ReceiveWindow;
use super::receive_window::{Growth, Window};
use crate::packet::TcpHeader;
use crate::transport::acking::quick::Room;
use crate::transport::acking::{Order, Reading};
use crate::transport::connection::{Buffer, Intake, Params, Placed};

/// A receive buffer.
#[derive(Clone, Debug)]
pub(super) struct ReceiveBuffer {
    pub base: Buffer,
    /// The growth of the window, if it is not fixed; and the bytes in order that are read when the event is over.
    growth: Option<Growth>,
    arrived: u64,
}

impl ReceiveBuffer {
    pub fn new(params: &Params) -> Self {
        let mut base = Buffer::new(params);
        let growth = (params.linux.receive_window == ReceiveWindow::Growing).then(|| Growth::new(params));
        if let Some(growth) = &growth {
            (base.size, base.edge, base.announced) = (growth.room(), growth.first(), growth.first());
        }
        Self { base, growth, arrived: 0 }
    }

    /// The connection is open.
    pub fn open(&mut self, now: Time) {
        if let Some(growth) = &mut self.growth {
            growth.open(now);
        }
    }

    /// A segment was put in order, before which `held` bytes of memory lay beyond gaps. Without SACK, data beyond a gap
    /// does not let the limit of the window grow: all duplicate acknowledgements have the same window.
    pub fn on_segment(&mut self, tcp: &Intake, header: &TcpHeader, placed: &Placed, held: u64, now: Time) -> Room {
        let (waiting, len) = (self.taken_in_order(), u64::from(header.len));
        let Some(growth) = &mut self.growth else {
            self.base.fill(placed.delivered, now);
            return Room::default();
        };
        let is_ahead = placed.arrival.order == Order::Ahead;
        let mut grew = false;
        if placed.fresh > 0 && (!is_ahead || tcp.sack) {
            // What begins a piece beyond a gap is counted later.
            let block = tcp.blocks.iter().find(|block| is_ahead && block.1 == header.end());
            let follows = block.map_or(0, |block| (block.1 - block.0).saturating_sub(placed.fresh));
            let begins = is_ahead && growth.fills_piece(follows);
            let own = if begins { 0 } else { growth.taken(follows + len) - growth.taken(follows) };
            grew = growth.grow(header.len, waiting + held + own);
        }
        if self.base.reads_at_once() {
            self.arrived += placed.delivered;
        } else {
            self.base.fill(placed.delivered, now);
        }
        Room { grew, ..self.room(tcp) }
    }

    /// The memory that so many bytes in a row take. Where no memory is counted, it is nothing.
    fn taken(&self, bytes: u64) -> u64 {
        self.growth.as_ref().map_or(0, |growth| growth.taken(bytes))
    }

    /// The memory of data that is in order and was not read.
    fn taken_in_order(&self) -> u64 {
        let arrived = self.growth.as_ref().map_or(0, |growth| growth.taken_with_gap(self.arrived));
        self.taken(self.base.unread()) + arrived
    }

    /// The memory of data beyond gaps.
    pub fn held(&self, tcp: &Intake) -> u64 {
        tcp.blocks.iter().map(|(from, to)| self.taken(to - from)).sum()
    }

    /// The application reads what it can. The sender must know if the window at least doubles by that, from less than
    /// half of the largest one.
    pub fn on_read(&mut self, tcp: &Intake, now: Time) -> Reading {
        self.base.read(now);
        let unread = self.base.unread();
        if let Some(growth) = &mut self.growth {
            let arrived = std::mem::take(&mut self.arrived);
            growth.on_read(tcp.next - unread.min(tcp.next), arrived, tcp.trip.micros(), now);
            self.base.size = growth.room();
        }
        let left = self.base.edge.saturating_sub(tcp.next);
        let opens = self.growth.as_ref().is_some_and(|growth| {
            let window = self.window(growth, tcp).bytes;
            2 * left <= growth.clamp() && window > 0 && window >= 2 * left
        });
        tcp.reading(unread, opens && tcp.fin.is_none())
    }

    /// The window if it were announced now.
    fn window(&self, growth: &Growth, tcp: &Intake) -> Window {
        growth.window(self.taken_in_order() + self.held(tcp))
    }

    /// The room of the buffer now.
    pub fn room(&self, tcp: &Intake) -> Room {
        let Some(growth) = &self.growth else { return Room::default() };
        let window = self.window(growth, tcp);
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
        // What was announced is not taken back.
        let left = self.base.edge.saturating_sub(tcp.next);
        let window = self.window(growth, tcp).bytes;
        let window = if window < left { growth.whole(left) } else { window };
        self.base.settle(tcp.next + window, tcp.next, now)
    }
}
