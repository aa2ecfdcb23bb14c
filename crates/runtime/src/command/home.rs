//! The home of a program.

use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use tempfile::TempDir;

use crate::process::private_folder;

/// Where a program keeps what it has to keep.
#[derive(Debug)]
pub(super) enum Home {
    /// In a temporary folder, which is made when it is first needed and goes with the agent.
    Temporary(Mutex<Option<TempDir>>),
    /// In this folder.
    Folder(PathBuf),
    /// Where whoever runs the server does.
    Inherited,
}

impl Default for Home {
    fn default() -> Self {
        Self::Temporary(Mutex::default())
    }
}

impl Home {
    /// The folder, which exists now, with one for temporary files within; none when the program
    /// sees the one of the server.
    pub(super) fn open(&self) -> io::Result<Option<(PathBuf, PathBuf)>> {
        let folder = match self {
            Self::Temporary(made) => {
                let mut made = made.lock().unwrap_or_else(PoisonError::into_inner);
                let folder = match made.take() {
                    Some(folder) => folder,
                    None => tempfile::Builder::new().prefix("latimer-").tempdir()?,
                };
                made.insert(folder).path().to_owned()
            }
            Self::Folder(folder) => std::path::absolute(folder)?,
            Self::Inherited => return Ok(None),
        };
        let temporary = folder.join("tmp");
        private_folder(&temporary)?;
        Ok(Some((folder, temporary)))
    }
}
