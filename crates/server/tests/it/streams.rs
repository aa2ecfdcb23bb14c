//! Streams of server-sent events.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use latimer_protocol::{
    CallResponse, Error, ErrorKind, Finality, Message, MessageId, ReplyKind, Revision, SharedEvent,
    StreamEvent, StreamResponse,
};
use latimer_server::{Server, Settings, StreamTerminator};
use serde_json::json;

use crate::support::{
    ScriptedService, TestServer, message, send_body, shouter_server, start_server, v0_3_message,
    wait_until,
};

type Events = Vec<Result<StreamEvent, Error>>;

fn event(number: u64, text: &str) -> Result<StreamEvent, Error> {
    let message = Message::agent(MessageId::new(format!("m{number}")).unwrap(), text);
    let event = SharedEvent::new(StreamResponse::Message(message));
    Ok(StreamEvent { revision: Some(Revision::new(number)), event, finality: Finality::More })
}

/// Starts a server whose streams have these events and then end or stay open.
async fn scripted_stream_server(
    settings: Settings,
    events: fn() -> Events,
    stays_open: bool,
) -> (TestServer, ScriptedService) {
    let script = ScriptedService::new(move |_| {
        let events = stream::iter(events());
        let stream: latimer_protocol::EventStream = match stays_open {
            true => Box::pin(events.chain(stream::pending())),
            false => Box::pin(events),
        };
        Ok(CallResponse::from(ReplyKind::Stream(stream)))
    });
    let server = Server::empty().settings(settings).with_service(script.clone());
    (start_server(server).await, script)
}

#[tokio::test]
async fn ready_events_are_sent_in_one_chunk() {
    let four = || (1..=4).map(|it| event(it, "x")).collect();
    let (server, _) = scripted_stream_server(Settings::default(), four, false).await;
    let response = server.v1().post("/a2a", send_body("SendStreamingMessage", "hi")).await;
    assert_eq!(response.status, 200);
    assert_eq!(response.header("content-type"), "text/event-stream");
    assert_eq!(response.header("cache-control"), "no-cache");
    assert_eq!(response.header("x-accel-buffering"), "no");
    assert_eq!(response.chunks.len(), 1, "{:?}", response.chunks);
    let first = r#"{"jsonrpc":"2.0","id":1,"result":{"message":{"messageId":"m1","role":"ROLE_AGENT","parts":[{"text":"x"}]}}}"#;
    assert!(response.text().starts_with(&format!("id: 1\ndata: {first}\n\nid: 2\n")));
    assert_eq!(response.events().len(), 4);
    assert!(response.text().ends_with("}\n\n"), "the body ends with the last event");
}

