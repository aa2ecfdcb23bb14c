//! Tasks in memory: fast, bounded, and gone with the process.

use std::collections::VecDeque;
use std::fmt;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use hashbrown::hash_table::Entry as Slot;
use hashbrown::{DefaultHashBuilder, HashMap, HashTable};
use latimer_protocol::{ContextId, Event, Message, Revision, Task, TaskId, Timestamp};

use crate::{
    Append, Error, Header, Key, Logged, Outcome, Page, Place, Query, Retention, Sent, SentKey,
    Stored, TaskStore,
};

/// Keeps tasks in memory. What is kept is bounded by its [`Retention`].
pub struct Memory {
    retention: Retention,
    hasher: DefaultHashBuilder,
    shards: Vec<Mutex<HashTable<Entry>>>,
    sent: Vec<Mutex<HashMap<SentKey, Remembered>>>,
    contexts: Vec<Mutex<HashMap<Conversation, u64>>>,
    /// Finished tasks in the order in which they make room.
    finished: Mutex<VecDeque<(Timestamp, Key)>>,
    /// Direct answers in the order in which they are forgotten.
    answers: Mutex<VecDeque<SentKey>>,
    tasks: AtomicU64,
    conversations: AtomicU64,
}

/// A power of two, so that many callers rarely meet, and no single map grows large enough for its
/// growth to be noticed.
const SHARDS: usize = 64;

const BACKEND: &str = "memory";

struct Entry {
    key: Key,
    task: Arc<Task>,
    revision: Revision,
    header: Header,
    log: Vec<Event>,
    sent: Vec<SentKey>,
}

struct Remembered {
    expires: Timestamp,
    outcome: Outcome,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Conversation {
    caller: Arc<str>,
    agent: Arc<str>,
    context: ContextId,
}

impl Default for Memory {
    fn default() -> Self {
        Self::new(Retention::MEMORY)
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Memory").field("tasks", &self.tasks).finish_non_exhaustive()
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
            contexts: shards(),
            finished: Mutex::default(),
            answers: Mutex::default(),
            tasks: AtomicU64::new(0),
            conversations: AtomicU64::new(0),
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
        let Append { key, events, header, snapshot, sent, .. } = append;
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
        if self.tasks.load(Ordering::Relaxed) >= self.retention.max_tasks {
            // Nothing makes room for a task that is there already.
            let there = self.shard(hash).find(hash, |it| it.key == key).map(|it| it.revision);
            if let Some(found) = there {
                return Err(conflict(key.id, found));
            }
        }
        self.make_room()?;
        let revision = Revision::new(events.len() as u64);
        let finished = header.state.is_terminal().then_some(header.updated);
        let context = header.context.clone();
        let mut shard = self.shard(hash);
        match shard.entry(hash, |it| it.key == key, |it| self.hash(&it.key.caller, &it.key.id)) {
            Slot::Occupied(there) => {
                let found = there.get().revision;
                drop(shard);
                self.tasks.fetch_sub(1, Ordering::Relaxed);
                return Err(conflict(key.id, found));
            }
            Slot::Vacant(slot) => {
                let sent = sent.map(|it| it.key).into_iter().collect();
                slot.insert(Entry { key: key.clone(), task, revision, header, log: events, sent });
            }
        }
        drop(shard);
        self.join(&key, context);
        self.settle(key, revision, sent, finished);
        Ok(revision)
    }

    fn extend(&self, append: Append) -> Result<Revision, Error> {
        let Append { key, expected, events, header, snapshot, sent } = append;
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
            None => {
                let mut events = events.iter().cloned();
                let task = Arc::make_mut(&mut entry.task);
                events.try_for_each(|event| task.apply(event)).map_err(refused)?;
            }
        }
        let revision = Revision::new(expected.get() + events.len() as u64);
        let finished = header.state.is_terminal().then_some(header.updated);
        entry.revision = revision;
        entry.header = header;
        entry.log.extend(events);
        entry.sent.extend(sent.map(|it| it.key));
        drop(shard);
        self.settle(key, revision, sent, finished);
        Ok(revision)
    }

