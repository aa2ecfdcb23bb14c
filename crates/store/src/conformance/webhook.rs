//! Rules about webhooks and dead letters.

use latimer_protocol::{
    AuthenticationInfo, Dialect, PushConfigId, Revision, Secret, TaskPushNotificationConfig,
    TaskState,
};

use super::StoreFixture;
use super::script::{Script, UNLIMITED, append, time};
use crate::{
    AddWebhookOutcome, Append, DeadLetter, DeliveryProgress, ProgressUpdate, Retention, TaskKey,
    TaskStore, Webhook,
};

fn id(name: &str) -> PushConfigId {
    PushConfigId::new(name).expect("a valid id")
}

pub(super) fn webhook(task: &TaskKey, name: &str, cursor: u64) -> Webhook {
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
        progress: DeliveryProgress { cursor: Revision::new(cursor), ..DeliveryProgress::default() },
    }
}

fn progress_update(webhook: &Webhook, cursor: u64) -> ProgressUpdate {
    ProgressUpdate {
        task: webhook.task.clone(),
        webhook: webhook.id.clone(),
        generation: webhook.generation,
        from: webhook.progress.cursor,
        to: DeliveryProgress { cursor: Revision::new(cursor), ..DeliveryProgress::default() },
        dead_letter: None,
    }
}

fn dead_letter(webhook: &Webhook, name: &str, revision: u64) -> DeadLetter {
    DeadLetter {
        id: name.to_owned(),
        task: webhook.task.clone(),
        webhook: webhook.id.clone(),
        revision: Revision::new(revision),
        attempts: 3,
        abandoned_at: time(5),
        reason: "connection refused".to_owned(),
    }
}

async fn add(store: &dyn TaskStore, webhook: &Webhook) {
    let added = store.webhooks().add(webhook.clone(), 10).await.expect("add succeeds");
    assert_eq!(added, AddWebhookOutcome::Added, "the webhook is registered");
}

async fn assert_webhooks(store: &dyn TaskStore, task: &TaskKey, want: &[Webhook]) {
    assert_eq!(
        store.webhooks().list_for_task(task).await.expect("read succeeds"),
        want,
        "the webhooks of {task:?}"
    );
    for webhook in want {
        let found = store.webhooks().get(task, &webhook.id).await.expect("read succeeds");
        assert_eq!(found.as_ref(), Some(webhook), "one webhook");
    }
}

pub(super) async fn active_webhooks(store: &dyn TaskStore) -> Vec<(TaskKey, PushConfigId)> {
    let mut active = store.webhooks().list_active().await.expect("read succeeds");
    active.sort();
    active
}

pub(super) async fn webhook_round_trips(fixture: &dyn StoreFixture) {
    let store = fixture.open(UNLIMITED).await;
    let mut script = Script::new("t");
    append(&*store, script.create(1)).await;
    let (first, second) = (webhook(&script.key, "z", 1), webhook(&script.key, "a", 0));
    add(&*store, &first).await;
    add(&*store, &second).await;
    assert_webhooks(&*store, &script.key, &[first, second]).await;
    assert_eq!(store.webhooks().get(&script.key, &id("none")).await.expect("read succeeds"), None);
    let other_key = Script::for_key("other owner", "agent", "t").key;
    assert_webhooks(&*store, &other_key, &[]).await;
    assert_eq!(store.webhooks().get(&other_key, &id("a")).await.expect("read succeeds"), None);
}

pub(super) async fn webhook_is_registered_with_append(fixture: &dyn StoreFixture) {
    let store = fixture.open(UNLIMITED).await;
    let mut script = Script::new("t");
    let first = webhook(&script.key, "first", 0);
    let created = Append { webhook: Some(Box::new(first.clone())), ..script.create(1) };
    append(&*store, created.clone()).await;
    let second = webhook(&script.key, "second", 1);
    let second_append =
        Append { webhook: Some(Box::new(second.clone())), ..script.append_chunk("more") };
    append(&*store, second_append).await;
    assert_webhooks(&*store, &script.key, &[first, second.clone()]).await;
    let third = Box::new(webhook(&script.key, "third", 0));
    let rejected = store.append(Append { webhook: Some(third), ..created }).await;
    assert!(rejected.is_err(), "the task exists");
    assert_eq!(
        store.webhooks().list_for_task(&script.key).await.expect("read succeeds").len(),
        2,
        "the rejected append registers no webhook"
    );
    let mut finished = Script::new("finished");
    let only = webhook(&finished.key, "only", 0);
    let created = Append { webhook: Some(Box::new(only.clone())), ..finished.create_finished(2) };
    append(&*store, created).await;
    assert_webhooks(&*store, &finished.key, &[only]).await;
}

