//! Rules about restarts of durable backends.

use latimer_protocol::TaskState;

use super::StoreFixture;
use super::script::{Script, UNLIMITED, append, idempotency_record, message, query_all, time};
use crate::{PendingWork, PriorOutcome, Retention, TaskStore};

pub(super) async fn new_store_has_no_abandoned_tasks(fixture: &dyn StoreFixture) {
    let store = fixture.open(UNLIMITED).await;
    assert_eq!(store.claim_abandoned(10).await.expect("claim succeeds"), []);
    let mut script = Script::new("t");
    append(&*store, script.create(1)).await;
    append(&*store, script.set_status(TaskState::Working, 2)).await;
    assert_eq!(
        store.claim_abandoned(10).await.expect("claim succeeds"),
        [],
        "tasks of this process are not abandoned"
    );
}

pub(super) async fn tasks_and_records_survive_restart(fixture: &dyn StoreFixture) {
    if !fixture.is_durable() {
        return;
    }
    let store = fixture.open(UNLIMITED).await;
    let mut scripts: Vec<_> = (0..30).map(|it| Script::new(&format!("t{it}"))).collect();
    for (number, script) in (0u8..).zip(&mut scripts) {
        let mut create = script.create(i64::from(number));
        create.idempotency = Some(idempotency_record(number, 1_000));
        append(&*store, create).await;
        for round in 0..number {
            append(&*store, script.append_chunk(&round.to_string())).await;
        }
        let states = [TaskState::Working, TaskState::InputRequired, TaskState::Completed];
        append(&*store, script.set_status(states[usize::from(number % 3)], 50)).await;
    }
    let reply = message("m", "reply");
    store
        .record_direct_reply(idempotency_record(200, 1_000), &reply)
        .await
        .expect("record succeeds");
    let listed = store.list(&query_all("caller")).await.expect("list succeeds");
    drop(store);

    let store = fixture.open(UNLIMITED).await;
    for (number, script) in (0u8..).zip(&scripts) {
        script.assert_stored(&*store).await;
        let outcome = store
            .find_prior_outcome(&idempotency_record(number, 0).key, time(60))
            .await
            .expect("lookup succeeds");
        let Some(PriorOutcome::Task { key, .. }) = outcome else { panic!("message {number}") };
        assert_eq!(key, script.key);
    }
    let outcome = store
        .find_prior_outcome(&idempotency_record(200, 0).key, time(60))
        .await
        .expect("lookup succeeds");
    assert_eq!(outcome, Some(PriorOutcome::DirectReply(reply)));
    assert_eq!(store.list(&query_all("caller")).await.expect("list succeeds"), listed);
    append(&*store, scripts[0].append_chunk("after the restart")).await;
    drop(store);

    let store = fixture.open(UNLIMITED).await;
    for script in &scripts {
        script.assert_stored(&*store).await;
    }
}

pub(super) async fn eviction_order_survives_restart(fixture: &dyn StoreFixture) {
    if !fixture.is_durable() {
        return;
    }
    let retention = || Retention { max_tasks: 3, ..UNLIMITED };
    let store = fixture.open(retention()).await;
    let mut scripts = ["a", "b", "c"].map(Script::new);
    for script in &mut scripts {
        append(&*store, script.create(1)).await;
    }
    for at in [1, 2, 0] {
        append(&*store, scripts[at].set_status(TaskState::Completed, 2)).await;
    }
    drop(store);
    for (number, evicted) in [1, 2, 0].into_iter().enumerate() {
        let store = fixture.open(retention()).await;
        let mut new = Script::new(&format!("new {number}"));
        append(&*store, new.create(3)).await;
        scripts[evicted].assert_absent(&*store).await;
        new.assert_stored(&*store).await;
    }
}

