//! The process of a kernel, and its sockets.

use std::fs::{self, File};
use std::io::{self, IoSliceMut, Read as _, Seek as _, SeekFrom, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{self, Child, Command};
use std::time::Duration;

use hopyard_engine::Time;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, recvmsg};
use rustix::param::clock_ticks_per_second;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use crate::agent::Report;
use crate::device::Device;
use crate::error::Error;
use crate::raw::{bind_to_parent, processor_time};
use crate::settings;
use crate::time_socket::{self, Message, Operation};
use crate::vhost::{self, Header, Request};

/// How many lines of a kernel's log an error shows.
const LOG_LINES: usize = 60;
/// How much of the reports, and of the end of a log, is read at a time, in bytes.
const CHUNK: u64 = 1 << 20;
/// How many bytes of reports were read since their room was given back to the system, before it is given back again.
const GIVE_BACK: u64 = 1 << 16;
/// How long a process may take to end when its sockets are closed.
const ENDING: Duration = Duration::from_secs(2);
/// How many files may come with a message: two regions of memory, one socket.
const FILES: usize = 4;

/// The next step of a kernel.
#[derive(Debug)]
pub enum Event {
    /// It has sent a message on its time socket.
    Time(Message),
    /// It asks something of a device.
    Request {
        /// The device.
        device: usize,
        /// The header.
        header: Header,
        /// Its request.
        request: Request,
        /// The files that came with it.
        files: Vec<OwnedFd>,
    },
    /// It has answered a device's call.
    Answered,
    /// It has opened the socket of a device.
    Connected,
    /// Its process has ended, or has closed its time socket.
    Ended,
    /// Nothing, for as long as it was waited for.
    Silent,
}

/// A network device, and its sockets.
#[derive(Debug)]
pub struct Link {
    listener: UnixListener,
    stream: Option<UnixStream>,
    /// Where the device sends messages of its own.
    requests: Option<File>,
    /// The device itself.
    pub device: Device,
}

/// A kernel.
#[derive(Debug)]
pub struct Guest {
    /// Its name in messages.
    pub name: String,
    child: Child,
    process: OwnedFd,
    time: Option<UnixStream>,
    sequence: u32,
    /// Its network devices.
    pub links: Vec<Link>,
    /// The console of the kernel, for people.
    log: PathBuf,
    /// The reports of its agent.
    reports: PathBuf,
    /// How much of them was read already. It has no room on the disk any more from its begin to `given_back`.
    read: u64,
    given_back: u64,
    /// The process that started the kernel: one that was forked from it has nothing to do with the kernel.
    owner: u32,
}

impl Guest {
    /// Starts the process of a kernel, which connects to the time socket, and does nothing more until its START is
    /// acknowledged. Sockets and log are in `folder`.
    ///
    /// # Errors
    /// If the system refuses something.
    pub fn start(number: usize, spec: &settings::Guest, folder: &Path, shared: Option<&Path>) -> Result<Self, Error> {
        let about = |what: &str| format!("the kernel of {}: {what}", spec.name);
        let system = |what: &str| Error::system(about(what));
        let links = spec.devices.iter().enumerate().map(|(device, nic)| {
            let listener = UnixListener::bind(folder.join(device_socket(number, device)));
            let listener = listener.map_err(system("the socket of a device cannot be made"))?;
            Ok(Link { listener, stream: None, requests: None, device: Device::new(*nic) })
        });
        let links = links.collect::<Result<Vec<_>, Error>>()?;
        let initrd = format!("k{number}.cpio");
        fs::write(folder.join(&initrd), &spec.initrd).map_err(system("its first file system cannot be written"))?;
        let log = folder.join(format!("k{number}.log"));
        let output = File::create(&log).map_err(system("its log cannot be written"))?;
        let errors = output.try_clone().map_err(system("its log cannot be written"))?;
        let channel = folder.join(format!("k{number}.agent"));
        let reports = channel.join("reports");
        let channel = fs::create_dir(&channel).and_then(|()| File::create(&reports)).and_then(|_| File::open(&channel));
        let channel = channel.map_err(system("its reports cannot be written"))?;
        let program = fs::canonicalize(&spec.program)
            .map_err(Error::system(about(&format!("the program {}", spec.program.display()))))?;

        let mut command = Command::new(program);
        command
            // Paths are relative, so that the command line, which the kernel mixes into its random numbers, is the
            // same in each run; and short, because the path of a socket has at most 107 bytes.
            .current_dir(folder)
            .arg(format!("mem={}M", spec.memory))
            .args([format!("initrd={initrd}"), "rdinit=/init".into()])
            // Input on a console would come at some time of the machine.
            .args(["con0=null,fd:1", "con=null", "uml_dir=."])
            .args([format!("umid=k{number}"), format!("time-travel=ext:{}:{}", number + 1, TIME_SOCKET)])
            .args(links.iter().enumerate().map(|(device, link)| {
                format!("virtio_uml.device={}:{}", device_socket(number, device), link.device.number())
            }))
            .args(&spec.parameters)
            .env_clear()
            .env("HOME", ".")
            .env("UML_SEED", spec.seed.to_string())
            // The C library would register memory with the system that the kernel's children do not have, which
            // kills them.
            .env("GLIBC_TUNABLES", "glibc.pthread.rseq=0")
            // No console has it: there the agent finds the folder of its reports.
            .stdin(channel)
            .stdout(output)
            .stderr(errors)
            // Ctrl-C in a terminal is for the simulator alone.
            .process_group(0);
        if let Some(shared) = shared {
            command.env("TMPDIR", shared);
        }
        let mut child = bind_to_parent(&mut command).spawn().map_err(system("its process cannot be started"))?;
        let process = Pid::from_raw(child.id().cast_signed())
            .ok_or(Errno::SRCH)
            .and_then(|pid| pidfd_open(pid, PidfdFlags::empty()));
        let process = process.map_err(|error| {
            // Nobody else would know of it.
            let _ = child.kill().and_then(|()| child.wait());
            system("its process cannot be watched")(error.into())
        })?;
        let name = spec.name.clone();
        Ok(Self {
            name,
            child,
            process,
            time: None,
            sequence: 0,
            links,
            log,
            reports,
            read: 0,
            given_back: 0,
            owner: process::id(),
        })
    }

