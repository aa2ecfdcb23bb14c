//! The contract of a [`TaskStore`] as a suite that every backend passes, ours and yours.
//!
//! ```
//! use std::sync::Arc;
//!
//! use async_trait::async_trait;
//! use latimer_store::conformance::{self, StoreFixture};
//! use latimer_store::{MemoryStore, Retention, TaskStore};
//!
//! struct Nowhere;
//!
//! #[async_trait]
//! impl StoreFixture for Nowhere {
//!     async fn open(&self, retention: Retention) -> Arc<dyn TaskStore> {
//!         Arc::new(MemoryStore::new(retention))
//!     }
//! }
//!
//! # let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
//! # runtime.block_on(async {
//! conformance::run(|| Nowhere).await;
//! # });
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! It panics at the first rule that is broken, and says which. It wants a runtime of Tokio, best one
//! of several threads: some rules are about callers that come at the same time.

#![expect(clippy::expect_used, reason = "a suite says by panicking what is wrong")]

mod append;
mod encoding;
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

/// A place where a store can be: a folder, a database, or nowhere but in memory.
#[async_trait]
pub trait StoreFixture: Send + Sync {
    /// Opens the store: empty the first time, and later, if this is durable, with what it kept. The
    /// one that was opened before is gone by then, as if its process had died.
    async fn open(&self, retention: Retention) -> Arc<dyn TaskStore>;

    /// Whether what the store keeps outlives it.
    fn is_durable(&self) -> bool {
        false
    }
}

/// Checks every rule, each in a new home.
///
/// # Panics
/// When the backend breaks a rule.
pub async fn run<H: StoreFixture>(new_fixture: impl Fn() -> H) {
    for rule in RULES {
        rule.check(&new_fixture()).await;
    }
}

/// One rule of the contract.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// What it says.
    pub name: &'static str,
    check: for<'a> fn(&'a dyn StoreFixture) -> CheckFuture<'a>,
}

type CheckFuture<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

impl Rule {
    /// Checks the rule in a new home.
    ///
    /// # Panics
    /// When the backend breaks it.
    pub async fn check(&self, fixture: &dyn StoreFixture) {
        let report = ReportOnPanic(self.name);
        (self.check)(fixture).await;
        drop(report);
    }
}

/// Says which rule it was, when it was broken.
struct ReportOnPanic(&'static str);

impl Drop for ReportOnPanic {
    #[expect(clippy::print_stderr, reason = "behind the message of a panic")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the store breaks the rule {}", self.0);
        }
    }
}

macro_rules! rules {
    ($($module:ident { $($name:ident)+ })+) => {
        /// Every rule there is.
        pub const RULES: &[Rule] = &[$($(Rule {
            name: concat!(stringify!($module), "::", stringify!($name)),
            check: |home| Box::pin($module::$name(home)),
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
        a_finished_task_never_changes
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
        a_log_is_read_in_pages
        log_of_missing_task_is_empty
        a_long_log_is_read_to_its_end
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
    retention {
        store_reports_its_retention
        earliest_finished_task_is_evicted_first
        unfinished_tasks_are_never_evicted
        removed_task_id_can_be_reused
        sweep_removes_tasks_past_max_age
        context_limit_evicts_finished_tasks
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
        abandoned_tasks_are_claimed_once_in_creation_order
        claimed_tasks_can_be_abandoned_again
    }
}
