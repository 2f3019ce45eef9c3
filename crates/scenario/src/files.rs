//! The parts outside itself that a scenario names: files, which are read once, and congestion controls.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use hopyard_model::app::{Entry, Format};
use hopyard_model::file::BadFile;
use hopyard_model::link::wired::trace::{self, Trace};
use hopyard_model::mobility::Movements;
use hopyard_model::mobility::movement_file;
use hopyard_model::phy::error_rate::measured::Measured;
use hopyard_model::phy::links::Links;
use hopyard_model::phy::propagation::table;
use hopyard_model::transport::congestion;
use xxhash_rust::xxh3::xxh3_64;

use crate::external::{Declaration, Refusal, Surroundings};
use crate::problem::one_of;

/// The largest input file that is read, in bytes on disk. Its reader limits the size of a compressed file after
/// decompression.
pub(crate) const MOST_INPUT: u64 = 256 << 20;

/// The largest scenario file that is read, in bytes.
pub(crate) const MOST_SCENARIO: u64 = 16 << 20;

/// Why a file is not read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreadable {
    /// The operating system gives the reason.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// It has no end, or reading would wait for another program to write.
    #[error("it is not a regular file")]
    NoFile,
    /// It is larger than the given number of bytes.
    #[error("it is larger than {}", in_megabytes(*.0))]
    TooLarge(u64),
}

/// A number of bytes in words.
pub(crate) fn in_megabytes(bytes: u64) -> String {
    format!("{} MiB", bytes >> 20)
}

/// The bytes of a regular file of at most `most` bytes.
///
/// # Errors
/// When it is larger, or not a regular file: reading a pipe would wait, and a device may have no end.
pub(crate) fn read_bounded(path: &Path, most: u64) -> Result<Vec<u8>, Unreadable> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(Unreadable::NoFile);
    }
    let mut bytes = Vec::new();
    // The size that the system reports may be wrong, or grow during reading.
    std::fs::File::open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(Unreadable::TooLarge(most)) } else { Ok(bytes) }
}

/// An input file that was read.
#[derive(Debug)]
pub(crate) struct InputFile<T> {
    pub meaning: Arc<T>,
    /// Its content.
    pub bytes: Arc<[u8]>,
    /// The hash of its bytes.
    pub hash: u64,
}

impl<T> InputFile<T> {
    /// The file under the name that the scenario gives it.
    pub(crate) fn named(&self, path: &str) -> NamedFile {
        NamedFile { path: path.to_owned(), hash: self.hash, bytes: Arc::clone(&self.bytes) }
    }
}

/// A movement file.
pub(crate) type MovementFile = InputFile<Movements>;

/// A file with error rates.
pub(crate) type ErrorFile = InputFile<Measured>;

/// A file of links.
pub(crate) type LinkFile = InputFile<Links>;

/// A file of sizes and times of traffic.
pub(crate) type TrafficFile = InputFile<Arc<[Entry]>>;

/// A file that a wire follows.
pub(crate) type TraceFile = InputFile<Trace>;

/// A file that a scenario names.
#[derive(Clone, Debug)]
pub struct NamedFile {
    /// Its name, as in the scenario.
    pub path: String,
    /// The hash of its content.
    pub hash: u64,
    /// Its content.
    pub bytes: Arc<[u8]>,
}

/// A file that cannot be used.
#[derive(Debug)]
pub(crate) enum FileError {
    /// It is not there, or cannot be read.
    Missing(PathBuf, std::io::Error),
    /// It is no file, or too large.
    Unusable(PathBuf, String),
    /// Lines of it are broken.
    Broken(BadFile),
}

/// A file of links with faulty rows, which was reported before it was known which nodes there are.
pub(crate) struct BrokenLinks {
    /// The place of the report among the problems.
    pub problem: usize,
    /// The number of the channel.
    pub channel: usize,
    /// The faulty rows.
    pub bad: BadFile,
    /// The links of the other rows.
    pub sound: Links,
}

