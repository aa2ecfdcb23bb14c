//! Queries for lists of tasks.

use std::sync::Arc;

use latimer_protocol::{ContextId, Task, TaskId, TaskStatus, Timestamp};
use rusqlite::types::Value;
use rusqlite::{Connection, Row, params, params_from_iter};

use super::task::load_by_number;
use crate::sqlite::codec;
use crate::sqlite::error::{RowError, unavailable};
use crate::{Error, InterruptedTasks, ListCursor, TaskKey, TaskPage, TaskQuery};

/// Returns a page of the tasks that match a query.
pub(in crate::sqlite) fn list(db: &Connection, query: &TaskQuery) -> Result<TaskPage, Error> {
    // One transaction, so that the page and the total are consistent.
    let transaction = db.unchecked_transaction().map_err(unavailable)?;
    let total = count(&transaction, query).map_err(unavailable)?;
    let mut entries = find_entries(&transaction, query)?;
    let more = entries.len() > query.limit;
    entries.truncate(query.limit);
    let next = entries.last().filter(|_| more).map(|it| it.cursor.clone());
    let tasks: Result<_, Error> = entries.into_iter().map(|it| it.load(&transaction)).collect();
    Ok(TaskPage { tasks: tasks?, next, total })
}

/// Returns the number of tasks with pending work that no process since `epoch` has claimed.
pub(in crate::sqlite) fn count_abandoned(db: &Connection, epoch: i64) -> Result<u64, Error> {
    let count = "SELECT count(*) FROM tasks WHERE work <> 0 AND epoch < ?1";
    let count = db.prepare_cached(count).and_then(|mut it| it.query_row([epoch], |row| row.get(0)));
    count.map(i64::unsigned_abs).map_err(unavailable)
}

/// Condition of interrupted tasks, which is also that of their index: the numbers of
/// `TaskState::InputRequired` and `TaskState::AuthRequired`.
const IS_INTERRUPTED: &str = "state IN (6, 8)";

/// Returns the interrupted tasks that have waited since a time, those of the owner with the most first.
pub(in crate::sqlite) fn list_interrupted(
    db: &Connection,
    idle_since: Timestamp,
    limit: usize,
) -> Result<InterruptedTasks, Error> {
    let total = format!("SELECT count(*) FROM tasks WHERE {IS_INTERRUPTED}");
    let total = db.prepare_cached(&total).and_then(|mut it| it.query_row([], |row| row.get(0)));
    let select = format!(
        "SELECT t.caller, t.agent, t.id FROM tasks t
         JOIN (SELECT caller, count(*) AS waiting FROM tasks WHERE {IS_INTERRUPTED} GROUP BY caller)
             USING (caller)
         WHERE t.{IS_INTERRUPTED} AND t.updated <= ?1
         ORDER BY waiting DESC, t.updated LIMIT ?2"
    );
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut select = db.prepare_cached(&select).map_err(unavailable)?;
    let mut rows = select.query(params![idle_since.as_millis(), limit]).map_err(unavailable)?;
    let mut tasks = Vec::new();
    while let Some(row) = rows.next().map_err(unavailable)? {
        let (owner, agent) = (row.get(0).map_err(unavailable)?, row.get(1).map_err(unavailable)?);
        // A task with a corrupt id cannot be canceled.
        if let Ok(id) = TaskId::new(row.get::<_, String>(2).map_err(unavailable)?) {
            tasks.push(TaskKey { owner, agent, id });
        }
    }
    let total = total.map(i64::unsigned_abs).map_err(unavailable)?;
    Ok(InterruptedTasks { total, tasks })
}

/// Columns of a task in the list index.
struct IndexEntry {
    task_number: i64,
    cursor: ListCursor,
    status: TaskStatus,
    context: ContextId,
}

