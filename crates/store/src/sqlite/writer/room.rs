//! Room for tasks: how many there are, and which of them goes next.
//!
//! All of it is counted once, when the store is opened, and kept in memory from then on: no append
//! counts rows.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use latimer_protocol::{ContextId, TaskId};
use rusqlite::{Connection, OptionalExtension, params};

use super::Desk;
use crate::sqlite::codec::{self, Finished};
use crate::sqlite::place;
use crate::{Key, Retention};

/// Numbers of tasks are taken in blocks, so that few transactions write down how far they went.
const BLOCK: i64 = 1 << 16;

/// How many rows of finished tasks to look up at once.
const AHEAD: i64 = 8;

/// The most finished tasks that go for one new one: if the limit was lowered, the sweep does the
/// rest.
const MAX_EVICTED: u64 = 32;

/// The most events that are removed with their task at once. Longer logs go piece by piece.
const SHORT_LOG: i64 = 512;

/// Room for tasks.
#[derive(Debug)]
pub(super) struct Room {
    max_tasks: u64,
    counts: Counts,
    /// The next of the finished tasks, in order. May be empty while there are some.
    oldest: VecDeque<Oldest>,
    /// Those that finished in this transaction, and are not written yet.
    finished: Vec<Finished>,
    /// Only where conversations are limited.
    conversations: Option<Conversations>,
}

/// What changes with every transaction, and back with one that fails.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counts {
    tasks: u64,
    next_number: i64,
    unused_number: i64,
    next_place: i64,
}

/// A task that may go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Oldest {
    pub(super) finished: Finished,
    /// The row of which it is the last.
    ends: Option<i64>,
}

#[derive(Debug)]
struct Conversations {
    limit: u64,
    tasks: HashMap<Conversation, u64>,
    /// Whether a transaction failed, and they have to be counted again.
    unsure: bool,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Conversation {
    caller: Arc<str>,
    agent: Arc<str>,
    context: Arc<str>,
}

impl Room {
    /// Counts what there is.
    pub(super) fn survey(connection: &Connection, retention: &Retention) -> rusqlite::Result<Self> {
        let number = |sql| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
        let tasks = number("SELECT count(*) FROM tasks")?.unsigned_abs();
        let unused_number = number("SELECT unused_number FROM store")?;
        let last_place = number("SELECT coalesce(max(place), 0) FROM finished")?;
        let limit = retention.max_contexts;
        let mut conversations = Conversations { limit, tasks: HashMap::new(), unsure: true };
        if limit > 0 {
            conversations.count(connection)?;
        }
        Ok(Self {
            max_tasks: retention.max_tasks,
            counts: Counts {
                tasks,
                next_number: unused_number,
                unused_number,
                next_place: last_place + 1,
            },
            oldest: VecDeque::new(),
            finished: Vec::new(),
            conversations: (limit > 0).then_some(conversations),
        })
    }

    pub(super) fn counts(&self) -> Counts {
        self.counts
    }

    /// Takes back what a transaction did that failed.
    pub(super) fn restore(&mut self, counts: Counts) {
        self.counts = counts;
        self.oldest.clear();
        self.finished.clear();
        if let Some(conversations) = &mut self.conversations {
            conversations.unsure = true;
        }
    }

    pub(super) fn tasks(&self) -> u64 {
        self.counts.tasks
    }

    pub(super) fn is_full(&self) -> bool {
        self.counts.tasks >= self.max_tasks
    }

    pub(super) fn is_too_full(&self) -> bool {
        self.counts.tasks > self.max_tasks
    }
}

impl Desk {
    /// A number that no task ever had.
    pub(super) fn next_number(&mut self) -> rusqlite::Result<i64> {
        let counts = &mut self.room.counts;
        if counts.next_number == counts.unused_number {
            counts.unused_number += BLOCK;
            let reserve = "UPDATE store SET unused_number = ?1";
            self.connection.prepare_cached(reserve)?.execute([counts.unused_number])?;
        }
        let number = counts.next_number;
        counts.next_number += 1;
        Ok(number)
    }

    /// Removes finished tasks until one more fits; false when it does not.
    pub(super) fn make_room(&mut self) -> rusqlite::Result<bool> {
        let mut evicted = 0;
        while self.room.is_full() && evicted < MAX_EVICTED {
            let Some(oldest) = self.oldest()? else { break };
            evicted += u64::from(self.remove(oldest)?);
        }
        Ok(evicted > 0)
    }

    /// Counts a task that is new, and makes room for its conversation.
    pub(super) fn admit(&mut self, key: &Key, context: &ContextId) -> rusqlite::Result<()> {
        self.room.counts.tasks += 1;
        let Some(conversations) = &mut self.room.conversations else { return Ok(()) };
        if conversations.unsure {
            conversations.count(&self.connection)?;
        } else {
            *conversations.tasks.entry(Conversation::of(key, context)).or_default() += 1;
        }
        while self.has_too_many_conversations() {
            let Some(oldest) = self.oldest()? else { break };
            self.remove(oldest)?;
        }
        Ok(())
    }

