//! Tests that loops between agents that call each other as tools are rejected.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use latimer_client::user_message;
use latimer_protocol::{SendMessageResponse, TaskState};
use latimer_runtime::tools::{ToolContext, Toolbox};
use latimer_server::{Agent, Server, Turn};
use serde_json::json;
use tokio::time::timeout;

use super::{VERSIONS, into_object, tool, toolbox};
use crate::remote::{
    BINDING_VERSIONS, TEST_TIMEOUT, client_for, remote_agent, start_server, supports_streaming,
};

/// Creates an agent that forwards its messages to a tool and counts its turns.
fn forwarding_agent(name: &str, tools: Toolbox, turns: &Arc<AtomicUsize>) -> Agent {
    let (tools, turns) = (Arc::new(tools), Arc::clone(turns));
    Agent::from_fn(name, move |turn: Turn| {
        turns.fetch_add(1, SeqCst);
        let tools = Arc::clone(&tools);
        async move {
            let arguments = into_object(json!({"message": turn.text()}));
            let tool = &tools.definitions()[0].name;
            match tools.call(tool, arguments, &ToolContext::for_turn(&turn)).await {
                Ok(output) => turn.reply(output.text).await,
                Err(error) => turn.fail(error.message()).await,
            }
        }
    })
}

#[tokio::test]
async fn tool_call_loop_between_agents_is_rejected() {
    for pair in BINDING_VERSIONS.into_iter().filter(supports_streaming) {
        let turns = Arc::new(AtomicUsize::new(0));
        // The address of the second agent must be known before that agent starts.
        let second_address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let first =
            forwarding_agent("first", toolbox(tool("second", second_address, &pair)), &turns);
        let first = start_server(Server::new(first)).await;
        let second =
            forwarding_agent("second", toolbox(tool("first", first.address(), &pair)), &turns);
        let _second = Server::new(second).bind(second_address).listen().await.unwrap();
        let text = send_and_read_failure(first.address()).await;
        let want =
            "the agent failed: the agent failed: the message was forwarded in a loop: a2a_second@";
        assert!(text.starts_with(want), "{pair:?}: {text}");
        assert_eq!(text.matches("a2a_").count(), 3, "{pair:?}: {text}");
        assert_eq!(turns.load(SeqCst), 3, "{pair:?}");
    }
}

#[tokio::test]
async fn tool_call_loop_through_gateway_is_rejected() {
    let turns = Arc::new(AtomicUsize::new(0));
    let gateway_address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let asker =
        forwarding_agent("asker", toolbox(tool("gateway", gateway_address, &VERSIONS[0])), &turns);
    let asker = start_server(Server::new(asker)).await;
    let gateway = remote_agent(asker.address(), &VERSIONS[0]).into_agent("gateway");
    let _gateway = Server::new(gateway).bind(gateway_address).listen().await.unwrap();
    let text = send_and_read_failure(asker.address()).await;
    assert!(text.contains("the message was forwarded in a loop: a2a_gateway@"), "{text}");
    assert_eq!(turns.load(SeqCst), 2);
}

/// Sends a message and returns the status text of the failed task.
async fn send_and_read_failure(address: std::net::SocketAddr) -> String {
    let response = client_for(address, &VERSIONS[0]).follow(user_message("round")).result();
    let response = timeout(TEST_TIMEOUT, response).await;
    let Ok(Ok(SendMessageResponse::Task(task))) = response else { panic!("{response:?}") };
    assert_eq!(task.status.state, TaskState::Failed);
    task.status.message.as_ref().unwrap().text()
}
