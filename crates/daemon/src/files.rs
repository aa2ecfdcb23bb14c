//! Folders. The only module of the crate that knows the operating system.

use std::fs::DirBuilder;
use std::io;
use std::path::Path;

/// Makes a folder, and those above it, that only its owner can look into. One that exists stays as
/// it is.
pub(crate) fn create_private_dir(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    builder.create(path)
}
