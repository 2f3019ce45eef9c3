//! The plain receiving end.

use hopyard_engine::Time;

use crate::packet::TcpHeader;
use crate::transport::acking::Reading;
use crate::transport::connection::{Buffer, Intake, Params, ReceivingEnd};

/// The plain receiving end: it announces what its buffer has room for.
#[derive(Clone, Debug)]
pub(crate) struct Plain {
    buffer: Buffer,
}

impl Plain {
    pub fn new(params: &Params) -> Self {
        Self { buffer: Buffer::new(params) }
    }
}

impl ReceivingEnd for Plain {
    fn on_segment(&mut self, tcp: &mut Intake, header: &TcpHeader, now: Time) {
        if tcp.refuses(header) || !tcp.opens(header, now) {
            return;
        }
        tcp.trip.on_opened(now);
        if !tcp.accepts(header, self.buffer.limit(tcp.next), now) {
            return;
        }
        if tcp.reports_before(header) {
            tcp.before = Some(self.header(tcp, now));
        }
        let placed = tcp.place(header, self.buffer.announced(), now);
        self.buffer.fill(placed.delivered, now);
        tcp.arrived(&placed.arrival);
    }

    fn read(&mut self, tcp: &Intake, _now: Time) -> Reading {
        Reading {
            unacknowledged: tcp.next - tcp.last_ack,
            emptied: tcp.blocks.is_empty() && self.buffer.unread() == 0,
            opens: false,
        }
    }

    fn header(&mut self, tcp: &mut Intake, now: Time) -> TcpHeader {
        let header = tcp.header(self.buffer.announce(tcp.next, now), now);
        if header.flags.fin {
            tcp.fin_again = now + tcp.next_fin_wait();
        }
        header
    }

    fn on_timer(&mut self, tcp: &mut Intake, now: Time) {
        tcp.due |= now >= self.buffer.deadline();
    }

    fn deadline(&self) -> Time {
        self.buffer.deadline()
    }
}
