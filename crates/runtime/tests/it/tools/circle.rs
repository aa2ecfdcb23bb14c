//! Agents that use each other as tools come to an end.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use latimer_client::user_message;
use latimer_protocol::{SendMessageResponse, TaskState};
use latimer_runtime::tools::{Occasion, Toolbox};
use latimer_server::{Agent, Server, Turn};
use serde_json::json;
use tokio::time::timeout;

use super::{VERSIONS, members, tool, toolbox};
use crate::remote::{PAIRS, PATIENT, caller, listen, remote, streams};

/// An agent that asks another one whatever it is asked, and counts how often.
fn asking(name: &str, tools: Toolbox, turns: &Arc<AtomicUsize>) -> Agent {
    let (tools, turns) = (Arc::new(tools), Arc::clone(turns));
    Agent::from_fn(name, move |turn: Turn| {
        turns.fetch_add(1, SeqCst);
        let tools = Arc::clone(&tools);
        async move {
            let arguments = members(json!({"message": turn.text()}));
            let tool = &tools.definitions()[0].name;
            match tools.call(tool, arguments, &Occasion::of(&turn)).await {
                Ok(output) => turn.reply(output.text).await,
                Err(error) => turn.fail(error.message()).await,
            }
        }
    })
}

#[tokio::test]
async fn agents_that_ask_each_other_are_told_that_they_do() {
    for pair in PAIRS.into_iter().filter(streams) {
        let turns = Arc::new(AtomicUsize::new(0));
        // The first knows of the second before that is there.
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let first = asking("first", toolbox(tool("second", free, &pair)), &turns);
        let first = listen(Server::new(first)).await;
        let second = asking("second", toolbox(tool("first", first.address(), &pair)), &turns);
        let _second = Server::new(second).bind(free).listen().await.unwrap();
        let words = ask(first.address()).await;
        let want = "the agent failed: the agent failed: the message goes in a circle: a2a_second@";
        assert!(words.starts_with(want), "{pair:?}: {words}");
        assert_eq!(words.matches("a2a_").count(), 3, "{pair:?}: {words}");
        assert_eq!(turns.load(SeqCst), 3, "{pair:?}");
    }
}

#[tokio::test]
async fn a_gateway_on_the_way_is_no_way_out() {
    let turns = Arc::new(AtomicUsize::new(0));
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let asker = asking("asker", toolbox(tool("gateway", free, &VERSIONS[0])), &turns);
    let asker = listen(Server::new(asker)).await;
    let gateway = remote(asker.address(), &VERSIONS[0]).agent("gateway");
    let _gateway = Server::new(gateway).bind(free).listen().await.unwrap();
    let words = ask(asker.address()).await;
    assert!(words.contains("the message goes in a circle: a2a_gateway@"), "{words}");
    assert_eq!(turns.load(SeqCst), 2);
}

/// What is said of a task that failed.
async fn ask(address: std::net::SocketAddr) -> String {
    let sent = caller(address, &VERSIONS[0]).follow(user_message("round")).result();
    let sent = timeout(PATIENT, sent).await;
    let Ok(Ok(SendMessageResponse::Task(task))) = sent else { panic!("{sent:?}") };
    assert_eq!(task.status.state, TaskState::Failed);
    task.status.message.as_ref().unwrap().text()
}