    /// Waits until the kernel has opened the time socket.
    ///
    /// # Errors
    /// If the system refuses something.
    pub fn connect(&mut self, listener: &UnixListener, patience: Duration) -> io::Result<Option<Event>> {
        let mut wanted = [read_of(listener.as_fd()), read_of(self.process.as_fd())];
        if !wait(&mut wanted, patience)? {
            return Ok(Some(Event::Silent));
        }
        if wanted[0].revents().is_empty() {
            return Ok(Some(Event::Ended));
        }
        self.time = Some(listener.accept()?.0);
        Ok(None)
    }

    /// Waits for the next step of the kernel, as long as `patience`.
    ///
    /// # Errors
    /// If the system refuses something, or the kernel breaks the rules of messages.
    pub fn next(&mut self, patience: Duration) -> Result<Event, Failure> {
        let Some(time) = &self.time else { return Ok(Event::Ended) };
        let mut wanted = vec![read_of(time.as_fd()), read_of(self.process.as_fd())];
        for link in &self.links {
            wanted.push(match &link.stream {
                Some(stream) => read_of(stream.as_fd()),
                None => read_of(link.listener.as_fd()),
            });
            wanted.extend(link.requests.as_ref().map(|it| read_of(it.as_fd())));
        }
        if !wait(&mut wanted, patience)? {
            return Ok(Event::Silent);
        }
        let ready: Vec<bool> = wanted.iter().map(|it| !it.revents().is_empty()).collect();
        drop(wanted);
        if ready[0] {
            return self.next_time();
        }
        let mut place = 2;
        for device in 0..self.links.len() {
            let link = &mut self.links[device];
            let (asked, answered) = (ready[place], link.requests.is_some() && ready[place + 1]);
            place += 1 + usize::from(link.requests.is_some());
            if answered && link.answered()? {
                return Ok(Event::Answered);
            }
            if asked {
                return link.next(device);
            }
        }
        // Nothing else is left to be read.
        Ok(Event::Ended)
    }

