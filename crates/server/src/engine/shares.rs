//! What each caller has going on, so that nobody has so much that nothing is left for the others.
//!
//! Callers that did not say who they are have no share: they are anybody, and only what holds for
//! all together holds for them.

use std::collections::HashSet;
use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hashbrown::{DefaultHashBuilder, HashMap};
use latimer_protocol::{Error, ErrorKind, TaskId};
use latimer_store::TaskKey;

/// What one caller can have at the same time. Whoever did not say who they are is not one caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PerCaller {
    /// Tasks that are not over. Those that a former process left waiting for their callers do not
    /// count.
    pub tasks: usize,
    /// Streams that are open.
    pub streams: usize,
}

impl Default for PerCaller {
    fn default() -> Self {
        Self { tasks: 1_000, streams: 1_000 }
    }
}

/// What each caller has going on.
#[derive(Debug)]
pub(super) struct Shares {
    limits: PerCaller,
    hasher: DefaultHashBuilder,
    shards: Vec<Mutex<Shard>>,
}

type Shard = HashMap<Arc<str>, Share>;

const SHARDS: usize = 16;

/// What one caller has going on.
#[derive(Debug, Default)]
struct Share {
    /// Tasks that are not over, by agent and id.
    tasks: HashSet<(Arc<str>, TaskId)>,
    streams: usize,
}

impl Shares {
    pub(super) fn new(limits: PerCaller) -> Self {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Self { limits, hasher: DefaultHashBuilder::default(), shards }
    }

    /// Counts a task that is about to be made.
    ///
    /// # Errors
    /// [`ErrorKind::RateLimited`] when its caller has as many as may be.
    pub(super) fn begin(&self, key: &TaskKey) -> Result<(), Error> {
        let Some(mut shard) = self.shard(&key.owner) else { return Ok(()) };
        let share = shard.entry(key.owner.clone()).or_default();
        let room = one_more(share.tasks.len(), self.limits.tasks, "tasks are going on; end one");
        if room.is_ok() {
            share.tasks.insert((key.agent.clone(), key.id.clone()));
        }
        tidy(&mut shard, &key.owner);
        room
    }

    /// Counts a task that was made before, however many there are.
    pub(super) fn add(&self, key: &TaskKey) {
        let Some(mut shard) = self.shard(&key.owner) else { return };
        let share = shard.entry(key.owner.clone()).or_default();
        share.tasks.insert((key.agent.clone(), key.id.clone()));
    }

    /// Counts a task no more: it is over, or did not come to be.
    pub(super) fn end(&self, key: &TaskKey) {
        let Some(mut shard) = self.shard(&key.owner) else { return };
        if let Some(share) = shard.get_mut(&key.owner) {
            share.tasks.remove(&(key.agent.clone(), key.id.clone()));
        }
        tidy(&mut shard, &key.owner);
    }

    /// Counts a stream until what is returned is dropped.
    ///
    /// # Errors
    /// [`ErrorKind::RateLimited`] when its caller has as many as may be.
    pub(super) fn open(self: &Arc<Self>, caller: &Arc<str>) -> Result<OpenShare, Error> {
        if let Some(mut shard) = self.shard(caller) {
            let share = shard.entry(caller.clone()).or_default();
            let room = one_more(share.streams, self.limits.streams, "streams are open; close one");
            if room.is_ok() {
                share.streams += 1;
            }
            tidy(&mut shard, caller);
            room?;
        }
        Ok(OpenShare { shares: Arc::clone(self), caller: caller.clone() })
    }

    /// Where the share of a caller is; nowhere when the caller is anybody.
    fn shard(&self, caller: &str) -> Option<MutexGuard<'_, Shard>> {
        if caller.is_empty() {
            return None;
        }
        let hash = self.hasher.hash_one(caller);
        let shard = &self.shards[(hash >> 32) as usize % SHARDS];
        Some(shard.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// One stream of a caller's share.
#[derive(Debug)]
pub(super) struct OpenShare {
    shares: Arc<Shares>,
    caller: Arc<str>,
}

impl Drop for OpenShare {
    fn drop(&mut self) {
        let Some(mut shard) = self.shares.shard(&self.caller) else { return };
        if let Some(share) = shard.get_mut(&self.caller) {
            share.streams = share.streams.saturating_sub(1);
        }
        tidy(&mut shard, &self.caller);
    }
}

/// Nothing is kept of a caller that has nothing going on.
fn tidy(shard: &mut Shard, caller: &str) {
    if shard.get(caller).is_some_and(|it| it.tasks.is_empty() && it.streams == 0) {
        shard.remove(caller);
    }
}

fn one_more(having: usize, limit: usize, what: &str) -> Result<(), Error> {
    if having < limit {
        return Ok(());
    }
    Err(Error::new(ErrorKind::RateLimited, format!("too many of your {what}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(caller: &str, id: &str) -> TaskKey {
        TaskKey { owner: caller.into(), agent: "a".into(), id: TaskId::new(id).unwrap() }
    }

    fn shares() -> Arc<Shares> {
        Arc::new(Shares::new(PerCaller { tasks: 2, streams: 1 }))
    }

    #[test]
    fn each_caller_has_its_own_share_of_tasks() {
        let shares = shares();
        for id in ["1", "2"] {
            assert_eq!(shares.begin(&key("alice", id)), Ok(()));
        }
        let refused = shares.begin(&key("alice", "3")).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::RateLimited);
        assert_eq!(refused.message(), "too many of your tasks are going on; end one");
        assert_eq!(shares.begin(&key("bob", "3")), Ok(()));
        // One that was never counted makes no room.
        shares.end(&key("alice", "other"));
        assert!(shares.begin(&key("alice", "3")).is_err());
        shares.end(&key("alice", "1"));
        shares.end(&key("alice", "1"));
        assert_eq!(shares.begin(&key("alice", "3")), Ok(()));
        assert!(shares.begin(&key("alice", "4")).is_err());
    }

    #[test]
    fn streams_count_until_they_are_dropped() {
        let shares = shares();
        let alice = Arc::from("alice");
        let open = shares.open(&alice).unwrap();
        assert_eq!(shares.open(&alice).unwrap_err().kind(), ErrorKind::RateLimited);
        assert!(shares.open(&Arc::from("bob")).is_ok());
        drop(open);
        assert!(shares.open(&alice).is_ok());
    }

    #[test]
    fn anybody_has_no_share_and_nothing_is_kept_of_those_who_are_done() {
        let shares = shares();
        for id in ["1", "2", "3"] {
            shares.begin(&key("", id)).unwrap();
        }
        shares.begin(&key("alice", "1")).unwrap();
        shares.add(&key("alice", "2"));
        drop(shares.open(&Arc::from("bob")).unwrap());
        shares.end(&key("alice", "1"));
        shares.end(&key("alice", "2"));
        let kept: usize = shares.shards.iter().map(|it| it.lock().unwrap().len()).sum();
        assert_eq!(kept, 0);
    }
}
