//! Appending to a log.

use latimer_protocol::{Event, Revision, TaskState};
use rusqlite::{OptionalExtension, params};

use super::{Desk, NewWebhook, Work};
use crate::sqlite::codec::{self, Finished, Piece};
use crate::sqlite::failure::unavailable;
use crate::sqlite::place;
use crate::sqlite::short::Names;
use crate::{Append, BoxError, Error, Header, Key, Sent};

/// How many events of a new task are worth no snapshot: to read them is to know the task.
const SHORT: usize = 8;

/// The most bytes of an append. What the database takes at most in one value is twice that.
const MAX_BYTES: usize = 500_000_000;

/// An append, spelled out on the thread of whoever makes it, so that the writer only writes.
pub(in crate::sqlite) struct NewEvents {
    key: Key,
    expected: Revision,
    revision: Revision,
    header: Header,
    /// All events of a task that is one row: it comes and goes in one short append.
    row: Option<Vec<u8>>,
    pieces: Vec<Piece>,
    snapshot: Option<Vec<u8>>,
    sent: Option<Sent>,
    webhook: Option<NewWebhook>,
}

/// What the writer has to know of a task that is there.
struct Known {
    number: i64,
    revision: Revision,
    state: i64,
    /// Whether its header is the one to write, and it is this process's.
    is_as_before: bool,
}

impl NewEvents {
    /// Spells out an append.
    pub(in crate::sqlite) fn new(
        append: Append,
        webhook: Option<NewWebhook>,
    ) -> Result<Self, Error> {
        let Append { key, expected, events, header, snapshot, sent, webhook: _ } = append;
        let is_new = expected == Revision::START;
        match events.first() {
            None => return Err(unavailable("an append without events")),
            Some(Event::Created(_)) => {}
            Some(_) if is_new => return Err(unavailable("a task without its creation")),
            Some(_) => {}
        }
        let revision = expected.get().saturating_add(events.len() as u64);
        if revision > place::MAX_EVENTS {
            return Err(unavailable(format!("more than {} events", place::MAX_EVENTS)));
        }
        let is_short = is_new && events.len() <= SHORT;
        let snapshot = snapshot.filter(|_| !is_short);
        let snapshot = snapshot.map(|task| codec::write_task(&task)).transpose();
        let snapshot = snapshot.map_err(unavailable)?;
        let (row, pieces) = if is_short && header.state.is_terminal() {
            let names = Names { task: &key.id, context: &header.context };
            (Some(codec::write_row(&events, names).map_err(unavailable)?), Vec::new())
        } else {
            (None, codec::write_events(&events).map_err(unavailable)?)
        };
        let revision = Revision::new(revision);
        let new = Self { key, expected, revision, header, row, pieces, snapshot, sent, webhook };
        if new.bodies().any(|bytes| bytes > MAX_BYTES) {
            return Err(unavailable(BoxError::from("an append too large to store")));
        }
        Ok(new)
    }

    /// How many bytes there are to write, body by body.
    fn bodies(&self) -> impl Iterator<Item = usize> {
        let pieces = self.pieces.iter().map(|it| &it.body);
        pieces.chain(&self.row).chain(&self.snapshot).map(Vec::len)
    }

    fn create(&self, desk: &mut Desk) -> rusqlite::Result<Result<Revision, Error>> {
        if desk.room.is_full() {
            // Nobody makes room for a task that is there already.
            if let Some(known) = self.find(desk)? {
                return Ok(Err(self.conflict(known.revision)));
            }
            if !desk.make_room()? {
                return Ok(Err(Error::Full { tasks: desk.room.tasks() }));
            }
        }
        let number = desk.next_number()?;
        if !self.insert(desk, number)? {
            let found = self.find(desk)?.map_or(Revision::START, |known| known.revision);
            return Ok(Err(self.conflict(found)));
        }
        self.write(desk, number)?;
        desk.admit(&self.key, &self.header.context)?;
        Ok(Ok(self.revision))
    }

    fn extend(&self, desk: &mut Desk) -> rusqlite::Result<Result<Revision, Error>> {
        let Some(known) = self.find(desk)? else {
            return Ok(Err(self.conflict(Revision::START)));
        };
        let state = TaskState::from_number(known.state).unwrap_or_default();
        if state.is_terminal() {
            return Ok(Err(Error::Finished { task: self.key.id.clone(), state }));
        }
        if known.revision != self.expected {
            return Ok(Err(self.conflict(known.revision)));
        }
        self.update(desk, &known)?;
        self.write(desk, known.number)?;
        Ok(Ok(self.revision))
    }