pub(super) async fn abandoned_tasks_are_claimed_once_in_recovery_order(fixture: &dyn StoreFixture) {
    if !fixture.is_durable() {
        return;
    }
    let store = fixture.open(UNLIMITED).await;
    let mut abandoned = Vec::new();
    // Created in descending order of id and time, so that neither gives the claim order.
    for number in (0..20).rev() {
        let mut script = Script::new(&format!("t{number:02}"));
        append(&*store, script.create(number)).await;
        match number % 4 {
            0 => {}
            1 => {
                append(&*store, script.set_status(TaskState::Working, 30)).await;
                append(&*store, script.append_chunk("chunk")).await;
            }
            2 => {
                append(&*store, script.set_status(TaskState::InputRequired, 30)).await;
            }
            _ => {
                append(&*store, script.set_status(TaskState::Completed, 30)).await;
            }
        }
        if script.header.pending_work != PendingWork::None {
            abandoned.push(script.stored_task());
        }
    }
    abandoned.sort_by_key(|it| it.header.pending_work == PendingWork::Queued);
    drop(store);

    let store = fixture.open(UNLIMITED).await;
    let mut own = Script::new("own");
    append(&*store, own.create(40)).await;
    let count = store.count_abandoned().await.expect("count succeeds");
    assert_eq!(count, abandoned.len() as u64);
    let mut claimed = Vec::new();
    for limit in [1, 3, 100, 100] {
        let batch = store.claim_abandoned(limit).await.expect("claim succeeds");
        assert!(batch.len() <= limit, "the limit is {limit}");
        claimed.extend(batch);
    }
    assert_eq!(claimed, abandoned, "each task once, started turns first");
    assert_eq!(store.count_abandoned().await.expect("count succeeds"), 0);
    own.assert_stored(&*store).await;
}

pub(super) async fn single_abandoned_task_is_claimed_once(fixture: &dyn StoreFixture) {
    if !fixture.is_durable() {
        return;
    }
    let store = fixture.open(UNLIMITED).await;
    let mut scripts = ["working", "waiting", "done"].map(Script::new);
    let states = [TaskState::Working, TaskState::InputRequired, TaskState::Completed];
    for (script, state) in scripts.iter_mut().zip(states) {
        append(&*store, script.create(1)).await;
        append(&*store, script.set_status(state, 2)).await;
    }
    drop(store);

    let store = fixture.open(UNLIMITED).await;
    let [working, waiting, done] = &scripts;
    for script in [waiting, done, &Script::new("unknown")] {
        let claimed = store.claim(&script.key).await.expect("claim succeeds");
        assert_eq!(claimed, None, "{:?}", script.key.id);
    }
    let claimed = store.claim(&working.key).await.expect("claim succeeds");
    assert_eq!(claimed, Some(working.stored_task()));
    assert_eq!(store.claim(&working.key).await.expect("claim succeeds"), None);
    assert_eq!(claim(&*store, 10).await, []);
}

pub(super) async fn claimed_tasks_can_be_abandoned_again(fixture: &dyn StoreFixture) {
    if !fixture.is_durable() {
        return;
    }
    let store = fixture.open(UNLIMITED).await;
    let mut scripts = ["a", "b", "c", "d"].map(Script::new);
    for script in &mut scripts {
        append(&*store, script.create(1)).await;
        append(&*store, script.set_status(TaskState::Working, 2)).await;
    }
    drop(store);

    let store = fixture.open(UNLIMITED).await;
    let ids = |tasks: &[crate::StoredTask]| {
        tasks.iter().map(|it| it.key.id.as_str()).collect::<Vec<_>>().join(" ")
    };
    // An append to the third task claims it.
    append(&*store, scripts[2].append_chunk("chunk")).await;
    let claimed = claim(&*store, 2).await;
    assert_eq!(ids(&claimed), "a b");
    append(&*store, scripts[0].set_status(TaskState::Failed, 3)).await;
    append(&*store, scripts[1].append_chunk("chunk")).await;
    drop(store);

    let store = fixture.open(UNLIMITED).await;
    let claimed = claim(&*store, 100).await;
    assert_eq!(ids(&claimed), "b c d", "finished tasks are not abandoned");
    assert_eq!(claim(&*store, 100).await, []);
    for script in &scripts {
        script.assert_stored(&*store).await;
    }
}

async fn claim(store: &dyn TaskStore, limit: usize) -> Vec<crate::StoredTask> {
    store.claim_abandoned(limit).await.expect("claim succeeds")
}
