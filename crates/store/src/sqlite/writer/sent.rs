//! Messages to remember, and to forget.

use std::collections::BTreeMap;
use std::mem;
use std::sync::Arc;

use latimer_protocol::{Message, Revision};
use rusqlite::{Connection, OptionalExtension, params};

use super::{Desk, Work};
use crate::sqlite::codec::{self, Note};
use crate::sqlite::failure::unavailable;
use crate::sqlite::messages::{Known, Messages};
use crate::sqlite::place;
use crate::{Error, Retention, Sent};

/// As many messages are remembered as there may be tasks, and at least so many.
const MIN_MESSAGES: u64 = 10_000;

/// The messages that are remembered, as the writer knows them.
#[derive(Debug)]
pub(super) struct Ledger {
    messages: Arc<Messages>,
    /// How many messages a row has, by when the last of them expires, and the place of the row.
    rows: BTreeMap<(i64, i64), u64>,
    remembered: u64,
    limit: u64,
    next_place: i64,
    /// What the transaction so far has to remember, and in which rows it did.
    new: Vec<Note>,
    written: Vec<(i64, Vec<Note>)>,
    /// The rows that it removed, with what was in them.
    removed: Vec<((i64, i64), Vec<Note>)>,
}

impl Ledger {
    /// Reads what is remembered.
    pub(super) fn read(
        connection: &Connection,
        retention: &Retention,
        messages: Arc<Messages>,
    ) -> rusqlite::Result<Self> {
        let mut ledger = Self {
            messages,
            rows: BTreeMap::new(),
            remembered: 0,
            limit: retention.max_tasks.max(MIN_MESSAGES),
            next_place: 1,
            new: Vec::new(),
            written: Vec::new(),
            removed: Vec::new(),
        };
        let mut select = connection.prepare("SELECT place, messages FROM sent ORDER BY place")?;
        let mut rows = select.query([])?;
        while let Some(row) = rows.next()? {
            let place = row.get(0)?;
            let notes: Vec<_> = codec::read_notes(row.get_ref(1)?.as_blob()?).collect();
            ledger.publish(place, &notes);
            ledger.next_place = place + 1;
        }
        Ok(ledger)
    }

    /// What was written is there for everybody.
    pub(super) fn commit(&mut self) {
        for (place, notes) in mem::take(&mut self.written) {
            self.publish(place, &notes);
        }
        for ((_, place), notes) in self.removed.drain(..) {
            for note in notes {
                self.messages.remove(&note.key, place);
            }
        }
    }

    /// Nothing was written, and nothing removed.
    pub(super) fn roll_back(&mut self) {
        self.new.clear();
        self.written.clear();
        for (row, notes) in self.removed.drain(..) {
            self.remembered += notes.len() as u64;
            self.rows.insert(row, notes.len() as u64);
        }
    }

    /// Whether some have to be forgotten for what is written.
    fn is_too_much(&self) -> bool {
        let written: usize = self.written.iter().map(|(_, notes)| notes.len()).sum();
        !self.rows.is_empty() && self.remembered + written as u64 > self.limit
    }

    fn publish(&mut self, place: i64, notes: &[Note]) {
        for note in notes {
            self.messages.insert(Known { place, note: *note });
        }
        let expires = notes.iter().map(|it| it.expires).max().unwrap_or(i64::MIN);
        self.remembered += notes.len() as u64;
        self.rows.insert((expires, place), notes.len() as u64);
    }
}

impl Desk {
    /// Remembers that a message led to a task at a revision, from the end of the transaction on.
    pub(super) fn remember(&mut self, sent: Sent, task: i64, revision: Revision) {
        let (key, expires) = (sent.key, sent.expires.as_millis());
        self.ledger.new.push(Note { key, expires, event: place::of(task, revision) });
    }

    /// Writes the messages of a transaction that led to tasks, and forgets some if there are too
    /// many.
    pub(super) fn write_messages(&mut self) -> rusqlite::Result<()> {
        if !self.ledger.new.is_empty() {
            let notes = mem::take(&mut self.ledger.new);
            self.write_row(notes, None)?;
        }
        while self.ledger.is_too_much() {
            self.forget_row()?;
        }
        Ok(())
    }

    fn write_row(&mut self, notes: Vec<Note>, answer: Option<&[u8]>) -> rusqlite::Result<()> {
        let place = self.ledger.next_place;
        self.ledger.next_place += 1;
        let insert = "INSERT INTO sent (place, messages, format, answer) VALUES (?1, ?2, ?3, ?4)";
        let mut insert = self.connection.prepare_cached(insert)?;
        let format = answer.map(|_| codec::PLAIN);
        insert.execute(params![place, codec::write_notes(&notes), format, answer])?;
        self.ledger.written.push((place, notes));
        Ok(())
    }

    /// Removes a row of messages if all of them have expired by then, and says whether there was one.
    pub(super) fn forget_expired(&mut self, now: i64) -> rusqlite::Result<bool> {
        let expired = self.ledger.rows.first_key_value().is_some_and(|((at, _), _)| *at <= now);
        if expired {
            self.forget_row()?;
        }
        Ok(expired)
    }

    /// Removes the row of messages that expires first.
    fn forget_row(&mut self) -> rusqlite::Result<()> {
        let Self { connection, ledger, .. } = self;
        let Some((row, count)) = ledger.rows.pop_first() else { return Ok(()) };
        ledger.remembered -= count;
        let (_, place) = row;
        let mut select = connection.prepare_cached("SELECT messages FROM sent WHERE place = ?1")?;
        let messages = select.query_row([place], |row| row.get::<_, Vec<u8>>(0)).optional()?;
        ledger.removed.push((row, codec::read_notes(&messages.unwrap_or_default()).collect()));
        connection.prepare_cached("DELETE FROM sent WHERE place = ?1")?.execute([place])?;
        Ok(())
    }
}

/// A direct answer to remember.
pub(in crate::sqlite) struct NewAnswer {
    sent: Sent,
    answer: Vec<u8>,
}

impl NewAnswer {
    /// Spells out an answer.
    pub(in crate::sqlite) fn new(sent: Sent, answer: &Message) -> Result<Self, Error> {
        let answer = codec::write_message(answer).map_err(unavailable)?;
        Ok(Self { sent, answer })
    }
}

impl Work for NewAnswer {
    type Answer = ();

    fn run(&mut self, desk: &mut Desk) -> rusqlite::Result<Result<(), Error>> {
        let (key, expires) = (self.sent.key, self.sent.expires.as_millis());
        let note = Note { key, expires, event: 0 };
        desk.write_row(vec![note], Some(&self.answer)).map(Ok)
    }
}
