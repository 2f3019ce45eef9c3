use pcap_file::pcapng::PcapNgReader;
use pcap_file::pcapng::blocks::Block;

use super::*;
use crate::testing::hex;

/// A sink that takes so many bytes.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0 == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let taken = bytes.len().min(self.0);
        self.0 -= taken;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn comments(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

// The bytes were written by hand from the figures of the draft: §4.1 (section), §4.2 (interface), §4.3 (packet).

#[test]
fn blocks_are_laid_out_as_the_draft_says() {
    let mut writer = Writer::new(Vec::new()).expect("memory");
    let interface = writer.add_interface("node 0", LinkType::RAW).expect("memory");
    let time = 0x1_0000_0002;
    let texts = comments(&["übrig"]);
    let bytes = [0x45, 1, 2];
    let direction = Some(Direction::Outbound);
    writer.record(&Record { interface, time, bytes: &bytes, length: 5, direction, comments: &texts }).expect("memory");
    let bytes = writer.finish().expect("memory");
    let application = format!("Hopyard {}", env!("CARGO_PKG_VERSION"));
    let padded = application.len().next_multiple_of(4);
    let section = 28 + 4 + padded + 4;
    assert_eq!(bytes[..4], hex("0a0d0d0a"));
    assert_eq!(bytes[4..8], (section as u32).to_le_bytes());
    assert_eq!(bytes[8..24], hex("4d3c2b1a 0100 0000 ffffffffffffffff"));
    assert_eq!(bytes[24..28], [4, 0, application.len() as u8, 0]);
    assert_eq!(bytes[28..28 + application.len()], *application.as_bytes());
    let interface = hex("01000000 2c000000 6500 0000 00000000 0200 0600 6e6f64652030 0000 0900 0100 09000000 \
        0000 0000 2c000000");
    assert_eq!(bytes[section..section + 44], interface);
    let packet = hex("06000000 3c000000 00000000 01000000 02000000 03000000 05000000 45010200 \
        0200 0400 02000000 0100 0600 c3bc62726967 0000 0000 0000 3c000000");
    assert_eq!(bytes[section + 44..], packet);
}

#[test]
fn a_reader_finds_what_was_written() {
    let texts = comments(&["seed 7", "ein Lauf über 7 Knoten"]);
    let mut writer = Writer::begin(Vec::new(), "a.pcapng".to_owned(), &texts).expect("memory");
    let radio = writer.add_interface("node 0 radio", LinkType::IEEE802_11_RADIOTAP).expect("memory");
    writer.packet(radio, 0, &[1; 5], &[]).expect("memory");
    // An interface may come after packets of others.
    let wire = writer.add_interface("wire 0", LinkType::RAW).expect("memory");
    writer.packet(wire, 1_234_567_890_123, &[], &texts).expect("memory");
    writer.packet(radio, u64::MAX, &[2; 65_535], &[]).expect("memory");
    let bytes = writer.finish().expect("memory");

    let mut reader = PcapNgReader::new(&bytes[..]).expect("a section");
    let mut interfaces = Vec::new();
    let mut packets = Vec::new();
    while let Some(block) = reader.next_block() {
        match block.expect("sound").0.into_owned() {
            Block::InterfaceDescription(it) => {
                assert!(it.options.contains(&InterfaceDescriptionOption::IfTsResol(InterfaceTsResolution::NANO)));
                interfaces.push((u32::from(it.linktype), format!("{:?}", it.options[0])));
            }
            Block::EnhancedPacket(it) => {
                packets.push((it.interface_id, it.timestamp.as_nanos(), it.data.to_vec(), it.options.len()));
            }
            other => panic!("{other:?}"),
        }
    }
    let name = |name: &str| format!("IfName({name:?})");
    assert_eq!(interfaces, [(127, name("node 0 radio")), (101, name("wire 0"))]);
    let expected =
        [(0, 0, vec![1; 5], 0), (1, 1_234_567_890_123, vec![], 2), (0, u128::from(u64::MAX), vec![2; 65_535], 0)];
    assert_eq!(packets, expected);
    let section = format!("{:?}", reader.section().options);
    assert!(section.contains("seed 7") && section.contains("über"), "{section}");
}

#[test]
fn errors_name_the_path() {
    let missing = Path::new("no such folder/a.pcapng");
    let Err(error) = Writer::create(missing, &[]) else { panic!("there is no such folder") };
    assert!(error.to_string().starts_with("no such folder/a.pcapng: cannot write the capture: "), "{error}");

    let Err(error) = Writer::begin(Full(10), "disk/b.pcapng".to_owned(), &[]) else { panic!("it is full") };
    assert!(error.to_string().starts_with("disk/b.pcapng: cannot write"), "{error}");
    let mut writer = Writer::begin(Full(200), "disk/b.pcapng".to_owned(), &[]).expect("room for the section");
    let interface = writer.add_interface("n", LinkType::RAW).expect("room for the interface");
    let error = writer.packet(interface, 0, &[0; 500], &[]).expect_err("it is full");
    assert!(matches!(&error, CaptureError::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull));
    assert!(error.to_string().starts_with("disk/b.pcapng: cannot write"), "{error}");
    // What a buffer still holds is refused at the end.
    let mut writer = Writer::begin(BufWriter::new(Full(10)), "c".to_owned(), &[]).expect("the buffer has room");
    writer.add_interface("n", LinkType::RAW).expect("the buffer has room");
    let Err(error) = writer.finish() else { panic!("it is full") };
    assert!(error.to_string().starts_with("c: cannot write the capture: "), "{error}");
}

#[test]
fn what_the_format_cannot_express_is_refused_before_it_is_written() {
    let mut writer = Writer::new(Vec::new()).expect("memory");
    let interface = writer.add_interface("n", LinkType::RAW).expect("memory");
    let long = comments(&[&"x".repeat(MAX_OPTION)]);
    writer.packet(interface, 0, &[1], &long).expect("it has the longest length");
    let before = writer.blocks.get_ref().len();
    let longer = comments(&[&"x".repeat(MAX_OPTION + 1)]);
    let error = writer.packet(interface, 0, &[1], &longer).expect_err("too long");
    assert_eq!(error.to_string(), "capture: expected a comment of at most 65535 bytes, found 65536");
    let error = writer.add_interface(&longer[0], LinkType::RAW).expect_err("too long");
    assert_eq!(error.to_string(), "capture: expected a name of at most 65535 bytes, found 65536");
    let error = writer.packet(InterfaceId(1), 0, &[1], &[]).expect_err("of another writer");
    assert!(matches!(&error, CaptureError::Refused { .. }), "{error}");
    let longer = Record { interface, time: 0, bytes: &[1, 2], length: 1, direction: None, comments: &[] };
    assert!(matches!(writer.record(&longer), Err(CaptureError::Refused { .. })));
    assert_eq!(writer.blocks.get_ref().len(), before);
}

#[test]
fn a_file_on_disk_is_replaced() {
    let path = std::env::temp_dir().join(format!("hopyard-wire-{}.pcapng", std::process::id()));
    std::fs::write(&path, [0; 1000]).expect("a file");
    let writer = Writer::create(&path, &[]).expect("a file");
    writer.finish().expect("room");
    let bytes = std::fs::read(&path).expect("a file");
    std::fs::remove_file(&path).expect("a file");
    assert_eq!((bytes.len() < 100, &bytes[..4]), (true, &[0x0a, 0x0d, 0x0d, 0x0a][..]));
}
