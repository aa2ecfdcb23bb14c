//! Rules about appends: compare-and-append, atomicity and concurrent writers.

use std::sync::Arc;

use latimer_protocol::{Revision, TaskState};
use tokio::task::JoinSet;

use super::StoreFixture;
use super::script::{Script, UNLIMITED, append, idempotency_record, query_all, time};
use crate::{Append, Error, Retention, TaskStore};

/// Number of concurrent writers.
const WRITERS: usize = 16;

pub(super) async fn events_are_numbered_from_one(fixture: &dyn StoreFixture) {
    let store = fixture.open(UNLIMITED).await;
    let mut script = Script::new("t");
    assert_eq!(append(&*store, script.create(1)).await, Revision::new(1));
    let events = vec![
        script.status_event(TaskState::Working, 2),
        script.chunk_event("a"),
        script.chunk_event("b"),
    ];
    assert_eq!(append(&*store, script.append_events(events)).await, Revision::new(4));
    assert_eq!(append(&*store, script.append_chunk("c")).await, Revision::new(5));
    script.assert_stored(&*store).await;
}

pub(super) async fn creating_existing_task_conflicts(fixture: &dyn StoreFixture) {
    let store = fixture.open(UNLIMITED).await;
    let mut script = Script::new("t");
    append(&*store, script.create(1)).await;
    for _ in 0..2 {
        let duplicate = Script::new("t").create(9);
        assert_conflict(&*store, duplicate, Revision::START, script.revision()).await;
        script.assert_stored(&*store).await;
        append(&*store, script.set_status(TaskState::InputRequired, 2)).await;
    }
    append(&*store, script.set_status(TaskState::Completed, 3)).await;
    let duplicate = Script::new("t").create_finished(9);
    assert_conflict(&*store, duplicate, Revision::START, script.revision()).await;
    script.assert_stored(&*store).await;
}

pub(super) async fn creating_existing_task_conflicts_in_full_store(fixture: &dyn StoreFixture) {
    let store = fixture.open(Retention { max_tasks: 2, ..UNLIMITED }).await;
    let (mut finished, mut live) = (Script::new("finished"), Script::new("live"));
    append(&*store, finished.create_finished(1)).await;
    append(&*store, live.create(2)).await;
    for existing in [&finished, &live] {
        let duplicate = Script::new(existing.key.id.as_str()).create(9);
        assert_conflict(&*store, duplicate, Revision::START, existing.revision()).await;
    }
    finished.assert_stored(&*store).await;
    live.assert_stored(&*store).await;
}

pub(super) async fn appending_to_missing_task_conflicts(fixture: &dyn StoreFixture) {
    let store = fixture.open(UNLIMITED).await;
    let mut script = Script::new("t");
    script.create(1);
    let next = script.append_chunk("x");
    assert_conflict(&*store, next, Revision::new(1), Revision::START).await;
    script.assert_absent(&*store).await;
}

pub(super) async fn append_at_wrong_revision_conflicts(fixture: &dyn StoreFixture) {
    let store = fixture.open(UNLIMITED).await;
    let mut script = Script::new("t");
    append(&*store, script.create(1)).await;
    append(&*store, script.append_chunk("x")).await;
    append(&*store, script.append_chunk("y")).await;
    for wrong in [1, 2, 4, 1_000, u64::MAX / 4] {
        let next = script.clone().append_chunk("z");
        match store.append(Append { expected: Revision::new(wrong), ..next }).await {
            Err(Error::Conflict { expected, found, .. }) => {
                assert_eq!(
                    (expected.get(), found.get()),
                    (wrong, 3),
                    "the revisions of the conflict"
                );
            }
            // A backend may reject a revision beyond its maximum as an invalid append.
            Err(Error::Unavailable { .. }) if wrong > 1_000 => {}
            other => panic!("an append at {wrong} of a task at 3: {other:?}"),
        }
        script.assert_stored(&*store).await;
    }
}

pub(super) async fn finished_task_rejects_appends(fixture: &dyn StoreFixture) {
    let store = fixture.open(UNLIMITED).await;
    for state in TaskState::ALL.into_iter().filter(|it| it.is_terminal()) {
        let mut script = Script::new(state.name());
        append(&*store, script.create(1)).await;
        let mut other = script.clone();
        append(&*store, script.set_status(state, 2)).await;
        let late_appends = [
            other.clone().append_chunk("x"),
            other.clone().set_status(TaskState::Working, 3),
            other.set_status(TaskState::Completed, 3),
        ];
        for mut late_append in late_appends {
            // With the revision before and after the terminal event.
            for expected in [1, 2] {
                late_append.expected = Revision::new(expected);
                match store.append(late_append.clone()).await {
                    Err(Error::Finished { task, state: reported_state }) => {
                        assert_eq!((task, reported_state), (script.key.id.clone(), state));
                    }
                    other => panic!("an append to a task that is {state}: {other:?}"),
                }
            }
        }
        script.assert_stored(&*store).await;
    }
}

