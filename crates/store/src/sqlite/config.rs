//! How a store on disk is opened.

use crate::Retention;

/// How a store on disk is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqliteConfig {
    /// What an append survives.
    pub durability: Durability,
    /// What is kept, and for how long.
    pub retention: Retention,
    /// Who opens it, for whoever finds it in use: the command, the address it serves.
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

/// What an append survives, once it has returned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Durability {
    /// The end of the process however it comes, and the loss of power. Each commit waits for the
    /// disk; appends that come at the same time share the wait.
    #[default]
    Full,
    /// The end of the process however it comes. A loss of power may take the last few seconds, and
    /// leaves the rest whole.
    Process,
}
