//! Webhooks of the real binary: through failing receivers, `kill -9`, and an operator's hands.

pub(crate) mod receiver;

use std::collections::HashSet;
use std::io::Read;
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::program::{Place, Serving};
use receiver::{Mood, Receiver, Taken};

const TASKS: usize = 100;

/// The pieces of an answer; with its creation, its beginning and its end that is 20 events.
const PIECES: usize = 17;

/// A place with a server that hardly waits, at an address that stays the same.
fn place(attempts: u32, more: &str) -> Place {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let config = format!(
        "listen = \"{address}\"\n{more}\n\
         [store]\npath = \"tasks.db\"\n\n\
         [push]\nfirst_pause = \"20ms\"\nlongest_pause = \"200ms\"\ntimeout = \"1s\"\n\
         attempts = {attempts}\n\n\
         [[agents]]\nname = \"demo\"\nkind = \"demo\"\n"
    );
    Place::new().file("latimer.toml", &config)
}

/// Sends a message with a webhook, and returns the id of its task.
fn send(server: &Serving, name: &str, text: &str, url: &str) -> String {
    let message = json!({"messageId": name, "role": "ROLE_USER", "parts": [{"text": text}]});
    let webhook = json!({"id": "hook", "url": url});
    let configuration = json!({"returnImmediately": true, "taskPushNotificationConfig": webhook});
    let sent = json!({"message": message, "configuration": configuration});
    server.call("SendMessage", sent)["task"]["id"].as_str().unwrap().to_owned()
}

