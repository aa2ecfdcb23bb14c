//! What is kept, and what makes room.

use std::time::Duration;

use latimer_protocol::{Revision, TaskState};

use super::Home;
use super::script::{ROOMY, Script, all_of, append, time};
use crate::{Error, Retention, TaskStore};

pub(super) async fn a_store_says_what_it_keeps(home: &dyn Home) {
    let retention = Retention { max_tasks: 7, ..ROOMY };
    let store = home.open(retention.clone()).await;
    assert_eq!(*store.retention(), retention);
    assert!(!store.name().is_empty(), "a backend has a name");
}

pub(super) async fn what_finished_first_makes_room(home: &dyn Home) {
    let store = home.open(Retention { max_tasks: 4, ..ROOMY }).await;
    let mut scripts = ["a", "b", "c", "d"].map(Script::new);
    for script in &mut scripts {
        append(&*store, script.create(1)).await;
    }
    // Not in the order in which they were created.
    for at in [2, 0, 3] {
        append(&*store, scripts[at].change(TaskState::Completed, 2)).await;
    }
    for (number, gone) in [2, 0, 3].into_iter().enumerate() {
        let mut new = Script::new(&format!("new {number}"));
        append(&*store, new.create(3)).await;
        new.check(&*store).await;
        scripts[gone].check_gone(&*store).await;
        scripts[1].check(&*store).await;
        assert_eq!(store.list(&all_of("caller")).await.expect("lists").total, 4);
    }
}

pub(super) async fn what_goes_on_stays(home: &dyn Home) {
    let store = home.open(Retention { max_tasks: 3, ..ROOMY }).await;
    let states = [TaskState::Working, TaskState::InputRequired, TaskState::AuthRequired];
    let mut scripts = ["a", "b", "c"].map(Script::new);
    for (script, state) in scripts.iter_mut().zip(states) {
        append(&*store, script.create(1)).await;
        append(&*store, script.change(state, 2)).await;
    }
    for at in 3..6 {
        let mut refused = Script::new("one too many");
        match store.append(refused.create(at)).await {
            Err(Error::Full { tasks }) => assert_eq!(tasks, 3, "how many tasks there are"),
            other => panic!("a fourth task of three: {other:?}"),
        }
        refused.check_gone(&*store).await;
    }
    let swept = store.sweep(time(i64::from(u32::MAX))).await.expect("sweeps");
    assert_eq!(swept, 0, "what goes on is never swept, however old");
    for script in &scripts {
        script.check(&*store).await;
    }
    append(&*store, scripts[1].change(TaskState::Canceled, 6)).await;
    let mut new = Script::new("new");
    append(&*store, new.create(7)).await;
    scripts[1].check_gone(&*store).await;
    for script in [&scripts[0], &scripts[2], &new] {
        script.check(&*store).await;
    }
}

pub(super) async fn what_was_removed_leaves_no_trace(home: &dyn Home) {
    let store = home.open(Retention { max_tasks: 1, ..ROOMY }).await;
    let mut long = Script::new("t");
    append(&*store, long.create(1)).await;
    for _ in 0..8 {
        let events = (0..100).map(|it| long.piece(&it.to_string())).collect();
        append(&*store, long.then(events)).await;
    }
    append(&*store, long.change(TaskState::Failed, 2)).await;
    append(&*store, Script::new("other").create_finished(3)).await;
    long.check_gone(&*store).await;
    let mut again = Script::new("t");
    append(&*store, again.create(4)).await;
    again.check(&*store).await;
    let behind = store.events(&again.key, Revision::new(1), 10).await.expect("reads");
    assert_eq!(behind, [], "the new log has nothing of the old");
    store.sweep(time(5)).await.expect("sweeps");
    again.check(&*store).await;
}

pub(super) async fn what_is_old_is_swept(home: &dyn Home) {
    let age = Duration::from_millis(1_000);
    let store = home.open(Retention { max_age: age, ..ROOMY }).await;
    let mut scripts = ["a", "b", "c", "d"].map(Script::new);
    for (at, script) in (1..).zip(&mut scripts) {
        append(&*store, script.create(at)).await;
        if at < 4 {
            append(&*store, script.change(TaskState::Completed, 10 * at)).await;
        }
    }
    for (now, gone, left) in [(1_009, 0, 4), (1_010, 1, 3), (1_010, 0, 3), (5_000, 2, 1)] {
        assert_eq!(store.sweep(time(now)).await.expect("sweeps"), gone, "swept at {now}");
        assert_eq!(total(&*store).await, left, "left at {now}");
    }
    for script in &scripts[..3] {
        script.check_gone(&*store).await;
    }
    scripts[3].check(&*store).await;
    let many = 2_000;
    for number in 0..many {
        append(&*store, Script::new(&number.to_string()).create_finished(100)).await;
    }
    assert_eq!(store.sweep(time(1_100)).await.expect("sweeps"), many, "one sweep takes them all");
    assert_eq!(total(&*store).await, 1);
}

pub(super) async fn conversations_make_room(home: &dyn Home) {
    let store = home.open(Retention { max_contexts: 2, ..ROOMY }).await;
    let mut live = Script::new("live").in_context("live");
    append(&*store, live.create(1)).await;
    let mut first = Script::new("first").in_context("first");
    append(&*store, first.create_finished(2)).await;
    let mut again = Script::new("again").in_context("first");
    append(&*store, again.create_finished(3)).await;
    first.check(&*store).await;
    let mut second = Script::new("second").in_context("second");
    append(&*store, second.create_finished(4)).await;
    first.check_gone(&*store).await;
    again.check_gone(&*store).await;
    second.check(&*store).await;
    // The same name is another conversation with another agent.
    let mut other = Script::of("caller", "other", "other").in_context("live");
    append(&*store, other.create(5)).await;
    second.check_gone(&*store).await;
    // None can make room, and it is no reason to refuse one.
    let mut third = Script::new("third").in_context("third");
    append(&*store, third.create(6)).await;
    for script in [live, other, third] {
        script.check(&*store).await;
    }
}

async fn total(store: &dyn TaskStore) -> u64 {
    store.list(&all_of("caller")).await.expect("the store lists").total
}
