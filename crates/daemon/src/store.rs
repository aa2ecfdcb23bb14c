//! Opens the store.

use std::net::ToSocketAddrs;

use latimer_server::Server;
use latimer_store::{Durability, MemoryStore, SqliteConfig, SqliteStore, TaskStore};

use crate::config::{Config, Place};
use crate::error::StartError;
use crate::files::private_folder;

/// The server, with the store that a configuration names.
pub(crate) fn attach(server: Server, config: &Config) -> Result<Server, StartError> {
    let holder = format!("latimer serve, {}", config.listen);
    Ok(server.shared_store(open(config, &holder)?.into()))
}

/// The store that a configuration names, for whoever `holder` says.
pub(crate) fn open(config: &Config, holder: &str) -> Result<Box<dyn TaskStore>, StartError> {
    let retention = config.store.retention.clone();
    let (path, full) = match &config.store.place {
        Place::Memory => return Ok(Box::new(MemoryStore::new(retention))),
        Place::Sqlite { path, full } => (path, *full),
    };
    if let Some(folder) = path.parent().filter(|it| !it.as_os_str().is_empty()) {
        let failed = |source| StartError::Folder { path: folder.to_owned(), source };
        private_folder(folder).map_err(failed)?;
    }
    let durability = if full { Durability::Full } else { Durability::Process };
    let holder = holder.to_owned();
    let store = SqliteStore::open(path, SqliteConfig { durability, retention, holder });
    Ok(Box::new(store.map_err(StartError::Store)?))
}

/// Whether only this machine reaches the server of a configuration.
pub(crate) fn is_private(config: &Config) -> bool {
    let addresses = config.listen.to_socket_addrs();
    addresses.is_ok_and(|mut all| all.all(|it| config.settings.is_loopback_only(it)))
}
