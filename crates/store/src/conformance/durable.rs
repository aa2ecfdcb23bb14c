//! What outlives the process, where something does.

use latimer_protocol::TaskState;

use super::Home;
use super::script::{ROOMY, Script, all_of, append, message, sent, time};
use crate::{Outcome, Retention, TaskStore, Work};

pub(super) async fn a_new_store_has_nothing_abandoned(home: &dyn Home) {
    let store = home.open(ROOMY).await;
    assert_eq!(store.take_abandoned(10).await.expect("takes"), []);
    let mut script = Script::new("t");
    append(&*store, script.create(1)).await;
    append(&*store, script.change(TaskState::Working, 2)).await;
    assert_eq!(store.take_abandoned(10).await.expect("takes"), [], "its own tasks are its own");
}

pub(super) async fn everything_outlives_the_process(home: &dyn Home) {
    if !home.is_durable() {
        return;
    }
    let store = home.open(ROOMY).await;
    let mut scripts: Vec<_> = (0..30).map(|it| Script::new(&format!("t{it}"))).collect();
    for (number, script) in (0u8..).zip(&mut scripts) {
        let mut create = script.create(i64::from(number));
        create.sent = Some(sent(number, 1_000));
        append(&*store, create).await;
        for round in 0..number {
            append(&*store, script.grow(&round.to_string())).await;
        }
        let states = [TaskState::Working, TaskState::InputRequired, TaskState::Completed];
        append(&*store, script.change(states[usize::from(number % 3)], 50)).await;
    }
    let answer = message("m", "an answer");
    store.remember(sent(200, 1_000), &answer).await.expect("remembers");
    let listed = store.list(&all_of("caller")).await.expect("lists");
    drop(store);

    let store = home.open(ROOMY).await;
    for (number, script) in (0u8..).zip(&scripts) {
        script.check(&*store).await;
        let found = store.sent(&sent(number, 0).key, time(60)).await.expect("looks up");
        let Some(Outcome::Task { key, .. }) = found else { panic!("message {number}") };
        assert_eq!(key, script.key);
    }
    let found = store.sent(&sent(200, 0).key, time(60)).await.expect("looks up");
    assert_eq!(found, Some(Outcome::Message(answer)));
    assert_eq!(store.list(&all_of("caller")).await.expect("lists"), listed);
    append(&*store, scripts[0].grow("and it goes on")).await;
    drop(store);

    let store = home.open(ROOMY).await;
    for script in &scripts {
        script.check(&*store).await;
    }
}

pub(super) async fn the_order_of_leaving_outlives_the_process(home: &dyn Home) {
    if !home.is_durable() {
        return;
    }
    let retention = || Retention { max_tasks: 3, ..ROOMY };
    let store = home.open(retention()).await;
    let mut scripts = ["a", "b", "c"].map(Script::new);
    for script in &mut scripts {
        append(&*store, script.create(1)).await;
    }
    for at in [1, 2, 0] {
        append(&*store, scripts[at].change(TaskState::Completed, 2)).await;
    }
    drop(store);
    for (number, gone) in [1, 2, 0].into_iter().enumerate() {
        let store = home.open(retention()).await;
        let mut new = Script::new(&format!("new {number}"));
        append(&*store, new.create(3)).await;
        scripts[gone].check_gone(&*store).await;
        new.check(&*store).await;
    }
}

pub(super) async fn abandoned_tasks_are_taken_once_in_order(home: &dyn Home) {
    if !home.is_durable() {
        return;
    }
    let store = home.open(ROOMY).await;
    let mut abandoned = Vec::new();
    // Later ids first, so that neither ids nor times give the order.
    for number in (0..20).rev() {
        let mut script = Script::new(&format!("t{number:02}"));
        append(&*store, script.create(number)).await;
        match number % 4 {
            0 => {}
            1 => {
                append(&*store, script.change(TaskState::Working, 30)).await;
                append(&*store, script.grow("so far")).await;
            }
            2 => {
                append(&*store, script.change(TaskState::InputRequired, 30)).await;
            }
            _ => {
                append(&*store, script.change(TaskState::Completed, 30)).await;
            }
        }
        if script.header.work != Work::None {
            abandoned.push(script.stored());
        }
    }
    drop(store);

    let store = home.open(ROOMY).await;
    let mut own = Script::new("own");
    append(&*store, own.create(40)).await;
    let mut taken = Vec::new();
    for limit in [1, 3, 100, 100] {
        let some = store.take_abandoned(limit).await.expect("takes");
        assert!(some.len() <= limit, "at most {limit} were asked for");
        taken.extend(some);
    }
    assert_eq!(taken, abandoned, "each of them once, in the order of their creation");
    own.check(&*store).await;
}

pub(super) async fn abandoned_tasks_may_be_abandoned_again(home: &dyn Home) {
    if !home.is_durable() {
        return;
    }
    let store = home.open(ROOMY).await;
    let mut scripts = ["a", "b", "c", "d"].map(Script::new);
    for script in &mut scripts {
        append(&*store, script.create(1)).await;
        append(&*store, script.change(TaskState::Working, 2)).await;
    }
    drop(store);

    let store = home.open(ROOMY).await;
    let ids = |taken: &[crate::Stored]| {
        taken.iter().map(|it| it.key.id.as_str()).collect::<Vec<_>>().join(" ")
    };
    // The third is gone on with before anybody takes it, which takes it.
    append(&*store, scripts[2].grow("on")).await;
    let taken = take(&*store, 2).await;
    assert_eq!(ids(&taken), "a b");
    append(&*store, scripts[0].change(TaskState::Failed, 3)).await;
    append(&*store, scripts[1].grow("on")).await;
    drop(store);

    let store = home.open(ROOMY).await;
    let taken = take(&*store, 100).await;
    assert_eq!(ids(&taken), "b c d", "what was finished is nobody's any more");
    assert_eq!(take(&*store, 100).await, []);
    for script in &scripts {
        script.check(&*store).await;
    }
}

async fn take(store: &dyn TaskStore, limit: usize) -> Vec<crate::Stored> {
    store.take_abandoned(limit).await.expect("the store takes over")
}
