//! Webhooks, and what they gave up.

use latimer_protocol::{
    AuthenticationInfo, Dialect, PushConfigId, Revision, Secret, TaskPushNotificationConfig,
    TaskState,
};

use super::Home;
use super::script::{ROOMY, Script, append, time};
use crate::{Added, Append, DeadLetter, Key, Progress, Retention, Step, TaskStore, Webhook};

fn id(name: &str) -> PushConfigId {
    PushConfigId::new(name).expect("an id")
}

fn webhook(task: &Key, name: &str, seen: u64) -> Webhook {
    let authentication = AuthenticationInfo {
        scheme: "Bearer".to_owned(),
        credentials: Some(Secret::new(format!("credentials of {name}"))),
    };
    Webhook {
        task: task.clone(),
        id: id(name),
        config: TaskPushNotificationConfig {
            id: Some(id(name)),
            task_id: Some(task.id.clone()),
            url: format!("https://example.com/{name}"),
            token: Some(Secret::new(format!("token of {name}"))),
            authentication: Some(authentication),
            ..TaskPushNotificationConfig::default()
        },
        dialect: Dialect::V0_3,
        generation: 0,
        progress: Progress { seen: Revision::new(seen), ..Progress::default() },
    }
}

fn step(webhook: &Webhook, seen: u64) -> Step {
    Step {
        task: webhook.task.clone(),
        webhook: webhook.id.clone(),
        generation: webhook.generation,
        from: webhook.progress.seen,
        to: Progress { seen: Revision::new(seen), ..Progress::default() },
        dead: None,
    }
}

fn letter(webhook: &Webhook, name: &str, revision: u64) -> DeadLetter {
    DeadLetter {
        id: name.to_owned(),
        task: webhook.task.clone(),
        webhook: webhook.id.clone(),
        revision: Revision::new(revision),
        attempts: 3,
        at: time(5),
        reason: "nobody answered".to_owned(),
    }
}

async fn add(store: &dyn TaskStore, webhook: &Webhook) {
    let added = store.webhooks().add(webhook.clone(), 10).await.expect("adds");
    assert_eq!(added, Added::Yes, "the webhook is registered");
}

async fn check(store: &dyn TaskStore, task: &Key, want: &[Webhook]) {
    assert_eq!(
        store.webhooks().of_task(task).await.expect("reads"),
        want,
        "the webhooks of {task:?}"
    );
    for webhook in want {
        let found = store.webhooks().get(task, &webhook.id).await.expect("reads");
        assert_eq!(found.as_ref(), Some(webhook), "one webhook");
    }
}

async fn active(store: &dyn TaskStore) -> Vec<(Key, PushConfigId)> {
    let mut active = store.webhooks().active().await.expect("reads");
    active.sort();
    active
}

pub(super) async fn a_webhook_is_kept_whole(home: &dyn Home) {
    let store = home.open(ROOMY).await;
    let mut script = Script::new("t");
    append(&*store, script.create(1)).await;
    let (first, second) = (webhook(&script.key, "z", 1), webhook(&script.key, "a", 0));
    add(&*store, &first).await;
    add(&*store, &second).await;
    check(&*store, &script.key, &[first, second]).await;
    assert_eq!(store.webhooks().get(&script.key, &id("none")).await.expect("reads"), None);
    let elsewhere = Script::of("somebody else", "agent", "t").key;
    check(&*store, &elsewhere, &[]).await;
    assert_eq!(store.webhooks().get(&elsewhere, &id("a")).await.expect("reads"), None);
}

pub(super) async fn a_webhook_comes_with_its_task(home: &dyn Home) {
    let store = home.open(ROOMY).await;
    let mut script = Script::new("t");
    let first = webhook(&script.key, "first", 0);
    let created = Append { webhook: Some(Box::new(first.clone())), ..script.create(1) };
    append(&*store, created.clone()).await;
    let second = webhook(&script.key, "second", 1);
    let further = Append { webhook: Some(Box::new(second.clone())), ..script.grow("more") };
    append(&*store, further).await;
    check(&*store, &script.key, &[first, second.clone()]).await;
    let third = Box::new(webhook(&script.key, "third", 0));
    let refused = store.append(Append { webhook: Some(third), ..created }).await;
    assert!(refused.is_err(), "the task is there");
    assert_eq!(
        store.webhooks().of_task(&script.key).await.expect("reads").len(),
        2,
        "nothing came of it"
    );
    let mut whole = Script::new("whole");
    let only = webhook(&whole.key, "only", 0);
    let created = Append { webhook: Some(Box::new(only.clone())), ..whole.create_finished(2) };
    append(&*store, created).await;
    check(&*store, &whole.key, &[only]).await;
}

