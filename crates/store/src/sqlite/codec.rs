//! How values are spelled in the database.
//!
//! Events, tasks and messages are JSON, with a number beside them that names its format: [`FORMAT_JSON`],
//! or [`FORMAT_COMPACT`] for a task that is one row. Whoever changes what is written takes a new number, and
//! goes on reading what was written before. Lists of what one transaction did are numbers one behind
//! the other, of eight bytes, the lowest first.

use latimer_protocol::{
    ContextId, Dialect, Event, Message, Revision, Task, TaskPushNotificationConfig, TaskState,
    Timestamp, nesting_depth,
};
use rusqlite::Row;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::compact::{CompactEvent, RowIds};
use super::error::RowError;
use crate::{BoxError, IdempotencyKey, PendingWork, TaskHeader};

/// JSON as it is.
pub(super) const FORMAT_JSON: i64 = 1;

/// JSON of events without what their row says: see [`compact`](super::compact).
pub(super) const FORMAT_COMPACT: i64 = 2;

/// The most events in one row, so that a reader of a few need not read very many.
const MAX_EVENTS_PER_ROW: usize = 256;

/// Values nest no deeper in what is read; anything deeper is not ours.
const MAX_NESTING_DEPTH: usize = 1_024;

/// Room for what an agent says that answers at once, so that it need not be found piece by piece.
const INITIAL_BODY_CAPACITY: usize = 1_024;

/// A row of events.
pub(super) struct EventRow {
    pub(super) count: usize,
    pub(super) body: Vec<u8>,
}

/// The rows for the events of one append.
pub(super) fn write_events(events: &[Event]) -> Result<Vec<EventRow>, BoxError> {
    let chunks = events.chunks(MAX_EVENTS_PER_ROW);
    chunks.map(|chunk| Ok(EventRow { count: chunk.len(), body: write(chunk)? })).collect()
}

/// The events of one row.
pub(super) fn read_events(format: i64, count: i64, body: &[u8]) -> Result<Vec<Event>, RowError> {
    check_count(read(format, body)?, count)
}

fn check_count(events: Vec<Event>, count: i64) -> Result<Vec<Event>, RowError> {
    match i64::try_from(events.len()) {
        Ok(found) if found == count => Ok(events),
        _ => Err(RowError::corrupt(format!("{} events where {count} should be", events.len()))),
    }
}

/// Writes the events of a task that is one row.
pub(super) fn write_single_row_events(
    events: &[Event],
    ids: RowIds<'_>,
) -> Result<Vec<u8>, BoxError> {
    let events: Vec<_> = events.iter().map(|it| CompactEvent::new(it, ids)).collect();
    write(&events)
}

/// The events of a task that is one row.
pub(super) fn read_single_row_events(
    format: i64,
    count: i64,
    body: &[u8],
    ids: RowIds<'_>,
) -> Result<Vec<Event>, RowError> {
    if format != FORMAT_COMPACT {
        return read_events(format, count, body);
    }
    let events: Vec<CompactEvent<'_>> = read(FORMAT_JSON, body)?;
    let events: Vec<_> = events.into_iter().map(|it| it.expand(ids)).collect::<Result<_, _>>()?;
    check_count(events, count)
}

/// Writes a whole task.
pub(super) fn write_task(task: &Task) -> Result<Vec<u8>, BoxError> {
    write(task)
}

/// Reads a whole task.
pub(super) fn read_task(format: i64, body: &[u8]) -> Result<Task, RowError> {
    read(format, body)
}

/// Writes a direct answer.
pub(super) fn write_message(message: &Message) -> Result<Vec<u8>, BoxError> {
    write(message)
}

/// Reads a direct answer.
pub(super) fn read_message(format: i64, body: &[u8]) -> Result<Message, RowError> {
    read(format, body)
}

/// Writes the configuration of a webhook.
pub(super) fn write_config(config: &TaskPushNotificationConfig) -> Result<Vec<u8>, BoxError> {
    write(config)
}

/// Reads the configuration of a webhook.
pub(super) fn read_config(
    format: i64,
    body: &[u8],
) -> Result<TaskPushNotificationConfig, RowError> {
    read(format, body)
}

fn write<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, BoxError> {
    let mut body = Vec::with_capacity(INITIAL_BODY_CAPACITY);
    serde_json::to_writer(&mut body, value)?;
    Ok(body)
}

fn read<T: DeserializeOwned>(format: i64, body: &[u8]) -> Result<T, RowError> {
    if format != FORMAT_JSON {
        return Err(RowError::corrupt(format!(
            "its format is {format}, which this version does not know"
        )));
    }
    match serde_json::from_slice(body) {
        // A value that just fitted into a request nests deeper within an event.
        Err(error) if error.is_syntax() && nesting_depth(body) <= MAX_NESTING_DEPTH => {
            read_deep(body)
        }
        read => read.map_err(RowError::corrupt),
    }
}

#[cold]
fn read_deep<T: DeserializeOwned>(body: &[u8]) -> Result<T, RowError> {
    let mut reader = serde_json::Deserializer::from_slice(body);
    reader.disable_recursion_limit();
    let value = T::deserialize(&mut reader).map_err(RowError::corrupt)?;
    reader.end().map_err(RowError::corrupt)?;
    Ok(value)
}

/// A message that led to an event of a task, or to an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IdempotencyEntry {
    pub(super) key: IdempotencyKey,
    /// Milliseconds since the start of 1970.
    pub(super) expires_at: i64,
    /// The place of the event that it led to; zero for an answer.
    pub(super) event_rowid: i64,
}

