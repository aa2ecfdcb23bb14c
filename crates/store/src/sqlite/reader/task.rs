//! Queries for tasks: the last snapshot and the events after it.

use std::sync::Arc;

use latimer_protocol::{Event, Revision, Task, TaskId};
use rusqlite::{Connection, Params, Row};

use crate::sqlite::codec;
use crate::sqlite::compact::RowIds;
use crate::sqlite::error::{RowError, unavailable};
use crate::sqlite::event_rowid;
use crate::{Error, StoredTask, TaskKey};

/// Selects one task, with a result row for each row of events after its snapshot.
macro_rules! select {
    ($which:literal) => {
        concat!(
            "SELECT s.revision, s.format, s.body, e.place, e.format, e.count, e.body,
                 t.revision, t.context, t.state, t.updated, t.dialect, t.work, t.note,
                 t.caller, t.agent, t.id, t.format, t.body
             FROM tasks t
             LEFT JOIN snapshots s ON s.task = t.number
             LEFT JOIN events e ON e.place > (t.number << 24) + coalesce(s.revision, 0)
                 AND e.place < (t.number + 1) << 24
             WHERE ",
            $which,
            " ORDER BY e.place"
        )
    };
}

/// Column of the revision.
const REVISION_COLUMN: usize = 7;

/// First column of the header.
const HEADER_COLUMN: usize = 8;

/// First column of the key.
const KEY_COLUMN: usize = 14;

/// First column of the events of a task that is stored in a single row.
const SINGLE_ROW_COLUMN: usize = 17;

/// Loaded task, and the size of its encoded data in bytes.
#[derive(Debug)]
pub(in crate::sqlite) struct LoadedTask {
    pub(in crate::sqlite) stored: StoredTask,
    pub(in crate::sqlite) bytes: usize,
}

/// Loads a task by its key.
pub(in crate::sqlite) fn load(db: &Connection, key: &TaskKey) -> Result<Option<LoadedTask>, Error> {
    let sql = select!("t.caller = ?1 AND t.id = ?2 AND t.agent = ?3");
    let loaded = query(db, sql, (&key.owner, key.id.as_str(), &key.agent), |_| Ok(key.clone()));
    loaded.map_err(|error| error.into_store_error(&key.id))
}

/// Loads a task by its number. The error distinguishes a corrupt task from a failure of the
/// database.
pub(in crate::sqlite) fn load_by_number(
    db: &Connection,
    task_number: i64,
) -> Result<Option<StoredTask>, RowError> {
    let loaded = query(db, select!("t.number = ?1"), [task_number], read_key)?;
    Ok(loaded.map(|it| it.stored))
}

/// Returns the agents that have a task with this owner and id.
pub(in crate::sqlite) fn find_agents(
    db: &Connection,
    owner: &str,
    id: &TaskId,
) -> Result<Vec<Arc<str>>, Error> {
    let select = "SELECT agent FROM tasks WHERE caller = ?1 AND id = ?2";
    let mut select = db.prepare_cached(select).map_err(unavailable)?;
    let agents = select.query_map([owner, id.as_str()], |row| row.get(0));
    agents.and_then(Iterator::collect).map_err(unavailable)
}

fn query(
    db: &Connection,
    select: &str,
    params: impl Params,
    key: impl FnOnce(&Row<'_>) -> Result<TaskKey, RowError>,
) -> Result<Option<LoadedTask>, RowError> {
    // One statement, so that all rows are consistent.
    let mut select = db.prepare_cached(select)?;
    let mut rows = select.query(params)?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let key = key(row)?;
    let revision = codec::read_revision(row.get(REVISION_COLUMN)?)?;
    let header = codec::read_header(row, HEADER_COLUMN)?;
    let mut fold = Fold::start(row, RowIds { task: &key.id, context: &header.context })?;
    fold.add(row)?;
    while let Some(row) = rows.next()? {
        fold.add(row)?;
    }
    let bytes = fold.bytes;
    let task = Arc::new(fold.finish(&key, revision)?);
    Ok(Some(LoadedTask { stored: StoredTask { key, task, revision, header }, bytes }))
}

fn read_key(row: &Row<'_>) -> Result<TaskKey, RowError> {
    let id = TaskId::new(row.get_ref(KEY_COLUMN + 2)?.as_str()?).map_err(RowError::corrupt)?;
    Ok(TaskKey { owner: row.get(KEY_COLUMN)?, agent: row.get(KEY_COLUMN + 1)?, id })
}

/// Task that is being restored from its snapshot and events.
#[derive(Default)]
struct Fold {
    task: Option<Task>,
    revision: Revision,
    bytes: usize,
}

impl Fold {
    fn start(row: &Row<'_>, ids: RowIds<'_>) -> Result<Self, RowError> {
        let mut fold = Self::default();
        if let Some(format) = row.get(SINGLE_ROW_COLUMN)? {
            let body = row.get_ref(SINGLE_ROW_COLUMN + 1)?.as_blob()?;
            fold.bytes = body.len();
            fold.add_events(codec::read_single_row_events(
                format,
                row.get(REVISION_COLUMN)?,
                body,
                ids,
            )?)?;
        } else if let Some(revision) = row.get(0)? {
            let body = row.get_ref(2)?.as_blob()?;
            fold.task = Some(codec::read_task(row.get(1)?, body)?);
            fold.revision = codec::read_revision(revision)?;
            fold.bytes = body.len();
        }
        Ok(fold)
    }

    /// Applies the events of a row, if it has any.
    fn add(&mut self, row: &Row<'_>) -> Result<(), RowError> {
        let Some(rowid) = row.get::<_, Option<i64>>(3)? else { return Ok(()) };
        if event_rowid::revision(rowid) != self.revision.next() {
            return Err(RowError::corrupt(format!("no event after revision {}", self.revision)));
        }
        let body = row.get_ref(6)?.as_blob()?;
        self.bytes += body.len();
        self.add_events(codec::read_events(row.get(4)?, row.get(5)?, body)?)
    }

    fn add_events(&mut self, events: Vec<Event>) -> Result<(), RowError> {
        self.revision = Revision::new(self.revision.get() + events.len() as u64);
        let mut events = events.into_iter();
        let task = match &mut self.task {
            Some(task) => task,
            None => match events.next() {
                Some(Event::Created(task)) => self.task.insert(task),
                _ => return Err(RowError::corrupt("the log does not start with a creation event")),
            },
        };
        events.try_for_each(|event| task.apply(event)).map_err(RowError::corrupt)
    }

    fn finish(self, key: &TaskKey, revision: Revision) -> Result<Task, RowError> {
        let Self { task, revision: found, bytes: _ } = self;
        let task = task.filter(|_| found == revision).ok_or_else(|| {
            RowError::corrupt(format!("the log ends at revision {found}, not {revision}"))
        })?;
        if task.id != key.id {
            return Err(RowError::corrupt("the log belongs to another task"));
        }
        Ok(task)
    }
}
