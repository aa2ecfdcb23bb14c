//! Webhooks of the binary: failing receivers, `kill -9`, and `latimer push dead`.

pub(crate) mod receiver;

use std::collections::HashSet;
use std::io::Read;
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::program::{ServerProcess, TestDir};
use receiver::{Delivery, Receiver, ReceiverMode};

const TASK_COUNT: usize = 100;

/// Chunks of a task; with its creation, start and end that is 20 events.
const CHUNK_COUNT: usize = 17;

/// Creates a configuration with short pauses between deliveries and a fixed port.
fn push_test_dir(attempts: u32, extra_config: &str) -> TestDir {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let config = format!(
        "listen = \"{address}\"\n{extra_config}\n\
         [store]\npath = \"tasks.db\"\n\n\
         [push]\nfirst_pause = \"20ms\"\nlongest_pause = \"200ms\"\ntimeout = \"1s\"\n\
         attempts = {attempts}\n\n\
         [[agents]]\nname = \"demo\"\nkind = \"demo\"\n"
    );
    TestDir::new().with_file("latimer.toml", &config)
}

/// Sends a message with a webhook and returns the id of its task.
fn send_with_webhook(server: &ServerProcess, name: &str, text: &str, url: &str) -> String {
    let message = json!({"messageId": name, "role": "ROLE_USER", "parts": [{"text": text}]});
    let webhook = json!({"id": "hook", "url": url});
    let configuration = json!({"returnImmediately": true, "taskPushNotificationConfig": webhook});
    let params = json!({"message": message, "configuration": configuration});
    server.call("SendMessage", params)["task"]["id"].as_str().unwrap().to_owned()
}

/// Waits until a condition is met.
fn wait_until(description: &str, limit: Duration, mut condition: impl FnMut() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < limit, "{description}: not within {limit:?}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Returns the first accepted attempt of each delivery, in the order of arrival.
fn first_deliveries(deliveries: &[Delivery]) -> Vec<&Delivery> {
    let mut seen = HashSet::new();
    deliveries.iter().filter(|it| seen.insert(&it.id)).collect()
}

fn is_last(delivery: &Delivery) -> bool {
    delivery.body.contains("TASK_STATE_COMPLETED")
}

/// Returns the number of the chunk in an event: 0 before the first chunk, `CHUNK_COUNT + 1` for the
/// last event.
fn chunk_number(delivery: &Delivery) -> usize {
    let event: Value = serde_json::from_str(&delivery.body).unwrap();
    let chunk = &event["artifactUpdate"]["artifact"]["parts"][0]["text"];
    match chunk.as_str() {
        Some(text) => text.split(&[' ', '/'][..]).find_map(|it| it.parse().ok()).unwrap(),
        None if is_last(delivery) => CHUNK_COUNT + 1,
        None => 0,
    }
}

#[test]
fn events_arrive_in_order_despite_failures_and_kills() {
    let dir = push_test_dir(10_000, "");
    let receiver = Receiver::start(ReceiverMode::Flaky);
    let mut server = dir.serve(&["serve"]);
    let tasks: Vec<_> = (0..TASK_COUNT)
        .map(|it| {
            let text = format!("chunks {CHUNK_COUNT} 100");
            send_with_webhook(&server, &format!("m{it}"), &text, &receiver.url(&format!("t{it}")))
        })
        .collect();
    for _ in 0..2 {
        thread::sleep(Duration::from_millis(700));
        server.signal(Signal::KILL);
        server.wait_for_exit();
        server = dir.serve(&["serve"]);
    }
    receiver.go_offline(Duration::from_secs(1));
    wait_until("the last event of every task arrives", Duration::from_secs(120), || {
        receiver.deliveries().values().filter(|it| it.iter().any(is_last)).count() == TASK_COUNT
    });
    assert!(
        receiver.failure_count() > 100,
        "the receiver failed too rarely: {}",
        receiver.failure_count()
    );
    let deliveries = receiver.deliveries();
    for (number, task) in tasks.iter().enumerate() {
        let all = &deliveries[&format!("t{number}")];
        let received = first_deliveries(all);
        assert!(received[0].body.contains(&format!(r#""id":"{task}""#)), "{:?}", received[0]);
        let positions: Vec<_> = received.iter().map(|it| chunk_number(it)).collect();
        assert!(positions.is_sorted(), "task {number}: {positions:?}");
        let chunks: Vec<_> =
            positions.iter().copied().filter(|it| (1..=CHUNK_COUNT).contains(it)).collect();
        assert_eq!(chunks, (1..=CHUNK_COUNT).collect::<Vec<_>>(), "task {number}");
        assert!(received.len() >= CHUNK_COUNT + 3, "task {number}: {}", received.len());
        // A repeated delivery arrives before the next one.
        let mut furthest = 0;
        for delivery in all {
            let index = received.iter().position(|it| it.id == delivery.id).unwrap();
            assert!(index == furthest || index == furthest + 1, "task {number}: out of order");
            furthest = index;
        }
    }
}

#[test]
fn dead_letters_are_listed_replayed_and_dropped() {
    let dir = push_test_dir(2, "api_key = \"correct horse\"");
    let receiver = Receiver::start(ReceiverMode::Failing);
    let mut server = dir.serve(&["serve"]);
    send_with_key(&server, &receiver.url("hook?secret=1"));
    let list = |args: &[&str]| -> Vec<Value> {
        let output = dir.run(&[&["push", "dead", "list", "--output", "json"], args].concat());
        assert_eq!(output.code, Some(0), "{output:?}");
        serde_json::from_str(&output.stdout).unwrap()
    };
    wait_until("4 dead letters are listed", Duration::from_secs(20), || list(&[]).len() == 4);
    let text = dir.run(&["push", "dead", "list"]);
    assert!(text.stdout.starts_with("ID "), "{text:?}");
    assert!(text.stdout.contains("the receiver returned status 503"), "{text:?}");
    assert!(!text.stdout.contains("secret"), "only the origin of the URL is printed: {text:?}");
    let ids: Vec<_> = list(&[]).iter().map(|it| it["id"].as_str().unwrap().to_owned()).collect();
    // The receiver still fails.
    let output = dir.run(&["push", "dead", "replay", &ids[0]]);
    assert_eq!(output.code, Some(1), "{output:?}");
    assert!(output.stderr.contains("the receiver returned status 503"), "{output:?}");
    receiver.set_mode(ReceiverMode::Healthy);
    let output = dir.run(&["push", "dead", "replay", &ids[0]]);
    assert_eq!(
        (output.code, output.stdout.as_str()),
        (Some(0), format!("{}  delivered\n", ids[0]).as_str())
    );
    assert_eq!(list(&[]).len(), 3);
    let output = dir.run(&["push", "dead", "drop", &ids[1]]);
    assert_eq!(
        (output.code, output.stdout.as_str()),
        (Some(0), format!("{}  dropped\n", ids[1]).as_str())
    );
    let output = dir.run(&["push", "dead", "drop", &ids[1]]);
    assert_eq!(output.code, Some(1), "{output:?}");
    // A caller without the key is rejected.
    let unauthorized = TestDir::new();
    let url = format!("http://{}", server.address());
    let output = unauthorized.run(&["push", "dead", "list", "--url", &url]);
    assert_eq!(output.code, Some(1), "{output:?}");
    assert!(output.stderr.contains("api_key"), "{output:?}");
    let authorized = TestDir::new().with_env_var("LATIMER_API_KEY", "correct horse");
    assert_eq!(authorized.run(&["push", "dead", "list", "--url", &url]).code, Some(0));
    // While the server is stopped, the command reads its store.
    server.signal(Signal::TERM);
    server.wait_for_exit();
    assert_eq!(list(&[]).len(), 2);
    let output = dir.run(&["push", "dead", "replay", "--all"]);
    assert_eq!(output.code, Some(0), "{output:?}");
    assert_eq!(dir.run(&["push", "dead", "list"]).stdout, "no dead letters\n");
    let deliveries = receiver.deliveries();
    let received: Vec<_> = deliveries["hook?secret=1"].iter().map(|it| it.id.as_str()).collect();
    assert_eq!(received, [&ids[0], &ids[2], &ids[3]]);
}

/// Sends a message with a webhook and the API key.
fn send_with_key(server: &ServerProcess, url: &str) {
    let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "echo hi"}]});
    let configuration = json!({"taskPushNotificationConfig": {"url": url}});
    let params = json!({"message": message, "configuration": configuration});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params});
    let response = server.post_with_headers(
        "/a2a",
        &call.to_string(),
        "Authorization: Bearer correct horse\r\n",
    );
    assert!(response.contains("TASK_STATE_COMPLETED"), "{response}");
}

