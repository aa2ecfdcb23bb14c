//! Tasks in memory: fast, bounded, and gone with the process.

mod room;
#[cfg(test)]
mod tests;
mod webhooks;

use std::collections::VecDeque;
use std::fmt;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use hashbrown::hash_table::Entry as Slot;
use hashbrown::{DefaultHashBuilder, HashMap, HashTable};
use latimer_protocol::{ApplyError, Event, Message, Revision, Task, TaskId, Timestamp};

use self::room::Conversation;
use self::webhooks::Webhooks;
use crate::{
    Append, Error, Header, Key, Logged, Outcome, Page, Place, Query, Retention, Sent, SentKey,
    Stored, TaskStore, WebhookStore,
};

/// Keeps tasks in memory. What is kept is bounded by its [`Retention`].
pub struct Memory {
    retention: Retention,
    hasher: DefaultHashBuilder,
    shards: Vec<Mutex<HashTable<Entry>>>,
    sent: Vec<Mutex<HashMap<SentKey, Remembered>>>,
    conversations: Vec<Mutex<HashTable<Conversation>>>,
    /// Finished tasks in the order in which they make room.
    finished: Mutex<VecDeque<(Timestamp, Spot)>>,
    /// Direct answers in the order in which they are forgotten.
    answers: Mutex<VecDeque<SentKey>>,
    task_count: AtomicU64,
    conversation_count: AtomicU64,
    /// The last number that something was given.
    number: AtomicU64,
}

/// A power of two, so that many callers rarely meet, and no single map grows large enough for its
/// growth to be noticed.
const SHARDS: usize = 64;

const BACKEND: &str = "memory";

/// Where something is in its table. What was kept long ago is in no cache any more, so that to find
/// it by its names, each of them elsewhere in memory, would take several times as long.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Spot {
    hash: u64,
    /// Of all that has this hash, the one with this number.
    number: u64,
}

struct Entry {
    number: u64,
    key: Key,
    conversation: Option<Spot>,
    task: Arc<Task>,
    revision: Revision,
    header: Header,
    log: Vec<Event>,
    sent: Vec<SentKey>,
    /// Few tasks have any.
    webhooks: Option<Box<Webhooks>>,
}

struct Remembered {
    expires: Timestamp,
    came_of_it: CameOfIt,
}

enum CameOfIt {
    Task(Spot, Revision),
    Answer(Message),
}

impl Default for Memory {
    fn default() -> Self {
        Self::new(Retention::MEMORY)
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Memory").field("tasks", &self.task_count).finish_non_exhaustive()
    }
}

impl Memory {
    /// An empty store.
    #[must_use]
    pub fn new(retention: Retention) -> Self {
        fn shards<T: Default>() -> Vec<Mutex<T>> {
            (0..SHARDS).map(|_| Mutex::default()).collect()
        }
        Self {
            retention,
            hasher: DefaultHashBuilder::default(),
            shards: shards(),
            sent: shards(),
            conversations: shards(),
            finished: Mutex::default(),
            answers: Mutex::default(),
            task_count: AtomicU64::new(0),
            conversation_count: AtomicU64::new(0),
            number: AtomicU64::new(0),
        }
    }

    /// Tasks of one caller and id have one hash, whatever their agent, so that they can be found
    /// without knowing it.
    fn hash(&self, caller: &str, id: &TaskId) -> u64 {
        self.hasher.hash_one((caller, id.as_str()))
    }

