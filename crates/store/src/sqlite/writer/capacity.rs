//! Task counts and eviction order.
//!
//! Counts are loaded when the store is opened and maintained in memory, so that no append counts
//! rows.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use latimer_protocol::{ContextId, TaskId};
use rusqlite::{Connection, OptionalExtension, params};

use super::WriterState;
use crate::sqlite::codec::{self, FinishedTask};
use crate::sqlite::event_rowid;
use crate::{Retention, TaskKey};

/// Number of task numbers reserved at once, so that few transactions update the reservation.
const NUMBER_BLOCK_SIZE: i64 = 1 << 16;

/// Number of rows of finished tasks to load at once.
const LOOKAHEAD_ROWS: i64 = 8;

/// Maximum number of tasks to evict for one new task. If the limit was lowered, sweeps evict the
/// rest.
const MAX_EVICTIONS_PER_APPEND: u64 = 32;

/// Maximum number of events to delete together with their task. Sweeps delete longer logs in steps.
const MAX_EVENTS_DELETED_INLINE: i64 = 512;

/// Task counts, limits and the next eviction candidates.
#[derive(Debug)]
pub(super) struct Capacity {
    max_tasks: u64,
    counts: Counts,
    /// Next eviction candidates in order. May be empty although the database has more.
    candidates: VecDeque<EvictionCandidate>,
    /// Tasks that finished in the current transaction and are not written yet.
    newly_finished: Vec<FinishedTask>,
    /// Task counts per context; `None` if contexts are not limited.
    contexts: Option<ContextCounts>,
}

/// Counters that a failed transaction resets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counts {
    tasks: u64,
    next_task_number: i64,
    unreserved_task_number: i64,
    next_finished_rowid: i64,
}

/// Finished task that can be evicted.
#[derive(Clone, Copy, Debug)]
pub(super) struct EvictionCandidate {
    pub(super) finished: FinishedTask,
    /// Row of finished tasks to delete instead, because its tasks have been processed.
    exhausted_row: Option<i64>,
}

#[derive(Debug)]
struct ContextCounts {
    limit: u64,
    task_counts: HashMap<ContextKey, u64>,
    /// Whether a failed transaction made a recount necessary.
    stale: bool,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ContextKey {
    owner: Arc<str>,
    agent: Arc<str>,
    context: Arc<str>,
}

impl Capacity {
    /// Loads the counts from the database.
    pub(super) fn load(connection: &Connection, retention: &Retention) -> rusqlite::Result<Self> {
        let query_number = |sql| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
        let tasks = query_number("SELECT count(*) FROM tasks")?.unsigned_abs();
        let unreserved_task_number = query_number("SELECT unused_number FROM store")?;
        let last_rowid = query_number("SELECT coalesce(max(place), 0) FROM finished")?;
        let limit = retention.max_contexts;
        let mut contexts = ContextCounts { limit, task_counts: HashMap::new(), stale: true };
        if limit > 0 {
            contexts.recount(connection)?;
        }
        Ok(Self {
            max_tasks: retention.max_tasks,
            counts: Counts {
                tasks,
                next_task_number: unreserved_task_number,
                unreserved_task_number,
                next_finished_rowid: last_rowid + 1,
            },
            candidates: VecDeque::new(),
            newly_finished: Vec::new(),
            contexts: (limit > 0).then_some(contexts),
        })
    }

    pub(super) fn counts(&self) -> Counts {
        self.counts
    }

    /// Resets the state to that before a failed transaction.
    pub(super) fn restore(&mut self, counts: Counts) {
        self.counts = counts;
        self.candidates.clear();
        self.newly_finished.clear();
        if let Some(contexts) = &mut self.contexts {
            contexts.stale = true;
        }
    }

    pub(super) fn tasks(&self) -> u64 {
        self.counts.tasks
    }

    pub(super) fn is_full(&self) -> bool {
        self.counts.tasks >= self.max_tasks
    }

