//! Failing, slow and replaced receivers, and restarts of the server.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use latimer_server::store::{MemoryStore, Retention, SqliteConfig, SqliteStore};
use latimer_server::{PushSettings, ReplayOutcome, WebhookDispatcher};

use super::{
    Receiver, send_with_webhook, short_timeouts, start_chatty_server, task_id,
    wait_for_dead_letters, webhook_at, webhook_server,
};
use crate::support::{TestServer, start_server, wait_until};

#[tokio::test]
async fn failed_delivery_is_retried_with_the_same_id_in_order() {
    // Two of three attempts fail, with different statuses.
    let receiver = Receiver::with_behavior(|number| match number % 3 {
        0 => Some(500),
        1 => Some(429),
        _ => Some(200),
    });
    let (server, receiver) = (start_chatty_server(short_timeouts()).await, receiver.await);
    server.v1().post("/a2a", send_with_webhook("one", &webhook_at(&receiver.url("/")), true)).await;
    let deliveries = receiver.wait_accepted(4).await;
    let events: Vec<_> = deliveries.iter().map(|it| it.summary()).collect();
    assert_eq!(events, ["task SUBMITTED", "WORKING", "artifact one", "COMPLETED"]);
    let received = receiver.received();
    for attempts in received.chunks(3) {
        let ids: Vec<_> = attempts.iter().map(|it| it.header("webhook-id")).collect();
        assert!(ids.iter().all(|it| *it == ids[0]), "{ids:?}");
    }
}

#[tokio::test]
async fn slow_receiver_does_not_delay_others() {
    let (slow, fast) = (Receiver::with_behavior(|_| None).await, Receiver::new().await);
    let push = PushSettings { timeout: Duration::from_secs(60), ..short_timeouts() };
    let server = start_chatty_server(push).await;
    for _ in 0..300 {
        server.v1().post("/a2a", send_with_webhook("one", &webhook_at(&slow.url("/")), true)).await;
    }
    // The maximum number of concurrent deliveries to one receiver.
    slow.wait_until(|all| all.len() >= 32).await;
    let started = Instant::now();
    for number in 0..10 {
        server
            .v1()
            .post(
                "/a2a",
                send_with_webhook("one", &webhook_at(&fast.url(&format!("/{number}"))), false),
            )
            .await;
    }
    fast.wait_accepted(40).await;
    assert!(started.elapsed() < Duration::from_secs(30));
    assert_eq!(slow.received().len(), 32, "the limit holds");
}

/// Starts a server and returns it with its dispatcher.
async fn server_with_dispatcher(push: PushSettings) -> (TestServer, WebhookDispatcher) {
    let created = Arc::new(OnceLock::new());
    let dispatcher = created.clone();
    let server = webhook_server(push.clone()).with_dispatcher(move |store| {
        let create = || WebhookDispatcher::new(store, push.clone(), true).unwrap();
        created.get_or_init(create).clone()
    });
    let server = start_server(server).await;
    (server, dispatcher.get().unwrap().clone())
}

