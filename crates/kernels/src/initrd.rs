//! The first file system of a guest: an archive that the kernel unpacks into its memory (the kernel's
//! `Documentation/driver-api/early-userspace/buffer-format.rst`, format "newc").

use std::net::Ipv4Addr;

use hopyard_engine::Time;

use crate::agent::Order;

/// The type of a directory, in the mode of a file.
const DIRECTORY: u32 = 0o040_000;
/// The type of a character device.
const CHARACTERS: u32 = 0o020_000;
/// The type of a usual file.
const USUAL: u32 = 0o100_000;

/// An archive with an agent, its orders, and further files: the name without a leading slash, and the content. Root
/// owns all files. The folders `dev`, `proc`, `sys`, `tmp`, the folders of the files, and the device `dev/console` are
/// in the archive too. The first order is the address of the loopback device.
#[must_use]
pub fn archive(agent: &[u8], orders: &[Order], files: &[(&str, &[u8])]) -> Vec<u8> {
    let loopback = Order::Address { address: Ipv4Addr::LOCALHOST, prefix: 8, arp: 0, device: "lo".to_owned() };
    let orders: Vec<u8> = [loopback].iter().chain(orders).flat_map(|it| it.bytes(Time::ZERO)).collect();
    let mut bytes = Vec::new();
    let mut number = 0;
    let mut add = |name: &str, mode: u32, device: [u32; 2], content: &[u8]| {
        number += 1;
        entry(&mut bytes, number, name, mode, device, content);
    };
    let mut folders = vec!["dev", "proc", "sys", "tmp"];
    for (name, ..) in files {
        for (end, _) in name.match_indices('/') {
            if !folders.contains(&&name[..end]) {
                folders.push(&name[..end]);
            }
        }
    }
    for folder in folders {
        add(folder, DIRECTORY | 0o755, [0; 2], &[]);
    }
    add("dev/console", CHARACTERS | 0o600, [5, 1], &[]);
    add("init", USUAL | 0o755, [0; 2], agent);
    for (name, content) in [("orders", &*orders)].iter().chain(files) {
        add(name, USUAL | 0o644, [0; 2], content);
    }
    entry(&mut bytes, 0, "TRAILER!!!", 0, [0; 2], &[]);
    bytes
}

/// A header of 13 hexadecimal numbers, the name with a zero, the content; name and content end at a multiple of four.
fn entry(bytes: &mut Vec<u8>, number: u32, name: &str, mode: u32, device: [u32; 2], content: &[u8]) {
    let [major, minor] = device;
    // Inode, mode, user, group, links, time, size, device of the file (2), device that it is (2), name, check sum.
    let (size, name_size) = (content.len() as u32, name.len() as u32 + 1);
    let fields = [number, mode, 0, 0, 1, 0, size, 0, 0, major, minor, name_size, 0];
    bytes.extend(b"070701");
    for field in fields {
        bytes.extend(format!("{field:08x}").bytes());
    }
    bytes.extend(name.bytes());
    bytes.push(0);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes.extend(content);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names, modes and contents of an archive.
    fn read(mut bytes: &[u8]) -> Vec<(String, u32, Vec<u8>)> {
        let mut found = Vec::new();
        loop {
            assert_eq!(&bytes[..6], b"070701");
            let field = |at: usize| {
                let text = std::str::from_utf8(&bytes[6 + 8 * at..14 + 8 * at]).expect("digits");
                u32::from_str_radix(text, 16).expect("a number")
            };
            let (mode, size, name_size) = (field(1), field(6) as usize, field(11) as usize);
            let name = String::from_utf8(bytes[110..110 + name_size - 1].to_vec()).expect("a name");
            if name == "TRAILER!!!" {
                return found;
            }
            let begin = (110 + name_size).next_multiple_of(4);
            found.push((name, mode, bytes[begin..begin + size].to_vec()));
            bytes = &bytes[(begin + size).next_multiple_of(4)..];
        }
    }

    #[test]
    fn an_archive_has_the_console_and_the_files() {
        let found = read(&archive(b"program", &[], &[("a/b/one", b""), ("a/two", b"")]));
        let names: Vec<_> = found.iter().map(|(name, ..)| name.as_str()).collect();
        // A folder comes before what is in it.
        assert_eq!(
            names,
            ["dev", "proc", "sys", "tmp", "a", "a/b", "dev/console", "init", "orders", "a/b/one", "a/two"]
        );
        assert_eq!(found[6].1, 0o020_600);
        assert_eq!(found[7], ("init".into(), 0o100_755, b"program".to_vec()));
    }
}