/// The files that were read with these parameters.
type Cache<P, T> = Arc<Mutex<BTreeMap<P, Arc<InputFile<T>>>>>;

/// The surroundings of a scenario. Cases of a comparison share what has been read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Files {
    around: Surroundings,
    movements: Cache<movement_file::Params, Movements>,
    links: Cache<table::Params, Links>,
    errors: Cache<String, Measured>,
    traffic: Cache<(Format, String), Arc<[Entry]>>,
    traces: Cache<(trace::Format, String), Trace>,
}

impl Files {
    /// Files whose names are relative to the folder of the surroundings, and their congestion controls.
    pub(crate) fn new(around: Surroundings) -> Self {
        Self { around, ..Self::default() }
    }

    /// The congestion control that a name stands for.
    pub(crate) fn controller(&self, name: &str) -> Result<Declaration, Refusal> {
        match &self.around.controllers {
            Some(controllers) => controllers.find(name, &self.around.folder),
            None => Err(Refusal {
                message: format!(
                    "`{name}` is not a model, and this program knows no congestion control but its models"
                ),
                expected: Some(one_of(congestion::MODELS.iter().map(|model| model.name))),
                hint: Some("those written in Python are known to the command `hopyard` and to Python".to_owned()),
            }),
        }
    }

    /// The movement file that `params` name.
    pub(crate) fn movements(&self, params: &movement_file::Params) -> Result<Arc<MovementFile>, FileError> {
        self.input(&self.movements, params, &params.path, |bytes| {
            Movements::read(&params.path, bytes, &params.reading())
        })
    }

    /// The file of links that `params` name; beside an error, the links of its sound rows.
    pub(crate) fn links(&self, params: &table::Params) -> Result<Arc<LinkFile>, Box<(FileError, Option<Links>)>> {
        let mut sound = None;
        let file = self.input(&self.links, params, &params.path, |bytes| {
            let (links, bad) = Links::read_sound(&params.path, bytes, &params.reading());
            if bad.is_empty() {
                return Ok(links);
            }
            sound = Some(links);
            Err(bad)
        });
        file.map_err(|error| Box::new((error, sound)))
    }

    /// The file with error rates that has this name.
    pub(crate) fn errors(&self, path: &String) -> Result<Arc<ErrorFile>, FileError> {
        self.input(&self.errors, path, path, |bytes| Measured::read(path, bytes))
    }

    /// The file of sizes and times of traffic with these contents and this name.
    pub(crate) fn traffic(&self, named: &(Format, String)) -> Result<Arc<TrafficFile>, FileError> {
        let (format, path) = named;
        self.input(&self.traffic, named, path, |bytes| format.read(path, bytes))
    }

    /// The file that a wire follows, with these contents and this name.
    pub(crate) fn trace(&self, named: &(trace::Format, String)) -> Result<Arc<TraceFile>, FileError> {
        let (format, path) = named;
        self.input(&self.traces, named, path, |bytes| format.read(path, bytes))
    }

    /// The file with this name, which is read once for all cases.
    fn input<P: Ord + Clone, T>(
        &self,
        cache: &Cache<P, T>,
        params: &P,
        name: &str,
        read: impl FnOnce(&[u8]) -> Result<T, BadFile>,
    ) -> Result<Arc<InputFile<T>>, FileError> {
        let cache = || cache.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = cache().get(params) {
            return Ok(Arc::clone(file));
        }
        let path = self.around.folder.join(name);
        let bytes = read_bounded(&path, MOST_INPUT).map_err(|fault| match fault {
            Unreadable::Io(error) => FileError::Missing(path.clone(), error),
            Unreadable::NoFile | Unreadable::TooLarge(_) => FileError::Unusable(path.clone(), fault.to_string()),
        })?;
        let (meaning, hash) = (Arc::new(read(&bytes).map_err(FileError::Broken)?), xxh3_64(&bytes));
        let file = Arc::new(InputFile { meaning, bytes: bytes.into(), hash });
        cache().insert(params.clone(), Arc::clone(&file));
        Ok(file)
    }
}