    /// Sends a message, whose acknowledgement has the number that this returns.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn tell(&mut self, operation: Operation, time: u64) -> io::Result<u32> {
        self.sequence = self.sequence.wrapping_add(1);
        let message = Message { operation, sequence: self.sequence, time };
        self.write(message)?;
        Ok(self.sequence)
    }

    /// Acknowledges a message.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn acknowledge(&mut self, message: Message, time: u64) -> io::Result<()> {
        self.write(message.answer(time))
    }

    fn write(&mut self, message: Message) -> io::Result<()> {
        match &mut self.time {
            Some(time) => time.write_all(&message.bytes()),
            None => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    fn next_time(&mut self) -> Result<Event, Failure> {
        let Some(time) = &mut self.time else { return Ok(Event::Ended) };
        let mut bytes = [0; time_socket::LENGTH];
        if !read(time, &mut bytes)? {
            return Ok(Event::Ended);
        }
        let message = Message::parse(bytes);
        message.map(Event::Time).map_err(|number| Failure::Protocol(format!("an unknown time message {number}")))
    }

    /// How the process has ended, which it is about to do.
    pub fn ending(&mut self) -> String {
        let mut wanted = [read_of(self.process.as_fd())];
        if !matches!(wait(&mut wanted, ENDING), Ok(true)) {
            return "it has closed its time socket".into();
        }
        self.child.wait().map_or_else(|error| error.to_string(), |status| status.to_string())
    }

    /// The last lines of the kernel's output.
    pub fn last_lines(&self) -> String {
        let text = File::open(&self.log).and_then(|file| {
            let length = file.metadata()?.len();
            rest(&file, length.saturating_sub(CHUNK))
        });
        let text = match &text {
            Ok(bytes) => String::from_utf8_lossy(bytes),
            Err(error) => return format!("the log cannot be read: {error}"),
        };
        let lines: Vec<&str> = text.lines().map(|it| it.trim_end_matches('\r')).collect();
        if lines.iter().all(|it| it.trim().is_empty()) {
            return "(it has written nothing)".into();
        }
        lines[lines.len().saturating_sub(LOG_LINES)..].join("\n")
    }

    /// The time of the last report that was not read. A kernel that goes on by itself tells its time nowhere else.
    pub fn last_time(&self) -> Time {
        let mut last = Time::ZERO;
        let mut at = self.read;
        while let Ok((reports, length)) = self.unread(at)
            && let Some((time, _)) = reports.last()
        {
            last = *time;
            at += length;
        }
        last
    }

    /// Reports from a place of their file on, and how many bytes they have.
    fn unread(&self, at: u64) -> Result<(Vec<(Time, Report)>, u64), Failure> {
        let bytes = rest(&File::open(&self.reports)?, at)?;
        let (mut left, mut found) = (&*bytes, Vec::new());
        while let Some(report) = Report::take(&mut left).map_err(Failure::Protocol)? {
            found.push(report);
        }
        Ok((found, (bytes.len() - left.len()) as u64))
    }

    /// The processor time of the kernel's process, and of the processes in which its programs compute.
    pub fn processor_time(&self) -> Duration {
        let all = |pid: u32| processor_time(pid).unwrap_or_default() + ended_children(pid).unwrap_or_default();
        all(self.child.id()) + children(self.child.id()).into_iter().map(all).sum::<Duration>()
    }

    /// The reports of the agent since the last call, or the first of them: empty if there are none. Reports that were
    /// read take no room on the disk any more, except for the last of them.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn reports(&mut self) -> Result<Vec<(Time, Report)>, Failure> {
        let (found, length) = self.unread(self.read)?;
        self.read += length;
        if self.read - self.given_back >= GIVE_BACK {
            // The length stays, because the kernel goes on to write at its end. A file system that cannot do this keeps
            // the file whole.
            let file = File::options().write(true).open(&self.reports)?;
            let _ = fallocate(&file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, 0, self.read);
            self.given_back = self.read;
        }
        Ok(found)
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        if self.owner != process::id() {
            return;
        }
        // The processes of the guest belong to the group of its kernel. An error says that they have ended already.
        if let Some(group) = Pid::from_raw(self.child.id().cast_signed()) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Link {
    /// Sends the answer to a request.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn reply(&mut self, request: u32, payload: &[u8]) -> io::Result<()> {
        let stream = self.stream.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        stream.write_all(&vhost::reply(request, payload))
    }

    /// The socket for messages of the device.
    pub fn set_requests(&mut self, socket: OwnedFd) {
        self.requests = Some(File::from(socket));
    }

    /// Tells the kernel that a queue has news. Returns whether it can be told.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn call(&mut self, queue: usize) -> io::Result<bool> {
        let Some(requests) = &mut self.requests else { return Ok(false) };
        requests.write_all(&vhost::call(queue as u32))?;
        Ok(true)
    }

    /// Tells the kernel that the configuration of the device has changed. Returns whether it can be told.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn reconfigure(&mut self) -> io::Result<bool> {
        let Some(requests) = &mut self.requests else { return Ok(false) };
        requests.write_all(&vhost::config_changed())?;
        Ok(true)
    }

    /// Reads the kernel's answer to a call. Returns whether there was one.
    fn answered(&mut self) -> Result<bool, Failure> {
        let Some(requests) = &mut self.requests else { return Ok(false) };
        let (mut header, mut value) = ([0; vhost::HEADER], [0; 8]);
        if !read(requests, &mut header)? || !read(requests, &mut value)? {
            self.requests = None;
            return Ok(false);
        }
        if value != [0; 8] {
            return Err(Failure::Protocol("it refuses the call of a queue".into()));
        }
        Ok(true)
    }

    /// The next request of the kernel to this device.
    fn next(&mut self, device: usize) -> Result<Event, Failure> {
        let Some(stream) = &mut self.stream else {
            self.stream = Some(self.listener.accept()?.0);
            return Ok(Event::Connected);
        };
        let mut bytes = [0; vhost::HEADER];
        let mut files = Vec::new();
        if !receive(stream, &mut bytes, &mut files)? {
            return Ok(Event::Ended);
        }
        let protocol = |error: vhost::VhostError| Failure::Protocol(error.to_string());
        let header = Header::parse(bytes).map_err(protocol)?;
        let mut payload = [0; vhost::MOST_PAYLOAD];
        let payload = &mut payload[..header.length];
        if header.length > 0 && !read(stream, payload)? {
            return Ok(Event::Ended);
        }
        let request = Request::parse(header, payload).map_err(protocol)?;
        Ok(Event::Request { device, header, request, files })
    }
}

