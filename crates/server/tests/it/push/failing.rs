//! Receivers that fail, are slow, or go away; and servers that do.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use latimer_server::store::{MemoryStore, Retention, SqliteConfig, SqliteStore};
use latimer_server::{Courier, PushSettings, Replayed};

use super::{Receiver, at, hasty, id, send, server, talking};
use crate::support::{Site, site};

#[tokio::test]
async fn what_fails_is_tried_again_under_its_name_and_before_what_follows() {
    // Of three deliveries two fail, each in another way.
    let receiver = Receiver::that(|number| match number % 3 {
        0 => Some(500),
        1 => Some(429),
        _ => Some(200),
    });
    let (site, receiver) = (talking(hasty()).await, receiver.await);
    site.v1().post("/a2a", send("one", &at(&receiver.url("/")), true)).await;
    let taken = receiver.taken(4).await;
    let said: Vec<_> = taken.iter().map(|it| it.says()).collect();
    assert_eq!(said, ["task SUBMITTED", "WORKING", "artifact one", "COMPLETED"]);
    let got = receiver.got();
    for attempts in got.chunks(3) {
        let names: Vec<_> = attempts.iter().map(|it| it.header("webhook-id")).collect();
        assert!(names.iter().all(|it| *it == names[0]), "{names:?}");
    }
}

#[tokio::test]
async fn a_slow_receiver_delays_nobody_else() {
    let (slow, quick) = (Receiver::that(|_| None).await, Receiver::new().await);
    let push = PushSettings { timeout: Duration::from_secs(60), ..hasty() };
    let site = talking(push).await;
    for _ in 0..300 {
        site.v1().post("/a2a", send("one", &at(&slow.url("/")), true)).await;
    }
    // As many as may be at a time are with it.
    slow.until(|all| all.len() >= 32).await;
    let started = Instant::now();
    for number in 0..10 {
        site.v1().post("/a2a", send("one", &at(&quick.url(&format!("/{number}"))), false)).await;
    }
    quick.taken(40).await;
    assert!(started.elapsed() < Duration::from_secs(30));
    assert_eq!(slow.got().len(), 32, "and no more than that");
}

/// A server, and the courier that it has.
async fn with_courier(push: PushSettings) -> (Site, Courier) {
    let made = Arc::new(OnceLock::new());
    let courier = made.clone();
    let server = server(push.clone()).courier(move |store| {
        let new = || Courier::new(store, push.clone(), true).unwrap();
        made.get_or_init(new).clone()
    });
    let site = site(server).await;
    (site, courier.get().unwrap().clone())
}

#[tokio::test]
async fn what_is_given_up_is_shown_and_replayed_and_gone() {
    let broken = Arc::new(AtomicBool::new(true));
    let is_broken = broken.clone();
    let receiver =
        Receiver::that(move |_| Some(if is_broken.load(Ordering::SeqCst) { 503 } else { 200 }));
    let receiver = receiver.await;
    let (site, courier) = with_courier(PushSettings { attempts: 2, ..hasty() }).await;
    let answer =
        site.v1().post("/a2a", send("one", &at(&receiver.url("/secret-path")), false)).await;
    let task = id(&answer);
    receiver.until(|all| all.len() >= 8).await;
    let letters = loop {
        let letters = courier.dead_letters(100).await.unwrap();
        if letters.len() == 4 {
            break letters;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(receiver.got().len(), 8, "each event was tried twice");
    for letter in &letters {
        assert_eq!(letter.dead.task.id.as_str(), task);
        assert_eq!(letter.dead.attempts, 2);
        assert_eq!(letter.dead.reason, "the receiver answered 503");
        assert_eq!(format!("{}/", letter.receiver), receiver.url("/"), "no more of the address");
    }
    let first = &letters[0].dead.id;
    let failed = Replayed::Failed("the receiver answered 503".to_owned());
    assert_eq!(courier.replay(first).await.unwrap(), failed);
    broken.store(false, Ordering::SeqCst);
    for letter in &letters[..3] {
        assert_eq!(courier.replay(&letter.dead.id).await.unwrap(), Replayed::Delivered);
    }
    assert_eq!(courier.replay(first).await.unwrap(), Replayed::Unknown);
    let said: Vec<_> = receiver.taken(3).await.iter().map(|it| it.says()).collect();
    assert_eq!(said, ["task SUBMITTED", "WORKING", "artifact one"]);
    assert_eq!(receiver.taken(1).await[0].header("webhook-id"), first);
    let last = &letters[3].dead.id;
    assert!(courier.drop_letter(last).await.unwrap());
    assert!(!courier.drop_letter(last).await.unwrap());
    assert_eq!(courier.dead_letters(100).await.unwrap(), []);
}

#[tokio::test]
async fn a_receiver_that_failed_for_too_long_has_one_chance_per_event() {
    let receiver = Receiver::that(|_| Some(500)).await;
    let push = PushSettings { attempts: 1000, max_age: Duration::from_millis(50), ..hasty() };
    let (site, courier) = with_courier(push).await;
    site.v1().post("/a2a", send("one", &at(&receiver.url("/")), false)).await;
    while courier.dead_letters(100).await.unwrap().len() < 4 {
        tokio::task::yield_now().await;
    }
    let got = receiver.got();
    let names: Vec<_> = got.iter().map(|it| it.header("webhook-id").to_owned()).collect();
    let first = names.iter().filter(|it| **it == names[0]).count();
    assert_eq!(got.len(), first + 3, "the later events were tried once");
}

#[tokio::test]
async fn deliveries_go_on_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let receiver = Receiver::that(|number| if number < 3 { None } else { Some(200) }).await;
    let open =
        || SqliteStore::open(folder.path().join("tasks.db"), SqliteConfig::default()).unwrap();
    let start = |store: SqliteStore| async { site(server(hasty()).store(store)).await };
    for restart in 0..4 {
        let site = start(open()).await;
        if restart == 0 {
            site.v1().post("/a2a", send("one two", &at(&receiver.url("/")), false)).await;
        }
        // The receiver has it, and has not said so: it will be told again.
        receiver.until(|all| all.len() > restart).await;
        if restart < 3 {
            site.running.shutdown().await;
        } else {
            let said: Vec<_> = receiver.taken(5).await.iter().map(|it| it.says()).collect();
            let want = ["task SUBMITTED", "WORKING", "artifact one", "artifact two", "COMPLETED"];
            assert_eq!(said, want);
        }
    }
}

/// Has another receiver told in place of the first, and waits until it knows everything.
async fn replaced(site: &Site, task: &str, new: &Receiver) {
    let create = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"CreateTaskPushNotificationConfig",
            "params":{{"taskId":"{task}","id":"w","url":"{}"}}}}"#,
        new.url("/")
    );
    site.v1().post("/a2a", create).await;
    let said: Vec<_> = new.taken(4).await.iter().map(|it| it.says()).collect();
    assert_eq!(said, ["task SUBMITTED", "WORKING", "artifact one", "COMPLETED"]);
}

