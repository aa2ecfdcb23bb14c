//! Tests of loops between gateways.

use latimer_client::user_message;
use latimer_protocol::{SendMessageResponse, Task, TaskState};
use latimer_runtime::RemoteAgent;
use latimer_server::Server;
use tokio::net::TcpListener;

use super::{
    BINDING_VERSIONS, client_for, remote_agent, short_timeouts, start_demo, start_gateway,
    supports_streaming,
};

fn expect_task(sent: Result<SendMessageResponse, latimer_client::Error>) -> Task {
    match sent {
        Ok(SendMessageResponse::Task(task)) => (*task).clone(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn looping_message_is_rejected_with_its_hop_path() {
    for pair in BINDING_VERSIONS.into_iter().filter(supports_streaming) {
        // The address of the second gateway must be known before that gateway starts.
        let second_socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let second_address = second_socket.local_addr().unwrap();
        let first = start_gateway(remote_agent(second_address, &pair)).await;
        let second = remote_agent(first.address(), &pair).into_agent("other");
        let second = Server::new(second).serve(second_socket).await.unwrap();
        for address in [first.address(), second.address()] {
            let task = expect_task(
                client_for(address, &BINDING_VERSIONS[0])
                    .send(user_message("round and round"))
                    .await,
            );
            // Version 0.1 has no rejected state.
            let is_rejected = [TaskState::Rejected, TaskState::Failed].contains(&task.status.state);
            assert!(is_rejected, "{pair:?}: {task:?}");
            let text = task.status.message.unwrap().text();
            assert!(text.starts_with("the message was forwarded in a loop: "), "{pair:?}: {text}");
            let (proxy, other) = (text.matches("proxy@").count(), text.matches("other@").count());
            assert_eq!(proxy + other, 3, "{pair:?}: {text}");
        }
        let page = client_for(second.address(), &BINDING_VERSIONS[0])
            .list_tasks(Default::default())
            .await
            .unwrap();
        assert!(page.tasks.iter().all(|it| it.status.state.is_terminal()), "{page:?}");
    }
}

#[tokio::test]
async fn message_is_rejected_after_max_hops() {
    let demo = start_demo().await;
    let mut running = vec![demo];
    for _ in 0..3 {
        let upstream = running.last().unwrap().address();
        let remote = RemoteAgent::new(format!("http://{upstream}"))
            .configure_client(short_timeouts)
            .max_hops(2);
        running.push(start_gateway(remote).await);
    }
    let reached = expect_task(
        client_for(running[2].address(), &BINDING_VERSIONS[0]).send(user_message("echo hi")).await,
    );
    assert_eq!((reached.status.state, reached.text().as_str()), (TaskState::Completed, "hi"));
    let rejected = expect_task(
        client_for(running[3].address(), &BINDING_VERSIONS[0]).send(user_message("echo hi")).await,
    );
    assert_eq!(rejected.status.state, TaskState::Rejected);
    let text = rejected.status.message.unwrap().text();
    assert!(text.starts_with("the message exceeded its hop limit: "), "{text}");
}
