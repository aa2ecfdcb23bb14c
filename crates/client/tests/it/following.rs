//! A task is followed to its end, whatever happens to the connection.

use std::time::Duration;

use futures_util::TryStreamExt;
use latimer_client::transport::Limits;
use latimer_client::{Client, Error, Polling, Retry, says};
use latimer_protocol::card::{AgentCapabilities, AgentCard, ProtocolBinding};
use latimer_protocol::{
    Artifact, ErrorKind, Part, SendMessageResponse, StreamResponse, Task, TaskState, Version,
};
use latimer_runtime::Demo;
use latimer_server::{Server, Settings};
use serde_json::json;

use crate::support::{Answer, Cutter, PAIRS, Stub, demo, listen, loopback};

fn text(task: &Task) -> String {
    let parts = task.artifacts.iter().flat_map(|it: &std::sync::Arc<Artifact>| it.parts.clone());
    parts.filter_map(|it: Part| it.as_text().map(str::to_owned)).collect()
}

fn task(outcome: SendMessageResponse) -> Task {
    match outcome {
        SendMessageResponse::Task(task) => (*task).clone(),
        SendMessageResponse::Message(message) => panic!("{message:?}"),
    }
}

/// A client of the server behind a proxy, that knows the server's card.
async fn through(proxy: &Cutter, (binding, version): (ProtocolBinding, Version)) -> Client {
    let builder = Client::builder(format!("http://{}/a2a", proxy.address()))
        .bindings([binding])
        .versions([version])
        .retry(Retry { first_pause: Duration::from_millis(10), ..Retry::default() })
        .polling(Polling { interval: Duration::from_millis(20), max: 500 });
    match version {
        // No card of ours speaks of it.
        Version::V0_1 => builder.build().unwrap(),
        Version::V0_3 | Version::V1_0 => builder.connect().await.unwrap(),
    }
}

#[tokio::test]
async fn a_cut_stream_goes_on_where_it_was_cut() {
    let server = demo().await;
    for pair in PAIRS.into_iter().filter(|it| *it != (ProtocolBinding::HttpJson, Version::V0_1)) {
        let proxy = Cutter::start(server.address()).await;
        let client = through(&proxy, pair.clone()).await;
        let mut following = client.follow(says("chunks 12 20"));
        let (mut texts, mut pieces) = (String::new(), 0);
        while let Some(event) = following.next().await.unwrap_or_else(|it| panic!("{pair:?}: {it}"))
        {
            if let StreamResponse::ArtifactUpdate(update) = &event {
                pieces += 1;
                texts.push_str(&update.artifact.text());
                if [2, 5, 8].contains(&pieces) {
                    proxy.cut();
                }
            }
        }
        let whole = following.known().cloned().expect("a task");
        assert_eq!(whole.status.state, TaskState::Completed, "{pair:?}");
        let direct = client.get_task(whole.id.clone()).await.unwrap();
        assert_eq!(text(&whole), text(&direct), "{pair:?}");
        // Where events have numbers, none comes twice.
        if following.cursor().is_some() {
            assert_eq!(texts, text(&direct), "{pair:?}");
        } else {
            assert_eq!(pair.1, Version::V0_1, "{pair:?} has no numbers");
        }
    }
}

#[tokio::test]
async fn a_connection_is_used_again_behind_the_end_of_a_stream() {
    let event = r#"{"jsonrpc":"2.0","id":"1","result":{"task":{"id":"t","contextId":"c",
        "status":{"state":"TASK_STATE_COMPLETED"}}}}"#;
    let event = format!("data: {}\n\n", event.replace('\n', ""));
    let stub = Stub::start(move |_| Answer::GoOn(event.clone())).await;
    let client = Client::new(&stub.url()).unwrap();
    for _ in 0..10 {
        let mut following = client.follow(says("hi"));
        assert!(following.next().await.unwrap().is_some());
        assert!(
            following.next().await.unwrap().is_none(),
            "nobody waits for the end of the stream"
        );
        drop(following);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(stub.opened() < 5, "{} connections", stub.opened());
}

#[tokio::test]
async fn whoever_stops_waiting_can_go_on() {
    let server = demo().await;
    let client = Client::connect(format!("http://{}", server.address())).await.unwrap();
    let mut following = client.follow(says("chunks 6 20"));
    let mut texts = Vec::new();
    loop {
        // Given up nearly at once, over and over.
        match tokio::time::timeout(Duration::from_millis(2), following.next()).await {
            Err(_) => continue,
            Ok(Ok(Some(StreamResponse::ArtifactUpdate(it)))) => texts.push(it.artifact.text()),
            Ok(Ok(Some(_))) => {}
            Ok(Ok(None)) => break,
            Ok(Err(error)) => panic!("{error}"),
        }
    }
    let whole = following.known().unwrap();
    assert_eq!(whole.status.state, TaskState::Completed);
    assert_eq!(texts.concat(), text(whole));
    let tasks = client.list_tasks(Default::default()).await.unwrap();
    assert_eq!(tasks.total_size, 1, "the message was sent once");
}