#[tokio::test]
async fn a_receiver_that_moved_is_told_at_once() {
    let (old, new) = (Receiver::that(|_| Some(500)).await, Receiver::new().await);
    let push = PushSettings { first_pause: Duration::from_secs(600), ..PushSettings::default() };
    let site = talking(push).await;
    let webhook = format!(r#"{{"id":"w","url":"{}"}}"#, old.url("/"));
    let answer = site.v1().post("/a2a", send("one", &webhook, false)).await;
    old.until(|all| !all.is_empty()).await;
    replaced(&site, &id(&answer), &new).await;
}

/// What the former address fails with is not held against the new one.
#[tokio::test]
async fn a_receiver_that_is_replaced_while_it_is_told_fails_for_itself_alone() {
    let (old, new) = (Receiver::that(|_| None).await, Receiver::new().await);
    let timeout = Duration::from_millis(300);
    let push = PushSettings { timeout, first_pause: Duration::from_secs(600), ..hasty() };
    let site = talking(PushSettings { longest_pause: Duration::from_secs(600), ..push }).await;
    let webhook = format!(r#"{{"id":"w","url":"{}"}}"#, old.url("/"));
    let answer = site.v1().post("/a2a", send("one", &webhook, false)).await;
    // It is being told, and will not answer.
    old.until(|all| !all.is_empty()).await;
    replaced(&site, &id(&answer), &new).await;
    assert_eq!(old.got().len(), 1);
}

#[tokio::test]
async fn the_end_of_a_task_that_waits_arrives_too() {
    let (site, receiver) = (talking(hasty()).await, Receiver::new().await);
    let answer = site.v1().post("/a2a", send("ask", &at(&receiver.url("/")), false)).await;
    receiver.taken(3).await;
    let cancel = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"CancelTask","params":{{"id":"{}"}}}}"#,
        id(&answer)
    );
    site.v1().post("/a2a", cancel).await;
    assert_eq!(receiver.taken(4).await[3].says(), "CANCELED");
}

/// How many events were given up, as the numbers have it.
async fn given_up(site: &Site) -> String {
    let numbers = site.get("/metrics").await;
    let line = numbers.text().lines().find(|it| it.contains(r#"outcome="given_up""#));
    line.unwrap().rsplit(' ').next().unwrap().to_owned()
}

#[tokio::test]
async fn a_task_that_goes_before_its_webhook_was_told_is_counted() {
    let store = || MemoryStore::new(Retention { max_tasks: 1, ..Retention::DEFAULT_MEMORY });
    let (broken, well) = (Receiver::that(|_| Some(500)).await, Receiver::new().await);
    let site = site(server(hasty()).store(store())).await;
    site.v1().post("/a2a", send("one", &at(&well.url("/")), false)).await;
    well.taken(4).await;
    // It makes room for the next, which makes room for another.
    site.v1().post("/a2a", send("one", &at(&broken.url("/")), false)).await;
    broken.until(|all| !all.is_empty()).await;
    assert_eq!(given_up(&site).await, "0", "what was told is not lost");
    site.v1().post("/a2a", crate::support::send("SendMessage", "one")).await;
    while given_up(&site).await != "1" {
        tokio::task::yield_now().await;
    }
}

/// Nobody is interested in what a receiver has to say besides.
#[tokio::test]
async fn a_long_answer_is_an_answer() {
    let (site, receiver) = (talking(hasty()).await, Receiver::talkative().await);
    site.v1().post("/a2a", send("one", &at(&receiver.url("/")), false)).await;
    receiver.taken(4).await;
    assert_eq!(receiver.got().len(), 4, "none came twice");
}

#[tokio::test]
async fn a_server_without_webhooks_says_so() {
    let site = talking(PushSettings { enabled: false, ..hasty() }).await;
    let card = site.get("/.well-known/agent-card.json").await.json();
    assert_eq!(card["capabilities"]["pushNotifications"], false);
    let answer = site.v1().post("/a2a", send("one", &at("http://127.0.0.1:1/"), false)).await;
    assert_eq!(answer.code(), -32003, "{}", answer.text());
}
