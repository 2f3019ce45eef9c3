//! What tshark finds in a capture.

#[path = "../../../engine/tests/common/skipped.rs"]
mod skipped;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use skipped::skipped;

// Severities of Wireshark's remarks about packets ("expert information").
/// Something is unusual, such as a segment that was not captured.
pub const WARNING: u32 = 0x0060_0000;
/// Something is wrong.
pub const ERROR: u32 = 0x0080_0000;

/// Where a test writes its capture.
pub fn capture_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.pcapng"))
}

/// What tshark prints about a capture; `None` without tshark.
pub fn tshark(file: &Path, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new("tshark");
    // The user's configuration is left out, names are not looked up, and all checksums are checked.
    command.env("WIRESHARK_CONFIG_DIR", file.with_extension("config")).env("TZ", "UTC").arg("-n").arg("-r").arg(file);
    for protocol in ["ip", "tcp", "udp", "wlan"] {
        command.args(["-o", &format!("{protocol}.check_checksum:TRUE")]);
    }
    let output = match command.args(arguments).output() {
        Ok(output) => output,
        Err(error) => {
            skipped(format_args!("tshark (Debian: apt install tshark) does not run: {error}"));
            return None;
        }
    };
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{} {arguments:?}: {said}", file.display());
    Some(String::from_utf8(output.stdout).expect("tshark prints UTF-8"))
}

/// These fields of each packet. The values of a field that occurs several times are separated by commas. Newer versions
/// print the words True and False for the flags 1 and 0.
pub fn fields(file: &Path, names: &[&str]) -> Option<Vec<Vec<String>>> {
    let mut arguments = vec!["-T", "fields"];
    arguments.extend(names.iter().flat_map(|name| ["-e", *name]));
    let text = tshark(file, &arguments)?;
    Some(text.lines().map(|line| line.split('\t').map(number).collect()).collect())
}

fn number(value: &str) -> String {
    let word = |word: &str| match word {
        "True" => "1".to_owned(),
        "False" => "0".to_owned(),
        other => other.to_owned(),
    };
    value.split(',').map(word).collect::<Vec<_>>().join(",")
}

/// What Wireshark objects to in a capture: packets that are malformed, or about which it has a remark
/// of this severity or a higher one. And the protocols that it finds.
pub fn dissect(file: &Path, severity: u32) -> Option<(Vec<String>, BTreeSet<String>)> {
    let names = ["frame.number", "_ws.malformed", "_ws.expert.severity", "_ws.expert.message", "frame.protocols"];
    let objects = |remark: &Vec<String>| {
        let mut severities = remark[2].split(',').filter(|severity| !severity.is_empty());
        !remark[1].is_empty() || severities.any(|one| one.parse().unwrap_or(u32::MAX) >= severity)
    };
    let remarks = fields(file, &names)?;
    let protocols = remarks.iter().flat_map(|remark| remark[4].split(':').map(str::to_owned)).collect();
    let mut found: Vec<_> = remarks.into_iter().filter(objects).map(|remark| remark[..4].join(" ")).collect();
    let shown = tshark(file, &["-V"])?;
    for word in ["Malformed", "incorrect", "Status: Bad", "tatus: Unverified"] {
        found.extend(shown.lines().filter(|line| line.contains(word)).map(str::to_owned));
    }
    Some((found, protocols))
}

/// What Wireshark objects to in a capture ([`dissect`]).
pub fn objections(file: &Path, severity: u32) -> Option<Vec<String>> {
    dissect(file, severity).map(|(found, _)| found)
}

/// Checks that Wireshark objects to nothing in a capture.
pub fn assert_sound(file: &Path) {
    if let Some(found) = objections(file, WARNING) {
        assert_eq!(found, [""; 0], "{}", file.display());
    }
}

/// Checks fields of each packet: names with values.
pub fn assert_fields<'a>(file: &Path, expected: impl Iterator<Item = &'a [(&'static str, &'static str)]>) {
    let expected: Vec<_> = expected.collect();
    let mut names: Vec<_> = expected.iter().flat_map(|list| list.iter().map(|(name, _)| *name)).collect();
    names.sort_unstable();
    names.dedup();
    let Some(found) = fields(file, &names) else { return };
    assert_eq!(found.len(), expected.len(), "one line a packet");
    for (number, (found, expected)) in (1..).zip(found.iter().zip(&expected)) {
        for (name, value) in *expected {
            let place = names.binary_search(name).expect("it was asked for");
            assert_eq!(found[place], *value, "{name} of packet {number} in {}", file.display());
        }
    }
}