#[tokio::test]
async fn texts_are_told_once_and_states_as_they_change() {
    let server = demo().await;
    let proxy = Cutter::start(server.address()).await;
    let client = through(&proxy, PAIRS[0].clone()).await;
    let (mut told, mut states, mut count) = (String::new(), Vec::new(), 0);
    let outcome = client
        .follow(says("chunks 6 20"))
        .tell(
            |text| {
                told.push_str(text);
                count += 1;
                if count == 3 {
                    proxy.cut();
                }
            },
            |status| states.push(status.state),
        )
        .await
        .unwrap();
    assert_eq!(told, text(&task(outcome)));
    assert_eq!(states.last(), Some(&TaskState::Completed), "{states:?}");
    states.dedup();
    assert!(states.contains(&TaskState::Working), "{states:?}");
}

#[tokio::test]
async fn an_agent_that_cannot_stream_is_looked_at() {
    let capabilities = AgentCapabilities { streaming: Some(false), ..Default::default() };
    let card = AgentCard { name: "quiet".into(), capabilities, ..AgentCard::default() };
    let server = listen(Server::new(Demo::agent("quiet").with_card(card))).await;
    let quick = Polling { interval: Duration::from_millis(20), max: 500 };
    for with_card in [true, false] {
        let builder = Client::builder(format!("http://{}/a2a", server.address())).polling(quick);
        let client = match with_card {
            true => builder.rules(loopback()).connect().await.unwrap(),
            false => builder.build().unwrap(),
        };
        let outcome = client.follow(says("chunks 5 30")).outcome().await.unwrap();
        let whole = task(outcome);
        assert_eq!(whole.status.state, TaskState::Completed, "{with_card}");
        assert_eq!(whole.artifacts[0].parts.len(), 5, "{with_card}");
    }
}

#[tokio::test]
async fn an_error_in_a_stream_counts_when_the_task_goes_on_no_more() {
    let stub = Stub::start(|asked| {
        let task =
            json!({"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_SUBMITTED"}});
        let told = |it: serde_json::Value| format!("data: {it}\n\n");
        if asked.body.contains("GetTask") {
            return Answer::json(json!({"jsonrpc": "2.0", "id": 1, "result": task}));
        }
        let first = json!({"jsonrpc": "2.0", "id": 1, "result": {"task": task}});
        let error = json!({"code": -32005, "message": "not that"});
        let last = json!({"jsonrpc": "2.0", "id": 1, "error": error});
        Answer::Close(Answer::stream(&(told(first) + &told(last))))
    })
    .await;
    let quick = Polling { interval: Duration::from_millis(20), max: 500 };
    let client = Client::builder(stub.url()).polling(quick).build().unwrap();
    let outcome = client.follow(says("hello")).outcome();
    let outcome = tokio::time::timeout(Duration::from_secs(20), outcome).await.unwrap();
    let Err(Error::Agent(refused)) = outcome else { panic!("{outcome:?}") };
    assert_eq!(refused.kind(), ErrorKind::ContentTypeNotSupported);
}

#[tokio::test]
async fn the_end_is_told_behind_what_nobody_told() {
    let stub = Stub::start(|asked| {
        let status = |state: &str| json!({"state": state});
        let task = |state: &str, texts: &[&str]| {
            let parts: Vec<_> = texts.iter().map(|it| json!({"text": it})).collect();
            let artifacts = json!([{"artifactId": "a", "parts": parts}]);
            json!({"id": "t", "contextId": "c", "status": status(state), "artifacts": artifacts})
        };
        let told = |it: serde_json::Value| {
            format!("data: {}\n\n", json!({"jsonrpc": "2.0", "id": 1, "result": it}))
        };
        let stream = if asked.body.contains("GetTask") {
            let whole = task("TASK_STATE_COMPLETED", &["one", "two", "three"]);
            return Answer::json(json!({"jsonrpc": "2.0", "id": 1, "result": whole}));
        } else if asked.body.contains("SubscribeToTask") {
            let artifact = json!({"artifactId": "a", "parts": [{"text": "three"}]});
            let ids = json!({"taskId": "t", "contextId": "c"});
            let mut piece = ids.clone();
            (piece["artifact"], piece["append"]) = (artifact, json!(true));
            let mut end = ids;
            end["status"] = status("TASK_STATE_COMPLETED");
            told(json!({"artifactUpdate": piece})) + &told(json!({"statusUpdate": end}))
        } else {
            told(json!({"task": task("TASK_STATE_WORKING", &["one"])}))
        };
        Answer::Close(Answer::stream(&stream))
    })
    .await;
    let client = Client::new(&stub.url()).unwrap();
    let events: Vec<_> = client.follow(says("hello")).into_stream().try_collect().await.unwrap();
    let ends = |it: &&StreamResponse| it.status().is_some_and(|it| it.state.is_terminal());
    let Some(StreamResponse::Task(whole)) = events.iter().find(ends) else { panic!("{events:?}") };
    assert_eq!(text(whole), "onetwothree");
}

