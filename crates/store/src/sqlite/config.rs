//! Settings of the SQLite store.

use crate::Retention;

/// Settings of a [`SqliteStore`](crate::SqliteStore).
///
/// ```
/// # use latimer_store::{Durability, Retention, SqliteConfig};
/// let config = SqliteConfig { durability: Durability::Process, ..SqliteConfig::default() };
/// assert_eq!(config.retention, Retention::DEFAULT_DISK);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqliteConfig {
    /// Guarantee of an append.
    pub durability: Durability,
    /// Retention limits.
    pub retention: Retention,
    /// Description of this process, such as its command and address, for the error that another
    /// process gets while the store is locked.
    pub holder: String,
}

impl Default for SqliteConfig {
    fn default() -> Self {
        Self {
            durability: Durability::default(),
            retention: Retention::DEFAULT_DISK,
            holder: String::new(),
        }
    }
}

/// Failure that an append survives once it has returned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Durability {
    /// Survives power loss. Each commit waits for `fsync`; concurrent appends share a commit.
    #[default]
    Full,
    /// Survives a crash of the process. A power loss may lose the last few seconds, but does not
    /// corrupt the database.
    Process,
}
