//! Encoding of values in the database.
//!
//! Events, tasks and messages are JSON. A format column contains [`FORMAT_JSON`], or
//! [`FORMAT_COMPACT`] for tasks stored in a single row. A change of an encoding requires a new
//! format number, and old formats must remain readable. Lists of the records of one transaction are
//! sequences of 8-byte little-endian integers.

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

/// Format of plain JSON.
pub(super) const FORMAT_JSON: i64 = 1;

/// Format of compact events: see [`compact`](super::compact).
pub(super) const FORMAT_COMPACT: i64 = 2;

/// Maximum number of events in one row, so that reading a few events does not decode many.
const MAX_EVENTS_PER_ROW: usize = 256;

/// Maximum nesting depth of a stored value. A deeper one was not written by this program.
const MAX_NESTING_DEPTH: usize = 1_024;

/// Initial capacity of an encoded body in bytes: enough for a task with a short text.
const INITIAL_BODY_CAPACITY: usize = 1_024;

/// Encoded row of events.
pub(super) struct EventRow {
    pub(super) count: usize,
    pub(super) body: Vec<u8>,
}

/// Encodes the events of one append as rows.
pub(super) fn write_events(events: &[Event]) -> Result<Vec<EventRow>, BoxError> {
    let chunks = events.chunks(MAX_EVENTS_PER_ROW);
    chunks.map(|chunk| Ok(EventRow { count: chunk.len(), body: write(chunk)? })).collect()
}

/// Decodes the events of one row.
pub(super) fn read_events(format: i64, count: i64, body: &[u8]) -> Result<Vec<Event>, RowError> {
    check_count(read(format, body)?, count)
}

fn check_count(events: Vec<Event>, count: i64) -> Result<Vec<Event>, RowError> {
    match i64::try_from(events.len()) {
        Ok(found) if found == count => Ok(events),
        _ => Err(RowError::corrupt(format!("expected {count} events, found {}", events.len()))),
    }
}

/// Encodes the events of a task that is stored in a single row.
pub(super) fn write_single_row_events(
    events: &[Event],
    ids: RowIds<'_>,
) -> Result<Vec<u8>, BoxError> {
    let events: Vec<_> = events.iter().map(|it| CompactEvent::new(it, ids)).collect();
    write(&events)
}

/// Decodes the events of a task that is stored in a single row.
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

/// Encodes a snapshot.
pub(super) fn write_task(task: &Task) -> Result<Vec<u8>, BoxError> {
    write(task)
}

/// Decodes a snapshot.
pub(super) fn read_task(format: i64, body: &[u8]) -> Result<Task, RowError> {
    read(format, body)
}

/// Encodes a direct reply.
pub(super) fn write_message(message: &Message) -> Result<Vec<u8>, BoxError> {
    write(message)
}

/// Decodes a direct reply.
pub(super) fn read_message(format: i64, body: &[u8]) -> Result<Message, RowError> {
    read(format, body)
}

/// Encodes the configuration of a webhook.
pub(super) fn write_config(config: &TaskPushNotificationConfig) -> Result<Vec<u8>, BoxError> {
    write(config)
}

/// Decodes the configuration of a webhook.
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
        return Err(RowError::corrupt(format!("unknown format {format}")));
    }
    match serde_json::from_slice(body) {
        // A value with the maximum depth of a request is nested deeper within an event.
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

/// Stored idempotency record, with the outcome of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IdempotencyEntry {
    pub(super) key: IdempotencyKey,
    /// Milliseconds since the Unix epoch.
    pub(super) expires_at: i64,
    /// Row id of the last event of the append; 0 for a direct reply.
    pub(super) event_rowid: i64,
}

/// Encodes idempotency records.
pub(super) fn write_idempotency_entries(entries: &[IdempotencyEntry]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(32 * entries.len());
    for IdempotencyEntry { key, expires_at, event_rowid } in entries {
        bytes.extend(key.0);
        bytes.extend([*expires_at, *event_rowid].map(i64::to_le_bytes).as_flattened());
    }
    bytes
}

/// Decodes idempotency records. Ignores a truncated record at the end.
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

/// Stored record of a finished task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FinishedTask {
    /// Number of the task.
    pub(super) task_number: i64,
    /// Time of its last status change, in milliseconds since the Unix epoch.
    pub(super) finished_at: i64,
}

/// Encodes records of finished tasks.
pub(super) fn write_finished(finished: &[FinishedTask]) -> Vec<u8> {
    let numbers = finished.iter().flat_map(|it| [it.task_number, it.finished_at]);
    numbers.flat_map(i64::to_le_bytes).collect()
}

/// Decodes records of finished tasks. Ignores a truncated record at the end.
pub(super) fn read_finished(bytes: &[u8]) -> impl Iterator<Item = FinishedTask> {
    let (numbers, _) = bytes.as_chunks::<8>();
    let (pairs, _) = numbers.as_chunks::<2>();
    pairs.iter().map(|pair| {
        let [task_number, finished_at] = pair.map(i64::from_le_bytes);
        FinishedTask { task_number, finished_at }
    })
}

/// Decodes a revision.
pub(super) fn read_revision(number: i64) -> Result<Revision, RowError> {
    u64::try_from(number).map(Revision::new).map_err(RowError::corrupt)
}

/// Decodes a header from consecutive columns starting at `from`: context, state, time, dialect,
/// work, note.
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

/// Returns the stored number of a task's state: negative if the task is held, so that lists skip it
/// by their index alone.
pub(super) fn state_number(header: &TaskHeader) -> i64 {
    let number = i64::from(header.state.number());
    if header.pending_work == PendingWork::Held { -number } else { number }
}

pub(super) fn read_state(number: i64) -> Result<TaskState, RowError> {
    TaskState::from_number(number.abs())
        .ok_or_else(|| RowError::corrupt(format!("unknown state {number}")))
}

/// Returns the stored number of a dialect. The numbers must never change.
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
    dialect.ok_or_else(|| RowError::corrupt(format!("unknown dialect {number}")))
}

/// Returns the stored number of pending work. The numbers must never change; 0 means none.
pub(super) fn pending_work_number(work: PendingWork) -> i64 {
    match work {
        PendingWork::None => 0,
        PendingWork::Queued => 1,
        PendingWork::Running => 2,
        PendingWork::Held => 3,
    }
}

fn read_pending_work(number: i64) -> Result<PendingWork, RowError> {
    let kinds = [PendingWork::None, PendingWork::Queued, PendingWork::Running, PendingWork::Held];
    let kind = kinds.into_iter().find(|it| pending_work_number(*it) == number);
    kind.ok_or_else(|| RowError::corrupt(format!("unknown pending work {number}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_round_trip_and_ignore_truncated_tail() {
        let entry = |number: u8| IdempotencyEntry {
            key: IdempotencyKey(std::array::from_fn(|index| number + index as u8)),
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
