//! Write operation that appends events.

use latimer_protocol::{Event, Revision, TaskState};
use rusqlite::{OptionalExtension, params};

use super::{PreparedWebhook, WriteOp, WriterState};
use crate::sqlite::codec::{self, EventRow, FinishedTask};
use crate::sqlite::compact::RowIds;
use crate::sqlite::error::unavailable;
use crate::sqlite::event_rowid;
use crate::{Append, BoxError, Error, IdempotencyRecord, TaskHeader, TaskKey};

/// Maximum number of events for which a new task is stored without a snapshot.
const MAX_EVENTS_WITHOUT_SNAPSHOT: usize = 8;

/// Maximum encoded size of an append in bytes: half of SQLite's limit for a value.
const MAX_APPEND_BYTES: usize = 500_000_000;

/// Append that was encoded on the caller's thread, so that the writer thread only writes.
pub(in crate::sqlite) struct PreparedAppend {
    key: TaskKey,
    expected: Revision,
    revision: Revision,
    header: TaskHeader,
    /// All events of a task that is created and finished in one short append, which is stored in a
    /// single row.
    single_row_events: Option<Vec<u8>>,
    event_rows: Vec<EventRow>,
    snapshot: Option<Vec<u8>>,
    idempotency: Option<IdempotencyRecord>,
    webhook: Option<PreparedWebhook>,
}

/// Columns of an existing task.
struct ExistingTask {
    task_number: i64,
    revision: Revision,
    state: i64,
    /// Whether the stored header equals the new one, including the process.
    header_unchanged: bool,
}

impl PreparedAppend {
    /// Encodes an append.
    ///
    /// # Errors
    /// Returns [`Error::Unavailable`] if the append has no events, lacks the creation event, or is too
    /// large.
    pub(in crate::sqlite) fn new(
        append: Append,
        webhook: Option<PreparedWebhook>,
    ) -> Result<Self, Error> {
        let Append { key, expected, events, header, snapshot, idempotency, webhook: _ } = append;
        let is_new = expected == Revision::START;
        match events.first() {
            None => return Err(unavailable("append contains no events")),
            Some(Event::Created(_)) => {}
            Some(_) if is_new => return Err(unavailable("new task has no creation event")),
            Some(_) => {}
        }
        let revision = expected.get().saturating_add(events.len() as u64);
        if revision > event_rowid::MAX_EVENTS {
            return Err(unavailable(format!(
                "task would have more than {} events",
                event_rowid::MAX_EVENTS
            )));
        }
        let is_short = is_new && events.len() <= MAX_EVENTS_WITHOUT_SNAPSHOT;
        let snapshot = snapshot.filter(|_| !is_short);
        let snapshot = snapshot.map(|task| codec::write_task(&task)).transpose();
        let snapshot = snapshot.map_err(unavailable)?;
        let (single_row_events, event_rows) = if is_short && header.state.is_terminal() {
            let ids = RowIds { task: &key.id, context: &header.context };
            (Some(codec::write_single_row_events(&events, ids).map_err(unavailable)?), Vec::new())
        } else {
            (None, codec::write_events(&events).map_err(unavailable)?)
        };
        let revision = Revision::new(revision);
        let prepared = Self {
            key,
            expected,
            revision,
            header,
            single_row_events,
            event_rows,
            snapshot,
            idempotency,
            webhook,
        };
        if prepared.body_sizes().any(|bytes| bytes > MAX_APPEND_BYTES) {
            return Err(unavailable(BoxError::from("append is too large to store")));
        }
        Ok(prepared)
    }

    /// Returns the size of each encoded body in bytes.
    fn body_sizes(&self) -> impl Iterator<Item = usize> {
        let event_rows = self.event_rows.iter().map(|it| &it.body);
        event_rows.chain(&self.single_row_events).chain(&self.snapshot).map(Vec::len)
    }

    fn create(&self, writer: &mut WriterState) -> rusqlite::Result<Result<Revision, Error>> {
        if writer.capacity.is_full() {
            // An append that fails because its task exists must not evict another task.
            if let Some(existing) = self.find_existing(writer)? {
                return Ok(Err(self.conflict(existing.revision)));
            }
            if !writer.evict_for_new_task()? {
                return Ok(Err(Error::Full { tasks: writer.capacity.tasks() }));
            }
        }
        let task_number = writer.allocate_task_number()?;
        if !self.insert(writer, task_number)? {
            let found =
                self.find_existing(writer)?.map_or(Revision::START, |existing| existing.revision);
            return Ok(Err(self.conflict(found)));
        }
        self.write(writer, task_number)?;
        writer.register_task(&self.key, &self.header.context)?;
        Ok(Ok(self.revision))
    }

    fn extend(&self, writer: &mut WriterState) -> rusqlite::Result<Result<Revision, Error>> {
        let Some(existing) = self.find_existing(writer)? else {
            return Ok(Err(self.conflict(Revision::START)));
        };
        let state = TaskState::from_number(existing.state).unwrap_or_default();
        if state.is_terminal() {
            return Ok(Err(Error::Finished { task: self.key.id.clone(), state }));
        }
        if existing.revision != self.expected {
            return Ok(Err(self.conflict(existing.revision)));
        }
        self.update(writer, &existing)?;
        self.write(writer, existing.task_number)?;
        Ok(Ok(self.revision))
    }

