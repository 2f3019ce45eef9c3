//! Kernels and a network under one clock.
//!
//! At most one kernel runs at any moment, and nothing of the network happens meanwhile. A kernel that runs is granted a
//! time before which nothing else is to happen. When it sends a frame, the grant is lowered to the frame's first event.
//! So every order follows simulated time, and a run can be repeated exactly, however busy the machine is.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process;
use std::time::Duration;

use hopyard_engine::Time;
use rustix::fs::statvfs;

use crate::agent::Report;
use crate::calendar::Calendar;
use crate::device::{Answer, Received};
use crate::error::Error;
use crate::guest::{Event, Failure, Guest, Link, TIME_SOCKET};
use crate::network::{FromNetwork, Network, Nothing, Port, Sending, Ticket};
use crate::processor::Processor;
use crate::settings::{self, Completion, Counters, Settings};
use crate::time_socket::{Message, Operation};

/// The event that ends the service of a kernel's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Until {
    /// The kernel has sent START.
    Started,
    /// It has sent WAIT.
    Waiting,
    /// It has acknowledged the message with this number.
    Acknowledged(u32),
    /// It has answered the call of a device.
    Answered,
}

/// Kernels in simulated time. The processes end when this is dropped, and when the thread that started them ends.
#[derive(Debug)]
pub struct Kernels {
    guests: Vec<Guest>,
    counters: Vec<Counters>,
    calendar: Calendar,
    settings: Settings,
    now: Time,
    /// The START of each kernel, until the first step.
    starts: Vec<Message>,
    /// The kernel that runs, and the time before which it may go on without asking.
    running: Option<(usize, Time)>,
    /// Where all of them compute.
    processor: Option<Processor>,
    /// The folder of the run; it goes last, after the processes that use it.
    folder: Folder,
}

/// A folder that is removed with everything in it, by the process that has made it.
#[derive(Debug)]
struct Folder(PathBuf, u32);