#[tokio::test]
async fn long_stream_is_sent_in_bounded_chunks() {
    let many = || (1..=3000).map(|it| event(it, "0123456789")).collect();
    let (server, _) = scripted_stream_server(Settings::default(), many, false).await;
    let body = format!(r#"{{"message":{}}}"#, message("hi"));
    let response = server.v1().post("/a2a/message:stream", body).await;
    assert_eq!(response.events().len(), 3000);
    assert!(response.chunks.len() > 3);
    assert_eq!(response.events()[2999]["message"]["messageId"], "m3000");
}

#[tokio::test]
async fn idle_stream_sends_keep_alive_comments() {
    let settings = Settings { keep_alive: Duration::from_millis(30), ..Settings::default() };
    let (server, _) = scripted_stream_server(settings, || vec![event(1, "x")], true).await;
    let body = send_body("SendStreamingMessage", "hi");
    let request = format!(
        "POST /a2a HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    let comments = |text: &str| text.matches(": keep-alive\n\n").count();
    let text = server.send_raw(request.as_bytes(), |text| comments(text) >= 3).await;
    assert!(text.contains("id: 1\ndata: "), "{text}");
    assert!(comments(&text) >= 3, "{text}");
}

#[tokio::test]
async fn failed_stream_ends_with_an_error_event() {
    let failing = || vec![event(1, "x"), Err(ErrorKind::Unavailable.into()), event(2, "never")];
    let (server, _) = scripted_stream_server(Settings::default(), failing, false).await;
    let response = server.v1().post("/a2a", send_body("SendStreamingMessage", "hi")).await;
    let events = response.events();
    assert_eq!(events.len(), 2);
    assert_eq!((&events[1]["id"], &events[1]["error"]["code"]), (&json!(1), &json!(-31503)));
    assert!(!response.text().contains("event:"), "one client does not support event names");
    let body = format!(r#"{{"message":{}}}"#, message("hi"));
    let response = server.v1().post("/a2a/message:stream", body).await;
    assert_eq!(response.events()[1]["error"]["status"], "UNAVAILABLE");
}

#[tokio::test]
async fn stream_ends_with_the_configured_terminator() {
    for (stream_terminator, end) in [
        (StreamTerminator::None, "}\n\n"),
        (StreamTerminator::DoneEvent, "}\n\nevent: done\ndata: \n\n"),
        (StreamTerminator::DoneLine, "}\n\n[DONE]\n\n"),
    ] {
        let settings = Settings { stream_terminator, ..Settings::default() };
        let (server, _) = scripted_stream_server(settings, || vec![event(1, "x")], false).await;
        let response = server.v1().post("/a2a", send_body("SendStreamingMessage", "hi")).await;
        assert!(response.text().ends_with(end), "{stream_terminator:?}: {}", response.text());
    }
}

#[tokio::test]
async fn last_event_id_becomes_the_resume_cursor() {
    let (server, script) = scripted_stream_server(Settings::default(), Vec::new, false).await;
    let subscribe = r#"{"jsonrpc":"2.0","id":1,"method":"SubscribeToTask","params":{"id":"t"}}"#;
    server.v1().with_header("last-event-id", "41").post("/a2a", subscribe).await;
    assert_eq!(script.last_call().context.resume_after, Some(Revision::new(41)));
    server.v1().with_header("last-event-id", "7").get("/a2a/tasks/t:subscribe").await;
    assert_eq!(script.last_call().context.resume_after, Some(Revision::new(7)));
    server.v1().get("/a2a/tasks/t:subscribe").await;
    assert_eq!(script.last_call().context.resume_after, None);
    let invalid = server.v1().with_header("last-event-id", "x-1").post("/a2a", subscribe).await;
    assert_eq!(invalid.events()[0]["error"]["code"], -32602);
}

#[tokio::test]
async fn each_version_streams_its_own_event_format() {
    let server = start_server(shouter_server(Settings::default())).await;
    let newest = server.v1().post("/a2a", send_body("SendStreamingMessage", "hi")).await;
    let events = newest.events();
    assert_eq!(events[0]["result"]["task"]["status"]["state"], "TASK_STATE_SUBMITTED");
    let last = &events.last().unwrap()["result"]["statusUpdate"];
    assert_eq!(last["status"]["state"], "TASK_STATE_COMPLETED");
    assert!(last.get("final").is_none());
    let call = |method: &str, params: String| {
        format!(r#"{{"jsonrpc":"2.0","id":"s","method":"{method}","params":{params}}}"#)
    };
    let params = format!(r#"{{"message":{}}}"#, v0_3_message("hi"));
    let older = server.post("/a2a", call("message/stream", params)).await.events();
    assert_eq!(older[0]["result"]["kind"], "task");
    assert_eq!(older.last().unwrap()["result"]["final"], true);
    let params = r#"{"id":"t0","message":{"role":"user","parts":[{"type":"text","text":"hi"}]}}"#;
    let oldest = server.post("/a2a", call("tasks/sendSubscribe", params.into())).await.events();
    assert!(oldest.iter().all(|it| it["result"]["id"] == "t0"), "{oldest:?}");
    assert_eq!(oldest.last().unwrap()["result"]["final"], true);
    let rest = r#"{"message":{"messageId":"r","role":"ROLE_USER","content":[{"text":"hi"}]}}"#;
    let rest = server.post("/v1/message:stream", rest).await.events();
    assert_eq!(rest.last().unwrap()["statusUpdate"]["final"], true);
}

#[tokio::test]
async fn stream_resumes_after_any_event() {
    let server = start_server(shouter_server(Settings::default())).await;
    let body = format!(r#"{{"message":{}}}"#, message("hi"));
    let complete = server.v1().post("/a2a/message:stream", body).await;
    let id = complete.events()[0]["task"]["id"].as_str().unwrap().to_owned();
    let ids: Vec<&str> = complete.text().lines().filter_map(|it| it.strip_prefix("id: ")).collect();
    assert_eq!(ids.len(), complete.events().len());
    for (index, seen) in ids.iter().enumerate() {
        let caller = server.v1().with_header("last-event-id", *seen);
        let remaining = caller.get(&format!("/a2a/tasks/{id}:subscribe")).await;
        assert_eq!(remaining.events(), complete.events()[index + 1..], "after {seen}");
    }
}

/// Counts drops.
struct DropCounter(Arc<AtomicUsize>);

impl Drop for DropCounter {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[tokio::test]
async fn disconnected_reader_drops_its_stream() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let counter = dropped.clone();
    let script = ScriptedService::new(move |_| {
        let guard = DropCounter(counter.clone());
        let idle = stream::iter([event(1, "x")]).chain(stream::pending());
        let stream: Pin<Box<dyn futures_util::Stream<Item = _> + Send>> =
            Box::pin(idle.map(move |it| {
                let _ = &guard;
                it
            }));
        Ok(CallResponse::from(ReplyKind::Stream(stream)))
    });
    let server = start_server(Server::empty().with_service(script)).await;
    let body = send_body("SendStreamingMessage", "hi");
    let request = format!(
        "POST /a2a HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    server.send_raw(request.as_bytes(), |text| text.contains("id: 1")).await;
    let is_dropped = async || dropped.load(Ordering::Relaxed) > 0;
    wait_until("the stream is dropped when its reader disconnects", is_dropped).await;
}

/// §3.2.4: the first event of a stream is the task, with at most this many messages.
#[tokio::test]
async fn stream_limits_the_history_of_its_first_task() {
    let server = start_server(shouter_server(Settings::default())).await;
    let caller = server.v1();
    let newest = |message: &str, length: Option<u32>| json!({"message": serde_json::from_str::<serde_json::Value>(message).unwrap(), "configuration": {"historyLength": length}});
    let rpc = |method: &str, params: &serde_json::Value| {
        json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string()
    };
    let length_of = |task: &serde_json::Value| task["history"].as_array().map_or(0, Vec::len);
    for (length, want) in [(None, 1), (Some(0), 0), (Some(1), 1), (Some(5), 1)] {
        let params = newest(&message("hi"), length);
        let events = caller.post("/a2a", rpc("SendStreamingMessage", &params)).await.events();
        assert_eq!(length_of(&events[0]["result"]["task"]), want, "{length:?}: {}", events[0]);
        let params = newest(&message("hi"), length);
        let events = caller.post("/a2a/message:stream", params.to_string()).await.events();
        assert_eq!(length_of(&events[0]["task"]), want, "{length:?}: {}", events[0]);
        let params = newest(&v0_3_message("hi"), length);
        let events = server.post("/a2a", rpc("message/stream", &params)).await.events();
        assert_eq!(length_of(&events[0]["result"]), want, "{length:?}: {}", events[0]);
    }
    // The first event of a follow-up is the task so far, and so is that of a repeated message.
    let asked = caller.post("/a2a", send_body("SendMessage", "ask")).await.json();
    let id = asked["result"]["task"]["id"].as_str().unwrap();
    for (length, want) in [(1, 1), (0, 0)] {
        let mut params = newest(&message("ask"), Some(length));
        params["message"]["taskId"] = json!(id);
        for attempt in ["new", "repeated"] {
            let events = caller.post("/a2a", rpc("SendStreamingMessage", &params)).await.events();
            let task = &events[0]["result"]["task"];
            assert_eq!((&task["id"], length_of(task)), (&json!(id), want), "{attempt}: {task}");
        }
    }
}
