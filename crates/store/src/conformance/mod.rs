//! The contract of a [`TaskStore`] as a suite that every backend passes, ours and yours.
//!
//! ```
//! use std::sync::Arc;
//!
//! use async_trait::async_trait;
//! use latimer_store::conformance::{self, Home};
//! use latimer_store::{Memory, Retention, TaskStore};
//!
//! struct Nowhere;
//!
//! #[async_trait]
//! impl Home for Nowhere {
//!     async fn open(&self, retention: Retention) -> Arc<dyn TaskStore> {
//!         Arc::new(Memory::new(retention))
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
mod durable;
mod keys;
mod list;
mod load;
mod log;
mod retention;
mod script;
mod sent;
mod texts;
mod webhook;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;

use crate::{Retention, TaskStore};

/// A place where a store can be: a folder, a database, or nowhere but in memory.
#[async_trait]
pub trait Home: Send + Sync {
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
pub async fn run<H: Home>(make: impl Fn() -> H) {
    for rule in RULES {
        rule.check(&make()).await;
    }
}

/// One rule of the contract.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// What it says.
    pub name: &'static str,
    check: for<'a> fn(&'a dyn Home) -> Checking<'a>,
}

type Checking<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

impl Rule {
    /// Checks the rule in a new home.
    ///
    /// # Panics
    /// When the backend breaks it.
    pub async fn check(&self, home: &dyn Home) {
        let name = Name(self.name);
        (self.check)(home).await;
        drop(name);
    }
}

/// Says which rule it was, when it was broken.
struct Name(&'static str);

impl Drop for Name {
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
        a_task_is_created_once
        a_full_store_knows_its_tasks
        a_task_that_is_not_there_is_not_continued
        a_writer_at_another_revision_is_refused
        a_finished_task_never_changes
        what_is_refused_leaves_no_trace
        of_racing_creators_one_wins
        of_racing_writers_one_wins
        the_first_end_is_the_end
        a_refusal_disturbs_nobody_else
    }
    load {
        what_was_never_there_is_not_found
        a_task_is_the_fold_of_its_log
        a_task_is_its_snapshot_and_what_came_behind
        a_header_is_kept_whole
        a_task_may_be_told_anew
    }
    log {
        a_log_is_read_in_pages
        a_log_that_is_not_there_is_empty
        a_long_log_is_read_to_its_end
        a_long_append_is_one_append
    }
    keys {
        callers_and_agents_have_tasks_of_their_own
        tasks_are_located_by_caller_and_id
    }
    list {
        the_latest_comes_first
        of_equal_times_the_greater_id_comes_first
        a_change_of_status_moves_a_task_to_the_front
        each_filter_holds
        pages_join_without_gaps
        nobody_sees_the_tasks_of_others
        a_list_shows_tasks_as_they_stand
    }
    sent {
        a_message_leads_to_its_task
        each_message_leads_to_its_own_revision
        a_message_leads_to_its_answer
        a_message_is_forgotten_in_time
        what_was_remembered_last_counts
        a_message_goes_with_its_task
    }
    retention {
        a_store_says_what_it_keeps
        what_finished_first_makes_room
        what_goes_on_stays
        what_was_removed_leaves_no_trace
        what_is_old_is_swept
        conversations_make_room
    }
    texts {
        any_text_names_a_task
        any_json_is_kept
        large_parts_are_kept
    }
    webhook {
        a_webhook_is_kept_whole
        a_webhook_comes_with_its_task
        a_webhook_of_the_same_name_takes_over
        a_task_has_so_many_webhooks
        a_webhook_advances_from_where_it_is
        webhooks_are_active_while_there_is_something_to_do
        what_was_given_up_is_kept_until_it_is_forgotten
        webhooks_go_with_their_task
        webhooks_outlive_the_process
    }
    durable {
        a_new_store_has_nothing_abandoned
        everything_outlives_the_process
        the_order_of_leaving_outlives_the_process
        abandoned_tasks_are_taken_once_in_order
        abandoned_tasks_may_be_abandoned_again
    }
}
