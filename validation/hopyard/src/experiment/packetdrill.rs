//! packetdrill's scripts, played against Hopyard's TCP.
//!
//! The scripts are not here: the command `packetdrill` plays those in the folders that it is given, and writes what
//! came of each. The tables are made from that file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use hopyard_packetdrill::agreement::Model;
use hopyard_packetdrill::features::Reason;
use hopyard_packetdrill::parse::parse;
use hopyard_packetdrill::play::{Outcome, play};
use serde::Serialize;
use tabled::builder::Builder;
use tabled::settings::Style;

use super::Experiment;
use crate::comparison::Table;
use crate::figures::{self, Figures};

/// What came of the scripts when they were played last.
pub const PACKETDRILL: Experiment = Experiment {
    name: "packetdrill",
    title: "packetdrill's scripts",
    run: |_, _| Ok(()),
    compare: tables,
    needs: &[FILE],
};

const FILE: &str = "packetdrill.csv";

/// What came of a script. Reasons are separated by semicolons.
#[derive(Serialize)]
struct Row {
    profile: String,
    suite: String,
    folder: String,
    script: String,
    outcome: &'static str,
    /// The class of what a script needs that the model does not have.
    class: String,
    reason: String,
    segments: u32,
    assertions: u32,
    not_compared: String,
}

/// Plays all scripts of the folders, each `NAME=FOLDER` or `FOLDER`, under each profile; returns a line for each that
/// failed.
pub fn play_folders(root: &Path, folders: &[String], profiles: &[String]) -> Result<Vec<String>> {
    let usual = [Model::usual_profile().to_owned()];
    let profiles = if profiles.is_empty() { &usual[..] } else { profiles };
    let mut rows = Vec::new();
    for folder in folders {
        let (suite, folder) = match folder.split_once('=') {
            Some((name, folder)) => (name.to_owned(), PathBuf::from(folder)),
            None => {
                let folder = PathBuf::from(folder);
                (folder.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned()), folder)
            }
        };
        let mut scripts = Vec::new();
        collect(&folder, &mut scripts)?;
        ensure!(!scripts.is_empty(), "{}: no scripts (*.pkt) in this folder", folder.display());
        scripts.sort();
        for profile in profiles {
            for script in &scripts {
                rows.push(row(script, &folder, &suite, profile)?);
            }
        }
    }
    rows.sort_by(|a, b| {
        (&a.profile, &a.suite, &a.folder, &a.script).cmp(&(&b.profile, &b.suite, &b.folder, &b.script))
    });
    figures::write(&root.join("results").join(FILE), &rows)?;
    let failed = rows.iter().filter(|row| row.outcome == "failed" || row.outcome == "unreadable");
    Ok(failed
        .map(|row| format!("{} {}: {}", row.profile, place(&[&row.suite, &row.folder, &row.script]), row.reason))
        .collect())
}

/// Where a script is.
fn place(parts: &[&str]) -> String {
    parts.iter().copied().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/")
}

/// The scripts below a folder. Links are not followed, so that none leads round.
fn collect(folder: &Path, scripts: &mut Vec<PathBuf>) -> Result<()> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read the folder {}", folder.display()))?;
    for entry in entries {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            collect(&path, scripts)?;
        } else if path.extension().is_some_and(|extension| extension == "pkt") {
            scripts.push(path);
        }
    }
    Ok(())
}

fn row(path: &Path, root: &Path, suite: &str, profile: &str) -> Result<Row> {
    let parent = path.parent().unwrap_or(root);
    let relative = parent.strip_prefix(root).unwrap_or(parent);
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let mut row = Row {
        profile: profile.to_owned(),
        suite: suite.to_owned(),
        folder: relative.to_string_lossy().into_owned(),
        script: name.unwrap_or_default(),
        outcome: "unreadable",
        class: String::new(),
        reason: String::new(),
        segments: 0,
        assertions: 0,
        not_compared: String::new(),
    };
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let script = match parse(&text) {
        Ok(script) => script,
        Err(error) => {
            row.reason = error.to_string();
            return Ok(row);
        }
    };
    let report = match play(&script, profile, &|file| std::fs::read_to_string(parent.join(file)).ok()) {
        Ok(report) => report,
        Err(error) => bail!("{}: {error}", path.display()),
    };
    row.segments = report.segments;
    row.assertions = report.assertions;
    row.not_compared = report.not_compared.into_iter().collect::<Vec<_>>().join("; ");
    match report.outcome {
        Outcome::Passed => row.outcome = "passed",
        Outcome::Failed(failure) => {
            row.outcome = "failed";
            row.reason = failure.to_string();
        }
        Outcome::NotApplicable(reasons) => {
            row.outcome = "not applicable";
            row.class = reasons.iter().map(Reason::class).min().map_or_else(String::new, |class| class.to_string());
            row.reason = reasons.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
        }
    }
    Ok(row)
}

