//! The home of a program.

use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use tempfile::TempDir;

use crate::process::create_private_dir;

/// Where a program keeps what it has to keep.
#[derive(Debug)]
pub(super) enum HomeDir {
    /// In a temporary folder, which is made when it is first needed and goes with the agent.
    Temporary(Mutex<Option<TempDir>>),
    /// In this folder.
    Path(PathBuf),
    /// Where whoever runs the server does.
    Inherited,
}

impl Default for HomeDir {
    fn default() -> Self {
        Self::Temporary(Mutex::default())
    }
}

impl HomeDir {
    /// The folder, which exists now, with one for temporary files within; none when the program
    /// sees the one of the server.
    pub(super) fn prepare(&self) -> io::Result<Option<(PathBuf, PathBuf)>> {
        let dir = match self {
            Self::Temporary(created) => {
                let mut created = created.lock().unwrap_or_else(PoisonError::into_inner);
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
