//! Block acknowledgement: the agreements of a station with its neighbours, as sender and as receiver.

use hopyard_engine::{Span, Time};

use super::category::Category;
use super::params::WINDOW;
use crate::address::InterfaceId;
use crate::packet::PacketId;

/// The modulus of sequence numbers.
const NUMBERS: u16 = 4096;

/// The number that follows another one after so many steps.
pub const fn after(number: u16, by: u16) -> u16 {
    (number + by) % NUMBERS
}

/// The steps by which a number is ahead of another one. With half of all numbers or more, it is older.
pub const fn ahead(number: u16, of: u16) -> u16 {
    (number + NUMBERS - of) % NUMBERS
}

/// Whether a number is older than another one.
pub const fn is_older(number: u16, than: u16) -> bool {
    ahead(number, than) >= NUMBERS / 2
}

/// Whether a number is at most a window before another. A sender repeats no MPDU that is older, so that a number
/// farther away is a new one: numbers went on while the neighbour was out of reach.
const fn is_past(number: u16, than: u16) -> bool {
    let back = ahead(than, number);
    back > 0 && back <= WINDOW
}

/// A receiver's scoreboard: the first number of its window, and a bit for each number from there on.
#[derive(Clone, Copy, Debug)]
pub struct Board {
    pub start: u16,
    pub received: u64,
}

impl Board {
    /// The empty scoreboard that begins with a number.
    pub const fn new(start: u16) -> Self {
        Self { start, received: 0 }
    }

    /// Enters an MPDU.
    pub fn mark(&mut self, number: u16) {
        if is_past(number, self.start) {
            return;
        }
        let beyond = (ahead(number, self.start) + 1).saturating_sub(WINDOW);
        if beyond > 0 {
            self.move_by(beyond);
        }
        self.received |= 1 << ahead(number, self.start);
    }

    /// The window begins at this number or later.
    pub fn begin_at(&mut self, number: u16) {
        if !is_past(number, self.start) {
            self.move_by(ahead(number, self.start));
        }
    }

    fn move_by(&mut self, steps: u16) {
        self.received = self.received.checked_shr(u32::from(steps)).unwrap_or(0);
        self.start = after(self.start, steps);
    }
}

/// The state of an agreement at the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// There is none; the next request may be sent at this time.
    None { ask_at: Time },
    /// It is operational.
    Open,
}

/// A sender's agreement on its frames of a category to a neighbour.
#[derive(Clone, Copy, Debug)]
pub struct Sender {
    pub to: InterfaceId,
    pub category: Category,
    pub next: u16,
    pub state: State,
}

/// A receiver's knowledge of the frames of a category from a neighbour.
#[derive(Clone, Debug)]
pub struct Receiver {
    pub from: InterfaceId,
    pub category: Category,
    /// Whether there is an agreement. Without one, `next` is the number after the last one heard.
    pub agreed: bool,
    /// The first number that is not passed up yet.
    pub next: u16,
    pub board: Board,
    /// The packets behind a missing number, in order of their numbers.
    stored: Vec<(u16, PacketId)>,
    /// The numbers that were given up.
    skipped: Vec<u16>,
    /// When the first missing number is given up.
    pub release: Time,
}

impl Receiver {
    /// The knowledge of a neighbour from which this number is expected.
    pub const fn new(from: InterfaceId, category: Category, agreed: bool, next: u16) -> Self {
        Self {
            from,
            category,
            agreed,
            next,
            board: Board::new(next),
            stored: Vec::new(),
            skipped: Vec::new(),
            release: Time::NEVER,
        }
    }

    /// The two agree: numbers from `start` on may come in any order.
    pub fn agree(&mut self, start: u16) {
        // Frames that came since the request was made are not missing.
        self.next = if ahead(self.next, start) <= WINDOW { self.next } else { start };
        (self.agreed, self.board) = (true, Board::new(start));
        let before = (0..ahead(self.next, start)).map(|place| after(start, place));
        let came: Vec<u16> = before.filter(|number| !self.skipped.contains(number)).collect();
        let stored = self.stored.iter().map(|(number, _)| *number);
        for number in came.into_iter().chain(stored).collect::<Vec<u16>>() {
            self.board.mark(number);
        }
    }

    /// The window begins at this number or later: MPDUs before it do not come any more.
    pub fn begin_at(&mut self, number: u16, pass: &mut impl FnMut(PacketId)) {
        self.board.begin_at(number);
        if self.next != number && !is_past(number, self.next) {
            self.next = number;
            self.pass_ready(pass);
        }
    }

    /// Whether an MPDU with this number came before.
    pub fn has(&self, number: u16) -> bool {
        is_past(number, self.next) || self.stored.iter().any(|(stored, _)| *stored == number)
    }

    /// Whether an old MPDU with this number was given up, so that it has not come before.
    pub fn is_late(&mut self, number: u16) -> bool {
        let place = self.skipped.iter().position(|skipped| *skipped == number);
        place.map(|place| self.skipped.swap_remove(place)).is_some()
    }

    /// A new MPDU came with these packets. Passes up the packets that are in order now, and those that fall out of the
    /// window.
    pub fn store(&mut self, number: u16, packets: impl Iterator<Item = PacketId>, pass: &mut impl FnMut(PacketId)) {
        let place = self.stored.partition_point(|(stored, _)| is_older(*stored, number));
        self.stored.splice(place..place, packets.map(|packet| (number, packet)));
        let beyond = (ahead(number, self.next) + 1).saturating_sub(WINDOW);
        if beyond > 0 {
            self.next = after(self.next, beyond);
        }
        self.pass_ready(pass);
    }

    /// The first missing number is given up.
    pub fn skip(&mut self, pass: &mut impl FnMut(PacketId)) {
        if let Some(&(number, _)) = self.stored.first() {
            let missing = (0..ahead(number, self.next)).map(|place| after(self.next, place));
            self.skipped.retain(|skipped| is_older(*skipped, self.next));
            self.skipped.extend(missing);
            self.next = number;
        }
        self.pass_ready(pass);
    }

    /// Sets the time at which the first missing number is given up. It counts from the first packet that is stored.
    pub fn wait(&mut self, before: u16, now: Time, timeout: Span) {
        if self.stored.is_empty() {
            self.release = Time::NEVER;
        } else if self.release == Time::NEVER || self.next != before {
            self.release = now + timeout;
        }
    }

    /// Passes up the packets before `next`, and those that follow without a gap.
    fn pass_ready(&mut self, pass: &mut impl FnMut(PacketId)) {
        let mut count = 0;
        for &(number, packet) in &self.stored {
            if number == self.next {
                self.next = after(number, 1);
            } else if !is_older(number, self.next) {
                break;
            }
            count += 1;
            pass(packet);
        }
        self.stored.drain(..count);
    }

    /// The packets that wait for a missing one.
    pub fn held(&self) -> impl Iterator<Item = PacketId> + '_ {
        self.stored.iter().map(|(_, packet)| *packet)
    }
}
