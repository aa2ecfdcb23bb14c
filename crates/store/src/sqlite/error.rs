//! Mapping of database errors to store errors.

use latimer_protocol::TaskId;
use rusqlite::ErrorCode;
use rusqlite::types::FromSqlError;

use super::BACKEND;
use crate::{BoxError, Error};

/// Error of reading a row.
#[derive(Debug)]
pub(super) enum RowError {
    /// The row is corrupt or has an unknown format.
    Corrupt(BoxError),
    /// The database failed; the row may be intact.
    Database(rusqlite::Error),
}

impl RowError {
    pub(super) fn corrupt(source: impl Into<BoxError>) -> Self {
        Self::Corrupt(source.into())
    }

    /// Converts the error of reading `task`.
    pub(super) fn into_store_error(self, task: &TaskId) -> Error {
        match self {
            Self::Corrupt(source) => {
                Error::Unreadable { backend: BACKEND, task: task.clone(), source }
            }
            Self::Database(error) => unavailable(error),
        }
    }
}

impl From<FromSqlError> for RowError {
    fn from(error: FromSqlError) -> Self {
        Self::Corrupt(error.into())
    }
}

impl From<rusqlite::Error> for RowError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::Error as E;
        let is_corrupt = match &error {
            E::FromSqlConversionFailure(..)
            | E::IntegralValueOutOfRange(..)
            | E::InvalidColumnType(..)
            | E::Utf8Error(..) => true,
            E::SqliteFailure(failure, _) => failure.code == ErrorCode::DatabaseCorrupt,
            _ => false,
        };
        if is_corrupt { Self::Corrupt(error.into()) } else { Self::Database(error) }
    }
}

/// Creates an error of the backend, which may disappear on retry.
pub(super) fn unavailable(source: impl Into<BoxError>) -> Error {
    Error::Unavailable { backend: BACKEND, source: source.into() }
}
