//! The description of kernels before they start.

use std::path::PathBuf;
use std::time::Duration;

use hopyard_engine::Span;

/// When a kernel gets the buffer of a sent frame back. This decides the result: a kernel that believes that its frames
/// have left fills the simulated queue, and one that waits fills its own (TCP small queues act).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Completion {
    /// When the network has sent the frame, or has given it up, as from a real driver.
    #[default]
    Sent,
    /// At once.
    Immediate,
}

/// The kind of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// A network device of Ethernet.
    #[default]
    Ethernet,
    /// The radio of Linux's Wi-Fi (`mac80211_hwsim`): what passes are messages of netlink about 802.11 frames.
    Radio,
}

/// A network device of a kernel that is to be started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nic {
    /// Its kind.
    pub kind: Kind,
    /// Its MAC address; that of a radio is the kernel's to choose.
    pub mac: [u8; 6],
    /// What it says of its link. A device without this is up at once, and has Ethernet's MTU and no speed.
    pub link: Option<Medium>,
}

/// What a device says of its link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Medium {
    /// The longest payload of a frame, in bytes. The kernel has buffers for so long ones.
    pub mtu: u16,
    /// The rate in Mb/s. The kernel reads it again only when the carrier comes up.
    pub speed: u32,
    /// Whether there is a carrier.
    pub carrier: bool,
}

impl From<[u8; 6]> for Nic {
    fn from(mac: [u8; 6]) -> Self {
        Self { mac, ..Self::default() }
    }
}

/// A kernel that is to be started.
#[derive(Clone, Debug)]
pub struct Guest {
    /// Its name in messages.
    pub name: String,
    /// The program: a user-mode kernel.
    pub program: PathBuf,
    /// The first file system, as [`crate::initrd::archive`] makes it. Its `/init` is the first process.
    pub initrd: Vec<u8>,
    /// Further parameters of the kernel. They must be equal in runs that are to be equal, because the kernel mixes its
    /// command line into its random numbers.
    pub parameters: Vec<String>,
    /// How much memory it has, in MiB. Memory that it does not touch takes no memory of the machine.
    pub memory: u32,
    /// The network devices, from `eth0` on.
    pub devices: Vec<Nic>,
    /// Where its random numbers begin.
    pub seed: u64,
}

/// Settings that hold for all kernels of a run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// When a kernel gets the buffer of a sent frame back.
    pub completion: Completion,
    /// The time of day at the start of the simulation, in nanoseconds since 1970.
    pub time_of_day: u64,
    /// The simulated time for which a kernel may go on without a message. Results do not depend on it. Shorter times
    /// cost more messages; longer ones let a program that never sleeps go on for longer before anybody notices.
    pub grant: Span,
    /// How long in real time a message of a kernel that runs is waited for.
    pub patience: Duration,
    /// Where the sockets and logs of the run are, in a folder of their own; the system's folder for temporary files if
    /// nothing is given.
    pub folder: Option<PathBuf>,
    /// Where the memory of the guests is: a folder that allows programs in it. Without one, it is `/dev/shm`, or the
    /// system's folder for temporary files.
    pub memory_folder: Option<PathBuf>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            completion: Completion::default(),
            // 2020-09-13 12:26:40 UTC: later than the kernels' own lower bounds, and the same in each run.
            time_of_day: 1_600_000_000_000_000_000,
            grant: Span::from_secs(1),
            patience: Duration::from_secs(60),
            folder: None,
            memory_folder: None,
        }
    }
}

/// The traffic between a kernel and the simulation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Messages on the time socket, of both sides, acknowledgements not counted.
    pub time_messages: u64,
    /// Messages on the sockets of devices, of both sides, answers not counted.
    pub device_messages: u64,
    /// Frames that the kernel has sent.
    pub sent: u64,
    /// Frames that the kernel has received.
    pub received: u64,
    /// Frames for the kernel that it lost because it had no buffer.
    pub no_buffer: u64,
    /// Frames for the kernel that were lost because its device was not up.
    pub down: u64,
}