    fn shard(&self, hash: u64) -> MutexGuard<'_, HashTable<Entry>> {
        lock(&self.shards[place(hash)])
    }

    fn sent_shard(&self, key: SentKey) -> MutexGuard<'_, HashMap<SentKey, Remembered>> {
        lock(&self.sent[usize::from(key.0[0]) % SHARDS])
    }

    fn create(&self, append: Append) -> Result<Revision, Error> {
        let Append { key, events, header, snapshot, sent, webhook, .. } = append;
        let task = match snapshot {
            Some(task) => task,
            None => match Task::replay(events.iter().cloned()) {
                Ok(Some(task)) => Arc::new(task),
                Ok(None) => return Err(refused("a task without events")),
                Err(error) => return Err(refused(error)),
            },
        };
        let hash = self.hash(&key.caller, &key.id);
        let conflict = |task, found| Error::Conflict { task, expected: Revision::START, found };
        if self.task_count.load(Ordering::Relaxed) >= self.retention.max_tasks {
            // Nothing makes room for a task that is there already.
            let there = self.shard(hash).find(hash, |it| it.key == key).map(|it| it.revision);
            if let Some(found) = there {
                return Err(conflict(key.id, found));
            }
        }
        self.make_room()?;
        let revision = Revision::new(events.len() as u64);
        let finished = header.state.is_terminal().then_some(header.updated);
        let spot = self.spot(hash);
        let mut shard = self.shard(hash);
        match shard.entry(hash, |it| it.key == key, |it| self.hash(&it.key.caller, &it.key.id)) {
            Slot::Occupied(there) => {
                let found = there.get().revision;
                drop(shard);
                self.task_count.fetch_sub(1, Ordering::Relaxed);
                return Err(conflict(key.id, found));
            }
            Slot::Vacant(slot) => {
                let conversation = self.join(&key, &header.context);
                let sent = sent.map(|it| it.key).into_iter().collect();
                slot.insert(Entry {
                    number: spot.number,
                    key,
                    conversation,
                    task,
                    revision,
                    header,
                    log: events,
                    sent,
                    webhooks: webhook.map(|it| Box::new(Webhooks::of(*it))),
                });
            }
        }
        drop(shard);
        self.limit_conversations();
        self.settle(spot, revision, sent, finished);
        Ok(revision)
    }

    fn extend(&self, append: Append) -> Result<Revision, Error> {
        let Append { key, expected, events, header, snapshot, sent, webhook } = append;
        let hash = self.hash(&key.caller, &key.id);
        let mut shard = self.shard(hash);
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
            None => entry.fold(&events).map_err(refused)?,
        }
        let revision = Revision::new(expected.get() + events.len() as u64);
        let finished = header.state.is_terminal().then_some(header.updated);
        entry.revision = revision;
        entry.header = header;
        entry.log.extend(events);
        entry.sent.extend(sent.map(|it| it.key));
        if let Some(webhook) = webhook {
            entry.webhooks.get_or_insert_default().add(*webhook);
        }
        let spot = Spot { hash, number: entry.number };
        drop(shard);
        self.settle(spot, revision, sent, finished);
        Ok(revision)
    }

    /// What follows from an append outside the task itself.
    fn settle(
        &self,
        spot: Spot,
        revision: Revision,
        sent: Option<Sent>,
        finished: Option<Timestamp>,
    ) {
        if let Some(Sent { key, expires }) = sent {
            let came_of_it = CameOfIt::Task(spot, revision);
            self.sent_shard(key).insert(key, Remembered { expires, came_of_it });
        }
        if let Some(at) = finished {
            lock(&self.finished).push_back((at, spot));
        }
    }

    /// What came of a message, as far as it is still there.
    fn outcome(&self, came_of_it: &CameOfIt) -> Option<Outcome> {
        match came_of_it {
            CameOfIt::Answer(message) => Some(Outcome::Message(message.clone())),
            CameOfIt::Task(spot, revision) => {
                let shard = self.shard(spot.hash);
                let entry = shard.find(spot.hash, |it| it.is_at(*spot))?;
                Some(Outcome::Task { key: entry.key.clone(), revision: *revision })
            }
        }
    }
}

#[async_trait]
impl TaskStore for Memory {
    async fn append(&self, append: Append) -> Result<Revision, Error> {
        if append.expected == Revision::START { self.create(append) } else { self.extend(append) }
    }

    async fn load(&self, key: &Key) -> Result<Option<Stored>, Error> {
        let hash = self.hash(&key.caller, &key.id);
        let shard = self.shard(hash);
        Ok(shard.find(hash, |it| it.key == *key).map(Entry::stored))
    }

    async fn events(&self, key: &Key, after: Revision, limit: usize) -> Result<Vec<Logged>, Error> {
        let hash = self.hash(&key.caller, &key.id);
        let shard = self.shard(hash);
        let Some(entry) = shard.find(hash, |it| it.key == *key) else { return Ok(Vec::new()) };
        let seen = usize::try_from(after.get()).unwrap_or(usize::MAX);
        let numbers = (1..).map(Revision::new);
        let events = entry.log.iter().zip(numbers).skip(seen).take(limit);
        Ok(events.map(|(event, revision)| Logged { revision, event: event.clone() }).collect())
    }

    async fn locate(&self, caller: &str, id: &TaskId) -> Result<Vec<Arc<str>>, Error> {
        let hash = self.hash(caller, id);
        let shard = self.shard(hash);
        let named =
            shard.iter_hash(hash).filter(|it| *it.key.caller == *caller && it.key.id == *id);
        Ok(named.map(|it| it.key.agent.clone()).collect())
    }

