//! Golden results: a short run for every model of every room.
//!
//! Each model has a table with the digests of its runs, a file in the folder of its room.
//!
//! The tables are `insta` snapshots: plain text files that a review shows line by line. `cargo insta review` accepts an
//! intended change. Such a change is listed in the changelog under Results, with its reason. The tests use the lists of
//! models, so that they include every new model.

mod hosts;
mod movement;
mod networks;
mod radios;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use hopyard_engine::Time;
use hopyard_model::observe::Outcome;
use hopyard_model::params::ModelInfo;

use crate::common::table::table;

/// The profiles of the model with this name, each with its own name and the model's name.
fn in_profiles(models: &[ModelInfo]) -> Vec<(String, &'static str, &'static str)> {
    models
        .iter()
        .flat_map(|model| {
            ["rfc", "ns2"]
                .into_iter()
                .filter(|profile| model.profiles.contains(profile))
                .map(|profile| (format!("{} {profile}", model.name), model.name, profile))
        })
        .collect()
}

fn seconds(seconds: u64) -> Time {
    Time::from_nanos(seconds * 1_000_000_000)
}

/// Compares runs with the stored table `name` of a folder.
fn check_in(folder: &Path, name: &str, runs: &[(String, Outcome)]) {
    insta::with_settings!({ snapshot_path => folder, prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, table(runs));
    });
}

/// Compares the runs of a room with its stored table.
fn check(room: &str, runs: &[(String, Outcome)]) {
    check_in(Path::new("."), room, runs);
}

/// Compares the runs of each model of a room with a stored table of its own, so that a change of one model shows in its
/// own table alone. The name of a run begins with that of the model.
fn check_models(room: &str, runs: Vec<(String, Outcome)>) {
    let mut models: BTreeMap<String, Vec<(String, Outcome)>> = BTreeMap::new();
    for run in runs {
        let model = run.0.split([' ', ',']).next().unwrap_or_default().to_owned();
        models.entry(model).or_default().push(run);
    }
    for (model, runs) in &models {
        check_in(Path::new(room), model, runs);
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(room);
    let files = std::fs::read_dir(&folder).expect("a folder");
    let stored: BTreeSet<String> = files
        .map(|file| file.expect("a file").path().with_extension("").file_name().expect("a name").display().to_string())
        .collect();
    let left: Vec<_> = stored.iter().filter(|name| !models.contains_key(*name)).collect();
    assert!(left.is_empty(), "{}: no model has the tables {left:?}", folder.display());
}

/// A name, and its change of the specification.
type Kind<P> = (&'static str, fn(&mut P));
