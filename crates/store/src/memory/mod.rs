//! Memory backend: bounded, and lost when the process ends.
//!
//! | module | contents |
//! | --- | --- |
//! | `eviction` | removal of finished tasks for new tasks and contexts |
//! | `webhooks` | webhooks and dead letters |

mod eviction;
#[cfg(test)]
mod tests;
mod webhooks;

use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry as Slot;
use latimer_protocol::{ApplyError, Event, Message, Revision, Task, TaskId, Timestamp};
use parking_lot::Mutex;

use self::eviction::ContextEntry;
use self::webhooks::TaskWebhooks;
use crate::sync::{Sharded, ShardedMap};
use crate::{
    Append, Error, IdempotencyKey, IdempotencyRecord, InterruptedTasks, ListCursor, LoggedEvent,
    PendingWork, PriorOutcome, Retention, StoredTask, TaskHeader, TaskKey, TaskPage, TaskQuery,
    TaskStore, WebhookStore,
};

/// Task store in memory, bounded by its [`Retention`]. Tasks are lost when the process ends.
///
/// ```
/// # use latimer_store::{MemoryStore, Retention, TaskStore};
/// let store = MemoryStore::new(Retention { max_tasks: 100, ..Retention::DEFAULT_MEMORY });
/// assert_eq!(store.backend_name(), "memory");
/// ```
pub struct MemoryStore {
    retention: Retention,
    /// Tables and not maps: an entry is also found by its [`EntryRef`], and the tasks of all agents
    /// of one owner and id by one hash.
    tasks: Sharded<HashTable<TaskEntry>, SHARDS>,
    contexts: Sharded<HashTable<ContextEntry>, SHARDS>,
    idempotency: ShardedMap<IdempotencyKey, IdempotencyEntry, SHARDS>,
    /// Finished tasks in eviction order.
    finished: Mutex<VecDeque<(Timestamp, EntryRef)>>,
    /// Keys of direct replies in eviction order.
    direct_replies: Mutex<VecDeque<IdempotencyKey>>,
    task_count: AtomicU64,
    context_count: AtomicU64,
    /// Id of the next entry.
    next_entry_id: AtomicU64,
}

const SHARDS: usize = 64;

const BACKEND: &str = "memory";

/// Reference to an entry of a hash table. Looking up an old entry by its key instead would take
/// several times as long, because the strings of the key are separate allocations outside the
/// processor's cache.
#[derive(Clone, Copy, PartialEq, Eq)]
struct EntryRef {
    hash: u64,
    /// Distinguishes entries with the same hash.
    id: u64,
}

struct TaskEntry {
    entry_id: u64,
    key: TaskKey,
    context_entry: Option<EntryRef>,
    task: Arc<Task>,
    revision: Revision,
    header: TaskHeader,
    log: Vec<Event>,
    idempotency_keys: Vec<IdempotencyKey>,
    /// Boxed because few tasks have webhooks.
    webhooks: Option<Box<TaskWebhooks>>,
}

struct IdempotencyEntry {
    expires_at: Timestamp,
    outcome: RecordedOutcome,
}

enum RecordedOutcome {
    Task(EntryRef, Revision),
    DirectReply(Message),
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new(Retention::DEFAULT_MEMORY)
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("MemoryStore").field("tasks", &self.task_count).finish_non_exhaustive()
    }
}

impl MemoryStore {
    /// Creates an empty store.
    #[must_use]
    pub fn new(retention: Retention) -> Self {
        Self {
            retention,
            tasks: Sharded::default(),
            contexts: Sharded::default(),
            idempotency: ShardedMap::default(),
            finished: Mutex::default(),
            direct_replies: Mutex::default(),
            task_count: AtomicU64::new(0),
            context_count: AtomicU64::new(0),
            next_entry_id: AtomicU64::new(0),
        }
    }

    /// Hashes owner and id of a task without its agent, so that one hash finds the tasks of all agents
    /// with this owner and id.
    fn hash(&self, owner: &str, id: &TaskId) -> u64 {
        self.tasks.hash(&(owner, id.as_str()))
    }