/// The bytes of a file from a place on, as many as are read at a time.
fn rest(mut file: &File, at: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(at))?;
    let mut bytes = Vec::new();
    file.take(CHUNK).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The living processes that a process has started, and their own living processes.
fn children(pid: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let direct: Vec<u32> =
        lists.flat_map(|it| it.split(' ').filter_map(|it| it.parse().ok()).collect::<Vec<_>>()).collect();
    let further: Vec<u32> = direct.iter().flat_map(|&it| children(it)).collect();
    [direct, further].concat()
}

/// The processor time of children that a process has waited for (`cutime` and `cstime`, proc(5)).
fn ended_children(pid: u32) -> Option<Duration> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in brackets, and may have any characters. The first field after it is the third one.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let [user, system] = [16, 17].map(|field: usize| fields.get(field - 3)?.parse::<u64>().ok());
    Some(Duration::from_secs(user? + system?) / u32::try_from(clock_ticks_per_second()).ok()?)
}

/// The path of the time socket in the folder of a run.
pub const TIME_SOCKET: &str = "time";

fn device_socket(number: usize, device: usize) -> String {
    format!("k{number}.{device}")
}

/// Why a message could not be read.
#[derive(Debug)]
pub enum Failure {
    /// The system refuses.
    System(io::Error),
    /// The kernel sends an impossible message.
    Protocol(String),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

fn read_of(file: BorrowedFd<'_>) -> PollFd<'_> {
    PollFd::from_borrowed_fd(file, PollFlags::IN)
}

/// Waits until one of these can be read. Returns whether one can.
fn wait(wanted: &mut [PollFd<'_>], patience: Duration) -> io::Result<bool> {
    let time = Timespec::try_from(patience).map_err(|_| io::ErrorKind::InvalidInput)?;
    loop {
        match poll(wanted, Some(&time)) {
            Ok(ready) => return Ok(ready > 0),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Fills the bytes. Returns whether they came: an end of file or a reset says that the other side has gone.
fn read(from: &mut impl io::Read, into: &mut [u8]) -> io::Result<bool> {
    match from.read_exact(into) {
        Ok(()) => Ok(true),
        Err(error) if matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset) => {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// Fills the bytes, and takes the files that come with them.
///
/// # Errors
/// If the system refuses; where this process can have no more file descriptors, the files of a message are cut off.
fn receive(stream: &mut UnixStream, into: &mut [u8], files: &mut Vec<OwnedFd>) -> io::Result<bool> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES))];
    let mut buffer = RecvAncillaryBuffer::new(&mut space);
    let (found, flags) = loop {
        match recvmsg(&*stream, &mut [IoSliceMut::new(into)], &mut buffer, RecvFlags::CMSG_CLOEXEC) {
            Ok(message) => break (message.bytes, message.flags),
            Err(Errno::INTR) => {}
            Err(Errno::CONNRESET) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
    };
    for message in buffer.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            files.extend(rights);
        }
    }
    // With as many files as there is room for, the kernel has sent more than the protocol knows.
    if flags.contains(ReturnFlags::CTRUNC) && files.len() < FILES {
        return Err(Errno::MFILE.into());
    }
    if found == 0 {
        return Ok(false);
    }
    read(stream, &mut into[found..])
}
