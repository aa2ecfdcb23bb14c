//! Rules about retention: eviction and sweeps.

use std::time::Duration;

use latimer_protocol::{Revision, TaskState};

use super::StoreFixture;
use super::script::{Script, UNLIMITED, append, query_all, time};
use crate::{Error, Retention, TaskStore};

pub(super) async fn store_reports_its_retention(fixture: &dyn StoreFixture) {
    let retention = Retention { max_tasks: 7, ..UNLIMITED };
    let store = fixture.open(retention.clone()).await;
    assert_eq!(*store.retention(), retention);
    assert!(!store.backend_name().is_empty(), "the backend has a name");
}

pub(super) async fn earliest_finished_task_is_evicted_first(fixture: &dyn StoreFixture) {
    let store = fixture.open(Retention { max_tasks: 4, ..UNLIMITED }).await;
    let mut scripts = ["a", "b", "c", "d"].map(Script::new);
    for script in &mut scripts {
        append(&*store, script.create(1)).await;
    }
    // In another order than that of creation.
    for index in [2, 0, 3] {
        append(&*store, scripts[index].set_status(TaskState::Completed, 2)).await;
    }
    for (number, evicted) in [2, 0, 3].into_iter().enumerate() {
        let mut new = Script::new(&format!("new {number}"));
        append(&*store, new.create(3)).await;
        new.assert_stored(&*store).await;
        scripts[evicted].assert_absent(&*store).await;
        scripts[1].assert_stored(&*store).await;
        assert_eq!(store.list(&query_all("caller")).await.expect("list succeeds").total, 4);
    }
}

pub(super) async fn unfinished_tasks_are_never_evicted(fixture: &dyn StoreFixture) {
    let store = fixture.open(Retention { max_tasks: 3, ..UNLIMITED }).await;
    let states = [TaskState::Working, TaskState::InputRequired, TaskState::AuthRequired];
    let mut scripts = ["a", "b", "c"].map(Script::new);
    for (script, state) in scripts.iter_mut().zip(states) {
        append(&*store, script.create(1)).await;
        append(&*store, script.set_status(state, 2)).await;
    }
    for at in 3..6 {
        let mut rejected = Script::new("rejected");
        match store.append(rejected.create(at)).await {
            Err(Error::Full { tasks }) => assert_eq!(tasks, 3, "the number of tasks"),
            other => panic!("expected a full store: {other:?}"),
        }
        rejected.assert_absent(&*store).await;
    }
    let swept = store.sweep(time(i64::from(u32::MAX))).await.expect("sweep succeeds");
    assert_eq!(swept, 0, "unfinished tasks are never swept");
    for script in &scripts {
        script.assert_stored(&*store).await;
    }
    append(&*store, scripts[1].set_status(TaskState::Canceled, 6)).await;
    let mut new = Script::new("new");
    append(&*store, new.create(7)).await;
    scripts[1].assert_absent(&*store).await;
    for script in [&scripts[0], &scripts[2], &new] {
        script.assert_stored(&*store).await;
    }
}

pub(super) async fn removed_task_id_can_be_reused(fixture: &dyn StoreFixture) {
    let store = fixture.open(Retention { max_tasks: 1, ..UNLIMITED }).await;
    let mut long = Script::new("t");
    append(&*store, long.create(1)).await;
    for _ in 0..8 {
        let events = (0..100).map(|it| long.chunk_event(&it.to_string())).collect();
        append(&*store, long.append_events(events)).await;
    }
    append(&*store, long.set_status(TaskState::Failed, 2)).await;
    append(&*store, Script::new("other").create_finished(3)).await;
    long.assert_absent(&*store).await;
    let mut recreated = Script::new("t");
    append(&*store, recreated.create(4)).await;
    recreated.assert_stored(&*store).await;
    let later_events =
        store.events(&recreated.key, Revision::new(1), 10).await.expect("read succeeds");
    assert_eq!(later_events, [], "the new log has no events of the old one");
    store.sweep(time(5)).await.expect("sweep succeeds");
    recreated.assert_stored(&*store).await;
}

