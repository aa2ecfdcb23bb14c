//! Followers with lost connections, and without streams.

use std::time::Duration;

use futures_util::TryStreamExt;
use latimer_client::transport::CallLimits;
use latimer_client::{Client, Error, PollPolicy, RetryPolicy, user_message};
use latimer_protocol::card::{AgentCapabilities, AgentCard, ProtocolBinding};
use latimer_protocol::{
    Artifact, ErrorKind, Part, SendMessageResponse, StreamResponse, Task, TaskState, Version,
};
use latimer_runtime::DemoAgent;
use latimer_server::{Server, Settings};
use serde_json::json;

use crate::support::{
    BINDING_VERSIONS, CuttingProxy, Stub, StubResponse, allow_loopback, demo, listen,
};

fn text(task: &Task) -> String {
    let parts = task.artifacts.iter().flat_map(|it: &std::sync::Arc<Artifact>| it.parts.clone());
    parts.filter_map(|it: Part| it.as_text().map(str::to_owned)).collect()
}

fn task(response: SendMessageResponse) -> Task {
    match response {
        SendMessageResponse::Task(task) => (*task).clone(),
        SendMessageResponse::Message(message) => panic!("{message:?}"),
    }
}

/// A client that calls the server through the proxy, with its card.
async fn client_through(
    proxy: &CuttingProxy,
    (binding, version): (ProtocolBinding, Version),
) -> Client {
    let builder = Client::builder(format!("http://{}/a2a", proxy.address()))
        .bindings([binding])
        .versions([version])
        .retry(RetryPolicy { initial_backoff: Duration::from_millis(10), ..RetryPolicy::default() })
        .polling(PollPolicy { interval: Duration::from_millis(20), max_polls: 500 });
    match version {
        // Cards of Latimer have no interface of 0.1.
        Version::V0_1 => builder.build().unwrap(),
        Version::V0_3 | Version::V1_0 => builder.connect().await.unwrap(),
    }
}

#[tokio::test]
async fn interrupted_stream_resumes_where_it_broke() {
    let server = demo().await;
    for pair in
        BINDING_VERSIONS.into_iter().filter(|it| *it != (ProtocolBinding::HttpJson, Version::V0_1))
    {
        let proxy = CuttingProxy::start(server.address()).await;
        let client = client_through(&proxy, pair.clone()).await;
        let mut follower = client.follow(user_message("chunks 12 20"));
        let (mut texts, mut chunks) = (String::new(), 0);
        while let Some(event) = follower.next().await.unwrap_or_else(|it| panic!("{pair:?}: {it}"))
        {
            if let StreamResponse::ArtifactUpdate(update) = &event {
                chunks += 1;
                texts.push_str(&update.artifact.text());
                if [2, 5, 8].contains(&chunks) {
                    proxy.cut();
                }
            }
        }
        let followed = follower.task().cloned().expect("a task");
        assert_eq!(followed.status.state, TaskState::Completed, "{pair:?}");
        let fetched = client.get_task(followed.id.clone()).await.unwrap();
        assert_eq!(text(&followed), text(&fetched), "{pair:?}");
        // Numbered events are not repeated.
        if follower.cursor().is_some() {
            assert_eq!(texts, text(&fetched), "{pair:?}");
        } else {
            assert_eq!(pair.1, Version::V0_1, "{pair:?} has no numbers");
        }
    }
}

#[tokio::test]
async fn connection_is_reused_after_stream_end() {
    let event = r#"{"jsonrpc":"2.0","id":"1","result":{"task":{"id":"t","contextId":"c",
        "status":{"state":"TASK_STATE_COMPLETED"}}}}"#;
    let event = format!("data: {}\n\n", event.replace('\n', ""));
    let stub = Stub::start(move |_| StubResponse::ReusableStream(event.clone())).await;
    let client = Client::new(&stub.url()).unwrap();
    for _ in 0..10 {
        let mut follower = client.follow(user_message("hi"));
        assert!(follower.next().await.unwrap().is_some());
        assert!(follower.next().await.unwrap().is_none(), "the final event ends following");
        drop(follower);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(stub.connection_count() < 5, "{} connections", stub.connection_count());
}

#[tokio::test]
async fn dropped_next_call_loses_no_event() {
    let server = demo().await;
    let client = Client::connect(format!("http://{}", server.address())).await.unwrap();
    let mut follower = client.follow(user_message("chunks 6 20"));
    let mut texts = Vec::new();
    loop {
        // Cancels most calls of `next`.
        match tokio::time::timeout(Duration::from_millis(2), follower.next()).await {
            Err(_) => continue,
            Ok(Ok(Some(StreamResponse::ArtifactUpdate(it)))) => texts.push(it.artifact.text()),
            Ok(Ok(Some(_))) => {}
            Ok(Ok(None)) => break,
            Ok(Err(error)) => panic!("{error}"),
        }
    }
    let followed = follower.task().unwrap();
    assert_eq!(followed.status.state, TaskState::Completed);
    assert_eq!(texts.concat(), text(followed));
    let tasks = client.list_tasks(Default::default()).await.unwrap();
    assert_eq!(tasks.total_size, 1, "the message was sent once");
}

