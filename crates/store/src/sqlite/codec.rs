//! How values are spelled in the database.
//!
//! Events, tasks and messages are JSON, with a number beside them that names its format: [`PLAIN`],
//! or [`SHORT`] for a task that is one row. Whoever changes what is written takes a new number, and
//! goes on reading what was written before. Lists of what one transaction did are numbers one behind
//! the other, of eight bytes, the lowest first.

use latimer_protocol::{
    ContextId, Dialect, Event, Message, Revision, Task, TaskPushNotificationConfig, TaskState,
    Timestamp, nesting_depth,
};
use rusqlite::Row;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::failure::Damage;
use super::short::{Names, Short};
use crate::{BoxError, Header, SentKey, Work};

/// JSON as it is.
pub(super) const PLAIN: i64 = 1;

/// JSON of events without what their row says: see [`short`](super::short).
pub(super) const SHORT: i64 = 2;

/// The most events in one row, so that a reader of a few need not read very many.
const MAX_PIECE: usize = 256;

/// Values nest no deeper in what is read; anything deeper is not ours.
const MAX_DEPTH: usize = 1_024;

/// Room for what an agent says that answers at once, so that it need not be found piece by piece.
const USUAL_BYTES: usize = 1_024;

/// A row of events.
pub(super) struct Piece {
    pub(super) count: usize,
    pub(super) body: Vec<u8>,
}

/// The rows for the events of one append.
pub(super) fn write_events(events: &[Event]) -> Result<Vec<Piece>, BoxError> {
    let pieces = events.chunks(MAX_PIECE);
    pieces.map(|piece| Ok(Piece { count: piece.len(), body: write(piece)? })).collect()
}

/// The events of one row.
pub(super) fn read_events(format: i64, count: i64, body: &[u8]) -> Result<Vec<Event>, Damage> {
    counted(read(format, body)?, count)
}

fn counted(events: Vec<Event>, count: i64) -> Result<Vec<Event>, Damage> {
    match i64::try_from(events.len()) {
        Ok(found) if found == count => Ok(events),
        _ => Err(Damage::new(format!("{} events where {count} should be", events.len()))),
    }
}

/// Writes the events of a task that is one row.
pub(super) fn write_row(events: &[Event], names: Names<'_>) -> Result<Vec<u8>, BoxError> {
    let events: Vec<_> = events.iter().map(|it| Short::new(it, names)).collect();
    write(&events)
}

/// The events of a task that is one row.
pub(super) fn read_row(
    format: i64,
    count: i64,
    body: &[u8],
    names: Names<'_>,
) -> Result<Vec<Event>, Damage> {
    if format != SHORT {
        return read_events(format, count, body);
    }
    let events: Vec<Short<'_>> = read(PLAIN, body)?;
    let events: Vec<_> = events.into_iter().map(|it| it.expand(names)).collect::<Result<_, _>>()?;
    counted(events, count)
}

/// Writes a whole task.
pub(super) fn write_task(task: &Task) -> Result<Vec<u8>, BoxError> {
    write(task)
}

/// Reads a whole task.
pub(super) fn read_task(format: i64, body: &[u8]) -> Result<Task, Damage> {
    read(format, body)
}

/// Writes a direct answer.
pub(super) fn write_message(message: &Message) -> Result<Vec<u8>, BoxError> {
    write(message)
}

/// Reads a direct answer.
pub(super) fn read_message(format: i64, body: &[u8]) -> Result<Message, Damage> {
    read(format, body)
}

/// Writes the configuration of a webhook.
pub(super) fn write_config(config: &TaskPushNotificationConfig) -> Result<Vec<u8>, BoxError> {
    write(config)
}

/// Reads the configuration of a webhook.
pub(super) fn read_config(format: i64, body: &[u8]) -> Result<TaskPushNotificationConfig, Damage> {
    read(format, body)
}

fn write<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, BoxError> {
    let mut body = Vec::with_capacity(USUAL_BYTES);
    serde_json::to_writer(&mut body, value)?;
    Ok(body)
}

fn read<T: DeserializeOwned>(format: i64, body: &[u8]) -> Result<T, Damage> {
    if format != PLAIN {
        return Err(Damage::new(format!(
            "its format is {format}, which this version does not know"
        )));
    }
    match serde_json::from_slice(body) {
        // A value that just fitted into a request nests deeper within an event.
        Err(error) if error.is_syntax() && nesting_depth(body) <= MAX_DEPTH => read_deep(body),
        read => read.map_err(Damage::new),
    }
}

#[cold]
fn read_deep<T: DeserializeOwned>(body: &[u8]) -> Result<T, Damage> {
    let mut reader = serde_json::Deserializer::from_slice(body);
    reader.disable_recursion_limit();
    let value = T::deserialize(&mut reader).map_err(Damage::new)?;
    reader.end().map_err(Damage::new)?;
    Ok(value)
}

