//! Tests of a gateway that starts before its upstream agent.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use latimer_client::{Client, Error, user_message};
use latimer_protocol::{ErrorKind, SendMessageResponse};
use latimer_runtime::{DemoAgent, RemoteAgent};
use latimer_server::Server;

use super::{BINDING_VERSIONS, TEST_TIMEOUT, client_for, short_timeouts, start_gateway};

#[tokio::test]
async fn gateway_starts_before_upstream_and_discovers_it() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let start = Instant::now();
    let gateway = start_gateway(
        RemoteAgent::new(format!("http://{address}")).configure_client(short_timeouts),
    )
    .await;
    assert!(start.elapsed() < TEST_TIMEOUT);
    let client = client_for(gateway.address(), &BINDING_VERSIONS[0]);
    let card = async || {
        let fetched =
            Client::builder(format!("http://{}", gateway.address())).card().await.unwrap();
        (fetched.name.clone(), fetched.skills.len())
    };
    assert_eq!(card().await, ("proxy".to_owned(), 0));
    let Err(Error::Agent(early)) = client.send(user_message("too early")).await else {
        panic!("no error")
    };
    assert_eq!(early.kind(), ErrorKind::Unavailable);
    assert!(early.message().contains("not been discovered yet"), "{early}");
    assert!(early.retry_after_seconds().is_some());

    let demo = Server::new(DemoAgent::new_agent("demo")).bind(address).listen().await.unwrap();
    let since = Instant::now();
    let task = loop {
        match client.send(user_message("echo in time")).await {
            Ok(SendMessageResponse::Task(task)) => break task,
            other => assert!(since.elapsed() < TEST_TIMEOUT, "{other:?}"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert_eq!(task.text(), "in time");
    let (name, skills) = card().await;
    assert!(
        name == "demo" && skills > 5,
        "the card is that of the upstream agent: {name} {skills}"
    );
    demo.shutdown().await;
}
