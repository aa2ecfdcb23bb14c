//! Home directory of a program.

use std::io;
use std::path::PathBuf;

use parking_lot::Mutex;
use tempfile::TempDir;

use crate::process::create_private_dir;

/// Home directory of the programs that an agent runs.
#[derive(Debug)]
pub(super) enum HomeDir {
    /// A temporary directory, created on first use and removed when the agent is dropped.
    Temporary(Mutex<Option<TempDir>>),
    /// This directory, created if it is missing.
    Path(PathBuf),
    /// The home directory of the server process.
    Inherited,
}

impl Default for HomeDir {
    fn default() -> Self {
        Self::Temporary(Mutex::default())
    }
}

impl HomeDir {
    /// Creates the home directory and a directory for temporary files in it, if they are missing,
    /// and returns both paths. Returns `None` if the program inherits those of the server process.
    pub(super) fn prepare(&self) -> io::Result<Option<(PathBuf, PathBuf)>> {
        let dir = match self {
            Self::Temporary(created) => {
                let mut created = created.lock();
                let dir = match created.take() {
                    Some(dir) => dir,
                    None => tempfile::Builder::new().prefix("latimer-").tempdir()?,
                };
                created.insert(dir).path().to_owned()
            }
            Self::Path(dir) => std::path::absolute(dir)?,
            Self::Inherited => return Ok(None),
        };
        let temp_dir = dir.join("tmp");
        create_private_dir(&temp_dir)?;
        Ok(Some((dir, temp_dir)))
    }
}