pub(super) async fn sweep_removes_tasks_past_max_age(fixture: &dyn StoreFixture) {
    let age = Duration::from_millis(1_000);
    let store = fixture.open(Retention { max_age: age, ..UNLIMITED }).await;
    let mut scripts = ["a", "b", "c", "d"].map(Script::new);
    for (at, script) in (1..).zip(&mut scripts) {
        append(&*store, script.create(at)).await;
        if at < 4 {
            append(&*store, script.set_status(TaskState::Completed, 10 * at)).await;
        }
    }
    for (now, removed, remaining) in [(1_009, 0, 4), (1_010, 1, 3), (1_010, 0, 3), (5_000, 2, 1)] {
        assert_eq!(
            store.sweep(time(now)).await.expect("sweep succeeds"),
            removed,
            "swept at {now}"
        );
        assert_eq!(total(&*store).await, remaining, "remaining at {now}");
    }
    for script in &scripts[..3] {
        script.assert_absent(&*store).await;
    }
    scripts[3].assert_stored(&*store).await;
    let many = 2_000;
    for number in 0..many {
        append(&*store, Script::new(&number.to_string()).create_finished(100)).await;
    }
    assert_eq!(
        store.sweep(time(1_100)).await.expect("sweep succeeds"),
        many,
        "one sweep removes all"
    );
    assert_eq!(total(&*store).await, 1);
}

pub(super) async fn context_limit_evicts_finished_tasks(fixture: &dyn StoreFixture) {
    let store = fixture.open(Retention { max_contexts: 2, ..UNLIMITED }).await;
    let mut live = Script::new("live").with_context("live");
    append(&*store, live.create(1)).await;
    let mut first = Script::new("first").with_context("first");
    append(&*store, first.create_finished(2)).await;
    let mut same_context = Script::new("same context").with_context("first");
    append(&*store, same_context.create_finished(3)).await;
    first.assert_stored(&*store).await;
    let mut second = Script::new("second").with_context("second");
    append(&*store, second.create_finished(4)).await;
    first.assert_absent(&*store).await;
    same_context.assert_absent(&*store).await;
    second.assert_stored(&*store).await;
    // The same context id of another agent is another context.
    let mut other = Script::for_key("caller", "other", "other").with_context("live");
    append(&*store, other.create(5)).await;
    second.assert_absent(&*store).await;
    // No task can be evicted, but a new context is still accepted.
    let mut third = Script::new("third").with_context("third");
    append(&*store, third.create(6)).await;
    for script in [live, other, third] {
        script.assert_stored(&*store).await;
    }
}

async fn total(store: &dyn TaskStore) -> u64 {
    store.list(&query_all("caller")).await.expect("list succeeds").total
}

pub(super) async fn interrupted_tasks_are_listed_by_owner_and_time(fixture: &dyn StoreFixture) {
    let store = fixture.open(UNLIMITED).await;
    for (owner, id, state, at) in [
        ("one", "a", TaskState::InputRequired, 1),
        ("many", "b", TaskState::AuthRequired, 4),
        ("many", "c", TaskState::InputRequired, 2),
        ("many", "d", TaskState::InputRequired, 9),
        ("many", "e", TaskState::Working, 1),
        ("", "f", TaskState::Completed, 1),
        ("", "g", TaskState::InputRequired, 3),
    ] {
        let mut script = Script::for_key(owner, "agent", id);
        append(&*store, script.create(0)).await;
        append(&*store, script.set_status(state, at)).await;
    }
    for (since, limit, want) in
        [(100, 100, "c b d a g"), (100, 2, "c b"), (4, 100, "c b a g"), (0, 100, "")]
    {
        let listed = store.list_interrupted(time(since), limit).await.expect("list succeeds");
        let ids: Vec<_> = listed.tasks.iter().map(|it| it.id.as_str()).collect();
        assert_eq!((ids.join(" ").as_str(), listed.total), (want, 5), "since {since}");
    }
}
