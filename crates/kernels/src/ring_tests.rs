//! A queue against a guest that is played by the test, in memory that both map.

use proptest::prelude::*;

use super::*;
use crate::memory::tests::pages;

const DESCRIPTORS: u64 = 0x6000_0000;
const AVAILABLE: u64 = 0x6000_0400;
const USED: u64 = 0x6000_0800;
const BUFFERS: u64 = 0x7000_0000;
const SIZE: u16 = 8;

/// The guest's side of a queue.
pub struct Guest {
    memory: GuestMemory,
    made: u16,
    seen: u16,
}

impl Guest {
    pub fn new(memory: GuestMemory) -> Self {
        Self { memory, made: 0, seen: 0 }
    }

    fn descriptor(&self, index: u16, address: u64, length: u32, flags: u16, next: u16) {
        let mut bytes = address.to_le_bytes().to_vec();
        bytes.extend(length.to_le_bytes());
        bytes.extend(flags.to_le_bytes());
        bytes.extend(next.to_le_bytes());
        self.memory.write(DESCRIPTORS + DESCRIPTOR * u64::from(index), &bytes).expect("a descriptor");
    }

    fn make_available(&mut self, head: u16) {
        self.memory.store(AVAILABLE + 4 + 2 * u64::from(self.made % SIZE), head).expect("in the ring");
        self.made = self.made.wrapping_add(1);
        self.memory.store(AVAILABLE + 2, self.made).expect("the counter");
    }

    /// The next chain that the device has given back, with the bytes that it has written.
    fn used(&mut self) -> Option<(u32, u32)> {
        if self.memory.load(USED + 2).expect("the counter") == self.seen {
            return None;
        }
        let mut bytes = [0; 8];
        self.memory.read(USED + 4 + 8 * u64::from(self.seen % SIZE), &mut bytes).expect("in the ring");
        self.seen = self.seen.wrapping_add(1);
        let [a, b, c, d, e, f, g, h] = bytes;
        Some((u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h])))
    }
}

fn queue() -> (Queue, GuestMemory, Guest) {
    let (ours, theirs) = pages();
    let mut queue = Queue::default();
    assert!(!queue.is_ready());
    queue.set_size(u32::from(SIZE)).expect("a size");
    queue.set_addresses(DESCRIPTORS, AVAILABLE, USED);
    queue.enable(true);
    assert!(queue.is_ready());
    (queue, ours, Guest::new(theirs))
}

#[test]
fn a_chain_is_read_and_given_back() {
    let (mut queue, memory, mut guest) = queue();
    let mut bytes = vec![9; 3];
    assert_eq!(queue.take(&memory, 100, &mut bytes), Ok(None));
    guest.memory.write(BUFFERS, b"header").expect("a buffer");
    guest.memory.write(BUFFERS + 100, b"body").expect("a buffer");
    guest.descriptor(5, BUFFERS, 6, NEXT, 2);
    guest.descriptor(2, BUFFERS + 100, 4, 0, 0);
    guest.make_available(5);
    assert_eq!(queue.take(&memory, 100, &mut bytes), Ok(Some(5)));
    assert_eq!(bytes, b"headerbody");
    assert_eq!(queue.take(&memory, 100, &mut bytes), Ok(None));
    assert_eq!(guest.used(), None);
    queue.give(&memory, 5, 0).expect("given");
    assert_eq!(guest.used(), Some((5, 0)));
    assert_eq!(guest.used(), None);
}

#[test]
fn a_frame_is_written_over_several_buffers() {
    let (mut queue, memory, mut guest) = queue();
    assert_eq!(queue.fill(&memory, b"0123456789"), Ok(false), "no buffer");
    guest.descriptor(0, BUFFERS, 4, NEXT | WRITE, 1);
    guest.descriptor(1, BUFFERS + 50, 20, WRITE, 0);
    guest.make_available(0);
    assert_eq!(queue.fill(&memory, b"0123456789"), Ok(true));
    assert_eq!(guest.used(), Some((0, 10)));
    let (mut first, mut second) = ([0; 5], [0; 7]);
    guest.memory.read(BUFFERS, &mut first).expect("a buffer");
    guest.memory.read(BUFFERS + 50, &mut second).expect("a buffer");
    assert_eq!((&first, &second), (b"0123\0", b"456789\0"));
}