pub(super) async fn rejected_append_has_no_effect(fixture: &dyn StoreFixture) {
    let store = fixture.open(UNLIMITED).await;
    let mut script = Script::new("t");
    append(&*store, script.create(1)).await;
    let mut finished = Script::new("finished");
    append(&*store, finished.create_finished(1)).await;
    let mut missing = Script::new("missing");
    missing.create(5);
    let rejected_appends = [
        Script::new("t").create(5),
        Append { expected: Revision::new(9), ..script.clone().set_status(TaskState::Completed, 5) },
        Append { expected: finished.revision(), ..stale_change("finished") },
        missing.set_status(TaskState::Completed, 5),
    ];
    for (number, rejected) in (1..).zip(rejected_appends) {
        let rejection = store
            .append(Append { idempotency: Some(idempotency_record(number, 1_000)), ..rejected })
            .await;
        assert!(rejection.is_err(), "append {number} must be rejected: {rejection:?}");
        let outcome = store
            .find_prior_outcome(&idempotency_record(number, 0).key, time(6))
            .await
            .expect("lookup succeeds");
        assert_eq!(outcome, None, "the rejected append {number} must not record its message");
    }
    script.assert_stored(&*store).await;
    finished.assert_stored(&*store).await;
    missing.assert_absent(&*store).await;
    assert_eq!(store.list(&query_all("caller")).await.expect("list succeeds").total, 2);
}

/// Returns an append of a writer that does not know the current revision.
fn stale_change(id: &str) -> Append {
    let mut script = Script::new(id);
    script.create(5);
    script.set_status(TaskState::Working, 5)
}

pub(super) async fn exactly_one_concurrent_create_succeeds(fixture: &dyn StoreFixture) {
    let store = fixture.open(UNLIMITED).await;
    let scripts: Vec<_> = (0..WRITERS)
        .map(|number| {
            let mut script = Script::new("t");
            let append = script.append_events(vec![
                script.created_event(1),
                script.chunk_event(&number.to_string()),
            ]);
            (script, append)
        })
        .collect();
    race(&store, scripts).await.assert_stored(&*store).await;
}

pub(super) async fn exactly_one_concurrent_append_succeeds(fixture: &dyn StoreFixture) {
    let store = fixture.open(UNLIMITED).await;
    let mut script = Script::new("t");
    append(&*store, script.create(1)).await;
    for round in 0..20 {
        let scripts: Vec<_> = (0..WRITERS)
            .map(|number| {
                let mut script = script.clone();
                let append = script.append_chunk(&format!("{round} {number}"));
                (script, append)
            })
            .collect();
        script = race(&store, scripts).await;
    }
    script.assert_stored(&*store).await;
}

pub(super) async fn exactly_one_terminal_state_is_recorded(fixture: &dyn StoreFixture) {
    let store = fixture.open(UNLIMITED).await;
    let mut script = Script::new("t");
    append(&*store, script.create(1)).await;
    let states =
        [TaskState::Completed, TaskState::Canceled, TaskState::Failed, TaskState::Rejected];
    let scripts = states.map(|state| {
        let mut script = script.clone();
        let append = script.set_status(state, 2);
        (script, append)
    });
    race(&store, scripts.into()).await.assert_stored(&*store).await;
}

/// Runs appends concurrently, and returns the script of the one that succeeded.
async fn race(store: &Arc<dyn TaskStore>, scripts: Vec<(Script, Append)>) -> Script {
    let mut running = JoinSet::new();
    for (script, append) in scripts {
        let store = store.clone();
        running.spawn(async move { (script, store.append(append).await) });
    }
    let mut winner = None;
    while let Some(done) = running.join_next().await {
        match done.expect("the writer does not panic") {
            (script, Ok(revision)) => {
                assert_eq!(revision, script.revision(), "the revision of the winner");
                assert!(winner.is_none(), "two writers succeeded");
                winner = Some(script);
            }
            (_, Err(Error::Conflict { .. } | Error::Finished { .. })) => {}
            (_, Err(other)) => panic!("unexpected error of a losing writer: {other}"),
        }
    }
    winner.expect("one writer succeeds")
}

pub(super) async fn conflict_does_not_affect_concurrent_appends(fixture: &dyn StoreFixture) {
    let store = fixture.open(UNLIMITED).await;
    let mut existing = Script::new("existing");
    append(&*store, existing.create_finished(1)).await;
    let mut running = JoinSet::new();
    for number in 0..64 {
        let store = store.clone();
        running.spawn(async move {
            let mut script = Script::new(&format!("t{number}"));
            if number % 4 == 0 {
                let duplicate = Script::new("existing").create(2);
                assert!(store.append(duplicate).await.is_err(), "the task exists already");
            }
            append(&*store, script.create(2)).await;
            append(&*store, script.set_status(TaskState::Completed, 3)).await;
            script
        });
    }
    while let Some(script) = running.join_next().await {
        script.expect("the writer does not panic").assert_stored(&*store).await;
    }
    existing.assert_stored(&*store).await;
    assert_eq!(store.list(&query_all("caller")).await.expect("list succeeds").total, 65);
}

/// Appends, and panics unless the append is rejected because the task is at another revision.
async fn assert_conflict(
    store: &dyn TaskStore,
    append: Append,
    expected: Revision,
    found: Revision,
) {
    let id = append.key.id.clone();
    match store.append(append).await {
        Err(Error::Conflict { task, expected: reported_expected, found: reported_found }) => {
            assert_eq!(
                (task, reported_expected, reported_found),
                (id, expected, found),
                "the content of the conflict"
            );
        }
        other => panic!("an append at {expected} of a task at {found}: {other:?}"),
    }
}
