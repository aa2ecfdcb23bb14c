//! What came of messages.

use latimer_protocol::{Message, TaskId};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::sqlite::codec;
use crate::sqlite::failure::{Damage, unavailable};
use crate::{Error, Key};

/// The answer to the message of a row, unless that was forgotten.
pub(in crate::sqlite) fn answer(db: &Connection, place: i64) -> Result<Option<Message>, Error> {
    let select = "SELECT format, answer FROM sent WHERE place = ?1";
    find(db, select, place, |row| codec::read_message(row.get(0)?, row.get_ref(1)?.as_blob()?))
}

/// The key of a task, unless it is gone.
pub(in crate::sqlite) fn key(db: &Connection, task: i64) -> Result<Option<Key>, Error> {
    let select = "SELECT caller, agent, id FROM tasks WHERE number = ?1";
    find(db, select, task, |row| {
        let id = TaskId::new(row.get_ref(2)?.as_str()?).map_err(Damage::new)?;
        Ok(Key { caller: row.get(0)?, agent: row.get(1)?, id })
    })
}

/// What is read has no task to blame; whoever asks may send the message again.
fn find<T>(
    db: &Connection,
    select: &str,
    number: i64,
    read: impl FnOnce(&Row<'_>) -> Result<T, Damage>,
) -> Result<Option<T>, Error> {
    let mut select = db.prepare_cached(select).map_err(unavailable)?;
    let found = select.query_row([number], |row| Ok(read(row))).optional().map_err(unavailable)?;
    found.transpose().map_err(|damage| match damage {
        Damage::Row(why) => unavailable(why),
        Damage::Database(why) => unavailable(why),
    })
}
