//! Limits on the unfinished tasks and open streams of each caller.
//!
//! Anonymous callers have no quota, because the server cannot distinguish them. Only the limits for
//! all callers apply to them.

use std::collections::HashSet;
use std::sync::Arc;

use latimer_protocol::{Error, ErrorKind, TaskId};
use latimer_store::TaskKey;

use crate::sync::{EntryGuard, ShardedMap};

/// Limits for one authenticated caller. They do not apply to anonymous callers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallerLimits {
    /// Maximum number of unfinished tasks. Tasks that an ended process left interrupted do not
    /// count.
    pub max_tasks: usize,
    /// Maximum number of open streams.
    pub max_streams: usize,
}

impl Default for CallerLimits {
    fn default() -> Self {
        Self { max_tasks: 1_000, max_streams: 1_000 }
    }
}

/// Counts the unfinished tasks and open streams of each caller.
#[derive(Debug)]
pub(super) struct CallerQuota {
    limits: CallerLimits,
    usage: ShardedMap<Arc<str>, Usage, SHARDS>,
}

const SHARDS: usize = 16;

/// Unfinished tasks and open streams of one caller.
#[derive(Debug, Default)]
struct Usage {
    /// Unfinished tasks, by agent and id.
    tasks: HashSet<(Arc<str>, TaskId)>,
    streams: usize,
}

impl CallerQuota {
    pub(super) fn new(limits: CallerLimits) -> Self {
        Self { limits, usage: ShardedMap::default() }
    }

    /// Counts a new task before it is created.
    ///
    /// # Errors
    /// Returns [`ErrorKind::RateLimited`] if the caller has reached its limit.
    pub(super) fn reserve_task(&self, key: &TaskKey) -> Result<(), Error> {
        let Some(mut entry) = self.entry(&key.owner) else { return Ok(()) };
        let tasks = entry.get().map_or(0, |it| it.tasks.len());
        check_limit(tasks, self.limits.max_tasks, "unfinished tasks; finish or cancel one")?;
        usage(&mut entry, &key.owner).tasks.insert((key.agent.clone(), key.id.clone()));
        Ok(())
    }

    /// Counts an existing task, even above the limit.
    pub(super) fn count_task(&self, key: &TaskKey) {
        let Some(mut entry) = self.entry(&key.owner) else { return };
        usage(&mut entry, &key.owner).tasks.insert((key.agent.clone(), key.id.clone()));
    }

    /// Stops counting a task that has ended or was not created. Does nothing if the task is not
    /// counted.
    pub(super) fn release_task(&self, key: &TaskKey) {
        let Some(mut entry) = self.entry(&key.owner) else { return };
        entry.remove_if(|usage| {
            usage.tasks.remove(&(key.agent.clone(), key.id.clone()));
            usage.is_idle()
        });
    }

    /// Counts a stream until the returned guard is dropped.
    ///
    /// # Errors
    /// Returns [`ErrorKind::RateLimited`] if the caller has reached its limit.
    pub(super) fn open_stream(
        self: &Arc<Self>,
        caller: &Arc<str>,
    ) -> Result<CallerStreamGuard, Error> {
        if let Some(mut entry) = self.entry(caller) {
            let streams = entry.get().map_or(0, |it| it.streams);
            check_limit(streams, self.limits.max_streams, "open streams; close one")?;
            usage(&mut entry, caller).streams += 1;
        }
        Ok(CallerStreamGuard { quota: Arc::clone(self), caller: caller.clone() })
    }

    /// Locks the usage of a caller; `None` for anonymous callers.
    fn entry<'a>(&'a self, caller: &'a str) -> Option<UsageEntry<'a>> {
        (!caller.is_empty()).then(|| self.usage.entry(caller))
    }
}

type UsageEntry<'a> = EntryGuard<'a, Arc<str>, Usage, str>;

fn usage<'a>(entry: &'a mut UsageEntry<'_>, caller: &Arc<str>) -> &'a mut Usage {
    entry.get_or_insert_with(|| (caller.clone(), Usage::default()))
}

impl Usage {
    fn is_idle(&self) -> bool {
        self.tasks.is_empty() && self.streams == 0
    }
}

/// Counts one open stream of a caller until it is dropped.
#[derive(Debug)]
pub(super) struct CallerStreamGuard {
    quota: Arc<CallerQuota>,
    caller: Arc<str>,
}

impl Drop for CallerStreamGuard {
    fn drop(&mut self) {
        let Some(mut entry) = self.quota.entry(&self.caller) else { return };
        entry.remove_if(|usage| {
            usage.streams = usage.streams.saturating_sub(1);
            usage.is_idle()
        });
    }
}

fn check_limit(current: usize, limit: usize, what: &str) -> Result<(), Error> {
    if current < limit {
        return Ok(());
    }
    Err(Error::new(ErrorKind::RateLimited, format!("the caller has too many {what}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(caller: &str, id: &str) -> TaskKey {
        TaskKey { owner: caller.into(), agent: "a".into(), id: TaskId::new(id).unwrap() }
    }

    fn quota() -> Arc<CallerQuota> {
        Arc::new(CallerQuota::new(CallerLimits { max_tasks: 2, max_streams: 1 }))
    }

    #[test]
    fn task_limit_applies_to_each_caller() {
        let quota = quota();
        for id in ["1", "2"] {
            assert_eq!(quota.reserve_task(&key("alice", id)), Ok(()));
        }
        let error = quota.reserve_task(&key("alice", "3")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::RateLimited);
        assert_eq!(
            error.message(),
            "the caller has too many unfinished tasks; finish or cancel one"
        );
        assert_eq!(quota.reserve_task(&key("bob", "3")), Ok(()));
        quota.release_task(&key("alice", "other"));
        assert!(quota.reserve_task(&key("alice", "3")).is_err());
        quota.release_task(&key("alice", "1"));
        quota.release_task(&key("alice", "1"));
        assert_eq!(quota.reserve_task(&key("alice", "3")), Ok(()));
        assert!(quota.reserve_task(&key("alice", "4")).is_err());
    }

    #[test]
    fn stream_counts_until_its_guard_is_dropped() {
        let quota = quota();
        let alice = Arc::from("alice");
        let guard = quota.open_stream(&alice).unwrap();
        assert_eq!(quota.open_stream(&alice).unwrap_err().kind(), ErrorKind::RateLimited);
        assert!(quota.open_stream(&Arc::from("bob")).is_ok());
        drop(guard);
        assert!(quota.open_stream(&alice).is_ok());
    }

    #[test]
    fn anonymous_is_unlimited_and_idle_usage_is_removed() {
        let quota = quota();
        for id in ["1", "2", "3"] {
            quota.reserve_task(&key("", id)).unwrap();
        }
        quota.reserve_task(&key("alice", "1")).unwrap();
        quota.count_task(&key("alice", "2"));
        drop(quota.open_stream(&Arc::from("bob")).unwrap());
        quota.release_task(&key("alice", "1"));
        quota.release_task(&key("alice", "2"));
        assert!(quota.usage.is_empty());
    }
}