pub(super) async fn webhook_with_same_id_replaces_existing(fixture: &dyn StoreFixture) {
    let store = fixture.open(UNLIMITED).await;
    let mut script = Script::new("t");
    append(&*store, script.create(1)).await;
    let (old, other) = (webhook(&script.key, "a", 0), webhook(&script.key, "b", 0));
    add(&*store, &old).await;
    add(&*store, &other).await;
    let failing = DeliveryProgress {
        attempts: 2,
        next_attempt_at: Some(time(9)),
        ..DeliveryProgress::default()
    };
    let failing =
        DeliveryProgress { cursor: Revision::new(1), failing_since: Some(time(1)), ..failing };
    let advanced =
        store.webhooks().advance(ProgressUpdate { to: failing, ..progress_update(&old, 1) }).await;
    assert!(advanced.expect("update succeeds"), "the cursor matches");
    let mut new = webhook(&script.key, "a", 0);
    new.config.url = "https://other.example.com".to_owned();
    new.dialect = Dialect::V1_0;
    let added = store.webhooks().add(new.clone(), 2).await.expect("add succeeds");
    assert_eq!(added, AddWebhookOutcome::Added, "a replacement does not count against the limit");
    new.progress.cursor = Revision::new(1);
    new.generation = 1;
    assert_webhooks(&*store, &script.key, &[new.clone(), other.clone()]).await;
    // An update of the replaced webhook must not affect the new one.
    let stale = ProgressUpdate { from: Revision::new(1), ..progress_update(&old, 2) };
    assert!(
        !store.webhooks().advance(stale).await.expect("update succeeds"),
        "the webhook was replaced"
    );
    assert_webhooks(&*store, &script.key, &[new, other]).await;
}

pub(super) async fn webhook_limit_per_task_is_enforced(fixture: &dyn StoreFixture) {
    let store = fixture.open(UNLIMITED).await;
    let mut script = Script::new("t");
    append(&*store, script.create(1)).await;
    for (name, want) in [
        ("a", AddWebhookOutcome::Added),
        ("b", AddWebhookOutcome::Added),
        ("c", AddWebhookOutcome::LimitReached),
    ] {
        let added =
            store.webhooks().add(webhook(&script.key, name, 0), 2).await.expect("add succeeds");
        assert_eq!(added, want, "{name}");
    }
    let missing = Script::new("missing").key;
    let added = store.webhooks().add(webhook(&missing, "a", 0), 2).await.expect("add succeeds");
    assert_eq!(added, AddWebhookOutcome::TaskNotFound);
    assert_webhooks(&*store, &missing, &[]).await;
}

pub(super) async fn stale_progress_update_is_rejected(fixture: &dyn StoreFixture) {
    let store = fixture.open(UNLIMITED).await;
    let mut script = Script::new("t");
    append(&*store, script.create(1)).await;
    let mut webhook = webhook(&script.key, "a", 0);
    add(&*store, &webhook).await;
    let failed = DeliveryProgress {
        cursor: Revision::START,
        attempts: 2,
        failing_since: Some(time(3)),
        next_attempt_at: Some(time(4)),
    };
    let failed_attempt = ProgressUpdate { to: failed, ..progress_update(&webhook, 0) };
    assert!(store.webhooks().advance(failed_attempt).await.expect("update succeeds"));
    webhook.progress = failed;
    assert_webhooks(&*store, &script.key, std::slice::from_ref(&webhook)).await;
    assert!(store.webhooks().advance(progress_update(&webhook, 1)).await.expect("update succeeds"));
    let stale = ProgressUpdate {
        dead_letter: Some(dead_letter(&webhook, "l", 1)),
        ..progress_update(&webhook, 2)
    };
    assert!(
        !store.webhooks().advance(stale).await.expect("update succeeds"),
        "the cursor has moved"
    );
    assert_eq!(
        store.webhooks().dead_letters(9).await.expect("read succeeds"),
        [],
        "the update had no effect"
    );
    webhook.progress = DeliveryProgress { cursor: Revision::new(1), ..DeliveryProgress::default() };
    assert_webhooks(&*store, &script.key, std::slice::from_ref(&webhook)).await;
    assert!(store.webhooks().remove(&script.key, &webhook.id).await.expect("remove succeeds"));
    assert!(!store.webhooks().remove(&script.key, &webhook.id).await.expect("remove succeeds"));
    assert!(
        !store.webhooks().advance(progress_update(&webhook, 2)).await.expect("update succeeds"),
        "the webhook was removed"
    );
    assert_webhooks(&*store, &script.key, &[]).await;
}