impl IndexEntry {
    fn read(row: &Row<'_>) -> Result<Self, RowError> {
        let status_changed_at = Timestamp::from_millis(row.get(1)?).map_err(RowError::corrupt)?;
        let id = TaskId::new(row.get_ref(2)?.as_str()?).map_err(RowError::corrupt)?;
        let state = codec::read_state(row.get(4)?)?;
        Ok(Self {
            task_number: row.get(0)?,
            cursor: ListCursor { status_changed_at, id, agent: row.get(3)? },
            status: TaskStatus::from(state).with_timestamp(status_changed_at),
            context: ContextId::new(row.get_ref(5)?.as_str()?).map_err(RowError::corrupt)?,
        })
    }

    /// Loads the task. An unreadable task does not fail the list: it is listed with the columns of the
    /// index, and only loading it reports the error.
    fn load(self, db: &Connection) -> Result<Arc<Task>, Error> {
        match load_by_number(db, self.task_number) {
            Ok(Some(stored)) => Ok(stored.task),
            Ok(None) | Err(RowError::Corrupt(_)) => {
                Ok(Arc::new(Task::new(self.cursor.id, self.context, self.status)))
            }
            Err(RowError::Database(error)) => Err(unavailable(error)),
        }
    }
}

fn count(db: &Connection, query: &TaskQuery) -> rusqlite::Result<u64> {
    let Filter { sql, values } = Filter::for_query(query);
    let mut count = db.prepare_cached(&format!("SELECT count(*) FROM tasks WHERE {sql}"))?;
    let count = count.query_row(params_from_iter(values), |row| row.get::<_, i64>(0));
    count.map(i64::unsigned_abs)
}

/// Returns up to one entry more than the limit, to detect another page.
fn find_entries(db: &Connection, query: &TaskQuery) -> Result<Vec<IndexEntry>, Error> {
    let mut filter = Filter::for_query(query);
    if let Some(ListCursor { status_changed_at, id, agent }) = &query.after {
        filter.add(" AND (updated, id, agent) < (?, ?, ?)", status_changed_at.as_millis());
        filter.values.extend([text_value(id.as_str()), text_value(agent)]);
    }
    let limit = i64::try_from(query.limit).unwrap_or(i64::MAX);
    filter.add(" ORDER BY updated DESC, id DESC, agent DESC LIMIT ?", limit.saturating_add(1));
    let columns = "number, updated, id, agent, state, context";
    let select = format!("SELECT {columns} FROM tasks WHERE {}", filter.sql);
    let mut select = db.prepare_cached(&select).map_err(unavailable)?;
    let mut rows = select.query(params_from_iter(filter.values)).map_err(unavailable)?;
    let mut entries = Vec::new();
    while let Some(row) = rows.next().map_err(unavailable)? {
        match IndexEntry::read(row) {
            Ok(entry) => entries.push(entry),
            // A task without a readable id cannot be listed.
            Err(RowError::Corrupt(_)) => {}
            Err(RowError::Database(error)) => return Err(unavailable(error)),
        }
    }
    Ok(entries)
}

/// SQL condition of a query. Contains only the given conditions, so that the index is used for
/// them.
struct Filter {
    sql: String,
    values: Vec<Value>,
}

impl Filter {
    fn for_query(query: &TaskQuery) -> Self {
        let TaskQuery {
            owner,
            agent,
            excluded_agents,
            context,
            state,
            status_changed_since,
            after: _,
            limit: _,
        } = query;
        let mut filter = Self { sql: "caller = ?".to_owned(), values: vec![text_value(owner)] };
        if let Some(since) = status_changed_since {
            filter.add(" AND updated >= ?", since.as_millis());
        }
        if let Some(agent) = agent {
            filter.add(" AND agent = ?", agent.to_string());
        }
        for agent in excluded_agents {
            filter.add(" AND agent <> ?", agent.to_string());
        }
        if let Some(context) = context {
            filter.add(" AND context = ?", context.to_string());
        }
        match state {
            Some(state) => filter.add(" AND state = ?", i64::from(state.number())),
            // Held tasks have negative numbers.
            None => filter.sql.push_str(" AND state >= 0"),
        }
        filter
    }

    fn add(&mut self, sql: &str, value: impl Into<Value>) {
        self.sql.push_str(sql);
        self.values.push(value.into());
    }
}

fn text_value(text: &str) -> Value {
    Value::Text(text.to_owned())
}
