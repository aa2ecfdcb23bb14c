//! Conformance suite: the contract of a [`TaskStore`] as executable rules for every backend.
//!
//! ```
//! use std::sync::Arc;
//!
//! use async_trait::async_trait;
//! use latimer_store::conformance::{self, StoreFixture};
//! use latimer_store::{MemoryStore, Retention, TaskStore};
//!
//! struct InMemory;
//!
//! #[async_trait]
//! impl StoreFixture for InMemory {
//!     async fn open(&self, retention: Retention) -> Arc<dyn TaskStore> {
//!         Arc::new(MemoryStore::new(retention))
//!     }
//! }
//!
//! # let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
//! # runtime.block_on(async {
//! conformance::run(|| InMemory).await;
//! # });
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! The suite panics at the first violated rule and prints its name. It requires a Tokio runtime,
//! preferably a multi-threaded one, because some rules test concurrent callers.
//!
//! | module | rules about |
//! | --- | --- |
//! | `append` | compare-and-append, atomicity and concurrent writers |
//! | `load`, `log`, `list` | loading tasks, reading logs and lists |
//! | `keys`, `encoding` | identity of tasks, round trips of values |
//! | `held` | tasks that their agent may replace by a message |
//! | `idempotency` | idempotency records |
//! | `retention` | eviction and sweeps |
//! | `webhook` | webhooks and dead letters |
//! | `restart` | durability and recovery |
//! | `script` | test support: the expected state of a task |

#![expect(clippy::expect_used, reason = "the suite reports violations by panicking")]

mod append;
mod encoding;
mod held;
mod idempotency;
mod keys;
mod list;
mod load;
mod log;
mod restart;
mod retention;
mod script;
mod webhook;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;

use crate::{Retention, TaskStore};

/// Opens and reopens a store of the backend under test. A fixture is one location, such as a
/// directory.
#[async_trait]
pub trait StoreFixture: Send + Sync {
    /// Opens the store. The first call opens an empty store. Later calls simulate a restart after
    /// the previous store was dropped, and reopen its data if the backend is durable.
    async fn open(&self, retention: Retention) -> Arc<dyn TaskStore>;

    /// Returns whether data survives a restart.
    fn is_durable(&self) -> bool {
        false
    }
}

/// Checks every rule, each with a new fixture.
///
/// # Panics
/// Panics if the backend violates a rule.
pub async fn run<H: StoreFixture>(new_fixture: impl Fn() -> H) {
    for rule in RULES {
        rule.check(&new_fixture()).await;
    }
}

/// One rule of the contract.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Module and name of the rule.
    pub name: &'static str,
    check: for<'a> fn(&'a dyn StoreFixture) -> CheckFuture<'a>,
}

type CheckFuture<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

impl Rule {
    /// Checks the rule with a new fixture.
    ///
    /// # Panics
    /// Panics if the backend violates the rule.
    pub async fn check(&self, fixture: &dyn StoreFixture) {
        let report = ReportOnPanic(self.name);
        (self.check)(fixture).await;
        drop(report);
    }
}

/// Prints the name of a rule when it is dropped by a panic.
struct ReportOnPanic(&'static str);

impl Drop for ReportOnPanic {
    #[expect(clippy::print_stderr, reason = "follows the message of the panic")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the store violates the rule {}", self.0);
        }
    }
}

macro_rules! rules {
    ($($module:ident { $($name:ident)+ })+) => {
        /// All rules.
        pub const RULES: &[Rule] = &[$($(Rule {
            name: concat!(stringify!($module), "::", stringify!($name)),
            check: |fixture| Box::pin($module::$name(fixture)),
        }),+),+];
    };
}

rules! {
    append {
        events_are_numbered_from_one
        creating_existing_task_conflicts
        creating_existing_task_conflicts_in_full_store
        appending_to_missing_task_conflicts
        append_at_wrong_revision_conflicts
        finished_task_rejects_appends
        rejected_append_has_no_effect
        exactly_one_concurrent_create_succeeds
        exactly_one_concurrent_append_succeeds
        exactly_one_terminal_state_is_recorded
        conflict_does_not_affect_concurrent_appends
    }
    load {
        missing_task_is_not_found
        loaded_task_is_fold_of_its_log
        loaded_task_is_snapshot_plus_later_events
        header_round_trips
        repeated_snapshot_event_replaces_task
    }
    log {
        log_is_readable_in_pages
        log_of_missing_task_is_empty
        long_log_is_read_completely
        large_append_is_readable_in_pages
    }
    keys {
        same_task_id_is_separate_per_owner_and_agent
        agents_are_found_by_owner_and_task_id
    }
    list {
        list_is_sorted_latest_first
        list_breaks_ties_by_descending_id_and_agent
        status_change_moves_task_to_front
        list_applies_every_filter
        list_pages_have_no_gaps
        list_returns_only_tasks_of_owner
        listed_tasks_equal_loaded_tasks
    }
    idempotency {
        resent_message_finds_its_task
        each_message_maps_to_its_own_revision
        resent_message_finds_its_direct_reply
        idempotency_record_expires
        latest_idempotency_record_wins
        evicting_task_removes_its_idempotency_record
    }
    held {
        held_task_is_loaded_but_not_listed
        held_task_becomes_visible_with_an_append
        retraction_removes_task_and_records_reply
        retraction_without_reply_leaves_no_outcome
        only_a_held_task_at_its_revision_can_be_retracted
        webhook_of_held_task_is_inactive
        held_task_is_claimed_after_restart
        retraction_survives_restart
    }
    retention {
        store_reports_its_retention
        earliest_finished_task_is_evicted_first
        unfinished_tasks_are_never_evicted
        removed_task_id_can_be_reused
        sweep_removes_tasks_past_max_age
        context_limit_evicts_finished_tasks
        interrupted_tasks_are_listed_by_owner_and_time
    }
    encoding {
        any_string_is_valid_in_task_key
        any_json_round_trips
        large_parts_round_trip
    }
    webhook {
        webhook_round_trips
        webhook_is_registered_with_append
        webhook_with_same_id_replaces_existing
        webhook_limit_per_task_is_enforced
        stale_progress_update_is_rejected
        webhook_is_active_until_terminal_event_is_delivered
        dead_letters_are_kept_until_removed
        evicting_task_removes_its_webhooks
        webhooks_survive_restart
    }
    restart {
        new_store_has_no_abandoned_tasks
        tasks_and_records_survive_restart
        eviction_order_survives_restart
        abandoned_tasks_are_claimed_once_in_recovery_order
        single_abandoned_task_is_claimed_once
        claimed_tasks_can_be_abandoned_again
    }
}