#[tokio::test]
async fn no_stream_is_asked_for_where_none_is_wanted() {
    let stub = Stub::start(|asked| {
        let task = |state: &str| json!({"id": "t", "status": {"state": state}});
        let result = match asked.body.contains("\"SendMessage\"") {
            true => json!({"task": task("TASK_STATE_WORKING")}),
            false => task("TASK_STATE_COMPLETED"),
        };
        Answer::json(json!({"jsonrpc": "2.0", "id": 1, "result": result}))
    })
    .await;
    let quick = Polling { interval: Duration::from_millis(20), max: 500 };
    let client = Client::builder(stub.url()).polling(quick).without_streams().build().unwrap();
    let done = task(client.follow(says("hello")).outcome().await.unwrap());
    assert_eq!(done.status.state, TaskState::Completed);
    client.follow_task(done.id).outcome().await.unwrap();
    let methods: Vec<_> = stub.asked().iter().map(|it| it.body.clone()).collect();
    let streams = |it: &&String| it.contains("Stream") || it.contains("Subscribe");
    assert_eq!(methods.iter().find(streams), None);
}

#[tokio::test]
async fn following_stops_at_questions_and_answers_go_on() {
    let server = demo().await;
    for pair in PAIRS.into_iter().filter(|(_, version)| *version != Version::V0_1) {
        let proxy = Cutter::start(server.address()).await;
        let client = through(&proxy, pair.clone()).await;
        let asked = task(client.follow(says("ask Which city?")).outcome().await.unwrap());
        assert_eq!(asked.status.state, TaskState::InputRequired, "{pair:?}");
        let again = task(client.follow_task(asked.id.clone()).outcome().await.unwrap());
        assert_eq!(again.status.state, TaskState::InputRequired, "{pair:?}");
        let answer = says("Oslo").with_task(asked.id.clone());
        let done = task(client.follow(answer).outcome().await.unwrap());
        assert_eq!(done.status.state, TaskState::Completed, "{pair:?}");
        let over = task(client.follow_task(asked.id.clone()).outcome().await.unwrap());
        assert_eq!(over.status.state, TaskState::Completed, "{pair:?}");
        let said = client.follow(says("say hello")).outcome().await.unwrap();
        assert!(matches!(said, SendMessageResponse::Message(it) if it.text() == "hello"));
    }
}

#[tokio::test]
async fn a_comment_is_a_sign_of_life() {
    let keep_alive = Duration::from_millis(100);
    let settings = Settings { keep_alive, ..Settings::default() };
    let server = listen(Server::new(Demo::agent("demo")).settings(settings)).await;
    let limits = Limits { idle: Duration::from_millis(1500), ..Limits::default() };
    let builder = Client::builder(format!("http://{}/a2a", server.address())).limits(limits);
    let events = builder.build().unwrap().stream(says("wait 3000")).await.unwrap();
    let told: Vec<_> = events.try_collect().await.unwrap();
    let last = told.iter().rev().find_map(|it| it.event.event().status()).unwrap();
    assert_eq!(last.state, TaskState::Completed);
}

#[tokio::test]
async fn a_task_may_be_silent_for_longer_than_a_stream() {
    let server = demo().await;
    let limits = Limits { idle: Duration::from_millis(300), ..Limits::default() };
    let builder = Client::builder(format!("http://{}", server.address())).limits(limits);
    let client = builder.bindings([ProtocolBinding::Grpc]).connect().await.unwrap();
    let done = task(client.follow(says("wait 1500")).outcome().await.unwrap());
    assert_eq!(done.status.state, TaskState::Completed);
}

#[tokio::test]
async fn waiting_has_an_end() {
    let server = demo().await;
    let client = Client::builder(format!("http://{}/a2a", server.address()))
        .polling(Polling { interval: Duration::from_millis(10), max: 3 })
        .build()
        .unwrap();
    let mut following = client.follow(says("wait 60000"));
    following.next().await.unwrap();
    let id = following.known().unwrap().id.clone();
    let error = client.wait(id.clone()).await.unwrap_err();
    assert!(matches!(error, Error::StillWorking { polls: 3, .. }), "{error}");
    client.cancel_task(id.clone()).await.unwrap();
    assert_eq!(client.wait(id).await.unwrap().status.state, TaskState::Canceled);
}

#[tokio::test]
async fn an_engine_in_the_same_process_is_an_agent_like_any_other() {
    let registry = latimer_server::AgentRegistry::new([Demo::agent("demo")]).unwrap();
    let store = std::sync::Arc::new(latimer_store::MemoryStore::default());
    let engine = latimer_server::Engine::new(registry.into(), store, Default::default());
    let client = Client::over(std::sync::Arc::new(engine));
    let done = task(client.follow(says("chunks 3")).outcome().await.unwrap());
    assert_eq!(done.artifacts[0].parts.len(), 3);
}