/// A message that led to an event of a task, or to an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Note {
    pub(super) key: SentKey,
    /// Milliseconds since the start of 1970.
    pub(super) expires: i64,
    /// The place of the event that it led to; zero for an answer.
    pub(super) event: i64,
}

/// Writes messages.
pub(super) fn write_notes(notes: &[Note]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(32 * notes.len());
    for Note { key, expires, event } in notes {
        bytes.extend(key.0);
        bytes.extend([*expires, *event].map(i64::to_le_bytes).as_flattened());
    }
    bytes
}

/// Reads messages, as far as they are whole.
pub(super) fn read_notes(bytes: &[u8]) -> impl Iterator<Item = Note> {
    let (numbers, _) = bytes.as_chunks::<8>();
    let (notes, _) = numbers.as_chunks::<4>();
    notes.iter().map(|[first, second, rest @ ..]| {
        let mut key = [0; 16];
        key[..8].copy_from_slice(first);
        key[8..].copy_from_slice(second);
        let [expires, event] = rest.map(i64::from_le_bytes);
        Note { key: SentKey(key), expires, event }
    })
}

/// A task that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Finished {
    /// Its number.
    pub(super) task: i64,
    /// When it finished: milliseconds since the start of 1970.
    pub(super) updated: i64,
}

/// Writes which tasks are over.
pub(super) fn write_finished(finished: &[Finished]) -> Vec<u8> {
    let numbers = finished.iter().flat_map(|it| [it.task, it.updated]);
    numbers.flat_map(i64::to_le_bytes).collect()
}

/// Reads which tasks are over, as far as they are whole.
pub(super) fn read_finished(bytes: &[u8]) -> impl Iterator<Item = Finished> {
    let (numbers, _) = bytes.as_chunks::<8>();
    let (pairs, _) = numbers.as_chunks::<2>();
    pairs.iter().map(|pair| {
        let [task, updated] = pair.map(i64::from_le_bytes);
        Finished { task, updated }
    })
}

/// Reads the revision of an event.
pub(super) fn read_revision(number: i64) -> Result<Revision, Damage> {
    u64::try_from(number).map(Revision::new).map_err(Damage::new)
}

/// Reads a header: its context, state, time, dialect, work and note, of which the first is at `from`.
pub(super) fn read_header(row: &Row<'_>, from: usize) -> Result<Header, Damage> {
    Ok(Header {
        context: ContextId::new(row.get_ref(from)?.as_str()?).map_err(Damage::new)?,
        state: read_state(row.get(from + 1)?)?,
        updated: Timestamp::from_millis(row.get(from + 2)?).map_err(Damage::new)?,
        dialect: read_dialect(row.get(from + 3)?)?,
        work: read_work(row.get(from + 4)?)?,
        note: row.get(from + 5)?,
    })
}

pub(super) fn read_state(number: i64) -> Result<TaskState, Damage> {
    TaskState::from_number(number).ok_or_else(|| Damage::new(format!("no state {number}")))
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

pub(super) fn read_dialect(number: i64) -> Result<Dialect, Damage> {
    let known = Dialect::ALL.into_iter().find(|it| dialect_number(*it) == number);
    known.ok_or_else(|| Damage::new(format!("no dialect {number}")))
}

/// The number of a kind of work. Written to disk: a number never changes its meaning, and nothing
/// to do is zero.
pub(super) fn work_number(work: Work) -> i64 {
    match work {
        Work::None => 0,
        Work::Waiting => 1,
        Work::Running => 2,
    }
}

fn read_work(number: i64) -> Result<Work, Damage> {
    let known = [Work::None, Work::Waiting, Work::Running];
    let known = known.into_iter().find(|it| work_number(*it) == number);
    known.ok_or_else(|| Damage::new(format!("no work {number}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_as_they_were_written_as_far_as_they_are_whole() {
        let note = |number: u8| Note {
            key: SentKey(std::array::from_fn(|at| number + at as u8)),
            expires: i64::MAX - i64::from(number),
            event: -i64::from(number) << 40,
        };
        let notes = [note(1), note(2), note(3)];
        let bytes = write_notes(&notes);
        assert_eq!(read_notes(&bytes).collect::<Vec<_>>(), notes);
        assert_eq!(read_notes(&bytes[..95]).collect::<Vec<_>>(), notes[..2]);
        let finished = [Finished { task: 1, updated: -2 }, Finished { task: 1 << 50, updated: 0 }];
        let bytes = write_finished(&finished);
        assert_eq!(read_finished(&bytes).collect::<Vec<_>>(), finished);
        assert_eq!(read_finished(&bytes[..31]).collect::<Vec<_>>(), finished[..1]);
    }
}
