//! Rules about idempotency records.

use latimer_protocol::TaskState;

use super::StoreFixture;
use super::script::{Script, UNLIMITED, append, idempotency_record, message, time};
use crate::{PriorOutcome, Retention, TaskStore};

pub(super) async fn resent_message_finds_its_task(fixture: &dyn StoreFixture) {
    let store = fixture.open(UNLIMITED).await;
    assert_eq!(find_outcome(&*store, 1, 0).await, None, "an unknown message");
    let mut script = Script::new("t");
    let mut create = script.create_finished(1);
    create.idempotency = Some(idempotency_record(1, 100));
    append(&*store, create).await;
    assert_eq!(find_outcome(&*store, 1, 2).await, Some(task_outcome(&script)));
    assert_eq!(find_outcome(&*store, 2, 2).await, None, "another message");
}

pub(super) async fn each_message_maps_to_its_own_revision(fixture: &dyn StoreFixture) {
    let store = fixture.open(UNLIMITED).await;
    let mut script = Script::for_key("", "x", "t/1");
    let mut want = Vec::new();
    for number in 1..6 {
        let mut next = match number {
            1 => script.create(1),
            _ => script.set_status(TaskState::InputRequired, 1 + i64::from(number)),
        };
        next.idempotency = Some(idempotency_record(number, 100));
        append(&*store, next).await;
        want.push((number, task_outcome(&script)));
        append(&*store, script.append_chunk("without record")).await;
    }
    for (number, want) in want {
        assert_eq!(find_outcome(&*store, number, 2).await, Some(want), "message {number}");
    }
}

pub(super) async fn resent_message_finds_its_direct_reply(fixture: &dyn StoreFixture) {
    let store = fixture.open(UNLIMITED).await;
    let reply = message("m", "42");
    store.record_direct_reply(idempotency_record(1, 100), &reply).await.expect("record succeeds");
    assert_eq!(find_outcome(&*store, 1, 2).await, Some(PriorOutcome::DirectReply(reply)));
    assert_eq!(find_outcome(&*store, 2, 2).await, None, "another message");
}

pub(super) async fn idempotency_record_expires(fixture: &dyn StoreFixture) {
    let store = fixture.open(UNLIMITED).await;
    let mut script = Script::new("t");
    let mut create = script.create(1);
    create.idempotency = Some(idempotency_record(1, 100));
    append(&*store, create).await;
    store
        .record_direct_reply(idempotency_record(2, 100), &message("m", "x"))
        .await
        .expect("record succeeds");
    store
        .record_direct_reply(idempotency_record(3, 500), &message("m", "y"))
        .await
        .expect("record succeeds");
    for (now, exists) in [(99, true), (100, false), (101, false)] {
        for number in [1, 2] {
            let outcome = find_outcome(&*store, number, now).await;
            assert_eq!(outcome.is_some(), exists, "message {number} that expires at 100, at {now}");
        }
    }
    store.sweep(time(100)).await.expect("sweep succeeds");
    for number in [1, 2] {
        assert_eq!(find_outcome(&*store, number, 100).await, None, "message {number} was swept");
    }
    assert!(find_outcome(&*store, 3, 100).await.is_some(), "a sweep keeps unexpired records");
    script.assert_stored(&*store).await;
}

pub(super) async fn latest_idempotency_record_wins(fixture: &dyn StoreFixture) {
    let store = fixture.open(UNLIMITED).await;
    store
        .record_direct_reply(idempotency_record(1, 10), &message("m", "old"))
        .await
        .expect("record succeeds");
    store
        .record_direct_reply(idempotency_record(1, 100), &message("m", "new"))
        .await
        .expect("record succeeds");
    let new = PriorOutcome::DirectReply(message("m", "new"));
    assert_eq!(find_outcome(&*store, 1, 50).await, Some(new.clone()));
    store.sweep(time(50)).await.expect("sweep succeeds");
    assert_eq!(find_outcome(&*store, 1, 50).await, Some(new));
    let mut script = Script::new("t");
    let mut create = script.create(60);
    create.idempotency = Some(idempotency_record(1, 200));
    append(&*store, create).await;
    assert_eq!(find_outcome(&*store, 1, 150).await, Some(task_outcome(&script)));
}

pub(super) async fn evicting_task_removes_its_idempotency_record(fixture: &dyn StoreFixture) {
    let store = fixture.open(Retention { max_tasks: 1, ..UNLIMITED }).await;
    let mut create = Script::new("old").create_finished(1);
    create.idempotency = Some(idempotency_record(1, 1_000));
    append(&*store, create).await;
    let mut script = Script::new("new");
    append(&*store, script.create(2)).await;
    assert_eq!(find_outcome(&*store, 1, 3).await, None, "its task was evicted");
}

pub(super) async fn find_outcome(
    store: &dyn TaskStore,
    number: u8,
    now: i64,
) -> Option<PriorOutcome> {
    store
        .find_prior_outcome(&idempotency_record(number, 0).key, time(now))
        .await
        .expect("lookup succeeds")
}

/// Returns the outcome of a message that was recorded with the last append.
fn task_outcome(script: &Script) -> PriorOutcome {
    PriorOutcome::Task { key: script.key.clone(), revision: script.revision() }
}
