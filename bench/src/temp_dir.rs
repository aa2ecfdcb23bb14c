//! Temporary directories for the data of servers.

use std::path::{Path, PathBuf};

use crate::BenchError;

/// Temporary directory. Dropping it deletes the directory with its contents.
#[derive(Debug)]
pub struct TempDir(PathBuf);

impl TempDir {
    /// Creates a directory in `parent`, named after this process. A process can have one at a time.
    ///
    /// # Errors
    /// Fails if it exists already or cannot be created.
    pub fn new(parent: &Path) -> Result<Self, BenchError> {
        let path = parent.join(format!("latimer-bench-{}", std::process::id()));
        std::fs::create_dir(&path)?;
        Ok(Self(path))
    }

    /// Returns the path of the directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        // A directory that cannot be deleted remains among other temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