#[tokio::test]
async fn text_is_emitted_once_and_states_as_they_change() {
    let server = demo().await;
    let proxy = CuttingProxy::start(server.address()).await;
    let client = client_through(&proxy, BINDING_VERSIONS[0].clone()).await;
    let (mut emitted, mut states, mut count) = (String::new(), Vec::new(), 0);
    let response = client
        .follow(user_message("chunks 6 20"))
        .for_each_update(
            |text| {
                emitted.push_str(text);
                count += 1;
                if count == 3 {
                    proxy.cut();
                }
            },
            |status| states.push(status.state),
        )
        .await
        .unwrap();
    assert_eq!(emitted, text(&task(response)));
    assert_eq!(states.last(), Some(&TaskState::Completed), "{states:?}");
    states.dedup();
    assert!(states.contains(&TaskState::Working), "{states:?}");
}

#[tokio::test]
async fn non_streaming_agent_is_polled() {
    let capabilities = AgentCapabilities { streaming: Some(false), ..Default::default() };
    let card = AgentCard { name: "quiet".into(), capabilities, ..AgentCard::default() };
    let server = listen(Server::new(DemoAgent::new_agent("quiet").with_card(card))).await;
    let polling = PollPolicy { interval: Duration::from_millis(20), max_polls: 500 };
    for with_card in [true, false] {
        let builder = Client::builder(format!("http://{}/a2a", server.address())).polling(polling);
        let client = match with_card {
            true => builder.guard_rules(allow_loopback()).connect().await.unwrap(),
            false => builder.build().unwrap(),
        };
        let response = client.follow(user_message("chunks 5 30")).result().await.unwrap();
        let done = task(response);
        assert_eq!(done.status.state, TaskState::Completed, "{with_card}");
        assert_eq!(done.artifacts[0].parts.len(), 5, "{with_card}");
    }
}

#[tokio::test]
async fn stream_error_is_returned_if_polled_task_is_unchanged() {
    let stub = Stub::start(|request| {
        let task =
            json!({"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_SUBMITTED"}});
        let frame = |it: serde_json::Value| format!("data: {it}\n\n");
        if request.body.contains("GetTask") {
            return StubResponse::json(json!({"jsonrpc": "2.0", "id": 1, "result": task}));
        }
        let first = json!({"jsonrpc": "2.0", "id": 1, "result": {"task": task}});
        let error = json!({"code": -32005, "message": "not that"});
        let last = json!({"jsonrpc": "2.0", "id": 1, "error": error});
        StubResponse::Close(StubResponse::stream(&(frame(first) + &frame(last))))
    })
    .await;
    let polling = PollPolicy { interval: Duration::from_millis(20), max_polls: 500 };
    let client = Client::builder(stub.url()).polling(polling).build().unwrap();
    let result = client.follow(user_message("hello")).result();
    let result = tokio::time::timeout(Duration::from_secs(20), result).await.unwrap();
    let Err(Error::Agent(error)) = result else { panic!("{result:?}") };
    assert_eq!(error.kind(), ErrorKind::ContentTypeNotSupported);
}

#[tokio::test]
async fn missed_events_are_fetched_before_the_final_event() {
    let stub = Stub::start(|request| {
        let status = |state: &str| json!({"state": state});
        let task = |state: &str, texts: &[&str]| {
            let parts: Vec<_> = texts.iter().map(|it| json!({"text": it})).collect();
            let artifacts = json!([{"artifactId": "a", "parts": parts}]);
            json!({"id": "t", "contextId": "c", "status": status(state), "artifacts": artifacts})
        };
        let frame = |it: serde_json::Value| {
            format!("data: {}\n\n", json!({"jsonrpc": "2.0", "id": 1, "result": it}))
        };
        let stream = if request.body.contains("GetTask") {
            let complete = task("TASK_STATE_COMPLETED", &["one", "two", "three"]);
            return StubResponse::json(json!({"jsonrpc": "2.0", "id": 1, "result": complete}));
        } else if request.body.contains("SubscribeToTask") {
            let artifact = json!({"artifactId": "a", "parts": [{"text": "three"}]});
            let ids = json!({"taskId": "t", "contextId": "c"});
            let mut chunk = ids.clone();
            (chunk["artifact"], chunk["append"]) = (artifact, json!(true));
            let mut end = ids;
            end["status"] = status("TASK_STATE_COMPLETED");
            frame(json!({"artifactUpdate": chunk})) + &frame(json!({"statusUpdate": end}))
        } else {
            frame(json!({"task": task("TASK_STATE_WORKING", &["one"])}))
        };
        StubResponse::Close(StubResponse::stream(&stream))
    })
    .await;
    let client = Client::new(&stub.url()).unwrap();
    let events: Vec<_> =
        client.follow(user_message("hello")).into_stream().try_collect().await.unwrap();
    let ends = |it: &&StreamResponse| it.status().is_some_and(|it| it.state.is_terminal());
    let Some(StreamResponse::Task(last)) = events.iter().find(ends) else { panic!("{events:?}") };
    assert_eq!(text(last), "onetwothree");
}

