//! Captures as pcapng files (draft-ietf-opsawg-pcapng), which Wireshark, tshark and tcpdump read.
//!
//! A file has one section: its header, a description of each interface, and a block for each packet, with the time in
//! nanoseconds. The crate `pcap-file` lays the blocks out. All numbers are little-endian, so that the same packets give
//! the same file on every platform.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::Duration;

use pcap_file::pcapng::blocks::block_common::PcapNgBlock;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption, InterfaceTsResolution,
};
use pcap_file::pcapng::blocks::opt_common::CommonOption;
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::pcapng::{PcapNgWriteError, PcapNgWriter};

use pcap_file::{DataLink, Endianness};

/// The longest comment and the longest name, in bytes: an option has a length of 16 bits.
pub const MAX_OPTION: usize = 0xffff;

/// The first header in the packets of an interface: a number of the registry "LINKTYPE" of libpcap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkType(pub u16);

impl LinkType {
    /// An IPv4 or IPv6 header.
    pub const RAW: Self = Self(101);
    /// A header of a Linux "cooked" capture ([`crate::cooked`]), then a packet of any protocol.
    pub const LINUX_SLL: Self = Self(113);
    /// A radiotap header ([`crate::radiotap`]), then an 802.11 frame.
    pub const IEEE802_11_RADIOTAP: Self = Self(127);
}

/// An interface of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterfaceId(u32);

/// Which way a packet went at its interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// It was received.
    Inbound,
    /// It was sent.
    Outbound,
}

/// A packet of a capture.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Where it was captured.
    pub interface: InterfaceId,
    /// Nanoseconds since the start of the simulation, which the file shows as the start of 1970.
    pub time: u64,
    /// The captured bytes.
    pub bytes: &'a [u8],
    /// The length of the whole packet, of which `bytes` may be the beginning.
    pub length: usize,
    /// Which way it went, if that is known.
    pub direction: Option<Direction>,
    /// Comments about it.
    pub comments: &'a [String],
}

/// A capture could not be written.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The file refused the bytes.
    #[error("{name}: cannot write the capture: {source}")]
    Io {
        /// The path of the file.
        name: String,
        /// The reason.
        source: io::Error,
    },
    /// A comment or a name has more bytes than [`MAX_OPTION`].
    #[error("{name}: expected a {what} of at most 65535 bytes, found {found}")]
    TooLong {
        /// The path of the file.
        name: String,
        /// "comment" or "name".
        what: &'static str,
        /// The number of bytes.
        found: usize,
    },
    /// The format cannot express a block, for example of an interface that another writer has described.
    #[error("{name}: {problem}")]
    Refused {
        /// The path of the file.
        name: String,
        /// The reason.
        problem: String,
    },
}

/// Writes a capture. After an error, the file may end in the middle of a block.
pub struct Writer<W: Write> {
    /// The path of the file, for errors.
    name: String,
    blocks: PcapNgWriter<W>,
    interfaces: u32,
}

impl Writer<BufWriter<File>> {
    /// Starts a capture in a new file. A file of that name is replaced.
    ///
    /// # Errors
    /// If the file cannot be created or written, or a comment is too long.
    pub fn create(path: &Path, comments: &[String]) -> Result<Self, CaptureError> {
        let name = path.display().to_string();
        let file = File::create(path).map_err(|source| CaptureError::Io { name: name.clone(), source })?;
        Self::begin(BufWriter::new(file), name, comments)
    }
}

impl<W: Write> Writer<W> {
    /// Starts a capture.
    ///
    /// # Errors
    /// If the sink refuses the bytes.
    pub fn new(sink: W) -> Result<Self, CaptureError> {
        Self::begin(sink, "capture".to_owned(), &[])
    }