/// For each profile: the outcomes by folder, the reasons why scripts are not applicable, and the failures.
fn tables(root: &Path) -> Result<Vec<Table>> {
    let figures = Figures::read(&root.join("results").join(FILE))?;
    let columns = ["profile", "suite", "folder", "script", "outcome", "reason", "not_compared", "class"];
    let rows: Vec<Vec<String>> =
        figures.select(&columns)?.map(|row| row.into_iter().map(str::to_owned).collect()).collect();
    let profiles: BTreeSet<&str> = rows.iter().map(|row| row[0].as_str()).collect();
    let mut tables = Vec::new();
    for profile in profiles {
        let rows: Vec<&[String]> = rows.iter().filter(|row| row[0] == profile).map(|row| &row[1..]).collect();
        tables.push(outcomes(profile, &rows));
        tables.push(classes(profile, &rows));
        tables.push(reasons(profile, &rows));
        tables.push(not_compared(profile, &rows));
        tables.push(failures(profile, &rows));
    }
    Ok(tables)
}

const OUTCOMES: [&str; 4] = ["passed", "failed", "not applicable", "unreadable"];

fn outcomes(profile: &str, rows: &[&[String]]) -> Table {
    let mut folders: BTreeMap<String, [usize; 4]> = BTreeMap::new();
    let mut all = [0; 4];
    for row in rows {
        let counts = folders.entry(place(&[&row[0], &row[1]])).or_default();
        for (place, outcome) in OUTCOMES.iter().enumerate() {
            let one = usize::from(row[3] == *outcome);
            counts[place] += one;
            all[place] += one;
        }
    }
    let mut builder = Builder::default();
    builder.push_record(["folder", "scripts"].into_iter().chain(OUTCOMES));
    folders.insert("**all**".to_owned(), all);
    for (folder, counts) in folders {
        let numbers = counts.map(|count| count.to_string());
        builder.push_record([folder, counts.iter().sum::<usize>().to_string()].into_iter().chain(numbers));
    }
    let [passed, failed, ..] = all;
    table(&format!("Scripts by folder, profile {profile}"), builder, passed + failed, passed)
}

/// Each script that is not applicable once.
fn classes(profile: &str, rows: &[&[String]]) -> Table {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for row in rows.iter().filter(|row| row[3] == "not applicable") {
        *counts.entry(&row[6]).or_default() += 1;
    }
    let mut builder = Builder::default();
    builder.push_record(["class", "scripts that are not applicable"]);
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    for (class, count) in counts {
        builder.push_record([class.to_owned(), count.to_string()]);
    }
    table(&format!("Scripts that are not applicable, by class, profile {profile}"), builder, 0, 0)
}

fn reasons(profile: &str, rows: &[&[String]]) -> Table {
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for row in rows.iter().filter(|row| row[3] == "not applicable") {
        let reasons: Vec<&str> = row[4].split("; ").collect();
        for reason in &reasons {
            let count = counts.entry(reason).or_default();
            count.0 += 1;
            count.1 += usize::from(reasons.len() == 1);
        }
    }
    let mut builder = Builder::default();
    builder.push_record(["what the model does not have", "scripts that need it", "and nothing else"]);
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|&(_, (all, _))| std::cmp::Reverse(all));
    for (reason, (all, alone)) in counts {
        builder.push_record([reason.to_owned(), all.to_string(), alone.to_string()]);
    }
    table(&format!("Why scripts are not applicable, profile {profile}"), builder, 0, 0)
}