#[tokio::test]
async fn dead_letters_are_listed_replayed_and_deleted() {
    let broken = Arc::new(AtomicBool::new(true));
    let is_broken = broken.clone();
    let receiver = Receiver::with_behavior(move |_| {
        Some(if is_broken.load(Ordering::SeqCst) { 503 } else { 200 })
    });
    let receiver = receiver.await;
    let (server, dispatcher) =
        server_with_dispatcher(PushSettings { max_attempts: 2, ..short_timeouts() }).await;
    let response = server
        .v1()
        .post("/a2a", send_with_webhook("one", &webhook_at(&receiver.url("/secret-path")), false))
        .await;
    let task = task_id(&response);
    receiver.wait_until(|all| all.len() >= 8).await;
    wait_for_dead_letters(&dispatcher, 4).await;
    let dead_letters = dispatcher.dead_letters(100).await.unwrap();
    assert_eq!(receiver.received().len(), 8, "each event was tried twice");
    for dead_letter in &dead_letters {
        assert_eq!(dead_letter.dead_letter.task.id.as_str(), task);
        assert_eq!(dead_letter.dead_letter.attempts, 2);
        assert_eq!(dead_letter.dead_letter.reason, "the receiver returned status 503");
        assert_eq!(
            format!("{}/", dead_letter.receiver),
            receiver.url("/"),
            "the path is not shown"
        );
    }
    let first = &dead_letters[0].dead_letter.id;
    let failed = ReplayOutcome::Failed("the receiver returned status 503".to_owned());
    assert_eq!(dispatcher.replay(first).await.unwrap(), failed);
    broken.store(false, Ordering::SeqCst);
    for dead_letter in &dead_letters[..3] {
        assert_eq!(
            dispatcher.replay(&dead_letter.dead_letter.id).await.unwrap(),
            ReplayOutcome::Delivered
        );
    }
    assert_eq!(dispatcher.replay(first).await.unwrap(), ReplayOutcome::NotFound);
    let events: Vec<_> = receiver.wait_accepted(3).await.iter().map(|it| it.summary()).collect();
    assert_eq!(events, ["task SUBMITTED", "WORKING", "artifact one"]);
    assert_eq!(receiver.wait_accepted(1).await[0].header("webhook-id"), first);
    let last = &dead_letters[3].dead_letter.id;
    assert!(dispatcher.delete_dead_letter(last).await.unwrap());
    assert!(!dispatcher.delete_dead_letter(last).await.unwrap());
    assert_eq!(dispatcher.dead_letters(100).await.unwrap(), []);
}

#[tokio::test]
async fn events_after_the_give_up_time_get_one_attempt() {
    let receiver = Receiver::with_behavior(|_| Some(500)).await;
    let push = PushSettings {
        max_attempts: 1000,
        give_up_after: Duration::from_millis(50),
        ..short_timeouts()
    };
    let (server, dispatcher) = server_with_dispatcher(push).await;
    server
        .v1()
        .post("/a2a", send_with_webhook("one", &webhook_at(&receiver.url("/")), false))
        .await;
    wait_for_dead_letters(&dispatcher, 4).await;
    let received = receiver.received();
    let ids: Vec<_> = received.iter().map(|it| it.header("webhook-id").to_owned()).collect();
    let first = ids.iter().filter(|it| **it == ids[0]).count();
    assert_eq!(received.len(), first + 3, "the later events were tried once");
}

#[tokio::test]
async fn deliveries_continue_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let receiver =
        Receiver::with_behavior(|number| if number < 3 { None } else { Some(200) }).await;
    let open =
        || SqliteStore::open(directory.path().join("tasks.db"), SqliteConfig::default()).unwrap();
    let start = |store: SqliteStore| async {
        start_server(webhook_server(short_timeouts()).store(store)).await
    };
    for restart in 0..4 {
        let server = start(open()).await;
        if restart == 0 {
            server
                .v1()
                .post("/a2a", send_with_webhook("one two", &webhook_at(&receiver.url("/")), false))
                .await;
        }
        // The receiver has the delivery but sent no response, so it is delivered again.
        receiver.wait_until(|all| all.len() > restart).await;
        if restart < 3 {
            server.running.shutdown().await;
        } else {
            let events: Vec<_> =
                receiver.wait_accepted(5).await.iter().map(|it| it.summary()).collect();
            let want = ["task SUBMITTED", "WORKING", "artifact one", "artifact two", "COMPLETED"];
            assert_eq!(events, want);
        }
    }
}

/// Replaces the webhook by one for another receiver, and waits for all its deliveries.
async fn replace_receiver(server: &TestServer, task: &str, new: &Receiver) {
    let create = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"CreateTaskPushNotificationConfig",
            "params":{{"taskId":"{task}","id":"w","url":"{}"}}}}"#,
        new.url("/")
    );
    server.v1().post("/a2a", create).await;
    let events: Vec<_> = new.wait_accepted(4).await.iter().map(|it| it.summary()).collect();
    assert_eq!(events, ["task SUBMITTED", "WORKING", "artifact one", "COMPLETED"]);
}