    /// Starts a capture whose errors contain `name`, with comments about the whole capture.
    ///
    /// # Errors
    /// If the sink refuses the bytes, or a comment is too long.
    pub fn begin(sink: W, name: String, comments: &[String]) -> Result<Self, CaptureError> {
        for comment in comments {
            check(&name, "comment", comment)?;
        }
        let mut options: Vec<_> =
            comments.iter().map(|text| SectionHeaderOption::Common(CommonOption::Comment(text.into()))).collect();
        options.push(SectionHeaderOption::UserApplication(concat!("Hopyard ", env!("CARGO_PKG_VERSION")).into()));
        let section = SectionHeaderBlock { endianness: Endianness::Little, options, ..SectionHeaderBlock::default() };
        let blocks = PcapNgWriter::with_section_header(sink, section).map_err(|error| failure(&name, error))?;
        Ok(Self { name, blocks, interfaces: 0 })
    }

    /// Describes an interface. Its packets follow.
    ///
    /// # Errors
    /// If the sink refuses the bytes, or the name is too long.
    pub fn add_interface(&mut self, name: &str, link_type: LinkType) -> Result<InterfaceId, CaptureError> {
        check(&self.name, "name", name)?;
        let block = InterfaceDescriptionBlock {
            linktype: DataLink::from(u32::from(link_type.0)),
            // No limit: packets are captured whole.
            snaplen: 0,
            options: vec![
                InterfaceDescriptionOption::IfName(name.into()),
                InterfaceDescriptionOption::IfTsResol(InterfaceTsResolution::NANO),
            ],
        };
        self.write(block)?;
        let id = InterfaceId(self.interfaces);
        self.interfaces += 1;
        Ok(id)
    }

    /// Appends a whole packet. `time` is in nanoseconds since the start of the simulation.
    ///
    /// # Errors
    /// As [`Self::record`].
    pub fn packet(
        &mut self,
        interface: InterfaceId,
        time: u64,
        bytes: &[u8],
        comments: &[String],
    ) -> Result<(), CaptureError> {
        self.record(&Record { interface, time, bytes, length: bytes.len(), direction: None, comments })
    }

    /// Appends a packet.
    ///
    /// # Errors
    /// If the sink refuses the bytes, a comment is too long, or more bytes were captured than the packet has.
    pub fn record(&mut self, record: &Record<'_>) -> Result<(), CaptureError> {
        for comment in record.comments {
            check(&self.name, "comment", comment)?;
        }
        let flags = record.direction.map(|direction| {
            // Bits 0 and 1 of the flags (section 4.3.1 of the draft).
            EnhancedPacketOption::Flags(match direction {
                Direction::Inbound => 1,
                Direction::Outbound => 2,
            })
        });
        let comments = record
            .comments
            .iter()
            .map(|text| EnhancedPacketOption::Common(CommonOption::Comment(text.as_str().into())));
        self.write(EnhancedPacketBlock {
            interface_id: record.interface.0,
            timestamp: Duration::from_nanos(record.time),
            original_len: record.length as u32,
            data: Cow::Borrowed(record.bytes),
            options: flags.into_iter().chain(comments).collect(),
        })
    }

    /// Ends the capture: everything is passed to the operating system. Returns the sink.
    ///
    /// # Errors
    /// If the sink refuses the bytes.
    pub fn finish(mut self) -> Result<W, CaptureError> {
        match self.blocks.get_mut().flush() {
            Ok(()) => Ok(self.blocks.into_inner()),
            Err(source) => Err(CaptureError::Io { name: self.name, source }),
        }
    }

    fn write<'a>(&mut self, block: impl PcapNgBlock<'a>) -> Result<(), CaptureError> {
        self.blocks.write_pcapng_block(block).map(drop).map_err(|error| failure(&self.name, error))
    }
}

fn check(name: &str, what: &'static str, text: &str) -> Result<(), CaptureError> {
    if text.len() > MAX_OPTION {
        return Err(CaptureError::TooLong { name: name.to_owned(), what, found: text.len() });
    }
    Ok(())
}

fn failure(name: &str, error: PcapNgWriteError) -> CaptureError {
    let name = name.to_owned();
    match error {
        PcapNgWriteError::Io(source) => CaptureError::Io { name, source },
        PcapNgWriteError::Validation { field, source } => {
            CaptureError::Refused { name, problem: format!("{field}: {source}") }
        }
        other => CaptureError::Refused { name, problem: other.to_string() },
    }
}

#[cfg(test)]
mod tests;