/// Waits until something holds.
fn until(what: &str, limit: Duration, mut holds: impl FnMut() -> bool) {
    let since = Instant::now();
    while !holds() {
        assert!(since.elapsed() < limit, "{what}: not within {limit:?}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// The first time that each delivery was taken, in that order.
fn distinct(taken: &[Taken]) -> Vec<&Taken> {
    let mut seen = HashSet::new();
    taken.iter().filter(|it| seen.insert(&it.id)).collect()
}

fn is_last(taken: &Taken) -> bool {
    taken.body.contains("TASK_STATE_COMPLETED")
}

/// The number of the piece that an event brings; 0 for what comes before, and beyond for the end.
fn position(taken: &Taken) -> usize {
    let event: Value = serde_json::from_str(&taken.body).unwrap();
    let piece = &event["artifactUpdate"]["artifact"]["parts"][0]["text"];
    match piece.as_str() {
        Some(text) => text.split(&[' ', '/'][..]).find_map(|it| it.parse().ok()).unwrap(),
        None if is_last(taken) => PIECES + 1,
        None => 0,
    }
}

#[test]
fn every_event_arrives_in_order_whatever_happens() {
    let place = place(10_000, "");
    let receiver = Receiver::start(Mood::Moody);
    let mut server = place.serve(&["serve"]);
    let tasks: Vec<_> = (0..TASKS)
        .map(|it| {
            let text = format!("chunks {PIECES} 100");
            send(&server, &format!("m{it}"), &text, &receiver.url(&format!("t{it}")))
        })
        .collect();
    for _ in 0..2 {
        thread::sleep(Duration::from_millis(700));
        server.signal(Signal::KILL);
        server.end();
        server = place.serve(&["serve"]);
    }
    receiver.leave(Duration::from_secs(1));
    until("all ends arrive", Duration::from_secs(120), || {
        receiver.taken().values().filter(|it| it.iter().any(is_last)).count() == TASKS
    });
    assert!(receiver.failed() > 100, "the receiver was moody: {}", receiver.failed());
    let taken = receiver.taken();
    for (number, task) in tasks.iter().enumerate() {
        let all = &taken[&format!("t{number}")];
        let got = distinct(all);
        assert!(got[0].body.contains(&format!(r#""id":"{task}""#)), "{:?}", got[0]);
        let positions: Vec<_> = got.iter().map(|it| position(it)).collect();
        assert!(positions.is_sorted(), "task {number}: {positions:?}");
        let pieces: Vec<_> =
            positions.iter().copied().filter(|it| (1..=PIECES).contains(it)).collect();
        assert_eq!(pieces, (1..=PIECES).collect::<Vec<_>>(), "task {number}");
        assert!(got.len() >= PIECES + 3, "task {number}: {}", got.len());
        // Whatever comes again, comes before what follows it.
        let mut furthest = 0;
        for delivery in all {
            let place = got.iter().position(|it| it.id == delivery.id).unwrap();
            assert!(place == furthest || place == furthest + 1, "task {number}: out of order");
            furthest = place;
        }
    }
}

#[test]
fn what_was_given_up_is_shown_replayed_and_dropped() {
    let place = place(2, "api_key = \"correct horse\"");
    let receiver = Receiver::start(Mood::Broken);
    let mut server = place.serve(&["serve"]);
    send_with_key(&server, &receiver.url("hook?secret=1"));
    let list = |arguments: &[&str]| -> Vec<Value> {
        let ran = place.run(&[&["push", "dead", "list", "--output", "json"], arguments].concat());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        serde_json::from_str(&ran.out).unwrap()
    };
    until("the letters", Duration::from_secs(20), || list(&[]).len() == 4);
    let text = place.run(&["push", "dead", "list"]);
    assert!(text.out.starts_with("ID "), "{text:?}");
    assert!(text.out.contains("the receiver answered 503"), "{text:?}");
    assert!(!text.out.contains("secret"), "no more of the address than its origin: {text:?}");
    let ids: Vec<_> = list(&[]).iter().map(|it| it["id"].as_str().unwrap().to_owned()).collect();
    // Still broken.
    let ran = place.run(&["push", "dead", "replay", &ids[0]]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.errors.contains("the receiver answered 503"), "{ran:?}");
    receiver.set(Mood::Well);
    let ran = place.run(&["push", "dead", "replay", &ids[0]]);
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (Some(0), format!("{}  delivered\n", ids[0]).as_str())
    );
    assert_eq!(list(&[]).len(), 3);
    let ran = place.run(&["push", "dead", "drop", &ids[1]]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), format!("{}  dropped\n", ids[1]).as_str()));
    let ran = place.run(&["push", "dead", "drop", &ids[1]]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    // A stranger sees none of it.
    let stranger = Place::new();
    let url = format!("http://{}", server.address());
    let ran = stranger.run(&["push", "dead", "list", "--url", &url]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.errors.contains("api_key"), "{ran:?}");
    let friend = Place::new().variable("LATIMER_API_KEY", "correct horse");
    assert_eq!(friend.run(&["push", "dead", "list", "--url", &url]).code, Some(0));
    // Without the server, its store is asked.
    server.signal(Signal::TERM);
    server.end();
    assert_eq!(list(&[]).len(), 2);
    let ran = place.run(&["push", "dead", "replay", "--all"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(place.run(&["push", "dead", "list"]).out, "no dead letters\n");
    let taken = receiver.taken();
    let got: Vec<_> = taken["hook?secret=1"].iter().map(|it| it.id.as_str()).collect();
    assert_eq!(got, [&ids[0], &ids[2], &ids[3]]);
}

/// Has an echo made, with a webhook, by somebody who has the key.
fn send_with_key(server: &Serving, url: &str) {
    let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "echo hi"}]});
    let configuration = json!({"taskPushNotificationConfig": {"url": url}});
    let params = json!({"message": message, "configuration": configuration});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params});
    let answer =
        server.post_with("/a2a", &call.to_string(), "Authorization: Bearer correct horse\r\n");
    assert!(answer.contains("TASK_STATE_COMPLETED"), "{answer}");
}

#[test]
fn a_server_with_tls_is_known_by_its_own_certificate() {
    let signed = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    let place =
        place(2, "api_key = \"correct horse\"\n[tls]\ncertificate = \"c.pem\"\nkey = \"k.pem\"")
            .file("c.pem", &signed.cert.pem())
            .file("k.pem", &signed.signing_key.serialize_pem());
    let server = place.serve(&["serve"]);
    let ran = place.run(&["push", "dead", "list"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "no dead letters\n"), "{ran:?}");
    // Its key is for it alone.
    let elsewhere = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", elsewhere.local_addr().unwrap());
    let asked = thread::spawn(move || {
        let mut request = String::new();
        let (mut stream, _) = elsewhere.accept().unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
        // Until nothing more comes.
        let _ = stream.read_to_string(&mut request);
        request
    });
    assert_eq!(place.run(&["push", "dead", "list", "--url", &url]).code, Some(1));
    let request = asked.join().unwrap();
    assert!(request.starts_with("GET /api/push/dead") && !request.contains("horse"), "{request}");
    drop(server);
}

#[test]
fn who_is_not_there_is_told_so() {
    let place = place(2, "");
    let ran = place.run(&["push", "dead", "list"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.errors.contains("cannot reach the server") && ran.errors.contains("--url"),
        "{ran:?}"
    );
    let ran = place.run(&["push", "dead", "replay"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
}
