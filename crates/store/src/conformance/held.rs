//! Rules about held tasks.

use latimer_protocol::{Revision, TaskState};

use super::StoreFixture;
use super::idempotency::find_outcome;
use super::script::{Script, UNLIMITED, append, idempotency_record, message, query_all};
use super::webhook::{active_webhooks, webhook};
use crate::{Append, Error, PendingWork, PriorOutcome, TaskQuery, TaskStore};

/// Appends a held task with record number 1.
async fn append_held(store: &dyn TaskStore, script: &mut Script) {
    let idempotency = Some(idempotency_record(1, 100));
    append(store, Append { idempotency, ..script.create_held(1) }).await;
}

async fn listed(store: &dyn TaskStore, state: Option<TaskState>) -> (usize, u64) {
    let query = TaskQuery { state, ..query_all("caller") };
    let page = store.list(&query).await.expect("list succeeds");
    (page.tasks.len(), page.total)
}

pub(super) async fn held_task_is_loaded_but_not_listed(fixture: &dyn StoreFixture) {
    let store = fixture.open(UNLIMITED).await;
    let mut script = Script::new("t");
    append_held(&*store, &mut script).await;
    script.assert_stored(&*store).await;
    for state in [None, Some(TaskState::Submitted), Some(TaskState::Working)] {
        assert_eq!(listed(&*store, state).await, (0, 0), "in the list of {state:?}");
    }
    let outcome = find_outcome(&*store, 1, 2).await;
    let (key, revision) = (script.key.clone(), script.revision());
    assert_eq!(outcome, Some(PriorOutcome::Task { key, revision }), "a resend finds the task");
}

pub(super) async fn held_task_becomes_visible_with_an_append(fixture: &dyn StoreFixture) {
    let store = fixture.open(UNLIMITED).await;
    for (id, state) in [("a", TaskState::Working), ("b", TaskState::Completed)] {
        let mut script = Script::new(id);
        append_held(&*store, &mut script).await;
        append(&*store, script.set_status(state, 2)).await;
        script.assert_stored(&*store).await;
        assert_eq!(listed(&*store, Some(state)).await, (1, 1), "{state:?}");
    }
    assert_eq!(listed(&*store, None).await, (2, 2));
}

pub(super) async fn retraction_removes_task_and_records_reply(fixture: &dyn StoreFixture) {
    let store = fixture.open(UNLIMITED).await;
    let mut script = Script::new("t");
    append_held(&*store, &mut script).await;
    let reply = message("m", "42");
    let record = idempotency_record(1, 100);
    let retracted = store.retract(&script.key, script.revision(), Some((record, &reply))).await;
    assert!(retracted.is_ok(), "{retracted:?}");
    script.assert_absent(&*store).await;
    assert_eq!(find_outcome(&*store, 1, 2).await, Some(PriorOutcome::DirectReply(reply)));
    // The id is free again.
    append(&*store, Script::new("t").create(3)).await;
}

pub(super) async fn retraction_without_reply_leaves_no_outcome(fixture: &dyn StoreFixture) {
    let store = fixture.open(UNLIMITED).await;
    let mut script = Script::new("t");
    append_held(&*store, &mut script).await;
    let retracted = store.retract(&script.key, script.revision(), None).await;
    assert!(retracted.is_ok(), "{retracted:?}");
    script.assert_absent(&*store).await;
    assert_eq!(find_outcome(&*store, 1, 2).await, None);
}

pub(super) async fn only_a_held_task_at_its_revision_can_be_retracted(fixture: &dyn StoreFixture) {
    let store = fixture.open(UNLIMITED).await;
    let mut script = Script::new("t");
    let conflicts = async |script: &Script, expected: Revision| {
        let retracted = store.retract(&script.key, expected, None).await;
        assert!(matches!(retracted, Err(Error::Conflict { .. })), "{retracted:?}");
    };
    conflicts(&script, Revision::new(1)).await;
    append_held(&*store, &mut script).await;
    conflicts(&script, Revision::START).await;
    conflicts(&script, Revision::new(2)).await;
    append(&*store, script.set_status(TaskState::Working, 2)).await;
    conflicts(&script, script.revision()).await;
    append(&*store, script.set_status(TaskState::Completed, 3)).await;
    conflicts(&script, script.revision()).await;
    script.assert_stored(&*store).await;
}

pub(super) async fn webhook_of_held_task_is_inactive(fixture: &dyn StoreFixture) {
    let store = fixture.open(UNLIMITED).await;
    let (mut visible, mut retracted) = (Script::new("a"), Script::new("b"));
    for script in [&mut visible, &mut retracted] {
        let webhook = Some(Box::new(webhook(&script.key, "w", 0)));
        append(&*store, Append { webhook, ..script.create_held(1) }).await;
    }
    assert_eq!(active_webhooks(&*store).await, [], "while the tasks are held");
    append(&*store, visible.set_status(TaskState::Working, 2)).await;
    store.retract(&retracted.key, retracted.revision(), None).await.expect("retract succeeds");
    let active = active_webhooks(&*store).await;
    assert_eq!(active.iter().map(|it| &it.0).collect::<Vec<_>>(), [&visible.key]);
    let webhooks = store.webhooks().list_for_task(&retracted.key).await.expect("read succeeds");
    assert_eq!(webhooks, [], "the webhooks of the retracted task");
}

pub(super) async fn held_task_is_claimed_after_restart(fixture: &dyn StoreFixture) {
    if !fixture.is_durable() {
        return;
    }
    let store = fixture.open(UNLIMITED).await;
    let mut script = Script::new("t");
    append_held(&*store, &mut script).await;
    drop(store);
    let store = fixture.open(UNLIMITED).await;
    assert_eq!(listed(&*store, None).await, (0, 0));
    let claimed = store.claim_abandoned(10).await.expect("claim succeeds");
    assert_eq!(claimed, [script.stored_task()]);
    assert_eq!(claimed[0].header.pending_work, PendingWork::Held);
}

pub(super) async fn retraction_survives_restart(fixture: &dyn StoreFixture) {
    if !fixture.is_durable() {
        return;
    }
    let store = fixture.open(UNLIMITED).await;
    let mut script = Script::new("t");
    append_held(&*store, &mut script).await;
    let reply = message("m", "42");
    let record = Some((idempotency_record(1, 100), &reply));
    store.retract(&script.key, script.revision(), record).await.expect("retract succeeds");
    drop(store);
    let store = fixture.open(UNLIMITED).await;
    script.assert_absent(&*store).await;
    assert_eq!(store.claim_abandoned(10).await.expect("claim succeeds"), []);
    assert_eq!(find_outcome(&*store, 1, 2).await, Some(PriorOutcome::DirectReply(reply)));
}
