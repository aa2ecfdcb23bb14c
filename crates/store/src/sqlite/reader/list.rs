//! Lists of tasks.

use std::sync::Arc;

use latimer_protocol::{ContextId, Task, TaskId, TaskStatus, Timestamp};
use rusqlite::types::Value;
use rusqlite::{Connection, Row, params_from_iter};

use super::task::load_numbered;
use crate::sqlite::codec;
use crate::sqlite::failure::{Damage, unavailable};
use crate::{Error, Page, Place, Query};

/// The tasks that a query asks for.
pub(in crate::sqlite) fn list(db: &Connection, query: &Query) -> Result<Page, Error> {
    // One transaction, so that the page and the total are of one moment.
    let moment = db.unchecked_transaction().map_err(unavailable)?;
    let total = count(&moment, query).map_err(unavailable)?;
    let mut entries = find(&moment, query)?;
    let more = entries.len() > query.limit;
    entries.truncate(query.limit);
    let next = entries.last().filter(|_| more).map(|it| it.place.clone());
    let tasks: Result<_, Error> = entries.into_iter().map(|it| it.load(&moment)).collect();
    Ok(Page { tasks: tasks?, next, total })
}

/// What the index knows of a task.
struct Entry {
    number: i64,
    place: Place,
    status: TaskStatus,
    context: ContextId,
}

impl Entry {
    fn read(row: &Row<'_>) -> Result<Self, Damage> {
        let updated = Timestamp::from_millis(row.get(1)?).map_err(Damage::new)?;
        let id = TaskId::new(row.get_ref(2)?.as_str()?).map_err(Damage::new)?;
        let state = codec::read_state(row.get(4)?)?;
        Ok(Self {
            number: row.get(0)?,
            place: Place { updated, id, agent: row.get(3)? },
            status: TaskStatus::from(state).with_timestamp(updated),
            context: ContextId::new(row.get_ref(5)?.as_str()?).map_err(Damage::new)?,
        })
    }

    /// One task that cannot be read does not hide the others, nor itself: it is listed by what is
    /// known of it. Whoever loads it hears what is wrong.
    fn load(self, db: &Connection) -> Result<Arc<Task>, Error> {
        match load_numbered(db, self.number) {
            Ok(Some(stored)) => Ok(stored.task),
            Ok(None) | Err(Damage::Row(_)) => {
                Ok(Arc::new(Task::new(self.place.id, self.context, self.status)))
            }
            Err(Damage::Database(error)) => Err(unavailable(error)),
        }
    }
}

fn count(db: &Connection, query: &Query) -> rusqlite::Result<u64> {
    let Filter { sql, values } = Filter::of(query);
    let mut count = db.prepare_cached(&format!("SELECT count(*) FROM tasks WHERE {sql}"))?;
    let count = count.query_row(params_from_iter(values), |row| row.get::<_, i64>(0));
    count.map(i64::unsigned_abs)
}

/// One more than asked for, if there is one.
fn find(db: &Connection, query: &Query) -> Result<Vec<Entry>, Error> {
    let mut filter = Filter::of(query);
    if let Some(Place { updated, id, agent }) = &query.behind {
        filter.add(" AND (updated, id, agent) < (?, ?, ?)", updated.as_millis());
        filter.values.extend([text(id.as_str()), text(agent)]);
    }
    let limit = i64::try_from(query.limit).unwrap_or(i64::MAX);
    filter.add(" ORDER BY updated DESC, id DESC, agent DESC LIMIT ?", limit.saturating_add(1));
    let columns = "number, updated, id, agent, state, context";
    let select = format!("SELECT {columns} FROM tasks WHERE {}", filter.sql);
    let mut select = db.prepare_cached(&select).map_err(unavailable)?;
    let mut rows = select.query(params_from_iter(filter.values)).map_err(unavailable)?;
    let mut entries = Vec::new();
    while let Some(row) = rows.next().map_err(unavailable)? {
        match Entry::read(row) {
            Ok(entry) => entries.push(entry),
            // Not even listed: its name itself is lost.
            Err(Damage::Row(_)) => {}
            Err(Damage::Database(error)) => return Err(unavailable(error)),
        }
    }
    Ok(entries)
}

/// Which tasks, as SQL. Only the conditions that are there, so that the index is used for them.
struct Filter {
    sql: String,
    values: Vec<Value>,
}

impl Filter {
    fn of(query: &Query) -> Self {
        let Query { caller, agent, except, context, state, updated_since, behind: _, limit: _ } =
            query;
        let mut filter = Self { sql: "caller = ?".to_owned(), values: vec![text(caller)] };
        if let Some(since) = updated_since {
            filter.add(" AND updated >= ?", since.as_millis());
        }
        if let Some(agent) = agent {
            filter.add(" AND agent = ?", agent.to_string());
        }
        for agent in except {
            filter.add(" AND agent <> ?", agent.to_string());
        }
        if let Some(context) = context {
            filter.add(" AND context = ?", context.to_string());
        }
        if let Some(state) = state {
            filter.add(" AND state = ?", i64::from(state.number()));
        }
        filter
    }

    fn add(&mut self, sql: &str, value: impl Into<Value>) {
        self.sql.push_str(sql);
        self.values.push(value.into());
    }
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}