pub(super) async fn a_webhook_of_the_same_name_takes_over(home: &dyn Home) {
    let store = home.open(ROOMY).await;
    let mut script = Script::new("t");
    append(&*store, script.create(1)).await;
    let (old, other) = (webhook(&script.key, "a", 0), webhook(&script.key, "b", 0));
    add(&*store, &old).await;
    add(&*store, &other).await;
    let failing = Progress { attempts: 2, due: Some(time(9)), ..Progress::default() };
    let failing = Progress { seen: Revision::new(1), failing_since: Some(time(1)), ..failing };
    let advanced = store.webhooks().advance(Step { to: failing, ..step(&old, 1) }).await;
    assert!(advanced.expect("advances"), "it is where it was");
    let mut new = webhook(&script.key, "a", 0);
    new.config.url = "https://elsewhere.example.com".to_owned();
    new.dialect = Dialect::V1_0;
    let added = store.webhooks().add(new.clone(), 2).await.expect("adds");
    assert_eq!(added, Added::Yes, "it is not one more");
    new.progress.seen = Revision::new(1);
    new.generation = 1;
    check(&*store, &script.key, &[new.clone(), other.clone()]).await;
    // What the former one was at is not the new one's.
    let late = Step { from: Revision::new(1), ..step(&old, 2) };
    assert!(!store.webhooks().advance(late).await.expect("advances"), "it was replaced");
    check(&*store, &script.key, &[new, other]).await;
}

pub(super) async fn a_task_has_so_many_webhooks(home: &dyn Home) {
    let store = home.open(ROOMY).await;
    let mut script = Script::new("t");
    append(&*store, script.create(1)).await;
    for (name, want) in [("a", Added::Yes), ("b", Added::Yes), ("c", Added::TooMany)] {
        let added = store.webhooks().add(webhook(&script.key, name, 0), 2).await.expect("adds");
        assert_eq!(added, want, "{name}");
    }
    let nobody = Script::new("nobody's").key;
    let added = store.webhooks().add(webhook(&nobody, "a", 0), 2).await.expect("adds");
    assert_eq!(added, Added::NoTask);
    check(&*store, &nobody, &[]).await;
}

pub(super) async fn a_webhook_advances_from_where_it_is(home: &dyn Home) {
    let store = home.open(ROOMY).await;
    let mut script = Script::new("t");
    append(&*store, script.create(1)).await;
    let mut webhook = webhook(&script.key, "a", 0);
    add(&*store, &webhook).await;
    let failed = Progress {
        seen: Revision::START,
        attempts: 2,
        failing_since: Some(time(3)),
        due: Some(time(4)),
    };
    let failure = Step { to: failed, ..step(&webhook, 0) };
    assert!(store.webhooks().advance(failure).await.expect("advances"));
    webhook.progress = failed;
    check(&*store, &script.key, std::slice::from_ref(&webhook)).await;
    assert!(store.webhooks().advance(step(&webhook, 1)).await.expect("advances"));
    let again = Step { dead: Some(letter(&webhook, "l", 1)), ..step(&webhook, 2) };
    assert!(!store.webhooks().advance(again).await.expect("advances"), "it was elsewhere by then");
    assert_eq!(
        store.webhooks().dead_letters(9).await.expect("reads"),
        [],
        "nothing of it was done"
    );
    webhook.progress = Progress { seen: Revision::new(1), ..Progress::default() };
    check(&*store, &script.key, std::slice::from_ref(&webhook)).await;
    assert!(store.webhooks().remove(&script.key, &webhook.id).await.expect("removes"));
    assert!(!store.webhooks().remove(&script.key, &webhook.id).await.expect("removes"));
    assert!(!store.webhooks().advance(step(&webhook, 2)).await.expect("advances"), "it is gone");
    check(&*store, &script.key, &[]).await;
}

