//! Streams of server-sent events.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use latimer_protocol::{
    CallResponse, Error, ErrorKind, Finality, Message, MessageId, Reply, Revision, SharedEvent,
    StreamEvent, StreamResponse,
};
use latimer_server::{Server, Settings, StreamTerminator};
use serde_json::json;

use crate::support::{Script, Site, message, older_message, send, shouter, site};

type Events = Vec<Result<StreamEvent, Error>>;

fn event(number: u64, text: &str) -> Result<StreamEvent, Error> {
    let message = Message::agent(MessageId::new(format!("m{number}")).unwrap(), text);
    let event = SharedEvent::new(StreamResponse::Message(message));
    Ok(StreamEvent { revision: Some(Revision::new(number)), event, finality: Finality::More })
}

/// A server whose streams have these events, and then end or go silent.
async fn playing(settings: Settings, events: fn() -> Events, silent: bool) -> (Site, Script) {
    let script = Script::new(move |_| {
        let events = stream::iter(events());
        let stream: latimer_protocol::EventStream = match silent {
            true => Box::pin(events.chain(stream::pending())),
            false => Box::pin(events),
        };
        Ok(CallResponse::from(Reply::Stream(stream)))
    });
    let server = Server::empty().settings(settings).answered_by(script.clone());
    (site(server).await, script)
}

#[tokio::test]
async fn events_that_are_ready_together_travel_together() {
    let four = || (1..=4).map(|it| event(it, "x")).collect();
    let (site, _) = playing(Settings::default(), four, false).await;
    let answer = site.v1().post("/a2a", send("SendStreamingMessage", "hi")).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), "text/event-stream");
    assert_eq!(answer.header("cache-control"), "no-cache");
    assert_eq!(answer.header("x-accel-buffering"), "no");
    assert_eq!(answer.pieces.len(), 1, "{:?}", answer.pieces);
    let first = r#"{"jsonrpc":"2.0","id":1,"result":{"message":{"messageId":"m1","role":"ROLE_AGENT","parts":[{"text":"x"}]}}}"#;
    assert!(answer.text().starts_with(&format!("id: 1\ndata: {first}\n\nid: 2\n")));
    assert_eq!(answer.events().len(), 4);
    assert!(answer.text().ends_with("}\n\n"), "nothing behind the last event");
}