#[test]
fn operator_trusts_the_configured_tls_certificate() {
    let signed = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    let dir = push_test_dir(
        2,
        "api_key = \"correct horse\"\n[tls]\ncertificate = \"c.pem\"\nkey = \"k.pem\"",
    )
    .with_file("c.pem", &signed.cert.pem())
    .with_file("k.pem", &signed.signing_key.serialize_pem());
    let server = dir.serve(&["serve"]);
    let output = dir.run(&["push", "dead", "list"]);
    assert_eq!((output.code, output.stdout.as_str()), (Some(0), "no dead letters\n"), "{output:?}");
    // The configured key is not sent to another server.
    let other_server = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", other_server.local_addr().unwrap());
    let request_thread = thread::spawn(move || {
        let mut request = String::new();
        let (mut stream, _) = other_server.accept().unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
        // Ends with the read timeout, after the whole request.
        let _ = stream.read_to_string(&mut request);
        request
    });
    assert_eq!(dir.run(&["push", "dead", "list", "--url", &url]).code, Some(1));
    let request = request_thread.join().unwrap();
    assert!(request.starts_with("GET /api/push/dead") && !request.contains("horse"), "{request}");
    drop(server);
}

#[test]
fn dead_letter_list_reports_unreachable_server() {
    let dir = push_test_dir(2, "");
    let output = dir.run(&["push", "dead", "list"]);
    assert_eq!(output.code, Some(1), "{output:?}");
    assert!(
        output.stderr.contains("cannot reach the server") && output.stderr.contains("--url"),
        "{output:?}"
    );
    let output = dir.run(&["push", "dead", "replay"]);
    assert_eq!(output.code, Some(2), "{output:?}");
}
