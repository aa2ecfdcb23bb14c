//! Queries for outcomes of messages.

use latimer_protocol::{Message, TaskId};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::sqlite::codec;
use crate::sqlite::error::{RowError, unavailable};
use crate::{Error, TaskKey};

/// Returns the direct reply in a row; `None` if the row was deleted.
pub(in crate::sqlite) fn direct_reply(
    db: &Connection,
    rowid: i64,
) -> Result<Option<Message>, Error> {
    let select = "SELECT format, answer FROM sent WHERE place = ?1";
    query_optional(db, select, rowid, |row| {
        codec::read_message(row.get(0)?, row.get_ref(1)?.as_blob()?)
    })
}

/// Returns the key of a task; `None` if it was removed.
pub(in crate::sqlite) fn task_key(
    db: &Connection,
    task_number: i64,
) -> Result<Option<TaskKey>, Error> {
    let select = "SELECT caller, agent, id FROM tasks WHERE number = ?1";
    query_optional(db, select, task_number, |row| {
        let id = TaskId::new(row.get_ref(2)?.as_str()?).map_err(RowError::corrupt)?;
        Ok(TaskKey { owner: row.get(0)?, agent: row.get(1)?, id })
    })
}

/// Reads a row. A corrupt row is reported as a failure of the backend, because it belongs to no
/// task.
fn query_optional<T>(
    db: &Connection,
    select: &str,
    rowid: i64,
    read: impl FnOnce(&Row<'_>) -> Result<T, RowError>,
) -> Result<Option<T>, Error> {
    let mut select = db.prepare_cached(select).map_err(unavailable)?;
    let value = select.query_row([rowid], |row| Ok(read(row))).optional().map_err(unavailable)?;
    value.transpose().map_err(|error| match error {
        RowError::Corrupt(source) => unavailable(source),
        RowError::Database(source) => unavailable(source),
    })
}