    fn create(&self, append: Append) -> Result<Revision, Error> {
        let Append { key, events, header, snapshot, idempotency, webhook, .. } = append;
        let task = match snapshot {
            Some(task) => task,
            None => match Task::replay(events.iter().cloned()) {
                Ok(Some(task)) => Arc::new(task),
                Ok(None) => return Err(invalid_append("append contains no events")),
                Err(error) => return Err(invalid_append(error)),
            },
        };
        let hash = self.hash(&key.owner, &key.id);
        let conflict = |task, found| Error::Conflict { task, expected: Revision::START, found };
        if self.task_count.load(Ordering::Relaxed) >= self.retention.max_tasks {
            // A task that exists already must not evict another one.
            let existing_revision =
                self.tasks.lock(hash).find(hash, |it| it.key == key).map(|it| it.revision);
            if let Some(found) = existing_revision {
                return Err(conflict(key.id, found));
            }
        }
        self.evict_for_new_task()?;
        let revision = Revision::new(events.len() as u64);
        let finished = header.state.is_terminal().then_some(header.status_changed_at);
        let entry_ref = self.new_entry_ref(hash);
        let mut shard = self.tasks.lock(hash);
        match shard.entry(hash, |it| it.key == key, |it| self.hash(&it.key.owner, &it.key.id)) {
            Slot::Occupied(existing) => {
                let found = existing.get().revision;
                drop(shard);
                self.task_count.fetch_sub(1, Ordering::Relaxed);
                return Err(conflict(key.id, found));
            }
            Slot::Vacant(slot) => {
                let context_entry = self.add_to_context(&key, &header.context);
                let idempotency_keys = idempotency.map(|it| it.key).into_iter().collect();
                slot.insert(TaskEntry {
                    entry_id: entry_ref.id,
                    key,
                    context_entry,
                    task,
                    revision,
                    header,
                    log: events,
                    idempotency_keys,
                    webhooks: webhook.map(|it| Box::new(TaskWebhooks::from_webhook(*it))),
                });
            }
        }
        drop(shard);
        self.evict_excess_contexts();
        self.record_side_effects(entry_ref, revision, idempotency, finished);
        Ok(revision)
    }

    fn extend(&self, append: Append) -> Result<Revision, Error> {
        let Append { key, expected, events, header, snapshot, idempotency, webhook } = append;
        let hash = self.hash(&key.owner, &key.id);
        let mut shard = self.tasks.lock(hash);
        let Some(entry) = shard.find_mut(hash, |it| it.key == key) else {
            return Err(Error::Conflict { task: key.id, expected, found: Revision::START });
        };
        if entry.header.state.is_terminal() {
            return Err(Error::Finished { task: key.id, state: entry.header.state });
        }
        if entry.revision != expected {
            return Err(Error::Conflict { task: key.id, expected, found: entry.revision });
        }
        match snapshot {
            Some(task) => entry.task = task,
            None => entry.fold(&events).map_err(invalid_append)?,
        }
        let revision = Revision::new(expected.get() + events.len() as u64);
        let finished = header.state.is_terminal().then_some(header.status_changed_at);
        entry.revision = revision;
        entry.header = header;
        entry.log.extend(events);
        entry.idempotency_keys.extend(idempotency.map(|it| it.key));
        if let Some(webhook) = webhook {
            entry.webhooks.get_or_insert_default().add(*webhook);
        }
        let entry_ref = EntryRef { hash, id: entry.entry_id };
        drop(shard);
        self.record_side_effects(entry_ref, revision, idempotency, finished);
        Ok(revision)
    }

    /// Updates the idempotency records and the eviction order after an append.
    fn record_side_effects(
        &self,
        entry_ref: EntryRef,
        revision: Revision,
        idempotency: Option<IdempotencyRecord>,
        finished: Option<Timestamp>,
    ) {
        if let Some(IdempotencyRecord { key, expires_at }) = idempotency {
            let outcome = RecordedOutcome::Task(entry_ref, revision);
            self.idempotency.entry(&key).insert(key, IdempotencyEntry { expires_at, outcome });
        }
        if let Some(at) = finished {
            self.finished.lock().push_back((at, entry_ref));
        }
    }

    /// Resolves a recorded outcome; `None` if its task was removed.
    fn resolve_outcome(&self, recorded: &RecordedOutcome) -> Option<PriorOutcome> {
        match recorded {
            RecordedOutcome::DirectReply(message) => {
                Some(PriorOutcome::DirectReply(message.clone()))
            }
            RecordedOutcome::Task(entry_ref, revision) => {
                let shard = self.tasks.lock(entry_ref.hash);
                let entry = shard.find(entry_ref.hash, |it| it.is_referenced_by(*entry_ref))?;
                Some(PriorOutcome::Task { key: entry.key.clone(), revision: *revision })
            }
        }
    }
}

