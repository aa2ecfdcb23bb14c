//! An agent that is not there when its gateway starts.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use latimer_client::{Client, Error, user_message};
use latimer_protocol::{ErrorKind, SendMessageResponse};
use latimer_runtime::{Demo, Remote};
use latimer_server::Server;

use super::{PAIRS, PATIENT, caller, gateway, hasty};

#[tokio::test]
async fn a_gateway_starts_at_once_and_finds_its_agent_later() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let began = Instant::now();
    let gateway = gateway(Remote::new(format!("http://{free}")).client(hasty)).await;
    assert!(began.elapsed() < PATIENT);
    let client = caller(gateway.address(), &PAIRS[0]);
    let card = async || {
        let found = Client::builder(format!("http://{}", gateway.address())).card().await.unwrap();
        (found.name.clone(), found.skills.len())
    };
    assert_eq!(card().await, ("proxy".to_owned(), 0));
    let Err(Error::Agent(early)) = client.send(user_message("too early")).await else {
        panic!("no error")
    };
    assert_eq!(early.kind(), ErrorKind::Unavailable);
    assert!(early.message().contains("not been found yet"), "{early}");
    assert!(early.retry_after_seconds().is_some());

    let demo = Server::new(Demo::agent("demo")).bind(free).listen().await.unwrap();
    let since = Instant::now();
    let answer = loop {
        match client.send(user_message("echo in time")).await {
            Ok(SendMessageResponse::Task(task)) => break task,
            other => assert!(since.elapsed() < PATIENT, "{other:?}"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert_eq!(answer.text(), "in time");
    let (name, skills) = card().await;
    assert!(name == "demo" && skills > 5, "the card is that of the agent now: {name} {skills}");
    demo.shutdown().await;
}