    fn find_existing(&self, writer: &WriterState) -> rusqlite::Result<Option<ExistingTask>> {
        let mut find = writer.connection.prepare_cached(
            "SELECT number, revision, state, work, epoch, updated, dialect, context, note FROM tasks
             WHERE caller = ?1 AND id = ?2 AND agent = ?3",
        )?;
        let Self { key: TaskKey { owner, agent, id }, header, .. } = self;
        let columns = header_columns(header, writer.epoch);
        let existing = find.query_row(params![owner, id.as_str(), agent], |row| {
            let stored_columns = [row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?, row.get(6)?];
            let context = row.get_ref(7)?.as_str()?;
            let note = row.get_ref(8)?.as_str_or_null()?;
            let texts = (header.context.as_str(), header.note.as_deref());
            Ok(ExistingTask {
                task_number: row.get(0)?,
                revision: Revision::new(row.get::<_, i64>(1)?.unsigned_abs()),
                state: stored_columns[0],
                header_unchanged: stored_columns == columns && (context, note) == texts,
            })
        });
        existing.optional()
    }

    /// Inserts the row of a new task. Returns `false` if the task exists.
    fn insert(&self, writer: &WriterState, task_number: i64) -> rusqlite::Result<bool> {
        let mut insert = writer.connection.prepare_cached(
            "INSERT INTO tasks (number, revision, state, work, epoch, updated, dialect,
                 caller, agent, id, context, format, body, note)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)
             ON CONFLICT DO NOTHING",
        )?;
        let Self { key: TaskKey { owner, agent, id }, header, .. } = self;
        let [state, work, epoch, updated, dialect] = header_columns(header, writer.epoch);
        let inserted = insert.execute(params![
            task_number,
            sql_revision(self.revision),
            state,
            work,
            epoch,
            updated,
            dialect,
            owner,
            agent,
            id.as_str(),
            header.context.as_str(),
            self.single_row_events.as_ref().map(|_| codec::FORMAT_COMPACT),
            self.single_row_events,
            header.note,
        ])?;
        Ok(inserted > 0)
    }

    fn update(&self, writer: &WriterState, existing: &ExistingTask) -> rusqlite::Result<()> {
        let (task_number, revision) = (existing.task_number, sql_revision(self.revision));
        if existing.header_unchanged {
            // Typically another chunk of an artifact: no index changes.
            let advance = "UPDATE tasks SET revision = ?2 WHERE number = ?1";
            return writer
                .connection
                .prepare_cached(advance)?
                .execute([task_number, revision])
                .map(|_| ());
        }
        let mut update = writer.connection.prepare_cached(
            "UPDATE tasks SET revision = ?2, state = ?3, work = ?4, epoch = ?5, updated = ?6,
                 dialect = ?7, context = ?8, note = ?9
             WHERE number = ?1",
        )?;
        let [state, work, epoch, updated, dialect] = header_columns(&self.header, writer.epoch);
        let TaskHeader { context, note, .. } = &self.header;
        let context = context.as_str();
        update.execute(params![
            task_number,
            revision,
            state,
            work,
            epoch,
            updated,
            dialect,
            context,
            note
        ])?;
        Ok(())
    }

    /// Writes everything but the row of the task.
    fn write(&self, writer: &mut WriterState, task_number: i64) -> rusqlite::Result<()> {
        self.write_events(writer, task_number)?;
        if let Some(record) = self.idempotency {
            writer.record_idempotency(record, task_number, self.revision);
        }
        if let Some(webhook) = &self.webhook {
            writer.add_webhook(task_number, webhook)?;
        }
        if self.header.state.is_terminal() {
            writer.record_finished(FinishedTask {
                task_number,
                finished_at: self.header.status_changed_at.as_millis(),
            });
        }
        Ok(())
    }

    fn write_events(&self, writer: &WriterState, task_number: i64) -> rusqlite::Result<()> {
        let mut first = self.expected.next();
        for EventRow { count, body } in &self.event_rows {
            let mut insert = writer.connection.prepare_cached(
                "INSERT INTO events (place, format, count, body) VALUES (?1, ?2, ?3, ?4)",
            )?;
            let rowid = event_rowid::encode(task_number, first);
            insert.execute(params![rowid, codec::FORMAT_JSON, *count as i64, body])?;
            first = Revision::new(first.get() + *count as u64);
        }
        if let Some(body) = &self.snapshot {
            let mut replace = writer.connection.prepare_cached(
                "REPLACE INTO snapshots (task, format, revision, body) VALUES (?1, ?2, ?3, ?4)",
            )?;
            replace.execute(params![
                task_number,
                codec::FORMAT_JSON,
                sql_revision(self.revision),
                body
            ])?;
        }
        Ok(())
    }

    fn conflict(&self, found: Revision) -> Error {
        Error::Conflict { task: self.key.id.clone(), expected: self.expected, found }
    }
}

impl WriteOp for PreparedAppend {
    type Output = Revision;

    fn run(&mut self, writer: &mut WriterState) -> rusqlite::Result<Result<Revision, Error>> {
        if self.expected == Revision::START { self.create(writer) } else { self.extend(writer) }
    }
}

/// Returns the integer columns of a header in order: state, work, epoch, time, dialect.
fn header_columns(header: &TaskHeader, epoch: i64) -> [i64; 5] {
    [
        codec::state_number(header),
        codec::pending_work_number(header.pending_work),
        epoch,
        header.status_changed_at.as_millis(),
        codec::dialect_number(header.created_in),
    ]
}

/// Converts a revision, which is at most [`event_rowid::MAX_EVENTS`].
fn sql_revision(revision: Revision) -> i64 {
    i64::try_from(revision.get()).unwrap_or(i64::MAX)
}