/// Quantities of Linux that assertions name and the model does not have.
fn not_compared(profile: &str, rows: &[&[String]]) -> Table {
    let mut counts: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    for row in rows {
        for name in row[5].split("; ").filter(|name| !name.is_empty()) {
            counts.entry(name).or_default()[usize::from(row[3] != "passed")] += 1;
        }
    }
    let mut builder = Builder::default();
    builder.push_record(["quantity", "scripts that pass without it", "other scripts"]);
    for (name, [passed, others]) in counts {
        builder.push_record([name.to_owned(), passed.to_string(), others.to_string()]);
    }
    table(&format!("Assertions that are not compared, profile {profile}"), builder, 0, 0)
}

fn failures(profile: &str, rows: &[&[String]]) -> Table {
    let mut builder = Builder::default();
    builder.push_record(["script", "what differs"]);
    for row in rows.iter().filter(|row| row[3] == "failed" || row[3] == "unreadable") {
        builder.push_record([place(&[&row[0], &row[1], &row[2]]), row[4].replace('|', "\\|")]);
    }
    table(&format!("Failures, profile {profile}"), builder, 0, 0)
}

fn table(title: &str, builder: Builder, bounded: usize, met: usize) -> Table {
    let text = builder.build().with(Style::markdown()).to_string();
    Table { title: title.to_owned(), text, bounded, met, worst: 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Our own scripts, one that cannot be read, and one that needs more than the model has.
    #[test]
    fn folders_are_played() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("results")).unwrap();
        let scripts = root.path().join("scripts/deep");
        std::fs::create_dir_all(&scripts).unwrap();
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../packetdrill/scripts");
        let timeout = std::fs::read_to_string(own.join("timeout.pkt")).unwrap();
        std::fs::write(scripts.join("a.pkt"), timeout.clone() + "+0 %{ assert tcpi_reordering == 3 }%\n").unwrap();
        std::fs::write(scripts.join("b.pkt"), timeout.replace("+.3  ", "+.5  ")).unwrap();
        std::fs::write(scripts.join("c.pkt"), "0 hello\n").unwrap();
        std::fs::write(scripts.join("d.pkt"), "0 < icmp unreachable\n0 epoll_create(1) = 5\n").unwrap();
        std::fs::write(scripts.join("notes.txt"), "not a script").unwrap();
        let folder = format!("own={}", root.path().join("scripts").display());
        let failed = play_folders(root.path(), &[folder], &["rfc".to_owned()]).unwrap();
        assert_eq!(failed.len(), 2, "{failed:?}");
        assert!(failed[0].starts_with("rfc own/deep/b.pkt: line 14: before 0.600010 s"), "{}", failed[0]);
        let made = tables(root.path()).unwrap();
        assert_eq!((made[0].bounded, made[0].met), (2, 1));
        assert!(
            made[0].text.contains("| own/deep | 4       | 1      | 1      | 1              | 1          |"),
            "{}",
            made[0].text
        );
        assert!(made[1].text.contains("| wire  | 1                               |"), "{}", made[1].text);
        assert!(made[2].text.contains("| poll and epoll               | 1                    | 0                |"));
        assert!(made[3].text.contains("| tcpi_reordering | 1                            | 0             |"));
        assert!(made[4].text.contains("own/deep/c.pkt") && made[4].text.contains("expected `(`"), "{}", made[4].text);
    }

    #[test]
    fn what_cannot_be_played_is_named() {
        let root = tempfile::tempdir().unwrap();
        let problem = |folder: &Path, profile: &str| {
            let folders = [folder.display().to_string()];
            format!("{:#}", play_folders(root.path(), &folders, &[profile.to_owned()]).unwrap_err())
        };
        assert!(problem(root.path(), "rfc").ends_with("no scripts (*.pkt) in this folder"));
        assert!(problem(&root.path().join("none"), "rfc").starts_with("cannot read the folder"));
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../packetdrill/scripts");
        assert!(problem(&own, "bsd").contains("profile \"bsd\": TCP has rfc"));
    }
}