    pub(super) fn is_over_limit(&self) -> bool {
        self.counts.tasks > self.max_tasks
    }
}

impl WriterState {
    /// Returns a task number that was never used.
    pub(super) fn allocate_task_number(&mut self) -> rusqlite::Result<i64> {
        let counts = &mut self.capacity.counts;
        if counts.next_task_number == counts.unreserved_task_number {
            counts.unreserved_task_number += NUMBER_BLOCK_SIZE;
            let reserve = "UPDATE store SET unused_number = ?1";
            self.connection.prepare_cached(reserve)?.execute([counts.unreserved_task_number])?;
        }
        let number = counts.next_task_number;
        counts.next_task_number += 1;
        Ok(number)
    }

    /// Evicts finished tasks for a new one. Returns `false` if none can be evicted.
    pub(super) fn evict_for_new_task(&mut self) -> rusqlite::Result<bool> {
        let mut evicted = 0;
        while self.capacity.is_full() && evicted < MAX_EVICTIONS_PER_APPEND {
            let Some(candidate) = self.next_candidate()? else { break };
            evicted += u64::from(self.remove_candidate(candidate)?);
        }
        Ok(evicted > 0)
    }

    /// Counts a new task, and evicts tasks if there are too many contexts.
    pub(super) fn register_task(
        &mut self,
        key: &TaskKey,
        context: &ContextId,
    ) -> rusqlite::Result<()> {
        self.capacity.counts.tasks += 1;
        let Some(contexts) = &mut self.capacity.contexts else { return Ok(()) };
        if contexts.stale {
            contexts.recount(&self.connection)?;
        } else {
            *contexts.task_counts.entry(ContextKey::for_task(key, context)).or_default() += 1;
        }
        while self.has_excess_contexts() {
            let Some(candidate) = self.next_candidate()? else { break };
            self.remove_candidate(candidate)?;
        }
        Ok(())
    }

    fn has_excess_contexts(&self) -> bool {
        let contexts = self.capacity.contexts.as_ref();
        contexts.is_some_and(|it| it.task_counts.len() as u64 > it.limit)
    }

    /// Records that a task finished, to be written at the end of the transaction.
    pub(super) fn record_finished(&mut self, finished: FinishedTask) {
        self.capacity.newly_finished.push(finished);
    }

    /// Writes the tasks that finished in this transaction as one row.
    pub(super) fn write_finished(&mut self) -> rusqlite::Result<()> {
        let Capacity { newly_finished, counts, .. } = &mut self.capacity;
        if newly_finished.is_empty() {
            return Ok(());
        }
        let insert = "INSERT INTO finished (place, tasks) VALUES (?1, ?2)";
        let mut insert = self.connection.prepare_cached(insert)?;
        insert
            .execute(params![counts.next_finished_rowid, codec::write_finished(newly_finished)])?;
        counts.next_finished_rowid += 1;
        newly_finished.clear();
        Ok(())
    }

    /// Returns the next eviction candidate, whose task may have been removed already.
    pub(super) fn next_candidate(&mut self) -> rusqlite::Result<Option<EvictionCandidate>> {
        if self.capacity.candidates.is_empty() {
            self.write_finished()?;
            self.load_candidates()?;
        }
        Ok(self.capacity.candidates.front().copied())
    }

    fn load_candidates(&mut self) -> rusqlite::Result<()> {
        let candidates = &mut self.capacity.candidates;
        let select = "SELECT place, tasks FROM finished ORDER BY place LIMIT ?1";
        let mut select = self.connection.prepare_cached(select)?;
        let mut rows = select.query([LOOKAHEAD_ROWS])?;
        while let Some(row) = rows.next()? {
            let tasks = codec::read_finished(row.get_ref(1)?.as_blob()?);
            candidates
                .extend(tasks.map(|finished| EvictionCandidate { finished, exhausted_row: None }));
            // Number 0 is no task: this candidate deletes the row after its last task.
            let finished = FinishedTask { task_number: 0, finished_at: i64::MIN };
            candidates.push_back(EvictionCandidate { finished, exhausted_row: Some(row.get(0)?) });
        }
        Ok(())
    }