    /// What follows from an append outside the task itself.
    fn settle(
        &self,
        key: Key,
        revision: Revision,
        sent: Option<Sent>,
        finished: Option<Timestamp>,
    ) {
        if let Some(Sent { key: sent, expires }) = sent {
            let outcome = Outcome::Task { key: key.clone(), revision };
            self.sent_shard(sent).insert(sent, Remembered { expires, outcome });
        }
        if let Some(at) = finished {
            lock(&self.finished).push_back((at, key));
        }
    }

    /// Counts one more task, and removes finished ones until it fits.
    fn make_room(&self) -> Result<(), Error> {
        let limit = self.retention.max_tasks;
        let tasks = self.tasks.fetch_add(1, Ordering::Relaxed) + 1;
        for _ in limit..tasks {
            if !self.remove_oldest() {
                self.tasks.fetch_sub(1, Ordering::Relaxed);
                return Err(Error::Full { tasks: tasks - 1 });
            }
        }
        Ok(())
    }

    /// Counts a task in its conversation, and removes the conversations that were quiet for longest
    /// until there are not too many.
    fn join(&self, key: &Key, context: ContextId) {
        let limit = self.retention.max_contexts;
        if limit == 0 {
            return;
        }
        let conversation = Conversation::of(key, context);
        let mut there = self.conversation_shard(&conversation);
        let tasks = there.entry(conversation).or_insert(0);
        *tasks += 1;
        let is_new = *tasks == 1;
        drop(there);
        if is_new && self.conversations.fetch_add(1, Ordering::Relaxed) >= limit {
            while self.conversations.load(Ordering::Relaxed) > limit && self.remove_oldest() {}
        }
    }

    fn leave(&self, key: &Key, context: ContextId) {
        let conversation = Conversation::of(key, context);
        let mut there = self.conversation_shard(&conversation);
        let Some(tasks) = there.get_mut(&conversation) else { return };
        *tasks -= 1;
        if *tasks == 0 {
            there.remove(&conversation);
            self.conversations.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn conversation_shard(
        &self,
        conversation: &Conversation,
    ) -> MutexGuard<'_, HashMap<Conversation, u64>> {
        lock(&self.contexts[place(self.hasher.hash_one(conversation))])
    }

    /// Removes the task that finished first; false when none is finished.
    fn remove_oldest(&self) -> bool {
        let oldest = lock(&self.finished).pop_front();
        oldest.map(|(_, key)| self.remove(&key)).is_some()
    }

    fn remove(&self, key: &Key) {
        let hash = self.hash(&key.caller, &key.id);
        let removed = match self.shard(hash).find_entry(hash, |it| it.key == *key) {
            Ok(entry) => entry.remove().0,
            Err(_) => return,
        };
        self.tasks.fetch_sub(1, Ordering::Relaxed);
        self.leave(key, removed.header.context);
        for sent in removed.sent {
            self.sent_shard(sent).remove(&sent);
        }
    }
}

impl Conversation {
    fn of(key: &Key, context: ContextId) -> Self {
        Self { caller: key.caller.clone(), agent: key.agent.clone(), context }
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
        Ok(known.map(|it| it.outcome.clone()))
    }

    async fn remember(&self, sent: Sent, answer: &Message) -> Result<(), Error> {
        let outcome = Outcome::Message(answer.clone());
        let remembered = Remembered { expires: sent.expires, outcome };
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
            let Some((_, key)) = next else { break };
            self.remove(&key);
            removed += 1;
        }
        for shard in &self.sent {
            lock(shard).retain(|_, it| it.expires > now);
        }
        Ok(removed)
    }

    fn retention(&self) -> &Retention {
        &self.retention
    }

    fn name(&self) -> &'static str {
        BACKEND
    }
}

impl Entry {
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
