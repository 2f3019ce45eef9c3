//! A guest that is no kernel: it speaks the protocols, and does what its role says.

use std::fs::File;
use std::io::{IoSlice, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::FileExt as _;
use std::os::unix::net::UnixStream;
use std::process::{Command, exit};
use std::{env, thread, time};

use hopyard_engine::Time;
use hopyard_kernels::agent::Report;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::time::{ClockId, clock_gettime};

const ACK: u32 = 0;
const START: u32 = 1;
const REQUEST: u32 = 2;
const WAIT: u32 = 3;
const GET: u32 = 4;
const UPDATE: u32 = 5;
const RUN: u32 = 6;
const FREE_UNTIL: u32 = 7;

/// Where the guest's memory begins, and what lies where in it: for each queue descriptors, available ring, used ring;
/// then buffers of 2048 bytes.
const BASE: u64 = 0x6000_0000;
const RINGS: u64 = 0x1000;
const BUFFERS: u64 = 0x4000;
const SIZE: u16 = 8;

/// The value of a parameter of the kernel.
fn parameter(name: &str) -> Option<String> {
    env::args().find_map(|it| it.strip_prefix(name)?.strip_prefix('=').map(str::to_owned))
}

/// What the role `role=` says.
pub fn main() {
    let role = parameter("role").expect("a role");
    match role.as_str() {
        "absent" => exit(7),
        "late" => thread::sleep(time::Duration::from_secs(100)),
        _ => {}
    }
    let mut guest = Guest::connect();
    match role.as_str() {
        "ticks" => {
            for second in 1.. {
                guest.sleep_until(second * 1_000_000_000);
                guest.report(&Report::Accepted { port: 0 });
            }
        }
        "parent" => {
            let mut child = Command::new("sleep").arg("1000").spawn().expect("a child");
            guest.report(&Report::Began { program: child.id() });
            guest.sleep_until(u64::MAX);
            child.wait().expect("it ends");
        }
        "panic" => {
            guest.sleep_until(2_000_000_000);
            println!("Kernel panic - not syncing: a test");
            exit(1);
        }
        // Reports as an agent does, and says what a kernel says.
        "talk" => {
            println!("booted");
            for milli in 1..3_000 {
                guest.sleep_until(milli * 1_000_000);
                guest.report(&Report::Output { program: 0, stream: 1, bytes: vec![b'x'; 200] });
            }
            guest.sleep_until(4_000_000_000);
            println!("Kernel panic - not syncing: a test");
            exit(1);
        }
        "busy" => {
            let own = env::current_exe().expect("this program");
            assert!(Command::new(&own).arg("compute").status().expect("a child").success());
            let mut child = Command::new(own).args(["compute", "live"]).spawn().expect("a child");
            compute();
            thread::sleep(time::Duration::from_millis(500));
            guest.sleep_until(u64::MAX);
            child.wait().expect("it ends");
        }
        "spin" => {
            guest.sleep_until(3_000_000_000);
            println!("computing");
            thread::sleep(time::Duration::from_secs(100));
        }
        "slow" => {
            guest.sleep_until(3_000_000_000);
            thread::sleep(time::Duration::from_millis(1500));
            guest.sleep_until(u64::MAX);
        }
        "babble" => drop(guest.ask(42, 0)),
        "beyond" => {
            guest.sleep_until(1_000_000_000);
            let far = guest.free;
            guest.ask(UPDATE, far);
        }
        // Sends a frame each millisecond, or answers each frame that comes.
        "send" => {
            guest.open_device();
            for number in 0..10u8 {
                guest.sleep_until(1_000_000_000 + u64::from(number) * 1_000_000);
                guest.send(&[number; 60]);
            }
            guest.sleep_until(u64::MAX);
        }
        "answer" => {
            guest.open_device();
            loop {
                guest.sleep(u64::MAX);
                while let Some(mut frame) = guest.received() {
                    guest.report(&Report::Counters { timeouts: frame.len() as u64, fast: frame[59].into() });
                    frame[59] += 100;
                    guest.send(&frame);
                }
            }
        }
        "deaf" => {
            guest.open_device();
            guest.buffers = 0;
            guest.sleep_until(u64::MAX);
        }
        other => panic!("expected a role, found {other}"),
    }
}

/// Computes for 0.1 s of this thread's processor time.
pub fn compute() {
    while clock_gettime(ClockId::ThreadCPUTime).tv_nsec < 100_000_000 {}
}

struct Guest {
    stream: UnixStream,
    sequence: u32,
    now: u64,
    free: u64,
    device: Option<UnixStream>,
    requests: Option<UnixStream>,
    memory: Option<File>,
    /// How many receive buffers were made available, how many frames were seen, sent, and given back.
    buffers: u16,
    seen: u16,
    sent: u16,
    given: u16,
}

impl Guest {
    fn connect() -> Self {
        let path = parameter("time-travel").expect("a time socket");
        let path = path.rsplit(':').next().expect("a path");
        let stream = UnixStream::connect(path).expect("connected");
        let mut guest = Self {
            stream,
            sequence: 0,
            now: 0,
            free: 0,
            device: None,
            requests: None,
            memory: None,
            buffers: 0,
            seen: 0,
            sent: 0,
            given: 0,
        };
        guest.ask(START, 1);
        guest
    }

    /// Appends to the file of reports, which is in the folder that is the standard input. An agent that cannot report
    /// ends, and its kernel with it.
    fn report(&self, report: &Report) {
        let file = File::options().append(true).open("/proc/self/fd/0/reports");
        if file.and_then(|mut it| it.write_all(&report.bytes(Time::from_nanos(self.now)))).is_err() {
            exit(1);
        }
    }

    fn write(&mut self, operation: u32, sequence: u32, time: u64) {
        let bytes = [&operation.to_ne_bytes()[..], &sequence.to_ne_bytes(), &time.to_ne_bytes()].concat();
        // The simulation may have ended.
        if self.stream.write_all(&bytes).is_err() {
            exit(0);
        }
    }

    fn read(&mut self) -> (u32, u32, u64) {
        let mut bytes = [0; 16];
        if self.stream.read_exact(&mut bytes).is_err() {
            exit(0);
        }
        let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
        let message = (word(0), word(4), u64::from_ne_bytes(bytes[8..].try_into().expect("8 bytes")));
        if message.0 != ACK {
            match message.0 {
                RUN => self.now = message.2,
                FREE_UNTIL => self.free = message.2,
                other => panic!("unexpected message {other}"),
            }
            self.write(ACK, message.1, 0);
        }
        message
    }

    /// Sends a message, and returns the time of its acknowledgement.
    fn ask(&mut self, operation: u32, time: u64) -> u64 {
        self.sequence += 1;
        let sequence = self.sequence;
        self.write(operation, sequence, time);
        loop {
            let message = self.read();
            if message.0 == ACK {
                assert_eq!(message.1, sequence, "the answers have the order of the messages");
                return message.2;
            }
        }
    }

    /// Sleeps until a time, whatever devices call meanwhile.
    fn sleep_until(&mut self, at: u64) {
        while self.now < at {
            self.sleep(at);
        }
    }

    /// Sleeps until a time, or until a device calls.
    fn sleep(&mut self, at: u64) {
        self.ask(REQUEST, at);
        self.free = 0;
        self.ask(WAIT, 0);
        loop {
            let called = {
                let mut wanted = vec![PollFd::new(&self.stream, PollFlags::IN)];
                wanted.extend(self.requests.as_ref().map(|it| PollFd::new(it, PollFlags::IN)));
                poll(&mut wanted, None).expect("polled");
                wanted[0].revents().is_empty()
            };
            if called {
                self.called();
            } else if self.read().0 == RUN {
                return;
            }
        }
    }

    /// A device calls: it is answered after a wish to run now.
    fn called(&mut self) {
        let mut message = [0; 20];
        self.requests.as_mut().expect("a socket").read_exact(&mut message).expect("a call");
        assert_eq!(message[..12], words(&[4, 9, 8]), "the call of a queue, which needs an answer");
        let now = self.ask(GET, 0);
        self.ask(REQUEST, now);
        let answer = [words(&[4, 5, 8]), vec![0; 8]].concat();
        self.requests.as_mut().expect("a socket").write_all(&answer).expect("answered");
    }

    fn open_device(&mut self) {
        let path = parameter("virtio_uml.device").expect("a device");
        let path = path.strip_suffix(":1").expect("a network device");
        self.device = Some(UnixStream::connect(path).expect("connected"));
        assert_eq!(self.request(1, &[], None).len(), 8, "features");
        self.request(2, &words(&[1 << 5 | 1 << 30, 1]), None);
        self.request(15, &[], None);
        self.request(16, &words(&[0x4228, 0]), None);
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        self.request(21, &[], Some(theirs.into()));
        self.requests = Some(ours);
        assert_eq!(self.request(24, &words(&[0, 6, 0, 0, 0]), None)[12..14], [2, 0], "a MAC address");
        let memory = memfd_create("guest", MemfdFlags::CLOEXEC).expect("a file");
        ftruncate(&memory, 0x10000).expect("it grows");
        let region = [words(&[1, 0, 0, 0, 0x10000, 0]), BASE.to_ne_bytes().to_vec(), words(&[0, 0])].concat();
        self.request(5, &region, Some(memory.try_clone().expect("a copy")));
        self.memory = Some(memory.into());
        for queue in 0..2u32 {
            let rings = BASE + RINGS * u64::from(queue);
            self.request(8, &words(&[queue, u32::from(SIZE)]), None);
            self.request(10, &words(&[queue, 0]), None);
            let addresses = [rings, rings + 0x800, rings + 0x400, 0].map(u64::to_ne_bytes).concat();
            self.request(9, &[words(&[queue, 0]), addresses].concat(), None);
            self.request(18, &words(&[queue, 1]), None);
        }
        if parameter("role").as_deref() != Some("deaf") {
            for index in 0..SIZE {
                self.descriptor(0, index, 2048, 2);
                self.offer(0, index, index);
            }
            self.buffers = SIZE;
        }
        self.request(35, &words(&[0, 0]), None);
    }

    /// Sends a request with a file, and returns the answer.
    fn request(&mut self, request: u32, payload: &[u8], file: Option<OwnedFd>) -> Vec<u8> {
        let bytes = [words(&[request, 1 | 8, payload.len() as u32]), payload.to_vec()].concat();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut rights = SendAncillaryBuffer::new(&mut space);
        let files: Vec<_> = file.iter().map(|it| it.as_fd()).collect();
        if !files.is_empty() {
            assert!(rights.push(SendAncillaryMessage::ScmRights(&files)));
        }
        let device = self.device.as_ref().expect("a device");
        sendmsg(device, &[IoSlice::new(&bytes)], &mut rights, SendFlags::empty()).expect("sent");
        // Time messages are answered while the device is waited for.
        loop {
            let ready = {
                let device = self.device.as_ref().expect("a device");
                let mut wanted = vec![PollFd::new(device, PollFlags::IN), PollFd::new(&self.stream, PollFlags::IN)];
                wanted.extend(self.requests.as_ref().map(|it| PollFd::new(it, PollFlags::IN)));
                poll(&mut wanted, None).expect("polled");
                wanted.iter().map(|it| !it.revents().is_empty()).collect::<Vec<_>>()
            };
            if ready[1] {
                self.read();
            } else if ready.get(2) == Some(&true) {
                self.called();
            } else {
                break;
            }
        }
        let device = self.device.as_mut().expect("a device");
        let mut header = [0; 12];
        if device.read_exact(&mut header).is_err() {
            exit(0);
        }
        assert_eq!(header[..8], words(&[request, 5]), "the answer to the request");
        let mut answer = vec![0; usize::from(header[8])];
        device.read_exact(&mut answer).expect("an answer");
        answer
    }

    fn descriptor(&mut self, queue: u64, index: u16, length: u32, flags: u16) {
        let address = BASE + self.buffer(queue, index);
        let bytes = [&address.to_le_bytes()[..], &length.to_le_bytes(), &flags.to_le_bytes(), &[0; 2]].concat();
        self.put(queue * RINGS + 16 * u64::from(index), &bytes);
    }

    fn buffer(&self, queue: u64, index: u16) -> u64 {
        BUFFERS + queue * 0x4000 + 2048 * u64::from(index)
    }

    fn offer(&mut self, queue: u64, number: u16, index: u16) {
        let ring = queue * RINGS + 0x400;
        self.put(ring + 4 + 2 * u64::from(number % SIZE), &index.to_le_bytes());
        self.put(ring + 2, &(number + 1).to_le_bytes());
    }

    fn put(&mut self, at: u64, bytes: &[u8]) {
        self.memory.as_ref().expect("memory").write_all_at(bytes, at).expect("written");
    }

    fn get<const N: usize>(&self, at: u64) -> [u8; N] {
        let mut bytes = [0; N];
        self.memory.as_ref().expect("memory").read_exact_at(&mut bytes, at).expect("read");
        bytes
    }

    fn send(&mut self, frame: &[u8]) {
        let index = self.sent % SIZE;
        let place = self.buffer(1, index);
        self.put(place, &[vec![0; 12], frame.to_vec()].concat());
        self.descriptor(1, index, 12 + frame.len() as u32, 0);
        self.offer(1, self.sent, index);
        self.sent += 1;
        self.ask(UPDATE, self.now);
        self.request(35, &words(&[1, 0]), None);
        let given = u16::from_le_bytes(self.get(RINGS + 0x802));
        self.report(&Report::Answer { number: given.into(), after: None });
        self.given = given;
    }

    fn received(&mut self) -> Option<Vec<u8>> {
        if u16::from_le_bytes(self.get(0x802)) == self.seen {
            return None;
        }
        let element: [u8; 8] = self.get(0x804 + 8 * u64::from(self.seen % SIZE));
        self.seen += 1;
        let place = self.buffer(0, u16::from(element[0]));
        let frame: [u8; 2048] = self.get(place);
        let length = usize::from(element[4]) | usize::from(element[5]) << 8;
        assert_eq!(frame[..12], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0], "one buffer");
        self.offer(0, self.buffers, u16::from(element[0]));
        self.buffers += 1;
        Some(frame[12..length].to_vec())
    }
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}