#[tokio::test]
async fn a_long_stream_travels_in_bounded_pieces() {
    let many = || (1..=3000).map(|it| event(it, "0123456789")).collect();
    let (site, _) = playing(Settings::default(), many, false).await;
    let body = format!(r#"{{"message":{}}}"#, message("hi"));
    let answer = site.v1().post("/a2a/message:stream", body).await;
    assert_eq!(answer.events().len(), 3000);
    assert!(answer.pieces.len() > 3);
    assert_eq!(answer.events()[2999]["message"]["messageId"], "m3000");
}

#[tokio::test]
async fn a_silent_stream_is_kept_alive() {
    let settings = Settings { keep_alive: Duration::from_millis(30), ..Settings::default() };
    let (site, _) = playing(settings, || vec![event(1, "x")], true).await;
    let body = send("SendStreamingMessage", "hi");
    let request = format!(
        "POST /a2a HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    let comments = |text: &str| text.matches(": keep-alive\n\n").count();
    let text = site.raw(request.as_bytes(), |text| comments(text) >= 3).await;
    assert!(text.contains("id: 1\ndata: "), "{text}");
    assert!(comments(&text) >= 3, "{text}");
}

#[tokio::test]
async fn a_stream_that_fails_says_so_and_ends() {
    let failing = || vec![event(1, "x"), Err(ErrorKind::Unavailable.into()), event(2, "never")];
    let (site, _) = playing(Settings::default(), failing, false).await;
    let answer = site.v1().post("/a2a", send("SendStreamingMessage", "hi")).await;
    let events = answer.events();
    assert_eq!(events.len(), 2);
    assert_eq!((&events[1]["id"], &events[1]["error"]["code"]), (&json!(1), &json!(-31503)));
    assert!(!answer.text().contains("event:"), "one client knows no names");
    let body = format!(r#"{{"message":{}}}"#, message("hi"));
    let answer = site.v1().post("/a2a/message:stream", body).await;
    assert_eq!(answer.events()[1]["error"]["status"], "UNAVAILABLE");
}

#[tokio::test]
async fn a_stream_ends_with_what_was_chosen() {
    for (stream_terminator, end) in [
        (StreamTerminator::None, "}\n\n"),
        (StreamTerminator::DoneEvent, "}\n\nevent: done\ndata: \n\n"),
        (StreamTerminator::DoneLine, "}\n\n[DONE]\n\n"),
    ] {
        let settings = Settings { stream_terminator, ..Settings::default() };
        let (site, _) = playing(settings, || vec![event(1, "x")], false).await;
        let answer = site.v1().post("/a2a", send("SendStreamingMessage", "hi")).await;
        assert!(answer.text().ends_with(end), "{stream_terminator:?}: {}", answer.text());
    }
}

#[tokio::test]
async fn a_reader_that_comes_back_says_what_it_saw() {
    let (site, script) = playing(Settings::default(), Vec::new, false).await;
    let subscribe = r#"{"jsonrpc":"2.0","id":1,"method":"SubscribeToTask","params":{"id":"t"}}"#;
    site.v1().with("last-event-id", "41").post("/a2a", subscribe).await;
    assert_eq!(script.last().resume_after, Some(Revision::new(41)));
    site.v1().with("last-event-id", "7").get("/a2a/tasks/t:subscribe").await;
    assert_eq!(script.last().resume_after, Some(Revision::new(7)));
    site.v1().get("/a2a/tasks/t:subscribe").await;
    assert_eq!(script.last().resume_after, None);
    let strange = site.v1().with("last-event-id", "x-1").post("/a2a", subscribe).await;
    assert_eq!(strange.events()[0]["error"]["code"], -32602);
}

#[tokio::test]
async fn streams_of_every_version_have_the_events_of_their_version() {
    let site = site(shouter(Settings::default())).await;
    let newest = site.v1().post("/a2a", send("SendStreamingMessage", "hi")).await;
    let events = newest.events();
    assert_eq!(events[0]["result"]["task"]["status"]["state"], "TASK_STATE_SUBMITTED");
    let last = &events.last().unwrap()["result"]["statusUpdate"];
    assert_eq!(last["status"]["state"], "TASK_STATE_COMPLETED");
    assert!(last.get("final").is_none());
    let call = |method: &str, params: String| {
        format!(r#"{{"jsonrpc":"2.0","id":"s","method":"{method}","params":{params}}}"#)
    };
    let params = format!(r#"{{"message":{}}}"#, older_message("hi"));
    let older = site.post("/a2a", call("message/stream", params)).await.events();
    assert_eq!(older[0]["result"]["kind"], "task");
    assert_eq!(older.last().unwrap()["result"]["final"], true);
    let params = r#"{"id":"t0","message":{"role":"user","parts":[{"type":"text","text":"hi"}]}}"#;
    let oldest = site.post("/a2a", call("tasks/sendSubscribe", params.into())).await.events();
    assert!(oldest.iter().all(|it| it["result"]["id"] == "t0"), "{oldest:?}");
    assert_eq!(oldest.last().unwrap()["result"]["final"], true);
    let rest = r#"{"message":{"messageId":"r","role":"ROLE_USER","content":[{"text":"hi"}]}}"#;
    let rest = site.post("/v1/message:stream", rest).await.events();
    assert_eq!(rest.last().unwrap()["statusUpdate"]["final"], true);
}

#[tokio::test]
async fn a_stream_can_be_resumed_behind_any_of_its_events() {
    let site = site(shouter(Settings::default())).await;
    let body = format!(r#"{{"message":{}}}"#, message("hi"));
    let whole = site.v1().post("/a2a/message:stream", body).await;
    let id = whole.events()[0]["task"]["id"].as_str().unwrap().to_owned();
    let ids: Vec<&str> = whole.text().lines().filter_map(|it| it.strip_prefix("id: ")).collect();
    assert_eq!(ids.len(), whole.events().len());
    for (index, seen) in ids.iter().enumerate() {
        let caller = site.v1().with("last-event-id", *seen);
        let rest = caller.get(&format!("/a2a/tasks/{id}:subscribe")).await;
        assert_eq!(rest.events(), whole.events()[index + 1..], "behind {seen}");
    }
}

/// Says when it is dropped.
struct Dropped(Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[tokio::test]
async fn a_reader_that_goes_away_ends_its_stream() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let counter = dropped.clone();
    let script = Script::new(move |_| {
        let guard = Dropped(counter.clone());
        let silent = stream::iter([event(1, "x")]).chain(stream::pending());
        let stream: Pin<Box<dyn futures_util::Stream<Item = _> + Send>> =
            Box::pin(silent.map(move |it| {
                let _ = &guard;
                it
            }));
        Ok(CallResponse::from(Reply::Stream(stream)))
    });
    let site = site(Server::empty().answered_by(script)).await;
    let body = send("SendStreamingMessage", "hi");
    let request = format!(
        "POST /a2a HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    site.raw(request.as_bytes(), |text| text.contains("id: 1")).await;
    tokio::time::timeout(Duration::from_secs(5), async {
        while dropped.load(Ordering::Relaxed) == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await
    .expect("the stream is dropped when its reader is gone");
}