pub(super) async fn webhooks_are_active_while_there_is_something_to_do(home: &dyn Home) {
    let store = home.open(ROOMY).await;
    let mut scripts = ["going on", "unseen", "done"].map(Script::new);
    for script in &mut scripts {
        append(&*store, script.create(1)).await;
        add(&*store, &webhook(&script.key, "a", 0)).await;
    }
    append(&*store, scripts[1].change(TaskState::Completed, 2)).await;
    append(&*store, scripts[2].change(TaskState::Completed, 2)).await;
    let done = webhook(&scripts[2].key, "a", 0);
    assert!(store.webhooks().advance(step(&done, 2)).await.expect("advances"));
    let seen = webhook(&scripts[0].key, "a", 0);
    assert!(store.webhooks().advance(step(&seen, 1)).await.expect("advances"));
    let mut want = [0, 1].map(|at| (scripts[at].key.clone(), id("a")));
    want.sort();
    assert_eq!(active(&*store).await, want);
}

pub(super) async fn what_was_given_up_is_kept_until_it_is_forgotten(home: &dyn Home) {
    let store = home.open(ROOMY).await;
    let mut script = Script::new("t");
    append(&*store, script.create(1)).await;
    let (first, second) = (webhook(&script.key, "a", 0), webhook(&script.key, "b", 0));
    let mut letters = Vec::new();
    for (webhook, name) in [(&first, "x"), (&second, "y")] {
        add(&*store, webhook).await;
        letters.push(letter(webhook, name, 1));
        let step = Step { dead: letters.last().cloned(), ..step(webhook, 1) };
        assert!(store.webhooks().advance(step).await.expect("advances"));
    }
    assert_eq!(store.webhooks().dead_letters(9).await.expect("reads"), letters);
    assert_eq!(
        store.webhooks().dead_letters(1).await.expect("reads"),
        letters[..1],
        "the earliest first"
    );
    assert_eq!(store.webhooks().dead_letter("y").await.expect("reads").as_ref(), letters.last());
    assert!(store.webhooks().remove(&script.key, &second.id).await.expect("removes"));
    assert_eq!(
        store.webhooks().dead_letters(9).await.expect("reads"),
        letters[..1],
        "it went with its own"
    );
    assert!(store.webhooks().remove_dead_letter("x").await.expect("removes"));
    assert!(!store.webhooks().remove_dead_letter("x").await.expect("removes"));
    assert_eq!(store.webhooks().dead_letter("x").await.expect("reads"), None);
    assert_eq!(store.webhooks().dead_letters(9).await.expect("reads"), []);
}

pub(super) async fn webhooks_go_with_their_task(home: &dyn Home) {
    let store = home.open(Retention { max_tasks: 1, ..ROOMY }).await;
    let mut script = Script::new("t");
    append(&*store, script.create_finished(1)).await;
    let webhook = webhook(&script.key, "a", 0);
    add(&*store, &webhook).await;
    let gave_up = Step { dead: Some(letter(&webhook, "l", 1)), ..step(&webhook, 1) };
    assert!(store.webhooks().advance(gave_up).await.expect("advances"));
    append(&*store, Script::new("other").create_finished(2)).await;
    script.check_gone(&*store).await;
    check(&*store, &script.key, &[]).await;
    assert_eq!(active(&*store).await, []);
    assert_eq!(store.webhooks().dead_letters(9).await.expect("reads"), []);
    append(&*store, Script::new("t").create_finished(3)).await;
    check(&*store, &script.key, &[]).await;
}

pub(super) async fn webhooks_outlive_the_process(home: &dyn Home) {
    if !home.is_durable() {
        return;
    }
    let store = home.open(ROOMY).await;
    let mut script = Script::new("t");
    let inline = webhook(&script.key, "inline", 0);
    append(&*store, Append { webhook: Some(Box::new(inline.clone())), ..script.create(1) }).await;
    let mut failing = webhook(&script.key, "failing", 0);
    add(&*store, &failing).await;
    failing.progress = Progress {
        seen: Revision::new(1),
        attempts: 4,
        failing_since: Some(time(2)),
        due: Some(time(3)),
    };
    let lost = letter(&failing, "l", 1);
    let gave_up = Step {
        from: Revision::START,
        to: failing.progress,
        dead: Some(lost.clone()),
        ..step(&failing, 1)
    };
    assert!(store.webhooks().advance(gave_up).await.expect("advances"));
    drop(store);
    let store = home.open(ROOMY).await;
    check(&*store, &script.key, &[inline, failing]).await;
    assert_eq!(store.webhooks().dead_letters(9).await.expect("reads"), [lost]);
    assert_eq!(active(&*store).await.len(), 2);
}
