//! Queries for events.

use latimer_protocol::{ContextId, Revision};
use rusqlite::{Connection, params};

use crate::sqlite::codec;
use crate::sqlite::compact::RowIds;
use crate::sqlite::error::RowError;
use crate::sqlite::event_rowid;
use crate::{Error, LoggedEvent, TaskKey};

/// Returns up to `limit` events of a task after a revision.
pub(in crate::sqlite) fn events(
    db: &Connection,
    key: &TaskKey,
    after: Revision,
    limit: usize,
) -> Result<Vec<LoggedEvent>, Error> {
    let read = || {
        let find = "SELECT number, revision, format, body, context FROM tasks
             WHERE caller = ?1 AND id = ?2 AND agent = ?3";
        let mut find = db.prepare_cached(find)?;
        let mut rows = find.query(params![key.owner, key.id.as_str(), key.agent])?;
        let Some(row) = rows.next()? else { return Ok(Vec::new()) };
        let Some(format) = row.get(2)? else {
            // If the task is removed in between, it has no events, which is a correct result.
            return collect(db, row.get(0)?, after, limit);
        };
        let context = ContextId::new(row.get_ref(4)?.as_str()?).map_err(RowError::corrupt)?;
        let ids = RowIds { task: &key.id, context: &context };
        let events =
            codec::read_single_row_events(format, row.get(1)?, row.get_ref(3)?.as_blob()?, ids)?;
        let revisions = (1..).map(Revision::new);
        let logged = revisions.zip(events).map(|(revision, event)| LoggedEvent { revision, event });
        Ok(logged.filter(|it| it.revision > after).take(limit).collect())
    };
    read().map_err(|error: RowError| error.into_store_error(&key.id))
}

fn collect(
    db: &Connection,
    task_number: i64,
    after: Revision,
    limit: usize,
) -> Result<Vec<LoggedEvent>, RowError> {
    // The row that contains the first event may start with an earlier one.
    let mut select = db.prepare_cached(
        "SELECT place, format, count, body FROM events
         WHERE place >= coalesce(
                 (SELECT max(place) FROM events WHERE place > ?1 AND place <= ?2), ?1)
             AND place < ?3
         ORDER BY place",
    )?;
    let log_start = event_rowid::encode(task_number, Revision::START);
    let first_rowid = event_rowid::encode(task_number, after.next());
    let mut rows = select.query([log_start, first_rowid, event_rowid::end_of_log(task_number)])?;
    let mut logged = Vec::new();
    while logged.len() < limit {
        let Some(row) = rows.next()? else { break };
        let mut revision = event_rowid::revision(row.get(0)?);
        for event in codec::read_events(row.get(1)?, row.get(2)?, row.get_ref(3)?.as_blob()?)? {
            if revision > after && logged.len() < limit {
                logged.push(LoggedEvent { revision, event });
            }
            revision = revision.next();
        }
    }
    Ok(logged)
}