    /// Looks at every task: there are not many.
    async fn list(&self, query: &Query) -> Result<Page, Error> {
        let mut found: Vec<(Place, Arc<Task>)> = Vec::new();
        for shard in &self.shards {
            let shard = lock(shard);
            let wanted = shard.iter().filter(|it| it.answers(query));
            found.extend(wanted.map(|it| (it.place(), it.task.clone())));
        }
        found.sort_unstable_by(|(a, _), (b, _)| b.cmp(a));
        let total = found.len() as u64;
        let behind = |place: &Place| query.behind.as_ref().is_none_or(|it| place < it);
        let mut rest = found.into_iter().filter(|(place, _)| behind(place));
        let page: Vec<_> = rest.by_ref().take(query.limit).collect();
        let more = rest.next().is_some();
        let next = page.last().filter(|_| more).map(|(place, _)| place.clone());
        Ok(Page { tasks: page.into_iter().map(|(_, task)| task).collect(), next, total })
    }

    async fn sent(&self, key: &SentKey, now: Timestamp) -> Result<Option<Outcome>, Error> {
        let shard = self.sent_shard(*key);
        let known = shard.get(key).filter(|it| it.expires > now);
        Ok(known.and_then(|it| self.outcome(&it.came_of_it)))
    }

    async fn remember(&self, sent: Sent, answer: &Message) -> Result<(), Error> {
        let came_of_it = CameOfIt::Answer(answer.clone());
        let remembered = Remembered { expires: sent.expires, came_of_it };
        self.sent_shard(sent.key).insert(sent.key, remembered);
        let mut answers = lock(&self.answers);
        answers.push_back(sent.key);
        let surplus = (answers.len() as u64).saturating_sub(self.retention.max_tasks);
        let oldest: Vec<_> = (0..surplus).filter_map(|_| answers.pop_front()).collect();
        drop(answers);
        for key in oldest {
            self.sent_shard(key).remove(&key);
        }
        Ok(())
    }

    /// What another process had in memory is gone with it.
    async fn take_abandoned(&self, _limit: usize) -> Result<Vec<Stored>, Error> {
        Ok(Vec::new())
    }

    async fn sweep(&self, now: Timestamp) -> Result<u64, Error> {
        let age = i64::try_from(self.retention.max_age.as_millis()).unwrap_or(i64::MAX);
        let oldest = now.as_millis().saturating_sub(age);
        let mut removed = 0;
        loop {
            let next = lock(&self.finished).pop_front_if(|(at, _)| at.as_millis() <= oldest);
            let Some((_, spot)) = next else { break };
            self.remove(spot);
            removed += 1;
        }
        for shard in &self.sent {
            lock(shard).retain(|_, it| it.expires > now);
        }
        Ok(removed)
    }

    fn webhooks(&self) -> &dyn WebhookStore {
        self
    }

    fn retention(&self) -> &Retention {
        &self.retention
    }

    fn name(&self) -> &'static str {
        BACKEND
    }
}

impl Entry {
    fn is_at(&self, spot: Spot) -> bool {
        self.number == spot.number
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

    fn stored(&self) -> Stored {
        Stored {
            key: self.key.clone(),
            task: self.task.clone(),
            revision: self.revision,
            header: self.header.clone(),
        }
    }

    fn place(&self) -> Place {
        let Self { key, header, .. } = self;
        Place { updated: header.updated, id: key.id.clone(), agent: key.agent.clone() }
    }

    fn answers(&self, query: &Query) -> bool {
        let Self { key, header, .. } = self;
        key.caller == query.caller
            && query.agent.as_ref().is_none_or(|it| key.agent == *it)
            && !query.except.contains(&key.agent)
            && query.context.as_ref().is_none_or(|it| header.context == *it)
            && query.state.is_none_or(|it| header.state == it)
            && query.updated_since.is_none_or(|it| header.updated >= it)
    }
}

fn place(hash: u64) -> usize {
    // The low bits choose a slot within a map; the high ones choose the map.
    (hash >> 32) as usize % SHARDS
}

/// No lock is held where anything could panic with half a change made.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An append that no engine should make.
fn refused(why: impl Into<crate::BoxError>) -> Error {
    Error::Unavailable { backend: BACKEND, source: why.into() }
}