impl Drop for Folder {
    fn drop(&mut self) {
        if self.1 != process::id() {
            return;
        }
        // What is left behind in a folder for temporary files does no harm.
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Kernels {
    /// Starts the processes of kernels. They do nothing yet: they boot in the first step.
    ///
    /// # Errors
    /// If one cannot be started.
    pub fn start(guests: &[settings::Guest], settings: Settings) -> Result<Self, Error> {
        let folder = Folder(new_folder(settings.folder.as_deref())?, process::id());
        let processor = Processor::claim();
        // The kernels start with the processor of this thread.
        let _stay = processor.as_ref().and_then(Processor::stay);
        let socket = folder.0.join(TIME_SOCKET);
        let listener = UnixListener::bind(&socket)
            .map_err(Error::system(format!("the time socket {} cannot be made", socket.display())))?;
        let mut kernels = Self {
            guests: Vec::new(),
            counters: vec![Counters::default(); guests.len()],
            calendar: Calendar::new(guests.len()),
            settings,
            now: Time::ZERO,
            starts: Vec::new(),
            running: None,
            processor,
            folder,
        };
        for (number, spec) in guests.iter().enumerate() {
            // One at a time: the connection is that of the kernel which was started last.
            let shared = kernels.settings.memory_folder.as_deref();
            kernels.guests.push(Guest::start(number, spec, &kernels.folder.0, shared)?);
            let connected = kernels.guests[number].connect(&listener, kernels.settings.patience);
            if let Some(event) = connected.map_err(Error::system("a kernel cannot connect"))? {
                return Err(kernels.gone(number, &event));
            }
            kernels.serve(number, Until::Started, &mut Nothing)?;
        }
        Ok(kernels)
    }

    /// The simulated time.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// The traffic between a kernel and the simulation.
    #[must_use]
    pub fn counters(&self, kernel: usize) -> Counters {
        self.counters[kernel]
    }

    /// When the first kernel wishes to run, if one does.
    #[must_use]
    pub fn next_wish(&self) -> Option<Time> {
        self.calendar.first().map(|(at, _)| at.max(self.now))
    }

    /// The number of kernels.
    #[must_use]
    pub fn len(&self) -> usize {
        self.guests.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.guests.is_empty()
    }

    /// The processor time of the kernels, and of the processes in which their programs compute.
    #[must_use]
    pub fn processor_time(&self) -> Duration {
        self.guests.iter().map(Guest::processor_time).sum()
    }

    /// The reports of a kernel's agent since the last call, or the first of them, with their times: empty if there are
    /// none.
    ///
    /// # Errors
    /// If the reports cannot be read, or the agent could not do something.
    pub fn reports(&mut self, kernel: usize) -> Result<Vec<(Time, Report)>, Error> {
        let found = self.guests[kernel].reports().map_err(|failure| self.failed(kernel, failure))?;
        for (_, report) in &found {
            if let Report::Failed { number, place, value } = report {
                let (kernel, error) = (self.guests[kernel].name.clone(), io::Error::from_raw_os_error(*number));
                return Err(Error::Agent { kernel, place: place.clone(), value: value.clone(), error });
            }
        }
        Ok(found)
    }

    /// Goes on until all events up to and including a time are carried out. `stop` is asked between two events, and
    /// every half second while a kernel computes.
    ///
    /// # Errors
    /// If a kernel or the network cannot go on, or `stop` returns that the run is to be stopped; after the latter it
    /// can go on.
    pub fn advance<N: Network>(
        &mut self,
        until: Time,
        network: &mut N,
        mut stop: impl FnMut() -> bool,
    ) -> Result<(), Error> {
        let _stay = self.processor.as_ref().and_then(Processor::stay);
        for (number, start) in std::mem::take(&mut self.starts).into_iter().enumerate() {
            self.running = Some((number, self.now));
            self.tell(number, |guest| guest.acknowledge(start, 0))?;
            self.serve(number, Until::Waiting, network)?;
        }
        if let Some((kernel, _)) = self.running {
            // It was computing when this was stopped.
            self.serve_unless(kernel, Until::Waiting, network, &mut stop)?;
        }
        loop {
            let event = network.next_event().unwrap_or(Time::NEVER);
            let wish = self.calendar.first();
            let next = wish.map_or(event, |(wish, _)| wish.max(self.now).min(event));
            if next > until || next == Time::NEVER {
                return Ok(());
            }
            if stop() {
                return Err(Error::Stopped(self.now));
            }
            self.now = next;
            match wish {
                Some((wish, kernel)) if wish.max(next) < event => self.run(kernel, until, network, &mut stop)?,
                _ => self.step(network)?,
            }
        }
    }

    /// The network's events at this time happen.
    fn step<N: Network>(&mut self, network: &mut N) -> Result<(), Error> {
        network.step(self.now).map_err(|error| Error::Network(error.into()))?;
        while let Some(departure) = network.departure() {
            match departure {
                FromNetwork::Frame { to, frame } => self.receive(to, &frame)?,
                FromNetwork::Carrier { of, up } => self.set_carrier(of, up, network)?,
                FromNetwork::Sent(ticket) => self.give_back(ticket, network)?,
            }
        }
        Ok(())
    }

    /// A kernel runs at this time, until it waits.
    fn run<N: Network>(
        &mut self,
        kernel: usize,
        until: Time,
        network: &mut N,
        stop: &mut dyn FnMut() -> bool,
    ) -> Result<(), Error> {
        self.calendar.forget(kernel);
        let free = self.next_other(network).min(self.now + self.settings.grant).min(until + ONE);
        if free > self.now {
            self.ask(kernel, Operation::FreeUntil, free, network)?;
        }
        self.running = Some((kernel, free));
        self.ask(kernel, Operation::Run, self.now, network)?;
        self.serve_unless(kernel, Until::Waiting, network, stop)
    }

    /// The earliest that is to happen apart from the kernel that runs, which has no wish meanwhile.
    fn next_other<N: Network>(&self, network: &N) -> Time {
        let wish = self.calendar.first().map_or(Time::NEVER, |(at, _)| at);
        network.next_event().unwrap_or(Time::NEVER).min(wish)
    }

    /// Sends a message on the time socket of a kernel, and waits for its acknowledgement.
    fn ask<N: Network>(
        &mut self,
        kernel: usize,
        operation: Operation,
        time: Time,
        network: &mut N,
    ) -> Result<(), Error> {
        self.counters[kernel].time_messages += 1;
        let mut sequence = 0;
        self.tell(kernel, |guest| {
            sequence = guest.tell(operation, time.nanos())?;
            Ok(())
        })?;
        self.serve(kernel, Until::Acknowledged(sequence), network)
    }

    /// Serves the messages of a kernel until it has said what is waited for. No other kernel runs meanwhile.
    fn serve<N: Network>(&mut self, kernel: usize, until: Until, network: &mut N) -> Result<(), Error> {
        self.serve_unless(kernel, until, network, &mut || false)
    }

    /// The same, unless the run is to be stopped: the kernel then goes on computing.
    fn serve_unless<N: Network>(
        &mut self,
        kernel: usize,
        until: Until,
        network: &mut N,
        stop: &mut dyn FnMut() -> bool,
    ) -> Result<(), Error> {
        let mut left = self.settings.patience;
        loop {
            let event = self.guests[kernel].next(left.min(LOOK));
            if matches!(event, Ok(Event::Silent)) && left > LOOK {
                left -= LOOK;
                if stop() {
                    return Err(Error::Stopped(self.now));
                }
                continue;
            }
            left = self.settings.patience;
            let event = event.map_err(|failure| self.failed(kernel, failure))?;
            let reached = match event {
                Event::Time(message) => self.on_time(kernel, message)?,
                Event::Request { device, header, request, files } => {
                    self.counters[kernel].device_messages += 1;
                    let port = Port { kernel, device };
                    let link = &mut self.guests[kernel].links[device];
                    let answer = match link.device.handle(request, files) {
                        Ok(Answer::Kicked(queue)) => {
                            if queue == link.device.transmits() {
                                self.transmit(port, network)?;
                            }
                            None
                        }
                        Ok(Answer::Socket(socket)) => {
                            link.set_requests(socket);
                            None
                        }
                        Ok(Answer::Value(value)) => Some(value),
                        Ok(Answer::Done) => None,
                        Err(error) => return Err(self.broke(kernel, error.to_string())),
                    };
                    // Zero is success.
                    if let Some(answer) = answer.or(header.needs_reply.then(|| vec![0; 8])) {
                        self.tell(kernel, |guest| guest.links[device].reply(header.request, &answer))?;
                    }
                    None
                }
                Event::Answered => Some(Until::Answered),
                Event::Connected => None,
                Event::Ended | Event::Silent => return Err(self.gone(kernel, &event)),
            };
            if reached == Some(until) {
                return Ok(());
            }
        }
    }

    /// A message on the time socket; returns what has been reached by it.
    fn on_time(&mut self, kernel: usize, message: Message) -> Result<Option<Until>, Error> {
        if message.operation == Operation::Ack {
            return Ok(Some(Until::Acknowledged(message.sequence)));
        }
        self.counters[kernel].time_messages += 1;
        let running = self.running.filter(|(it, _)| *it == kernel);
        let at = Time::from_nanos(message.time);
        let mut answer = 0;
        let mut reached = None;
        match message.operation {
            Operation::Start => {
                if self.starts.len() != kernel {
                    return Err(self.broke(kernel, "it starts twice".into()));
                }
                // It boots as soon as this is acknowledged.
                self.starts.push(message);
                return Ok(Some(Until::Started));
            }
            Operation::Request => self.calendar.wish(kernel, at),
            Operation::Wait => {
                running.ok_or_else(|| self.broke(kernel, "it waits and does not run".into()))?;
                self.running = None;
                reached = Some(Until::Waiting);
            }
            Operation::Get => answer = self.now.nanos(),
            Operation::GetTimeOfDay => answer = self.settings.time_of_day + self.now.nanos(),
            Operation::Update => {
                let Some((_, free)) = running else {
                    return Err(self.broke(kernel, format!("it comes to {at} and does not run")));
                };
                if at < self.now || (at > self.now && at >= free) {
                    let what = format!("expected a time from {} to before {free}, found {at}", self.now);
                    return Err(self.broke(kernel, what));
                }
                self.now = at;
            }
            Operation::Ack | Operation::Run | Operation::FreeUntil => {
                return Err(self.broke(kernel, format!("a message that only the simulation sends: {message:?}")));
            }
        }
        self.tell(kernel, |guest| guest.acknowledge(message, answer))?;
        Ok(reached)
    }

    /// A kernel has frames to send.
    fn transmit<N: Network>(&mut self, port: Port, network: &mut N) -> Result<(), Error> {
        let Port { kernel, device } = port;
        let mut call = false;
        loop {
            let link = &mut self.guests[kernel].links[device];
            let (head, frame) = match link.device.take() {
                Ok(None) => break,
                Ok(Some(taken)) => taken,
                Err(error) => return Err(self.broke(kernel, error.to_string())),
            };
            let sending = network.send(self.now, frame, Ticket { port, head });
            let sending = sending.map_err(|error| Error::Network(error.into()))?;
            self.counters[kernel].sent += 1;
            if sending == Sending::Done || self.settings.completion == Completion::Immediate {
                call |= self.sent(port, head)?;
            }
        }
        // The network may do something earlier than the kernel was told.
        if let Some((it, free)) = self.running.filter(|(it, _)| *it == kernel) {
            let next = self.next_other(network).max(self.now);
            if next < free {
                self.running = Some((it, next));
                self.ask(kernel, Operation::FreeUntil, next, network)?;
            }
        }
        if call { self.call(port, self.transmits(port), network) } else { Ok(()) }
    }

    fn receives(&self, port: Port) -> usize {
        self.guests[port.kernel].links[port.device].device.receives()
    }

    fn transmits(&self, port: Port) -> usize {
        self.guests[port.kernel].links[port.device].device.transmits()
    }

    /// The network has done with a frame.
    fn give_back<N: Network>(&mut self, ticket: Ticket, network: &mut N) -> Result<(), Error> {
        // The kernel has it already.
        if self.settings.completion == Completion::Immediate {
            return Ok(());
        }
        if self.sent(ticket.port, ticket.head)? {
            self.call(ticket.port, self.transmits(ticket.port), network)
        } else {
            Ok(())
        }
    }

    fn sent(&mut self, port: Port, head: u16) -> Result<bool, Error> {
        let device = &mut self.guests[port.kernel].links[port.device].device;
        device.sent(head).map_err(|error| self.broke(port.kernel, error.to_string()))
    }

    /// A frame reaches a kernel.
    fn receive(&mut self, port: Port, frame: &[u8]) -> Result<(), Error> {
        let device = &mut self.guests[port.kernel].links[port.device].device;
        let received = device.receive(frame).map_err(|error| self.broke(port.kernel, error.to_string()))?;
        let counters = &mut self.counters[port.kernel];
        match received {
            Received::Down => counters.down += 1,
            Received::NoBuffer => counters.no_buffer += 1,
            Received::Filled { call } => {
                counters.received += 1;
                if call {
                    self.call(port, self.receives(port), &mut Nothing)?;
                }
            }
        }
        Ok(())
    }

    /// The carrier of a device comes up, or goes. The kernel then says when it wishes to run.
    fn set_carrier<N: Network>(&mut self, port: Port, up: bool, network: &mut N) -> Result<(), Error> {
        let link = &mut self.guests[port.kernel].links[port.device];
        if !link.device.set_carrier(up) {
            return Ok(());
        }
        self.inform(port, network, |link| link.reconfigure())
    }

    /// Tells a kernel that a queue has news, and waits for its answer. Before that it says when it wishes to run.
    fn call<N: Network>(&mut self, port: Port, queue: usize, network: &mut N) -> Result<(), Error> {
        self.inform(port, network, |link| link.call(queue))
    }

    /// Tells a kernel something of a device, and waits for its answer if it was told.
    fn inform<N: Network>(
        &mut self,
        port: Port,
        network: &mut N,
        write: impl FnOnce(&mut Link) -> io::Result<bool>,
    ) -> Result<(), Error> {
        let mut told = false;
        self.tell(port.kernel, |guest| {
            told = write(&mut guest.links[port.device])?;
            Ok(())
        })?;
        if !told {
            return Ok(());
        }
        self.counters[port.kernel].device_messages += 1;
        self.serve(port.kernel, Until::Answered, network)
    }

    fn tell(&mut self, kernel: usize, write: impl FnOnce(&mut Guest) -> io::Result<()>) -> Result<(), Error> {
        let Err(error) = write(&mut self.guests[kernel]) else { return Ok(()) };
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Err(self.gone(kernel, &Event::Ended));
        }
        Err(self.failed(kernel, Failure::System(error)))
    }

    fn failed(&self, kernel: usize, failure: Failure) -> Error {
        match failure {
            Failure::Protocol(what) => self.broke(kernel, what),
            Failure::System(error) => {
                Error::system(format!("a socket of the kernel of {}", self.guests[kernel].name))(error)
            }
        }
    }

    fn gone(&mut self, kernel: usize, event: &Event) -> Error {
        let guest = &mut self.guests[kernel];
        let name = guest.name.clone();
        if matches!(event, Event::Silent) {
            let at = guest.last_time().max(self.now);
            return Error::Silent { kernel: name, at, patience: self.settings.patience, log: guest.last_lines() };
        }
        // The log is whole when the process has ended.
        let mut how = guest.ending();
        // What has mapped the guest's memory keeps its room: the folder is as full as the kernel has found it.
        for (what, folder) in [("memory", memory_folder(&self.settings)), ("reports", self.folder.0.clone())] {
            how.extend(full(what, &folder));
        }
        // It may have gone on by itself for a while.
        let at = guest.last_time().max(self.now);
        Error::Ended { kernel: name, at, how, log: guest.last_lines() }
    }

    fn broke(&self, kernel: usize, what: String) -> Error {
        Error::Protocol { kernel: self.guests[kernel].name.clone(), at: self.now, what }
    }
}

/// Where the memory of guests is; the kernels choose it in this order.
fn memory_folder(settings: &Settings) -> PathBuf {
    let shared = Path::new("/dev/shm");
    let usual = || if shared.is_dir() { shared.to_owned() } else { std::env::temp_dir() };
    settings.memory_folder.clone().unwrap_or_else(usual)
}

/// The message about a folder without room.
fn full(what: &str, folder: &Path) -> Option<String> {
    let state = statvfs(folder).ok()?;
    let free = state.f_bavail * state.f_frsize;
    (free < NO_ROOM).then(|| {
        format!("; the folder for the {what} of kernels, {}, is full: {} kB are free", folder.display(), free / 1024)
    })
}

/// How long a kernel may compute before it is asked whether the run is to be stopped.
const LOOK: Duration = Duration::from_millis(500);
/// A folder with fewer free bytes than this is full.
const NO_ROOM: u64 = 256 * 1024;

/// One nanosecond: the events of a time are carried out, so a kernel may go on until just after it.
const ONE: hopyard_engine::Span = hopyard_engine::Span::from_nanos(1);

/// Makes a folder that only this user can see, and that nobody has made before.
fn new_folder(within: Option<&Path>) -> Result<PathBuf, Error> {
    let within = within.map_or_else(std::env::temp_dir, Path::to_owned);
    let process = process::id();
    for number in 0.. {
        let folder = within.join(format!("hopyard-kernels-{process}-{number}"));
        match fs::DirBuilder::new().mode(0o700).create(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                let what = format!("the folder {} for sockets and logs cannot be made", folder.display());
                return Err(Error::system(what)(error));
            }
        }
    }
    unreachable!("there are more numbers than folders")
}
