//! Tests of the errors of agent tools.

use std::time::Duration;

use latimer_protocol::{Error, ErrorKind};
use latimer_runtime::tools::{AgentTool, ToolErrorCode};
use latimer_server::{Agent, AgentFailure, Server, Turn};

use super::{VERSIONS, call_tool, call_with_text, tool, toolbox};
use crate::remote::stub::{Stub, StubResponse};
use crate::remote::{
    BINDING_VERSIONS, short_timeouts, start_demo, start_server, supports_streaming,
};

#[tokio::test]
async fn unreachable_agent_is_retryable_and_recovers() {
    let demo = start_demo().await;
    let address = demo.address();
    let url = format!("http://{address}");
    // One tool has connected before the agent stops, the other has not.
    let connected = toolbox(AgentTool::new("connected", &url).configure_client(short_timeouts));
    let unconnected = toolbox(AgentTool::new("unconnected", &url).configure_client(short_timeouts));
    call_with_text(&connected, "hello").await.unwrap();
    demo.shutdown().await;
    for tools in [&connected, &unconnected] {
        let error = call_with_text(tools, "hello").await.unwrap_err();
        assert_eq!(error.code(), ToolErrorCode::A2aError);
        let message = error.message();
        assert!(message.starts_with("the agent cannot be reached (reference "), "{message}");
        assert!(error.is_retryable());
    }
    let restarted = latimer_runtime::DemoAgent::new_agent("demo");
    let _restarted = Server::new(restarted).bind(address).listen().await.unwrap();
    for tools in [&connected, &unconnected] {
        assert_eq!(call_with_text(tools, "echo back").await.unwrap().text, "back");
    }
}

#[tokio::test]
async fn failed_or_rejected_task_is_not_retryable() {
    let demo = start_demo().await;
    // The legacy REST API reports no status messages.
    for pair in BINDING_VERSIONS.into_iter().filter(supports_streaming) {
        let tools = toolbox(tool("demo", demo.address(), &pair));
        for (instruction, messages) in [
            ("fail out of coffee", ["the agent failed: out of coffee"; 2]),
            // Version 0.1 has no rejected state.
            (
                "reject not my job",
                ["the agent rejected the task: not my job", "the agent failed: not my job"],
            ),
        ] {
            let error = call_with_text(&tools, instruction).await.unwrap_err();
            assert!(messages.contains(&error.message()), "{pair:?}: {error}");
            assert!(
                error.code() == ToolErrorCode::A2aError && !error.is_retryable(),
                "{pair:?}: {error}"
            );
        }
    }
}

#[tokio::test]
async fn retry_after_of_agent_is_reported() {
    let agent = Agent::from_fn("busy", |_: Turn| async {
        let busy = Error::new(ErrorKind::Unavailable, "try again later");
        Err::<(), _>(AgentFailure::reject_message(busy.with_retry_after(Duration::from_secs(7))))
    });
    let busy = start_server(Server::new(agent.with_direct_replies())).await;
    let tools = toolbox(tool("busy", busy.address(), &VERSIONS[0]));
    let error = call_with_text(&tools, "hello").await.unwrap_err();
    assert_eq!(error.message(), "try again later");
    assert!(error.is_retryable());
    assert_eq!(error.retry_after(), Some(Duration::from_secs(7)));
}

#[tokio::test]
async fn rejected_credentials_are_not_retryable() {
    let stub =
        Stub::start(|_| StubResponse::new(401, "application/json", r#"{"detail":"no"}"#)).await;
    let tools = toolbox(tool("stub", stub.address(), &VERSIONS[0]));
    let error = call_with_text(&tools, "hello").await.unwrap_err();
    assert!(error.message().contains("rejected the credentials of this server"), "{error}");
    assert!(!error.is_retryable(), "{error}");
}

#[tokio::test]
async fn errors_never_contain_agent_address() {
    let demo = start_demo().await;
    let address = demo.address();
    let tools = toolbox(tool("demo", address, &VERSIONS[0]));
    let error =
        call_with_text(&tools, &format!("fail http://{address}/a2a is down")).await.unwrap_err();
    assert_eq!(error.message(), "the agent failed: http://…/a2a is down");
    let refuser = Agent::from_fn("refuser", |turn: Turn| async move {
        Err::<(), _>(AgentFailure::reject_message(Error::new(
            ErrorKind::InvalidParams,
            turn.text(),
        )))
    });
    let refuser = start_server(Server::new(refuser.with_direct_replies())).await;
    let address = refuser.address();
    let tools = toolbox(tool("refuser", address, &VERSIONS[0]));
    let error = call_with_text(&tools, &format!("{address} is down")).await.unwrap_err();
    assert_eq!(error.message(), "… is down");
    refuser.shutdown().await;
    let error = call_with_text(&tools, "hello").await.unwrap_err();
    assert!(!error.message().contains(&address.port().to_string()), "{error}");
}

#[tokio::test]
async fn question_unknown_to_agent_is_dropped() {
    let demo = start_demo().await;
    let address = demo.address();
    let tools = toolbox(tool("demo", address, &VERSIONS[0]));
    let interrupted = call_with_text(&tools, "ask Which city?").await.unwrap();
    demo.shutdown().await;
    let restarted = latimer_runtime::DemoAgent::new_agent("demo");
    let reply = serde_json::json!({"message": "echo Oslo", "contextId": interrupted.context_id});
    // The agent is unreachable, so the question may still be unanswered.
    assert!(call_tool(&tools, reply.clone()).await.unwrap_err().is_retryable());
    let _restarted = Server::new(restarted).bind(address).listen().await.unwrap();
    let error = call_tool(&tools, reply.clone()).await.unwrap_err();
    assert!(!error.is_retryable(), "{error}");
    assert_eq!(call_tool(&tools, reply).await.unwrap().text, "Oslo");
}