#[async_trait]
impl TaskStore for MemoryStore {
    async fn append(&self, append: Append) -> Result<Revision, Error> {
        if append.expected == Revision::START { self.create(append) } else { self.extend(append) }
    }

    async fn load(&self, key: &TaskKey) -> Result<Option<StoredTask>, Error> {
        let hash = self.hash(&key.owner, &key.id);
        let shard = self.tasks.lock(hash);
        Ok(shard.find(hash, |it| it.key == *key).map(TaskEntry::to_stored_task))
    }

    async fn events(
        &self,
        key: &TaskKey,
        after: Revision,
        limit: usize,
    ) -> Result<Vec<LoggedEvent>, Error> {
        let hash = self.hash(&key.owner, &key.id);
        let shard = self.tasks.lock(hash);
        let Some(entry) = shard.find(hash, |it| it.key == *key) else { return Ok(Vec::new()) };
        let skipped = usize::try_from(after.get()).unwrap_or(usize::MAX);
        let revisions = (1..).map(Revision::new);
        let events = entry.log.iter().zip(revisions).skip(skipped).take(limit);
        Ok(events.map(|(event, revision)| LoggedEvent { revision, event: event.clone() }).collect())
    }

    async fn find_agents(&self, owner: &str, id: &TaskId) -> Result<Vec<Arc<str>>, Error> {
        let hash = self.hash(owner, id);
        let shard = self.tasks.lock(hash);
        let matching =
            shard.iter_hash(hash).filter(|it| *it.key.owner == *owner && it.key.id == *id);
        Ok(matching.map(|it| it.key.agent.clone()).collect())
    }

    /// Scans all tasks, of which a memory store has few.
    async fn list(&self, query: &TaskQuery) -> Result<TaskPage, Error> {
        let mut matches: Vec<(ListCursor, Arc<Task>)> = Vec::new();
        for shard in self.tasks.lock_each() {
            let matching = shard.iter().filter(|it| it.matches(query));
            matches.extend(matching.map(|it| (it.cursor(), it.task.clone())));
        }
        matches.sort_unstable_by(|(a, _), (b, _)| b.cmp(a));
        let total = matches.len() as u64;
        let is_after = |cursor: &ListCursor| query.after.as_ref().is_none_or(|it| cursor < it);
        let mut remaining = matches.into_iter().filter(|(cursor, _)| is_after(cursor));
        let page: Vec<_> = remaining.by_ref().take(query.limit).collect();
        let more = remaining.next().is_some();
        let next = page.last().filter(|_| more).map(|(cursor, _)| cursor.clone());
        Ok(TaskPage { tasks: page.into_iter().map(|(_, task)| task).collect(), next, total })
    }

    async fn find_prior_outcome(
        &self,
        key: &IdempotencyKey,
        now: Timestamp,
    ) -> Result<Option<PriorOutcome>, Error> {
        let entry = self.idempotency.entry(key);
        let unexpired = entry.get().filter(|it| it.expires_at > now);
        Ok(unexpired.and_then(|it| self.resolve_outcome(&it.outcome)))
    }

    async fn record_direct_reply(
        &self,
        record: IdempotencyRecord,
        reply: &Message,
    ) -> Result<(), Error> {
        let outcome = RecordedOutcome::DirectReply(reply.clone());
        let entry = IdempotencyEntry { expires_at: record.expires_at, outcome };
        self.idempotency.entry(&record.key).insert(record.key, entry);
        let mut direct_replies = self.direct_replies.lock();
        direct_replies.push_back(record.key);
        let surplus = (direct_replies.len() as u64).saturating_sub(self.retention.max_tasks);
        let oldest: Vec<_> = (0..surplus).filter_map(|_| direct_replies.pop_front()).collect();
        drop(direct_replies);
        for key in oldest {
            self.idempotency.entry(&key).remove();
        }
        Ok(())
    }

    async fn retract(
        &self,
        key: &TaskKey,
        expected: Revision,
        reply: Option<(IdempotencyRecord, &Message)>,
    ) -> Result<(), Error> {
        let hash = self.hash(&key.owner, &key.id);
        let conflict = |found| Error::Conflict { task: key.id.clone(), expected, found };
        let removed = match self.tasks.lock(hash).find_entry(hash, |it| it.key == *key) {
            Ok(entry) if entry.get().is_held() && entry.get().revision == expected => {
                entry.remove().0
            }
            Ok(entry) => return Err(conflict(entry.get().revision)),
            Err(_) => return Err(conflict(Revision::START)),
        };
        self.forget(removed);
        match reply {
            Some((record, reply)) => self.record_direct_reply(record, reply).await,
            None => Ok(()),
        }
    }