#[tokio::test]
async fn replaced_webhook_is_delivered_immediately() {
    let (old, new) = (Receiver::with_behavior(|_| Some(500)).await, Receiver::new().await);
    let push =
        PushSettings { initial_backoff: Duration::from_secs(600), ..PushSettings::default() };
    let server = start_chatty_server(push).await;
    let webhook = format!(r#"{{"id":"w","url":"{}"}}"#, old.url("/"));
    let response = server.v1().post("/a2a", send_with_webhook("one", &webhook, false)).await;
    old.wait_until(|all| !all.is_empty()).await;
    replace_receiver(&server, &task_id(&response), &new).await;
}

/// A failure of the former URL does not delay the new one.
#[tokio::test]
async fn webhook_replaced_mid_delivery_inherits_no_failure() {
    let (old, new) = (Receiver::with_behavior(|_| None).await, Receiver::new().await);
    let timeout = Duration::from_millis(300);
    let push =
        PushSettings { timeout, initial_backoff: Duration::from_secs(600), ..short_timeouts() };
    let server =
        start_chatty_server(PushSettings { max_backoff: Duration::from_secs(600), ..push }).await;
    let webhook = format!(r#"{{"id":"w","url":"{}"}}"#, old.url("/"));
    let response = server.v1().post("/a2a", send_with_webhook("one", &webhook, false)).await;
    // The delivery is in progress and will time out.
    old.wait_until(|all| !all.is_empty()).await;
    replace_receiver(&server, &task_id(&response), &new).await;
    assert_eq!(old.received().len(), 1);
}

#[tokio::test]
async fn cancellation_of_a_waiting_task_is_delivered() {
    let (server, receiver) = (start_chatty_server(short_timeouts()).await, Receiver::new().await);
    let response = server
        .v1()
        .post("/a2a", send_with_webhook("ask", &webhook_at(&receiver.url("/")), false))
        .await;
    receiver.wait_accepted(3).await;
    let cancel = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"CancelTask","params":{{"id":"{}"}}}}"#,
        task_id(&response)
    );
    server.v1().post("/a2a", cancel).await;
    assert_eq!(receiver.wait_accepted(4).await[3].summary(), "CANCELED");
}

/// Returns the number of abandoned deliveries according to the metrics.
async fn given_up_count(server: &TestServer) -> String {
    let metrics = server.get("/metrics").await;
    let line = metrics.text().lines().find(|it| it.contains(r#"outcome="given_up""#));
    line.unwrap().rsplit(' ').next().unwrap().to_owned()
}

#[tokio::test]
async fn evicted_undelivered_task_counts_as_given_up() {
    let store = || MemoryStore::new(Retention { max_tasks: 1, ..Retention::DEFAULT_MEMORY });
    let (broken, healthy) = (Receiver::with_behavior(|_| Some(500)).await, Receiver::new().await);
    let server = start_server(webhook_server(short_timeouts()).store(store())).await;
    server.v1().post("/a2a", send_with_webhook("one", &webhook_at(&healthy.url("/")), false)).await;
    healthy.wait_accepted(4).await;
    // Each new task evicts the previous one.
    server.v1().post("/a2a", send_with_webhook("one", &webhook_at(&broken.url("/")), false)).await;
    broken.wait_until(|all| !all.is_empty()).await;
    assert_eq!(given_up_count(&server).await, "0", "delivered events are not counted");
    server.v1().post("/a2a", crate::support::send_body("SendMessage", "one")).await;
    wait_until("the delivery is given up", async || given_up_count(&server).await == "1").await;
}

/// The response body is ignored.
#[tokio::test]
async fn long_receiver_response_counts_as_accepted() {
    let (server, receiver) =
        (start_chatty_server(short_timeouts()).await, Receiver::with_long_responses().await);
    server
        .v1()
        .post("/a2a", send_with_webhook("one", &webhook_at(&receiver.url("/")), false))
        .await;
    receiver.wait_accepted(4).await;
    assert_eq!(receiver.received().len(), 4, "no delivery was repeated");
}

#[tokio::test]
async fn disabled_webhooks_are_reported() {
    let server = start_chatty_server(PushSettings { enabled: false, ..short_timeouts() }).await;
    let card = server.get("/.well-known/agent-card.json").await.json();
    assert_eq!(card["capabilities"]["pushNotifications"], false);
    let response = server
        .v1()
        .post("/a2a", send_with_webhook("one", &webhook_at("http://127.0.0.1:1/"), false))
        .await;
    assert_eq!(response.rpc_error_code(), -32003, "{}", response.text());
}
