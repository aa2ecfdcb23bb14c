//! Opens the configured store.

use latimer_runtime::create_private_dir;
use latimer_server::Server;
use latimer_store::{MemoryStore, SqliteConfig, SqliteStore, TaskStore};

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
    Ok(Box::new(store.map_err(StartError::Store)?))
}
