//! What is told of an agent that does not do it.

use std::time::Duration;

use latimer_protocol::{Error, ErrorKind};
use latimer_runtime::tools::{AgentTool, Code};
use latimer_server::{Agent, AgentFailure, Server, Turn};

use super::{VERSIONS, call, say, tool, toolbox};
use crate::remote::stub::{Answer, Stub};
use crate::remote::{PAIRS, demo, hasty, listen, streams};

#[tokio::test]
async fn an_agent_that_is_away_may_come_back() {
    let demo = demo().await;
    let address = demo.address();
    let url = format!("http://{address}");
    // One knows the agent from before, one does not find it.
    let known = toolbox(AgentTool::new("known", &url).client(hasty));
    let unknown = toolbox(AgentTool::new("unknown", &url).client(hasty));
    say(&known, "hello").await.unwrap();
    demo.shutdown().await;
    for tools in [&known, &unknown] {
        let error = say(tools, "hello").await.unwrap_err();
        assert_eq!(error.code(), Code::A2aError);
        assert_eq!(error.message(), "the agent cannot be reached");
        assert!(error.is_retryable());
    }
    let again = latimer_runtime::Demo::agent("demo");
    let _again = Server::new(again).bind(address).listen().await.unwrap();
    for tools in [&known, &unknown] {
        assert_eq!(say(tools, "echo back").await.unwrap().text, "back");
    }
}

#[tokio::test]
async fn what_an_agent_failed_at_or_declined_is_not_worth_the_same_call_again() {
    let demo = demo().await;
    // The oldest HTTP has no words for it.
    for pair in PAIRS.into_iter().filter(streams) {
        let tools = toolbox(tool("demo", demo.address(), &pair));
        for (said, words) in [
            ("fail out of coffee", ["the agent failed: out of coffee"; 2]),
            // The oldest agents cannot decline: they fail.
            (
                "reject not my job",
                ["the agent declined: not my job", "the agent failed: not my job"],
            ),
        ] {
            let error = say(&tools, said).await.unwrap_err();
            assert!(words.contains(&error.message()), "{pair:?}: {error}");
            assert!(error.code() == Code::A2aError && !error.is_retryable(), "{pair:?}: {error}");
        }
    }
}

#[tokio::test]
async fn an_agent_that_says_when_is_worth_another_try_then() {
    let agent = Agent::from_fn("busy", |_: Turn| async {
        let busy = Error::new(ErrorKind::Unavailable, "come back later");
        Err::<(), _>(AgentFailure::reject_message(busy.with_retry_after(Duration::from_secs(7))))
    });
    let busy = listen(Server::new(agent)).await;
    let tools = toolbox(tool("busy", busy.address(), &VERSIONS[0]));
    let error = say(&tools, "hello").await.unwrap_err();
    assert_eq!(error.message(), "come back later");
    assert!(error.is_retryable());
    assert_eq!(error.wait(), Some(Duration::from_secs(7)));
}

#[tokio::test]
async fn an_agent_that_lets_nobody_in_is_not_asked_again() {
    let stub = Stub::start(|_| Answer::of(401, "application/json", r#"{"detail":"no"}"#)).await;
    let tools = toolbox(tool("stub", stub.address(), &VERSIONS[0]));
    let error = say(&tools, "hello").await.unwrap_err();
    assert!(error.message().contains("does not let it in"), "{error}");
    assert!(!error.is_retryable(), "{error}");
}

#[tokio::test]
async fn nothing_that_is_told_says_where_the_agent_is() {
    let demo = demo().await;
    let address = demo.address();
    let tools = toolbox(tool("demo", address, &VERSIONS[0]));
    let error = say(&tools, &format!("fail http://{address}/a2a is down")).await.unwrap_err();
    assert_eq!(error.message(), "the agent failed: http://…/a2a is down");
    let refuser = Agent::from_fn("refuser", |turn: Turn| async move {
        Err::<(), _>(AgentFailure::reject_message(Error::new(
            ErrorKind::InvalidParams,
            turn.text(),
        )))
    });
    let refuser = listen(Server::new(refuser)).await;
    let address = refuser.address();
    let tools = toolbox(tool("refuser", address, &VERSIONS[0]));
    let error = say(&tools, &format!("{address} says no")).await.unwrap_err();
    assert_eq!(error.message(), "… says no");
    refuser.shutdown().await;
    let away = say(&tools, "hello").await.unwrap_err();
    assert!(!away.message().contains(&address.port().to_string()), "{away}");
}

#[tokio::test]
async fn a_question_that_is_forgotten_there_is_forgotten_here() {
    let demo = demo().await;
    let address = demo.address();
    let tools = toolbox(tool("demo", address, &VERSIONS[0]));
    let asked = say(&tools, "ask Which city?").await.unwrap();
    demo.shutdown().await;
    let again = latimer_runtime::Demo::agent("demo");
    let reply = serde_json::json!({"message": "echo Oslo", "contextId": asked.context_id});
    // Nobody is there: the question may still be open.
    assert!(call(&tools, reply.clone()).await.unwrap_err().is_retryable());
    let _again = Server::new(again).bind(address).listen().await.unwrap();
    let unknown = call(&tools, reply.clone()).await.unwrap_err();
    assert!(!unknown.is_retryable(), "{unknown}");
    assert_eq!(call(&tools, reply).await.unwrap().text, "Oslo");
}
