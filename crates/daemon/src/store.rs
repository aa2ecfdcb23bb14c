//! Opens the store.

use latimer_server::Server;
use latimer_store::{Durability, Memory, Sqlite, SqliteConfig};

use crate::config::{Config, Place};
use crate::error::StartError;
use crate::files::private_folder;

/// The server, with the store that a configuration names.
pub(crate) fn attach(server: Server, config: &Config) -> Result<Server, StartError> {
    let retention = config.store.retention.clone();
    let (path, full) = match &config.store.place {
        Place::Memory => return Ok(server.store(Memory::new(retention))),
        Place::Sqlite { path, full } => (path, *full),
    };
    if let Some(folder) = path.parent().filter(|it| !it.as_os_str().is_empty()) {
        let failed = |source| StartError::Folder { path: folder.to_owned(), source };
        private_folder(folder).map_err(failed)?;
    }
    let durability = if full { Durability::Full } else { Durability::Process };
    let holder = format!("latimer serve, {}", config.listen);
    let store = Sqlite::open(path, SqliteConfig { durability, retention, holder });
    Ok(server.store(store.map_err(StartError::Store)?))
}