    /// Returns zero: the tasks of an ended process are lost.
    async fn count_abandoned(&self) -> Result<u64, Error> {
        Ok(0)
    }

    /// Returns `None`: the tasks of an ended process are lost.
    async fn claim(&self, _key: &TaskKey) -> Result<Option<StoredTask>, Error> {
        Ok(None)
    }

    /// Returns an empty list: the tasks of an ended process are lost.
    async fn claim_abandoned(&self, _limit: usize) -> Result<Vec<StoredTask>, Error> {
        Ok(Vec::new())
    }

    /// Scans all tasks, of which a memory store has few.
    async fn list_interrupted(
        &self,
        idle_since: Timestamp,
        limit: usize,
    ) -> Result<InterruptedTasks, Error> {
        let mut interrupted = Vec::new();
        let mut counts: HashMap<Arc<str>, u64> = HashMap::new();
        for shard in self.tasks.lock_each() {
            for entry in shard.iter().filter(|it| it.header.state.is_interrupted()) {
                *counts.entry(entry.key.owner.clone()).or_default() += 1;
                interrupted.push((entry.header.status_changed_at, entry.key.clone()));
            }
        }
        let total = interrupted.len() as u64;
        interrupted.retain(|(at, _)| *at <= idle_since);
        interrupted.sort_unstable_by_key(|(at, key)| (Reverse(counts[&key.owner]), *at));
        let tasks = interrupted.into_iter().take(limit).map(|(_, key)| key).collect();
        Ok(InterruptedTasks { total, tasks })
    }

    async fn sweep(&self, now: Timestamp) -> Result<u64, Error> {
        let age = i64::try_from(self.retention.max_age.as_millis()).unwrap_or(i64::MAX);
        let cutoff = now.as_millis().saturating_sub(age);
        let mut removed = 0;
        loop {
            let next = self.finished.lock().pop_front_if(|(at, _)| at.as_millis() <= cutoff);
            let Some((_, entry_ref)) = next else { break };
            self.remove(entry_ref);
            removed += 1;
        }
        self.idempotency.retain(|_, it| it.expires_at > now);
        Ok(removed)
    }

    fn webhooks(&self) -> &dyn WebhookStore {
        self
    }

    fn retention(&self) -> &Retention {
        &self.retention
    }

    fn backend_name(&self) -> &'static str {
        BACKEND
    }
}

impl TaskEntry {
    fn is_referenced_by(&self, entry_ref: EntryRef) -> bool {
        self.entry_id == entry_ref.id
    }

    /// Applies events to the task; if one is rejected, restores the task.
    fn fold(&mut self, events: &[Event]) -> Result<(), ApplyError> {
        let task = Arc::make_mut(&mut self.task);
        let folded = events.iter().cloned().try_for_each(|event| task.apply(event));
        if folded.is_err()
            && let Ok(Some(before)) = Task::replay(self.log.iter().cloned())
        {
            *task = before;
        }
        folded
    }

    fn is_held(&self) -> bool {
        self.header.pending_work == PendingWork::Held
    }

    fn to_stored_task(&self) -> StoredTask {
        StoredTask {
            key: self.key.clone(),
            task: self.task.clone(),
            revision: self.revision,
            header: self.header.clone(),
        }
    }

    fn cursor(&self) -> ListCursor {
        let Self { key, header, .. } = self;
        ListCursor {
            status_changed_at: header.status_changed_at,
            id: key.id.clone(),
            agent: key.agent.clone(),
        }
    }

    fn matches(&self, query: &TaskQuery) -> bool {
        let Self { key, header, .. } = self;
        key.owner == query.owner
            && !self.is_held()
            && query.agent.as_ref().is_none_or(|it| key.agent == *it)
            && !query.excluded_agents.contains(&key.agent)
            && query.context.as_ref().is_none_or(|it| header.context == *it)
            && query.state.is_none_or(|it| header.state == it)
            && query.status_changed_since.is_none_or(|it| header.status_changed_at >= it)
    }
}

/// Returns the error of an inconsistent append, which is a bug of the caller.
fn invalid_append(source: impl Into<crate::BoxError>) -> Error {
    Error::Unavailable { backend: BACKEND, source: source.into() }
}
