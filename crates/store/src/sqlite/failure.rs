//! What goes wrong with the database, and what that means for a store.

use latimer_protocol::TaskId;
use rusqlite::ErrorCode;
use rusqlite::types::FromSqlError;

use super::BACKEND;
use crate::{BoxError, Error};

/// Why a row was not read.
#[derive(Debug)]
pub(super) enum Damage {
    /// The row itself is not what was written.
    Row(BoxError),
    /// The database failed; the row may be well.
    Database(rusqlite::Error),
}

impl Damage {
    pub(super) fn new(why: impl Into<BoxError>) -> Self {
        Self::Row(why.into())
    }

    /// What this means for whoever asked for `task`.
    pub(super) fn of(self, task: &TaskId) -> Error {
        match self {
            Self::Row(source) => Error::Unreadable { backend: BACKEND, task: task.clone(), source },
            Self::Database(error) => unavailable(error),
        }
    }
}

impl From<FromSqlError> for Damage {
    fn from(error: FromSqlError) -> Self {
        Self::Row(error.into())
    }
}

impl From<rusqlite::Error> for Damage {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::Error as E;
        let is_the_rows = match &error {
            E::FromSqlConversionFailure(..)
            | E::IntegralValueOutOfRange(..)
            | E::InvalidColumnType(..)
            | E::Utf8Error(..) => true,
            E::SqliteFailure(failure, _) => failure.code == ErrorCode::DatabaseCorrupt,
            _ => false,
        };
        if is_the_rows { Self::Row(error.into()) } else { Self::Database(error) }
    }
}

/// The store failed; trying again may help.
pub(super) fn unavailable(why: impl Into<BoxError>) -> Error {
    Error::Unavailable { backend: BACKEND, source: why.into() }
}
