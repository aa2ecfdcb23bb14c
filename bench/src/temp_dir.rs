//! A folder for what a server keeps.

use std::path::{Path, PathBuf};

use crate::BenchError;

/// A folder that is gone when this is dropped.
#[derive(Debug)]
pub struct TempDir(PathBuf);

impl TempDir {
    /// Makes one within `folder`. A process has one at a time.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn new(parent: &Path) -> Result<Self, BenchError> {
        let path = parent.join(format!("latimer-bench-{}", std::process::id()));
        std::fs::create_dir(&path)?;
        Ok(Self(path))
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        // What is left is in a folder for such things.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