    fn find(&self, desk: &Desk) -> rusqlite::Result<Option<Known>> {
        let mut find = desk.connection.prepare_cached(
            "SELECT number, revision, state, work, epoch, updated, dialect, context, note FROM tasks
             WHERE caller = ?1 AND id = ?2 AND agent = ?3",
        )?;
        let Self { key: Key { caller, agent, id }, header, .. } = self;
        let numbers = numbers(header, desk.epoch);
        let known = find.query_row(params![caller, id.as_str(), agent], |row| {
            let found = [row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?, row.get(6)?];
            let context = row.get_ref(7)?.as_str()?;
            let note = row.get_ref(8)?.as_str_or_null()?;
            let texts = (header.context.as_str(), header.note.as_deref());
            Ok(Known {
                number: row.get(0)?,
                revision: Revision::new(row.get::<_, i64>(1)?.unsigned_abs()),
                state: found[0],
                is_as_before: found == numbers && (context, note) == texts,
            })
        });
        known.optional()
    }

    /// Inserts the row of a new task; false when it is there already.
    fn insert(&self, desk: &Desk, number: i64) -> rusqlite::Result<bool> {
        let mut insert = desk.connection.prepare_cached(
            "INSERT INTO tasks (number, revision, state, work, epoch, updated, dialect,
                 caller, agent, id, context, format, body, note)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)
             ON CONFLICT DO NOTHING",
        )?;
        let Self { key: Key { caller, agent, id }, header, .. } = self;
        let [state, work, epoch, updated, dialect] = numbers(header, desk.epoch);
        let inserted = insert.execute(params![
            number,
            signed(self.revision),
            state,
            work,
            epoch,
            updated,
            dialect,
            caller,
            agent,
            id.as_str(),
            header.context.as_str(),
            self.row.as_ref().map(|_| codec::SHORT),
            self.row,
            header.note,
        ])?;
        Ok(inserted > 0)
    }

    fn update(&self, desk: &Desk, known: &Known) -> rusqlite::Result<()> {
        let (number, revision) = (known.number, signed(self.revision));
        if known.is_as_before {
            // A further piece of an artifact: the indexes stay as they are.
            let advance = "UPDATE tasks SET revision = ?2 WHERE number = ?1";
            return desk
                .connection
                .prepare_cached(advance)?
                .execute([number, revision])
                .map(|_| ());
        }
        let mut update = desk.connection.prepare_cached(
            "UPDATE tasks SET revision = ?2, state = ?3, work = ?4, epoch = ?5, updated = ?6,
                 dialect = ?7, context = ?8, note = ?9
             WHERE number = ?1",
        )?;
        let [state, work, epoch, updated, dialect] = numbers(&self.header, desk.epoch);
        let Header { context, note, .. } = &self.header;
        let context = context.as_str();
        update.execute(params![
            number, revision, state, work, epoch, updated, dialect, context, note
        ])?;
        Ok(())
    }

    /// Writes what belongs to the row of the task.
    fn write(&self, desk: &mut Desk, number: i64) -> rusqlite::Result<()> {
        self.write_events(desk, number)?;
        if let Some(sent) = self.sent {
            desk.remember(sent, number, self.revision);
        }
        if let Some(webhook) = &self.webhook {
            desk.add_webhook(number, webhook)?;
        }
        if self.header.state.is_terminal() {
            desk.finish(Finished { task: number, updated: self.header.updated.as_millis() });
        }
        Ok(())
    }

    fn write_events(&self, desk: &Desk, number: i64) -> rusqlite::Result<()> {
        let mut first = self.expected.next();
        for Piece { count, body } in &self.pieces {
            let mut insert = desk.connection.prepare_cached(
                "INSERT INTO events (place, format, count, body) VALUES (?1, ?2, ?3, ?4)",
            )?;
            let place = place::of(number, first);
            insert.execute(params![place, codec::PLAIN, *count as i64, body])?;
            first = Revision::new(first.get() + *count as u64);
        }
        if let Some(body) = &self.snapshot {
            let mut replace = desk.connection.prepare_cached(
                "REPLACE INTO snapshots (task, format, revision, body) VALUES (?1, ?2, ?3, ?4)",
            )?;
            replace.execute(params![number, codec::PLAIN, signed(self.revision), body])?;
        }
        Ok(())
    }

    fn conflict(&self, found: Revision) -> Error {
        Error::Conflict { task: self.key.id.clone(), expected: self.expected, found }
    }
}

impl Work for NewEvents {
    type Answer = Revision;

    fn run(&mut self, desk: &mut Desk) -> rusqlite::Result<Result<Revision, Error>> {
        if self.expected == Revision::START { self.create(desk) } else { self.extend(desk) }
    }
}

/// The state, work, epoch, time and dialect of a header, in the order of their columns.
fn numbers(header: &Header, epoch: i64) -> [i64; 5] {
    let Header { context: _, state, updated, dialect, work, note: _ } = header;
    [
        state.number().into(),
        codec::work_number(*work),
        epoch,
        updated.as_millis(),
        codec::dialect_number(*dialect),
    ]
}

/// No log is longer than [`place::MAX_EVENTS`].
fn signed(revision: Revision) -> i64 {
    i64::try_from(revision.get()).unwrap_or(i64::MAX)
}
