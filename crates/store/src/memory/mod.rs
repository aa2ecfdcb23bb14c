//! Tasks in memory: fast, bounded, and gone with the process.

mod eviction;
#[cfg(test)]
mod tests;
mod webhooks;

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry as Slot;
use latimer_protocol::{ApplyError, Event, Message, Revision, Task, TaskId, Timestamp};

use self::eviction::ContextEntry;
use self::webhooks::TaskWebhooks;
use crate::sync::{Sharded, ShardedMap, lock_unpoisoned};
use crate::{
    Append, Error, IdempotencyKey, IdempotencyRecord, ListCursor, LoggedEvent, PriorOutcome,
    Retention, StoredTask, TaskHeader, TaskKey, TaskPage, TaskQuery, TaskStore, WebhookStore,
};

/// Keeps tasks in memory. What is kept is bounded by its [`Retention`].
pub struct MemoryStore {
    retention: Retention,
    /// Tables and not maps: an entry is also found by its [`EntryRef`], and the tasks of all agents
    /// of one owner and id by one hash.
    tasks: Sharded<HashTable<TaskEntry>, SHARDS>,
    contexts: Sharded<HashTable<ContextEntry>, SHARDS>,
    idempotency: ShardedMap<IdempotencyKey, IdempotencyEntry, SHARDS>,
    /// Finished tasks in the order in which they make room.
    finished: Mutex<VecDeque<(Timestamp, EntryRef)>>,
    /// Direct answers in the order in which they are forgotten.
    direct_replies: Mutex<VecDeque<IdempotencyKey>>,
    task_count: AtomicU64,
    context_count: AtomicU64,
    /// The last number that something was given.
    next_entry_id: AtomicU64,
}

const SHARDS: usize = 64;

const BACKEND: &str = "memory";

/// Where something is in its table. What was kept long ago is in no cache any more, so that to find
/// it by its names, each of them elsewhere in memory, would take several times as long.
#[derive(Clone, Copy, PartialEq, Eq)]
struct EntryRef {
    hash: u64,
    /// Of all that has this hash, the one with this number.
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
    /// Few tasks have any.
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
        out.debug_struct("Memory").field("tasks", &self.task_count).finish_non_exhaustive()
    }
}

impl MemoryStore {
    /// An empty store.
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

    /// Tasks of one caller and id have one hash, whatever their agent, so that they can be found
    /// without knowing it.
    fn hash(&self, owner: &str, id: &TaskId) -> u64 {
        self.tasks.hash(&(owner, id.as_str()))
    }

    fn create(&self, append: Append) -> Result<Revision, Error> {
        let Append { key, events, header, snapshot, idempotency, webhook, .. } = append;
        let task = match snapshot {
            Some(task) => task,
            None => match Task::replay(events.iter().cloned()) {
                Ok(Some(task)) => Arc::new(task),
                Ok(None) => return Err(invalid_append("a task without events")),
                Err(error) => return Err(invalid_append(error)),
            },
        };
        let hash = self.hash(&key.owner, &key.id);
        let conflict = |task, found| Error::Conflict { task, expected: Revision::START, found };
        if self.task_count.load(Ordering::Relaxed) >= self.retention.max_tasks {
            // Nothing makes room for a task that is there already.
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

    /// What follows from an append outside the task itself.
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
            lock_unpoisoned(&self.finished).push_back((at, entry_ref));
        }
    }

    /// What came of a message, as far as it is still there.
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

    /// Looks at every task: there are not many.
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
        let mut direct_replies = lock_unpoisoned(&self.direct_replies);
        direct_replies.push_back(record.key);
        let surplus = (direct_replies.len() as u64).saturating_sub(self.retention.max_tasks);
        let oldest: Vec<_> = (0..surplus).filter_map(|_| direct_replies.pop_front()).collect();
        drop(direct_replies);
        for key in oldest {
            self.idempotency.entry(&key).remove();
        }
        Ok(())
    }

    /// What another process had in memory is gone with it.
    async fn claim_abandoned(&self, _limit: usize) -> Result<Vec<StoredTask>, Error> {
        Ok(Vec::new())
    }

    async fn sweep(&self, now: Timestamp) -> Result<u64, Error> {
        let age = i64::try_from(self.retention.max_age.as_millis()).unwrap_or(i64::MAX);
        let cutoff = now.as_millis().saturating_sub(age);
        let mut removed = 0;
        loop {
            let next =
                lock_unpoisoned(&self.finished).pop_front_if(|(at, _)| at.as_millis() <= cutoff);
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

    /// Folds events into the task; all of them or, when one is refused, none.
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
            && query.agent.as_ref().is_none_or(|it| key.agent == *it)
            && !query.excluded_agents.contains(&key.agent)
            && query.context.as_ref().is_none_or(|it| header.context == *it)
            && query.state.is_none_or(|it| header.state == it)
            && query.status_changed_since.is_none_or(|it| header.status_changed_at >= it)
    }
}

/// An append that no engine should make.
fn invalid_append(source: impl Into<crate::BoxError>) -> Error {
    Error::Unavailable { backend: BACKEND, source: source.into() }
}