#[tokio::test]
async fn disabled_streaming_never_requests_a_stream() {
    let stub = Stub::start(|request| {
        let task = |state: &str| json!({"id": "t", "status": {"state": state}});
        let result = match request.body.contains("\"SendMessage\"") {
            true => json!({"task": task("TASK_STATE_WORKING")}),
            false => task("TASK_STATE_COMPLETED"),
        };
        StubResponse::json(json!({"jsonrpc": "2.0", "id": 1, "result": result}))
    })
    .await;
    let polling = PollPolicy { interval: Duration::from_millis(20), max_polls: 500 };
    let client = Client::builder(stub.url()).polling(polling).disable_streaming().build().unwrap();
    let done = task(client.follow(user_message("hello")).result().await.unwrap());
    assert_eq!(done.status.state, TaskState::Completed);
    client.follow_task(done.id).result().await.unwrap();
    let methods: Vec<_> = stub.requests().iter().map(|it| it.body.clone()).collect();
    let streams = |it: &&String| it.contains("Stream") || it.contains("Subscribe");
    assert_eq!(methods.iter().find(streams), None);
}

#[tokio::test]
async fn follower_stops_at_question_and_resumes_with_answer() {
    let server = demo().await;
    for pair in BINDING_VERSIONS.into_iter().filter(|(_, version)| *version != Version::V0_1) {
        let proxy = CuttingProxy::start(server.address()).await;
        let client = client_through(&proxy, pair.clone()).await;
        let question = task(client.follow(user_message("ask Which city?")).result().await.unwrap());
        assert_eq!(question.status.state, TaskState::InputRequired, "{pair:?}");
        let refollowed = task(client.follow_task(question.id.clone()).result().await.unwrap());
        assert_eq!(refollowed.status.state, TaskState::InputRequired, "{pair:?}");
        let answer = user_message("Oslo").with_task(question.id.clone());
        let done = task(client.follow(answer).result().await.unwrap());
        assert_eq!(done.status.state, TaskState::Completed, "{pair:?}");
        let finished = task(client.follow_task(question.id.clone()).result().await.unwrap());
        assert_eq!(finished.status.state, TaskState::Completed, "{pair:?}");
        let reply = client.follow(user_message("say hello")).result().await.unwrap();
        assert!(matches!(reply, SendMessageResponse::Message(it) if it.text() == "hello"));
    }
}

#[tokio::test]
async fn sse_comment_resets_idle_timeout() {
    let keep_alive = Duration::from_millis(100);
    let settings = Settings { keep_alive, ..Settings::default() };
    let server = listen(Server::new(DemoAgent::new_agent("demo")).settings(settings)).await;
    let limits = CallLimits { idle_timeout: Duration::from_millis(1500), ..CallLimits::default() };
    let builder = Client::builder(format!("http://{}/a2a", server.address())).limits(limits);
    let events = builder.build().unwrap().stream(user_message("wait 3000")).await.unwrap();
    let received: Vec<_> = events.try_collect().await.unwrap();
    let last = received.iter().rev().find_map(|it| it.event.event().status()).unwrap();
    assert_eq!(last.state, TaskState::Completed);
}

#[tokio::test]
async fn silent_task_outlasts_stream_idle_timeout() {
    let server = demo().await;
    let limits = CallLimits { idle_timeout: Duration::from_millis(300), ..CallLimits::default() };
    let builder = Client::builder(format!("http://{}", server.address())).limits(limits);
    let client = builder.bindings([ProtocolBinding::Grpc]).connect().await.unwrap();
    let done = task(client.follow(user_message("wait 1500")).result().await.unwrap());
    assert_eq!(done.status.state, TaskState::Completed);
}

#[tokio::test]
async fn polling_stops_at_max_polls() {
    let server = demo().await;
    let client = Client::builder(format!("http://{}/a2a", server.address()))
        .polling(PollPolicy { interval: Duration::from_millis(10), max_polls: 3 })
        .build()
        .unwrap();
    let mut follower = client.follow(user_message("wait 60000"));
    follower.next().await.unwrap();
    let id = follower.task().unwrap().id.clone();
    let error = client.poll_until_settled(id.clone()).await.unwrap_err();
    assert!(matches!(error, Error::PollLimitReached { polls: 3, .. }), "{error}");
    client.cancel_task(id.clone()).await.unwrap();
    assert_eq!(client.poll_until_settled(id).await.unwrap().status.state, TaskState::Canceled);
}

#[tokio::test]
async fn in_process_engine_can_be_followed() {
    let registry = latimer_server::AgentRegistry::new([DemoAgent::new_agent("demo")]).unwrap();
    let store = std::sync::Arc::new(latimer_store::MemoryStore::default());
    let engine = latimer_server::Engine::new(registry.into(), store, Default::default());
    let client = Client::from_service(std::sync::Arc::new(engine));
    let done = task(client.follow(user_message("chunks 3")).result().await.unwrap());
    assert_eq!(done.artifacts[0].parts.len(), 3);
}