    fn has_too_many_conversations(&self) -> bool {
        let conversations = self.room.conversations.as_ref();
        conversations.is_some_and(|it| it.tasks.len() as u64 > it.limit)
    }

    /// Notes that a task is over.
    pub(super) fn finish(&mut self, finished: Finished) {
        self.room.finished.push(finished);
    }

    /// Writes which tasks are over.
    pub(super) fn write_finished(&mut self) -> rusqlite::Result<()> {
        let Room { finished, counts, .. } = &mut self.room;
        if finished.is_empty() {
            return Ok(());
        }
        let insert = "INSERT INTO finished (place, tasks) VALUES (?1, ?2)";
        let mut insert = self.connection.prepare_cached(insert)?;
        insert.execute(params![counts.next_place, codec::write_finished(finished)])?;
        counts.next_place += 1;
        finished.clear();
        Ok(())
    }

    /// The task that finished first, which may be gone already.
    pub(super) fn oldest(&mut self) -> rusqlite::Result<Option<Oldest>> {
        if self.room.oldest.is_empty() {
            self.write_finished()?;
            self.look_ahead()?;
        }
        Ok(self.room.oldest.front().copied())
    }

    fn look_ahead(&mut self) -> rusqlite::Result<()> {
        let oldest = &mut self.room.oldest;
        let select = "SELECT place, tasks FROM finished ORDER BY place LIMIT ?1";
        let mut select = self.connection.prepare_cached(select)?;
        let mut rows = select.query([AHEAD])?;
        while let Some(row) = rows.next()? {
            let tasks = codec::read_finished(row.get_ref(1)?.as_blob()?);
            oldest.extend(tasks.map(|finished| Oldest { finished, ends: None }));
            // No task has this number: behind the last, the row goes.
            let finished = Finished { task: 0, updated: i64::MIN };
            oldest.push_back(Oldest { finished, ends: Some(row.get(0)?) });
        }
        Ok(())
    }

    /// Removes the task that finished first, and all that is its own; false when it is gone.
    pub(super) fn remove(&mut self, oldest: Oldest) -> rusqlite::Result<bool> {
        let Self { connection, room, recent, .. } = self;
        room.oldest.pop_front();
        if let Some(place) = oldest.ends {
            connection.prepare_cached("DELETE FROM finished WHERE place = ?1")?.execute([place])?;
            return Ok(false);
        }
        let task = oldest.finished.task;
        let find = "SELECT revision, format IS NULL, caller, agent, id, context FROM tasks
             WHERE number = ?1";
        let mut find = connection.prepare_cached(find)?;
        let found = find.query_row([task], |row| {
            let (caller, agent, id) = (row.get(2)?, row.get(3)?, row.get_ref(4)?.as_str()?);
            if let Ok(id) = TaskId::new(id) {
                recent.remove(&Key { caller, agent, id });
            }
            if let Some(conversations) = &mut room.conversations {
                let (caller, agent, context) = (row.get(2)?, row.get(3)?, row.get(5)?);
                conversations.leave(&Conversation { caller, agent, context });
            }
            Ok((row.get(0)?, row.get(1)?))
        });
        let Some((revision, has_log)) = found.optional()? else { return Ok(false) };
        room.counts.tasks -= 1;
        connection.prepare_cached("DELETE FROM tasks WHERE number = ?1")?.execute([task])?;
        if has_log {
            remove_log(connection, task, revision)?;
        }
        drop(find);
        self.remove_webhooks(task)?;
        Ok(true)
    }
}

impl Conversations {
    fn count(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        self.tasks.clear();
        let count = "SELECT caller, agent, context, count(*) FROM tasks GROUP BY 1, 2, 3";
        let mut count = connection.prepare(count)?;
        let mut rows = count.query([])?;
        while let Some(row) = rows.next()? {
            let (caller, agent, context) = (row.get(0)?, row.get(1)?, row.get(2)?);
            let tasks: i64 = row.get(3)?;
            self.tasks.insert(Conversation { caller, agent, context }, tasks.unsigned_abs());
        }
        self.unsure = false;
        Ok(())
    }

    fn leave(&mut self, conversation: &Conversation) {
        let Some(tasks) = self.tasks.get_mut(conversation) else { return };
        *tasks -= 1;
        if *tasks == 0 {
            self.tasks.remove(conversation);
        }
    }
}

impl Conversation {
    fn of(key: &Key, context: &ContextId) -> Self {
        let Key { caller, agent, .. } = key;
        Self { caller: caller.clone(), agent: agent.clone(), context: context.as_str().into() }
    }
}

fn remove_log(connection: &Connection, task: i64, revision: i64) -> rusqlite::Result<()> {
    connection.prepare_cached("DELETE FROM snapshots WHERE task = ?1")?.execute([task])?;
    if revision > SHORT_LOG {
        let leave = "INSERT INTO leftovers (task) VALUES (?1)";
        return connection.prepare_cached(leave)?.execute([task]).map(|_| ());
    }
    let delete = "DELETE FROM events WHERE place >= ?1 AND place < ?2";
    let log = params![place::of(task, Default::default()), place::end(task)];
    connection.prepare_cached(delete)?.execute(log).map(|_| ())
}
