//! Gateways that call each other come to an end.

use std::net::TcpListener;

use latimer_client::user_message;
use latimer_protocol::{SendMessageResponse, Task, TaskState};
use latimer_runtime::Remote;
use latimer_server::Server;

use super::{PAIRS, caller, demo, gateway, hasty, remote, streams};

fn task(sent: Result<SendMessageResponse, latimer_client::Error>) -> Task {
    match sent {
        Ok(SendMessageResponse::Task(task)) => (*task).clone(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_message_in_a_circle_is_rejected_and_both_sides_read_why() {
    for pair in PAIRS.into_iter().filter(streams) {
        // The first knows of the second before that is there.
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let first = gateway(remote(free, &pair)).await;
        let second = remote(first.address(), &pair).agent("other");
        let second = Server::new(second).bind(free).listen().await.unwrap();
        for address in [first.address(), second.address()] {
            let task = task(caller(address, &PAIRS[0]).send(user_message("round and round")).await);
            // The oldest agents cannot reject: they fail.
            let ended = [TaskState::Rejected, TaskState::Failed].contains(&task.status.state);
            assert!(ended, "{pair:?}: {task:?}");
            let words = task.status.message.unwrap().text();
            assert!(words.starts_with("the message goes in a circle: "), "{pair:?}: {words}");
            let (proxy, other) = (words.matches("proxy@").count(), words.matches("other@").count());
            assert_eq!(proxy + other, 3, "{pair:?}: {words}");
        }
        let page =
            caller(second.address(), &PAIRS[0]).list_tasks(Default::default()).await.unwrap();
        assert!(page.tasks.iter().all(|it| it.status.state.is_terminal()), "{page:?}");
    }
}

#[tokio::test]
async fn a_message_passes_no_more_agents_than_it_may() {
    let demo = demo().await;
    let mut running = vec![demo];
    for _ in 0..3 {
        let behind = running.last().unwrap().address();
        let remote = Remote::new(format!("http://{behind}")).client(hasty).hops(2);
        running.push(gateway(remote).await);
    }
    let reached = task(caller(running[2].address(), &PAIRS[0]).send(user_message("echo hi")).await);
    assert_eq!((reached.status.state, reached.text().as_str()), (TaskState::Completed, "hi"));
    let lost = task(caller(running[3].address(), &PAIRS[0]).send(user_message("echo hi")).await);
    assert_eq!(lost.status.state, TaskState::Rejected);
    let words = lost.status.message.unwrap().text();
    assert!(words.starts_with("the message passed as many agents as it may: "), "{words}");
}
