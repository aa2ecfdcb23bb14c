//! What an agent is asked through a tool, and what comes of it.

use std::sync::Arc;
use std::time::Duration;

use latimer_client::{Client, user_message};
use latimer_protocol::{Caller, SendMessageResponse, TaskState};
use latimer_runtime::Demo;
use latimer_runtime::tools::{Code, Occasion, Output, Toolbox};
use latimer_server::{Agent, Server, Turn};
use serde_json::{Value, json};

use super::{VERSIONS, call, members, say, tool, toolbox};
use crate::remote::stub::{Answer, Stub};
use crate::remote::{PAIRS, caller, demo, listen, streams};

#[tokio::test]
async fn what_an_agent_says_is_what_comes_of_a_call() {
    let demo = demo().await;
    for pair in PAIRS {
        let tools = toolbox(tool("demo", demo.address(), &pair));
        for (said, text, data) in [
            ("echo hello", "hello", vec![]),
            ("chunks 2", "chunk 1 of 2\n\nchunk 2 of 2\n", vec![]),
            (r#"data {"answer": [42]}"#, "", vec![json!({"answer": [42]})]),
        ] {
            let output =
                say(&tools, said).await.unwrap_or_else(|it| panic!("{pair:?} {said}: {it}"));
            assert_eq!((output.text.as_str(), output.data), (text, data), "{pair:?} {said}");
            assert_eq!(output.state, Some(TaskState::Completed), "{pair:?} {said}");
            assert!(output.context_id.is_some() && output.task_id.is_some(), "{pair:?} {said}");
        }
    }
}

#[tokio::test]
async fn a_direct_answer_has_no_task() {
    let demo = demo().await;
    let tools = toolbox(tool("demo", demo.address(), &VERSIONS[0]));
    let output = say(&tools, "say hello").await.unwrap();
    let context = output.context_id.clone().unwrap();
    assert_eq!(
        serde_json::to_value(output).unwrap(),
        json!({"text": "hello", "contextId": context}),
    );
}

#[tokio::test]
async fn what_was_made_before_a_question_comes_with_it() {
    let demo = listen(Server::new(Demo::default().open_ended().named("demo"))).await;
    let tools = toolbox(tool("demo", demo.address(), &VERSIONS[0]));
    let asked = say(&tools, "hello").await.unwrap();
    assert_eq!(asked.text, "hello\nAnything else?");
    assert_eq!(asked.state, Some(TaskState::InputRequired));
}

#[tokio::test]
async fn a_question_is_answered_in_its_conversation() {
    let demo = demo().await;
    // In the oldest HTTP, nobody can name a task.
    for pair in PAIRS.into_iter().filter(streams) {
        let tools = toolbox(tool("demo", demo.address(), &pair));
        for (said, question, state) in [
            ("ask Which city?", "Which city?", TaskState::InputRequired),
            ("auth", "Any message authorizes this task", TaskState::AuthRequired),
        ] {
            let asked = say(&tools, said).await.unwrap();
            // The oldest agents know of no authorization: they ask for input.
            assert!(asked.state.is_some_and(TaskState::is_interrupted), "{pair:?}: {asked:?}");
            assert!(asked.state == Some(state) || pair.1 == VERSIONS[2].1, "{pair:?}: {asked:?}");
            assert_eq!(asked.text, question, "{pair:?}");
            let context = asked.context_id.clone().unwrap();
            let reply = json!({"message": "Oslo", "contextId": context});
            let answered = call(&tools, reply).await.unwrap();
            assert_eq!(answered.text, "Oslo", "{pair:?}");
            assert_eq!(answered.task_id, asked.task_id, "{pair:?}: it is the task that asked");
            assert_eq!(answered.context_id, asked.context_id, "{pair:?}");
            // The question is answered: what is said next is something else.
            let next = json!({"message": "echo more", "contextId": context});
            let next = call(&tools, next).await.unwrap();
            assert_eq!(next.text, "more", "{pair:?}");
            assert_ne!(next.task_id, asked.task_id, "{pair:?}");
        }
    }
}

#[tokio::test]
async fn an_agent_that_takes_its_time_is_waited_for_by_the_next_call() {
    let demo = demo().await;
    let soon = Duration::from_millis(200);
    let tools = toolbox(tool("demo", demo.address(), &VERSIONS[0]).patience(soon));
    let begun = say(&tools, "wait 1000").await.unwrap();
    assert_eq!(begun.state, Some(TaskState::Working));
    let context = json!(begun.context_id.clone().unwrap());
    let mut output = begun.clone();
    while output.state == Some(TaskState::Working) {
        assert_eq!(output.context_id, begun.context_id);
        output = call(&tools, json!({"message": "well?", "contextId": context})).await.unwrap();
    }
    assert_eq!(output.state, Some(TaskState::Completed));
    assert!(begun.task_id.is_none() || output.task_id == begun.task_id);
    let next = call(&tools, json!({"message": "echo on", "contextId": context})).await.unwrap();
    assert_eq!(next.text, "on", "what is said behind the end is sent");
    let client = caller(demo.address(), &VERSIONS[0]);
    let all = client.list_tasks(Default::default()).await.unwrap().tasks;
    assert_eq!(all.len(), 2, "what was said meanwhile was not sent");
}

#[tokio::test]
async fn an_agent_that_names_conversations_itself_is_understood() {
    let stub = Stub::start(|_| {
        let said = json!({"message": {
            "messageId": "m", "role": "ROLE_AGENT", "contextId": "theirs", "parts": [{"text": "hi"}],
        }});
        Answer::Close(Answer::stream(&[&said.to_string()]))
    })
    .await;
    let tools = toolbox(tool("stub", stub.address(), &VERSIONS[0]));
    let first = json!({"message": "hello", "contextId": "ours"});
    for _ in 0..2 {
        let output = call(&tools, first.clone()).await.unwrap();
        assert_eq!(output.context_id.unwrap().as_str(), "ours");
    }
    assert_eq!(contexts(&stub), ["ours", "theirs"]);
}

/// The conversations that messages came in.
fn contexts(stub: &Stub) -> Vec<String> {
    let body = |it: &str| serde_json::from_str::<Value>(it).unwrap();
    let context = |it: Value| it["params"]["message"]["contextId"].as_str().map(Into::into);
    stub.asked().iter().filter_map(|it| context(body(&it.body))).collect()
}

#[tokio::test]
async fn conversations_of_two_callers_do_not_meet() {
    let stub = Stub::start(|_| {
        let said =
            json!({"message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "hi"}]}});
        Answer::Close(Answer::stream(&[&said.to_string()]))
    })
    .await;
    let tools = Arc::new(toolbox(tool("stub", stub.address(), &VERSIONS[0])));
    let agent = Agent::from_fn("chief", move |turn: Turn| {
        let tools = Arc::clone(&tools);
        async move {
            let arguments = members(json!({"message": "hello", "contextId": "same"}));
            match tools.call("a2a_stub", arguments, &Occasion::of(&turn)).await {
                Ok(Output { context_id: Some(id), .. }) => turn.direct_reply(id.as_str()).await,
                other => turn.fail(format!("{other:?}")).await,
            }
        }
    });
    let server = Server::new(agent).authenticate_with(|headers| {
        let name = headers.get("x-name").and_then(|it| it.to_str().ok())?;
        Some(Caller::new(name))
    });
    let chief = listen(server).await;
    for name in ["one", "two", "one"] {
        let mut headers = http::HeaderMap::new();
        headers.insert("x-name", name.parse().unwrap());
        let url = format!("http://{}/a2a", chief.address());
        let client = Client::builder(url).headers(headers).build().unwrap();
        let sent = client.send(user_message("go")).await.unwrap();
        let SendMessageResponse::Message(said) = sent else { panic!("{sent:?}") };
        assert_eq!(said.text(), "same");
    }
    let told = contexts(&stub);
    assert!(told[0] != told[1] && told[0] == told[2] && told[0] != "same", "{told:?}");
}

#[tokio::test]
async fn what_may_not_be_called_is_not_called() {
    let stub = Stub::start(|_| Answer::of(404, "text/plain", "none")).await;
    let ungranted = Toolbox::new().granting("fs:read");
    let ungranted = ungranted.with(tool("stub", stub.address(), &VERSIONS[0])).unwrap();
    let granted = toolbox(tool("stub", stub.address(), &VERSIONS[0]));
    let hello = json!({"message": "hello"});
    for (tools, name, arguments, code, words) in [
        (
            &ungranted,
            "a2a_stub",
            &hello,
            Code::MissingCapability,
            "a2a_stub needs the capability network:fetch, which is not granted",
        ),
        (
            &granted,
            "a2a_other",
            &hello,
            Code::UnknownTool,
            "there is no such tool; there are: a2a_stub",
        ),
        (
            &granted,
            "a2a_stub",
            &json!({"text": "hello"}),
            Code::InvalidArguments,
            "\"text\" is not known; message and contextId are",
        ),
    ] {
        let called = tools.call(name, members(arguments.clone()), &Occasion::default()).await;
        let error = called.unwrap_err();
        assert_eq!((error.code(), error.message()), (code, words));
        assert!(!error.is_retryable() && error.wait().is_none(), "{error}");
    }
    assert!(stub.asked().is_empty(), "nobody was called");
}
