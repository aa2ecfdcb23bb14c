//! Opens the configured store.

use std::path::{Path, PathBuf};

use latimer_runtime::create_private_dir;
use latimer_server::Server;
use latimer_store::{MemoryStore, SqliteConfig, SqliteStore, TaskStore};
use tracing::warn;

use crate::config::{Config, StoreLocation};
use crate::error::StartError;

/// Opens the store and adds it to the server.
pub(crate) fn attach(server: Server, config: &Config) -> Result<Server, StartError> {
    let holder = format!("latimer serve, {}", config.listen);
    Ok(server.shared_store(open(config, &holder)?.into()))
}

/// Opens the store. A process that finds it locked reports `holder`.
pub(crate) fn open(config: &Config, holder: &str) -> Result<Box<dyn TaskStore>, StartError> {
    let retention = config.store.retention.clone();
    let (path, durability) = match &config.store.location {
        StoreLocation::Memory => return Ok(Box::new(MemoryStore::new(retention))),
        StoreLocation::Sqlite { path, durability } => (path, *durability),
    };
    if let Some(directory) = path.parent().filter(|it| !it.as_os_str().is_empty()) {
        let create_error = |source| StartError::CreateDir { path: directory.to_owned(), source };
        create_private_dir(directory).map_err(create_error)?;
    }
    let holder = holder.to_owned();
    let store = SqliteStore::open(path, SqliteConfig { durability, retention, holder });
    let store = store.map_err(StartError::Store)?;
    for path in exposed_files(path) {
        warn!(path = %path.display(), "file of the store is readable by other users");
    }
    Ok(Box::new(store))
}

/// Returns the files of a store that users other than their owner can read. They contain messages of
/// callers and the key of webhook secrets.
#[cfg(unix)]
fn exposed_files(database: &Path) -> Vec<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let files = ["", ".key", ".lock"].map(|suffix| {
        let mut name = database.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    });
    let is_exposed = |path: &PathBuf| {
        path.metadata().is_ok_and(|it| it.permissions().mode() & READABLE_BY_OTHERS != 0)
    };
    files.into_iter().filter(is_exposed).collect()
}

/// Mode bits that let the group or all users read a file.
#[cfg(unix)]
const READABLE_BY_OTHERS: u32 = 0o044;

#[cfg(not(unix))]
fn exposed_files(_database: &Path) -> Vec<PathBuf> {
    Vec::new()
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn store_files_readable_by_others_are_reported() {
        let directory = tempfile::tempdir().unwrap();
        let database = directory.path().join("tasks.db");
        let key = directory.path().join("tasks.db.key");
        for (path, mode) in [(&database, 0o600), (&key, 0o600)] {
            fs::write(path, "").unwrap();
            fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        }
        assert_eq!(exposed_files(&database), Vec::<PathBuf>::new());
        fs::set_permissions(&key, Permissions::from_mode(0o640)).unwrap();
        assert_eq!(exposed_files(&database), std::slice::from_ref(&key));
        fs::set_permissions(&database, Permissions::from_mode(0o604)).unwrap();
        assert_eq!(exposed_files(&database), [database, key]);
    }
}
