//! The files that a scenario names, read once.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use hopyard_model::mobility::Movements;
use hopyard_model::mobility::movement_file::{BadFile, Params, Reading};
use xxhash_rust::xxh3::xxh3_64;

/// A movement file.
#[derive(Debug)]
pub(crate) struct MovementFile {
    pub movements: Arc<Movements>,
    /// The hash of its bytes.
    pub hash: u64,
}

/// A file that cannot be used.
#[derive(Debug)]
pub(crate) enum FileError {
    /// It is not there, or cannot be read.
    Missing(PathBuf, std::io::Error),
    /// Lines of it are broken.
    Broken(BadFile),
}

/// Files beside a scenario. Cases of a comparison share what has been read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Files {
    directory: PathBuf,
    read: Arc<Mutex<BTreeMap<String, Arc<MovementFile>>>>,
}

impl Files {
    /// Files whose names are relative to `directory`.
    pub(crate) fn new(directory: &Path) -> Self {
        Self { directory: directory.to_owned(), read: Arc::default() }
    }

    /// The movement file that `params` name; `key` stands for all of them.
    pub(crate) fn movements(&self, key: &str, params: &Params) -> Result<Arc<MovementFile>, FileError> {
        let cache = || self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = cache().get(key) {
            return Ok(Arc::clone(file));
        }
        let path = self.directory.join(&params.path);
        let bytes = std::fs::read(&path).map_err(|error| FileError::Missing(path, error))?;
        let reading = Reading { format: params.format, dimensions: params.dimensions, area: None };
        let movements = Movements::read(&params.path, &bytes, &reading).map_err(FileError::Broken)?;
        let file = Arc::new(MovementFile { movements: Arc::new(movements), hash: xxh3_64(&bytes) });
        cache().insert(key.to_owned(), Arc::clone(&file));
        Ok(file)
    }
}
