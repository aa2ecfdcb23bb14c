//! Tests of calls of agent tools and their outputs.

use std::sync::Arc;
use std::time::Duration;

use latimer_client::{Client, user_message};
use latimer_protocol::{Caller, SendMessageResponse, TaskState};
use latimer_runtime::DemoAgent;
use latimer_runtime::tools::{ToolContext, ToolErrorCode, ToolOutput, Toolbox};
use latimer_server::{Agent, Server, Turn};
use serde_json::{Value, json};

use super::{VERSIONS, call_tool, call_with_text, into_object, tool, toolbox};
use crate::remote::stub::{Stub, StubResponse};
use crate::remote::{BINDING_VERSIONS, client_for, start_demo, start_server, supports_streaming};

#[tokio::test]
async fn call_returns_text_and_data_of_agent() {
    let demo = start_demo().await;
    for pair in BINDING_VERSIONS {
        let tools = toolbox(tool("demo", demo.address(), &pair));
        for (instruction, text, data) in [
            ("echo hello", "hello", vec![]),
            ("chunks 2", "chunk 1 of 2\n\nchunk 2 of 2\n", vec![]),
            (r#"data {"answer": [42]}"#, "", vec![json!({"answer": [42]})]),
        ] {
            let output = call_with_text(&tools, instruction)
                .await
                .unwrap_or_else(|it| panic!("{pair:?} {instruction}: {it}"));
            assert_eq!((output.text.as_str(), output.data), (text, data), "{pair:?} {instruction}");
            assert_eq!(output.state, Some(TaskState::Completed), "{pair:?} {instruction}");
            assert!(
                output.context_id.is_some() && output.task_id.is_some(),
                "{pair:?} {instruction}"
            );
        }
    }
}

#[tokio::test]
async fn direct_reply_has_no_task() {
    let demo = start_demo().await;
    let tools = toolbox(tool("demo", demo.address(), &VERSIONS[0]));
    let output = call_with_text(&tools, "say hello").await.unwrap();
    let context = output.context_id.clone().unwrap();
    assert_eq!(
        serde_json::to_value(output).unwrap(),
        json!({"text": "hello", "contextId": context}),
    );
}

#[tokio::test]
async fn input_request_includes_earlier_artifacts() {
    let demo =
        start_server(Server::new(DemoAgent::default().open_ended().into_agent("demo"))).await;
    let tools = toolbox(tool("demo", demo.address(), &VERSIONS[0]));
    let interrupted = call_with_text(&tools, "hello").await.unwrap();
    assert_eq!(interrupted.text, "hello\nAnything else?");
    assert_eq!(interrupted.state, Some(TaskState::InputRequired));
}

#[tokio::test]
async fn call_in_same_context_answers_question() {
    let demo = start_demo().await;
    // The legacy REST API cannot continue a task.
    for pair in BINDING_VERSIONS.into_iter().filter(supports_streaming) {
        let tools = toolbox(tool("demo", demo.address(), &pair));
        for (instruction, question, state) in [
            ("ask Which city?", "Which city?", TaskState::InputRequired),
            ("auth", "Any message authorizes this task", TaskState::AuthRequired),
        ] {
            let interrupted = call_with_text(&tools, instruction).await.unwrap();
            // Version 0.1 has no auth-required state: agents require input instead.
            assert!(
                interrupted.state.is_some_and(TaskState::is_interrupted),
                "{pair:?}: {interrupted:?}"
            );
            assert!(
                interrupted.state == Some(state) || pair.1 == VERSIONS[2].1,
                "{pair:?}: {interrupted:?}"
            );
            assert_eq!(interrupted.text, question, "{pair:?}");
            let context = interrupted.context_id.clone().unwrap();
            let reply = json!({"message": "Oslo", "contextId": context});
            let answered = call_tool(&tools, reply).await.unwrap();
            assert_eq!(answered.text, "Oslo", "{pair:?}");
            assert_eq!(answered.task_id, interrupted.task_id, "{pair:?}: the interrupted task");
            assert_eq!(answered.context_id, interrupted.context_id, "{pair:?}");
            // The question is answered, so the next message creates a task.
            let next = json!({"message": "echo more", "contextId": context});
            let next = call_tool(&tools, next).await.unwrap();
            assert_eq!(next.text, "more", "{pair:?}");
            assert_ne!(next.task_id, interrupted.task_id, "{pair:?}");
        }
    }
}

#[tokio::test]
async fn next_call_waits_for_detached_call() {
    let demo = start_demo().await;
    let max_wait = Duration::from_millis(200);
    let tools = toolbox(tool("demo", demo.address(), &VERSIONS[0]).max_wait(max_wait));
    let first = call_with_text(&tools, "wait 1000").await.unwrap();
    assert_eq!(first.state, Some(TaskState::Working));
    let context = json!(first.context_id.clone().unwrap());
    let mut output = first.clone();
    while output.state == Some(TaskState::Working) {
        assert_eq!(output.context_id, first.context_id);
        output =
            call_tool(&tools, json!({"message": "well?", "contextId": context})).await.unwrap();
    }
    assert_eq!(output.state, Some(TaskState::Completed));
    assert!(first.task_id.is_none() || output.task_id == first.task_id);
    let next =
        call_tool(&tools, json!({"message": "echo on", "contextId": context})).await.unwrap();
    assert_eq!(next.text, "on", "a message after the end is sent");
    let client = client_for(demo.address(), &VERSIONS[0]);
    let all = client.list_tasks(Default::default()).await.unwrap().tasks;
    assert_eq!(all.len(), 2, "messages during the wait are not sent");
}

#[tokio::test]
async fn context_id_chosen_by_agent_is_mapped() {
    let stub = Stub::start(|_| {
        let reply = json!({"message": {
            "messageId": "m", "role": "ROLE_AGENT", "contextId": "upstream", "parts": [{"text": "hi"}],
        }});
        StubResponse::Close(StubResponse::event_stream(&[&reply.to_string()]))
    })
    .await;
    let tools = toolbox(tool("stub", stub.address(), &VERSIONS[0]));
    let first = json!({"message": "hello", "contextId": "local"});
    for _ in 0..2 {
        let output = call_tool(&tools, first.clone()).await.unwrap();
        assert_eq!(output.context_id.unwrap().as_str(), "local");
    }
    assert_eq!(sent_context_ids(&stub), ["local", "upstream"]);
}

/// Returns the context ids of the received messages.
fn sent_context_ids(stub: &Stub) -> Vec<String> {
    let body = |it: &str| serde_json::from_str::<Value>(it).unwrap();
    let context_id = |it: Value| it["params"]["message"]["contextId"].as_str().map(Into::into);
    stub.requests().iter().filter_map(|it| context_id(body(&it.body))).collect()
}

#[tokio::test]
async fn contexts_of_two_callers_are_isolated() {
    let stub = Stub::start(|_| {
        let reply =
            json!({"message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "hi"}]}});
        StubResponse::Close(StubResponse::event_stream(&[&reply.to_string()]))
    })
    .await;
    let tools = Arc::new(toolbox(tool("stub", stub.address(), &VERSIONS[0])));
    let agent = Agent::from_fn("chief", move |turn: Turn| {
        let tools = Arc::clone(&tools);
        async move {
            let arguments = into_object(json!({"message": "hello", "contextId": "same"}));
            match tools.call("a2a_stub", arguments, &ToolContext::for_turn(&turn)).await {
                Ok(ToolOutput { context_id: Some(id), .. }) => turn.direct_reply(id.as_str()).await,
                other => turn.fail(format!("{other:?}")).await,
            }
        }
    });
    let server = Server::new(agent.with_direct_replies()).authenticate_with(|headers| {
        let name = headers.get("x-name").and_then(|it| it.to_str().ok())?;
        Some(Caller::new(name))
    });
    let chief = start_server(server).await;
    for name in ["one", "two", "one"] {
        let mut headers = http::HeaderMap::new();
        headers.insert("x-name", name.parse().unwrap());
        let url = format!("http://{}/a2a", chief.address());
        let client = Client::builder(url).headers(headers).build().unwrap();
        let response = client.send(user_message("go")).await.unwrap();
        let SendMessageResponse::Message(reply) = response else { panic!("{response:?}") };
        assert_eq!(reply.text(), "same");
    }
    let contexts = sent_context_ids(&stub);
    assert!(
        contexts[0] != contexts[1] && contexts[0] == contexts[2] && contexts[0] != "same",
        "{contexts:?}"
    );
}

#[tokio::test]
async fn invalid_call_never_reaches_agent() {
    let stub = Stub::start(|_| StubResponse::new(404, "text/plain", "none")).await;
    let ungranted = Toolbox::new().grant("fs:read");
    let ungranted = ungranted.with_tool(tool("stub", stub.address(), &VERSIONS[0])).unwrap();
    let granted = toolbox(tool("stub", stub.address(), &VERSIONS[0]));
    let hello = json!({"message": "hello"});
    for (tools, name, arguments, code, message) in [
        (
            &ungranted,
            "a2a_stub",
            &hello,
            ToolErrorCode::MissingCapability,
            "a2a_stub requires the capability network:fetch, which is not granted",
        ),
        (
            &granted,
            "a2a_other",
            &hello,
            ToolErrorCode::UnknownTool,
            "unknown tool \"a2a_other\"; available tools: a2a_stub",
        ),
        (
            &granted,
            "a2a_stub",
            &json!({"text": "hello"}),
            ToolErrorCode::InvalidArguments,
            "unknown argument \"text\"; the arguments are message and contextId",
        ),
    ] {
        let result =
            tools.call(name, into_object(arguments.clone()), &ToolContext::default()).await;
        let error = result.unwrap_err();
        assert_eq!((error.code(), error.message()), (code, message));
        assert!(!error.is_retryable() && error.retry_after().is_none(), "{error}");
    }
    assert!(stub.requests().is_empty(), "the agent is not called");
}