#[test]
fn a_guest_that_breaks_a_rule_is_refused() {
    let mut bytes = Vec::new();
    let (mut queue, memory, mut guest) = queue();
    guest.descriptor(0, BUFFERS, 4, NEXT, 0);
    guest.make_available(0);
    let chain = |head, found| Err(RingError::Chain { head, size: SIZE, found });
    assert_eq!(queue.take(&memory, 100, &mut bytes), chain(0, 0), "a chain that comes back to itself");
    guest.descriptor(0, BUFFERS, 4, NEXT, SIZE);
    assert_eq!(queue.take(&memory, 100, &mut bytes), chain(0, SIZE));
    guest.descriptor(0, BUFFERS, 101, 0, 0);
    assert_eq!(queue.take(&memory, 100, &mut bytes), Err(RingError::Long { most: 100, found: 101 }));
    guest.descriptor(0, 0x10, 4, 0, 0);
    let outside = BadAddress { address: 0x10, length: 4 };
    assert_eq!(queue.take(&memory, 100, &mut bytes), Err(RingError::Address(outside)));
    for flags in [INDIRECT, WRITE] {
        guest.descriptor(0, BUFFERS, 4, flags, 0);
        assert_eq!(queue.take(&memory, 100, &mut bytes), Err(RingError::Flags { index: 0, flags }));
    }
    guest.descriptor(0, BUFFERS, 4, 0, 0);
    assert_eq!(queue.fill(&memory, b"12345"), Err(RingError::Flags { index: 0, flags: 0 }));
    guest.descriptor(0, BUFFERS, 4, WRITE, 0);
    assert_eq!(queue.fill(&memory, b"12345"), Err(RingError::Short { needed: 5, found: 4 }));
    guest.memory.store(AVAILABLE + 2, SIZE + 1).expect("the counter");
    assert_eq!(queue.take(&memory, 100, &mut bytes), Err(RingError::Available { size: SIZE, found: SIZE + 1 }));
}

#[test]
fn a_queue_without_size_or_addresses_is_not_used() {
    let (memory, _) = pages();
    let mut queue = Queue::default();
    for size in [0, 3, MOST * 2] {
        assert_eq!(queue.set_size(size), Err(RingError::Size(size)));
    }
    assert_eq!(queue.fill(&memory, b""), Err(RingError::NotReady));
    queue.set_addresses(DESCRIPTORS, AVAILABLE, USED);
    assert_eq!(queue.take(&memory, 1, &mut Vec::new()), Err(RingError::NotReady));
    assert_eq!(Queue::default().give(&memory, 0, 0), Err(RingError::NotReady));
}

#[test]
fn the_guest_says_whether_it_wants_to_be_interrupted() {
    let (queue, memory, guest) = queue();
    assert_eq!(queue.wants_call(&memory), Ok(true));
    guest.memory.store(AVAILABLE, NO_INTERRUPT).expect("the flags");
    assert_eq!(queue.wants_call(&memory), Ok(false));
}

proptest! {
    /// Counters wrap after 65,536 chains, wherever they begin; frames keep their order and bytes.
    #[test]
    fn frames_pass_in_order_over_the_wrap(base in 65_520u16.., sizes in prop::collection::vec(1u32..300, 40)) {
        let (mut queue, memory, mut guest) = queue();
        queue.set_base(u32::from(base));
        (guest.made, guest.seen) = (base, base);
        memory.store(USED + 2, base).expect("the counter");
        guest.memory.store(AVAILABLE + 2, base).expect("the counter");
        let mut bytes = Vec::new();
        for (number, &size) in sizes.iter().enumerate() {
            let (head, frame) = (number as u16 % SIZE, vec![number as u8; size as usize]);
            let place = BUFFERS + 300 * u64::from(head);
            guest.memory.write(place, &frame).expect("a buffer");
            guest.descriptor(head, place, size, 0, 0);
            guest.make_available(head);
            prop_assert_eq!(queue.take(&memory, 300, &mut bytes), Ok(Some(head)));
            prop_assert_eq!(&bytes, &frame);
            queue.give(&memory, head, 0).expect("given");
            prop_assert_eq!(guest.used(), Some((u32::from(head), 0)));
        }
        prop_assert_eq!(queue.base(), u32::from(base.wrapping_add(40)));
    }
}

/// A message for a radio stands in its buffer without a header, and one of a kernel is read so.
#[test]
fn a_radio_has_messages_without_a_header() {
    use crate::device::{Device, Received};
    use crate::settings::{Kind, Nic};

    for (kind, header) in [(Kind::Radio, 0), (Kind::Ethernet, 12)] {
        let (queue, memory, mut guest) = queue();
        let mut device = Device::with_queue(Nic { kind, ..Nic::default() }, memory, queue);
        guest.descriptor(0, BUFFERS, 40, WRITE, 0);
        guest.make_available(0);
        assert!(matches!(device.receive(b"message"), Ok(Received::Filled { call: true })));
        assert_eq!(guest.used(), Some((0, 7 + header)));
        let mut bytes = [0; 7];
        guest.memory.read(BUFFERS + u64::from(header), &mut bytes).expect("a buffer");
        assert_eq!(&bytes, b"message");
        assert!(matches!(device.receive(b"message"), Ok(Received::NoBuffer)));
    }
}
