//! Messages that come again.

use latimer_protocol::TaskState;

use super::Home;
use super::script::{ROOMY, Script, append, message, sent, time};
use crate::{Outcome, Retention, TaskStore};

pub(super) async fn a_message_leads_to_its_task(home: &dyn Home) {
    let store = home.open(ROOMY).await;
    assert_eq!(look_up(&*store, 1, 0).await, None, "a message that never came");
    let mut script = Script::new("t");
    let mut create = script.create_finished(1);
    create.sent = Some(sent(1, 100));
    append(&*store, create).await;
    assert_eq!(look_up(&*store, 1, 2).await, Some(led_to(&script)));
    assert_eq!(look_up(&*store, 2, 2).await, None, "another message");
}

pub(super) async fn each_message_leads_to_its_own_revision(home: &dyn Home) {
    let store = home.open(ROOMY).await;
    let mut script = Script::of("", "x", "t/1");
    let mut want = Vec::new();
    for number in 1..6 {
        let mut next = match number {
            1 => script.create(1),
            _ => script.change(TaskState::InputRequired, 1 + i64::from(number)),
        };
        next.sent = Some(sent(number, 100));
        append(&*store, next).await;
        want.push((number, led_to(&script)));
        append(&*store, script.grow("without a message")).await;
    }
    for (number, want) in want {
        assert_eq!(look_up(&*store, number, 2).await, Some(want), "message {number}");
    }
}

pub(super) async fn a_message_leads_to_its_answer(home: &dyn Home) {
    let store = home.open(ROOMY).await;
    let answer = message("answer", "42");
    store.remember(sent(1, 100), &answer).await.expect("remembers");
    assert_eq!(look_up(&*store, 1, 2).await, Some(Outcome::Message(answer)));
    assert_eq!(look_up(&*store, 2, 2).await, None, "another message");
}

pub(super) async fn a_message_is_forgotten_in_time(home: &dyn Home) {
    let store = home.open(ROOMY).await;
    let mut script = Script::new("t");
    let mut create = script.create(1);
    create.sent = Some(sent(1, 100));
    append(&*store, create).await;
    store.remember(sent(2, 100), &message("m", "x")).await.expect("remembers");
    store.remember(sent(3, 500), &message("m", "y")).await.expect("remembers");
    for (now, known) in [(99, true), (100, false), (101, false)] {
        for number in [1, 2] {
            let found = look_up(&*store, number, now).await;
            assert_eq!(found.is_some(), known, "message {number} that expires at 100, at {now}");
        }
    }
    store.sweep(time(100)).await.expect("sweeps");
    for number in [1, 2] {
        assert_eq!(look_up(&*store, number, 100).await, None, "message {number} was swept");
    }
    assert!(look_up(&*store, 3, 100).await.is_some(), "a sweep leaves what has not expired");
    script.check(&*store).await;
}

pub(super) async fn what_was_remembered_last_counts(home: &dyn Home) {
    let store = home.open(ROOMY).await;
    store.remember(sent(1, 10), &message("m", "old")).await.expect("remembers");
    store.remember(sent(1, 100), &message("m", "new")).await.expect("remembers");
    let new = Outcome::Message(message("m", "new"));
    assert_eq!(look_up(&*store, 1, 50).await, Some(new.clone()));
    store.sweep(time(50)).await.expect("sweeps");
    assert_eq!(look_up(&*store, 1, 50).await, Some(new));
    let mut script = Script::new("t");
    let mut create = script.create(60);
    create.sent = Some(sent(1, 200));
    append(&*store, create).await;
    assert_eq!(look_up(&*store, 1, 150).await, Some(led_to(&script)));
}

pub(super) async fn a_message_goes_with_its_task(home: &dyn Home) {
    let store = home.open(Retention { max_tasks: 1, ..ROOMY }).await;
    let mut create = Script::new("old").create_finished(1);
    create.sent = Some(sent(1, 1_000));
    append(&*store, create).await;
    let mut script = Script::new("new");
    append(&*store, script.create(2)).await;
    assert_eq!(look_up(&*store, 1, 3).await, None, "its task is gone");
}

async fn look_up(store: &dyn TaskStore, number: u8, now: i64) -> Option<Outcome> {
    store.sent(&sent(number, 0).key, time(now)).await.expect("the store looks up")
}

/// That the message was answered by the events so far.
fn led_to(script: &Script) -> Outcome {
    Outcome::Task { key: script.key.clone(), revision: script.revision() }
}