    /// Removes the task of the next candidate with all its data. Returns `false` if there is no
    /// such task.
    pub(super) fn remove_candidate(
        &mut self,
        candidate: EvictionCandidate,
    ) -> rusqlite::Result<bool> {
        self.capacity.candidates.pop_front();
        if let Some(rowid) = candidate.exhausted_row {
            let delete = "DELETE FROM finished WHERE place = ?1";
            self.connection.prepare_cached(delete)?.execute([rowid])?;
            return Ok(false);
        }
        self.remove_task(candidate.finished.task_number)
    }

    /// Removes a task with all its data. Returns `false` if there is no such task.
    pub(super) fn remove_task(&mut self, task_number: i64) -> rusqlite::Result<bool> {
        let Self { connection, capacity, finished_cache, .. } = self;
        let find = "SELECT revision, format IS NULL, caller, agent, id, context FROM tasks
             WHERE number = ?1";
        let mut find = connection.prepare_cached(find)?;
        let removed = find.query_row([task_number], |row| {
            let (owner, agent, id) = (row.get(2)?, row.get(3)?, row.get_ref(4)?.as_str()?);
            if let Ok(id) = TaskId::new(id) {
                finished_cache.remove(&TaskKey { owner, agent, id });
            }
            if let Some(contexts) = &mut capacity.contexts {
                let (owner, agent, context) = (row.get(2)?, row.get(3)?, row.get(5)?);
                contexts.remove_task(&ContextKey { owner, agent, context });
            }
            Ok((row.get(0)?, row.get(1)?))
        });
        let Some((revision, has_log)) = removed.optional()? else { return Ok(false) };
        capacity.counts.tasks -= 1;
        connection.prepare_cached("DELETE FROM tasks WHERE number = ?1")?.execute([task_number])?;
        if has_log {
            remove_log(connection, task_number, revision)?;
        }
        drop(find);
        self.remove_webhooks(task_number)?;
        Ok(true)
    }
}

impl ContextCounts {
    fn recount(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        self.task_counts.clear();
        let count = "SELECT caller, agent, context, count(*) FROM tasks GROUP BY 1, 2, 3";
        let mut count = connection.prepare(count)?;
        let mut rows = count.query([])?;
        while let Some(row) = rows.next()? {
            let (owner, agent, context) = (row.get(0)?, row.get(1)?, row.get(2)?);
            let tasks: i64 = row.get(3)?;
            self.task_counts.insert(ContextKey { owner, agent, context }, tasks.unsigned_abs());
        }
        self.stale = false;
        Ok(())
    }

    fn remove_task(&mut self, key: &ContextKey) {
        let Some(task_count) = self.task_counts.get_mut(key) else { return };
        *task_count -= 1;
        if *task_count == 0 {
            self.task_counts.remove(key);
        }
    }
}

impl ContextKey {
    fn for_task(key: &TaskKey, context: &ContextId) -> Self {
        let TaskKey { owner, agent, .. } = key;
        Self { owner: owner.clone(), agent: agent.clone(), context: context.as_str().into() }
    }
}

fn remove_log(connection: &Connection, task_number: i64, revision: i64) -> rusqlite::Result<()> {
    connection.prepare_cached("DELETE FROM snapshots WHERE task = ?1")?.execute([task_number])?;
    if revision > MAX_EVENTS_DELETED_INLINE {
        let defer = "INSERT INTO leftovers (task) VALUES (?1)";
        return connection.prepare_cached(defer)?.execute([task_number]).map(|_| ());
    }
    let delete = "DELETE FROM events WHERE place >= ?1 AND place < ?2";
    let log = params![
        event_rowid::encode(task_number, Default::default()),
        event_rowid::end_of_log(task_number)
    ];
    connection.prepare_cached(delete)?.execute(log).map(|_| ())
}