/// Writes messages.
pub(super) fn write_idempotency_entries(entries: &[IdempotencyEntry]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(32 * entries.len());
    for IdempotencyEntry { key, expires_at, event_rowid } in entries {
        bytes.extend(key.0);
        bytes.extend([*expires_at, *event_rowid].map(i64::to_le_bytes).as_flattened());
    }
    bytes
}

/// Reads messages, as far as they are whole.
pub(super) fn read_idempotency_entries(bytes: &[u8]) -> impl Iterator<Item = IdempotencyEntry> {
    let (numbers, _) = bytes.as_chunks::<8>();
    let (entries, _) = numbers.as_chunks::<4>();
    entries.iter().map(|[first, second, rest @ ..]| {
        let mut key = [0; 16];
        key[..8].copy_from_slice(first);
        key[8..].copy_from_slice(second);
        let [expires_at, event_rowid] = rest.map(i64::from_le_bytes);
        IdempotencyEntry { key: IdempotencyKey(key), expires_at, event_rowid }
    })
}

/// A task that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FinishedTask {
    /// Its number.
    pub(super) task_number: i64,
    /// When it finished: milliseconds since the start of 1970.
    pub(super) finished_at: i64,
}

/// Writes which tasks are over.
pub(super) fn write_finished(finished: &[FinishedTask]) -> Vec<u8> {
    let numbers = finished.iter().flat_map(|it| [it.task_number, it.finished_at]);
    numbers.flat_map(i64::to_le_bytes).collect()
}

/// Reads which tasks are over, as far as they are whole.
pub(super) fn read_finished(bytes: &[u8]) -> impl Iterator<Item = FinishedTask> {
    let (numbers, _) = bytes.as_chunks::<8>();
    let (pairs, _) = numbers.as_chunks::<2>();
    pairs.iter().map(|pair| {
        let [task_number, finished_at] = pair.map(i64::from_le_bytes);
        FinishedTask { task_number, finished_at }
    })
}

/// Reads the revision of an event.
pub(super) fn read_revision(number: i64) -> Result<Revision, RowError> {
    u64::try_from(number).map(Revision::new).map_err(RowError::corrupt)
}

/// Reads a header: its context, state, time, dialect, work and note, of which the first is at `from`.
pub(super) fn read_header(row: &Row<'_>, from: usize) -> Result<TaskHeader, RowError> {
    Ok(TaskHeader {
        context: ContextId::new(row.get_ref(from)?.as_str()?).map_err(RowError::corrupt)?,
        state: read_state(row.get(from + 1)?)?,
        status_changed_at: Timestamp::from_millis(row.get(from + 2)?).map_err(RowError::corrupt)?,
        created_in: read_dialect(row.get(from + 3)?)?,
        pending_work: read_pending_work(row.get(from + 4)?)?,
        note: row.get(from + 5)?,
    })
}

pub(super) fn read_state(number: i64) -> Result<TaskState, RowError> {
    TaskState::from_number(number).ok_or_else(|| RowError::corrupt(format!("no state {number}")))
}

/// The number of a dialect. Written to disk: a number never changes its meaning.
pub(super) fn dialect_number(dialect: Dialect) -> i64 {
    match dialect {
        Dialect::Legacy => 0,
        Dialect::V0_1 => 1,
        Dialect::V0_3 => 2,
        Dialect::V0_3Proto => 3,
        Dialect::V1_0 => 4,
    }
}

pub(super) fn read_dialect(number: i64) -> Result<Dialect, RowError> {
    let dialect = Dialect::ALL.into_iter().find(|it| dialect_number(*it) == number);
    dialect.ok_or_else(|| RowError::corrupt(format!("no dialect {number}")))
}

/// The number of a kind of work. Written to disk: a number never changes its meaning, and nothing
/// to do is zero.
pub(super) fn pending_work_number(work: PendingWork) -> i64 {
    match work {
        PendingWork::None => 0,
        PendingWork::Queued => 1,
        PendingWork::Running => 2,
    }
}

fn read_pending_work(number: i64) -> Result<PendingWork, RowError> {
    let kinds = [PendingWork::None, PendingWork::Queued, PendingWork::Running];
    let kind = kinds.into_iter().find(|it| pending_work_number(*it) == number);
    kind.ok_or_else(|| RowError::corrupt(format!("no work {number}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_round_trip_and_ignore_truncated_tail() {
        let entry = |number: u8| IdempotencyEntry {
            key: IdempotencyKey(std::array::from_fn(|at| number + at as u8)),
            expires_at: i64::MAX - i64::from(number),
            event_rowid: -i64::from(number) << 40,
        };
        let entries = [entry(1), entry(2), entry(3)];
        let bytes = write_idempotency_entries(&entries);
        assert_eq!(read_idempotency_entries(&bytes).collect::<Vec<_>>(), entries);
        assert_eq!(read_idempotency_entries(&bytes[..95]).collect::<Vec<_>>(), entries[..2]);
        let finished = [
            FinishedTask { task_number: 1, finished_at: -2 },
            FinishedTask { task_number: 1 << 50, finished_at: 0 },
        ];
        let bytes = write_finished(&finished);
        assert_eq!(read_finished(&bytes).collect::<Vec<_>>(), finished);
        assert_eq!(read_finished(&bytes[..31]).collect::<Vec<_>>(), finished[..1]);
    }
}