pub(super) async fn webhook_is_active_until_terminal_event_is_delivered(
    fixture: &dyn StoreFixture,
) {
    let store = fixture.open(UNLIMITED).await;
    let mut scripts = ["running", "pending", "delivered"].map(Script::new);
    for script in &mut scripts {
        append(&*store, script.create(1)).await;
        add(&*store, &webhook(&script.key, "a", 0)).await;
    }
    append(&*store, scripts[1].set_status(TaskState::Completed, 2)).await;
    append(&*store, scripts[2].set_status(TaskState::Completed, 2)).await;
    let done = webhook(&scripts[2].key, "a", 0);
    assert!(store.webhooks().advance(progress_update(&done, 2)).await.expect("update succeeds"));
    let caught_up = webhook(&scripts[0].key, "a", 0);
    assert!(
        store.webhooks().advance(progress_update(&caught_up, 1)).await.expect("update succeeds")
    );
    let mut want = [0, 1].map(|at| (scripts[at].key.clone(), id("a")));
    want.sort();
    assert_eq!(active_webhooks(&*store).await, want);
}

pub(super) async fn dead_letters_are_kept_until_removed(fixture: &dyn StoreFixture) {
    let store = fixture.open(UNLIMITED).await;
    let mut script = Script::new("t");
    append(&*store, script.create(1)).await;
    let (first, second) = (webhook(&script.key, "a", 0), webhook(&script.key, "b", 0));
    let mut dead_letters = Vec::new();
    for (webhook, name) in [(&first, "x"), (&second, "y")] {
        add(&*store, webhook).await;
        dead_letters.push(dead_letter(webhook, name, 1));
        let update = ProgressUpdate {
            dead_letter: dead_letters.last().cloned(),
            ..progress_update(webhook, 1)
        };
        assert!(store.webhooks().advance(update).await.expect("update succeeds"));
    }
    assert_eq!(store.webhooks().dead_letters(9).await.expect("read succeeds"), dead_letters);
    assert_eq!(
        store.webhooks().dead_letters(1).await.expect("read succeeds"),
        dead_letters[..1],
        "the oldest first"
    );
    assert_eq!(
        store.webhooks().dead_letter("y").await.expect("read succeeds").as_ref(),
        dead_letters.last()
    );
    assert!(store.webhooks().remove(&script.key, &second.id).await.expect("remove succeeds"));
    assert_eq!(
        store.webhooks().dead_letters(9).await.expect("read succeeds"),
        dead_letters[..1],
        "dead letters are removed with their webhook"
    );
    assert!(store.webhooks().remove_dead_letter("x").await.expect("remove succeeds"));
    assert!(!store.webhooks().remove_dead_letter("x").await.expect("remove succeeds"));
    assert_eq!(store.webhooks().dead_letter("x").await.expect("read succeeds"), None);
    assert_eq!(store.webhooks().dead_letters(9).await.expect("read succeeds"), []);
}

pub(super) async fn evicting_task_removes_its_webhooks(fixture: &dyn StoreFixture) {
    let store = fixture.open(Retention { max_tasks: 1, ..UNLIMITED }).await;
    let mut script = Script::new("t");
    append(&*store, script.create_finished(1)).await;
    let webhook = webhook(&script.key, "a", 0);
    add(&*store, &webhook).await;
    let abandoned = ProgressUpdate {
        dead_letter: Some(dead_letter(&webhook, "l", 1)),
        ..progress_update(&webhook, 1)
    };
    assert!(store.webhooks().advance(abandoned).await.expect("update succeeds"));
    append(&*store, Script::new("other").create_finished(2)).await;
    script.assert_absent(&*store).await;
    assert_webhooks(&*store, &script.key, &[]).await;
    assert_eq!(active_webhooks(&*store).await, []);
    assert_eq!(store.webhooks().dead_letters(9).await.expect("read succeeds"), []);
    append(&*store, Script::new("t").create_finished(3)).await;
    assert_webhooks(&*store, &script.key, &[]).await;
}

pub(super) async fn webhooks_survive_restart(fixture: &dyn StoreFixture) {
    if !fixture.is_durable() {
        return;
    }
    let store = fixture.open(UNLIMITED).await;
    let mut script = Script::new("t");
    let inline = webhook(&script.key, "inline", 0);
    append(&*store, Append { webhook: Some(Box::new(inline.clone())), ..script.create(1) }).await;
    let mut failing = webhook(&script.key, "failing", 0);
    add(&*store, &failing).await;
    failing.progress = DeliveryProgress {
        cursor: Revision::new(1),
        attempts: 4,
        failing_since: Some(time(2)),
        next_attempt_at: Some(time(3)),
    };
    let abandoned_event = dead_letter(&failing, "l", 1);
    let abandoned = ProgressUpdate {
        from: Revision::START,
        to: failing.progress,
        dead_letter: Some(abandoned_event.clone()),
        ..progress_update(&failing, 1)
    };
    assert!(store.webhooks().advance(abandoned).await.expect("update succeeds"));
    drop(store);
    let store = fixture.open(UNLIMITED).await;
    assert_webhooks(&*store, &script.key, &[inline, failing]).await;
    assert_eq!(store.webhooks().dead_letters(9).await.expect("read succeeds"), [abandoned_event]);
    assert_eq!(active_webhooks(&*store).await.len(), 2);
}
