//! Webhooks are told of agents that tell none.

use std::time::{Duration, Instant};

use latimer_client::user_message;
use latimer_protocol::card::AgentCapabilities;
use latimer_protocol::{
    SendMessageConfiguration, SendMessageRequest, SendMessageResponse, TaskPushNotificationConfig,
    TaskState,
};
use latimer_runtime::Demo;
use latimer_server::Server;

use super::stub::{Answer, Stub};
use super::{PAIRS, PATIENT, caller, gateway, listen, remote};

#[tokio::test]
async fn webhooks_are_told_about_an_agent_that_tells_none() {
    let agent = Demo::agent("demo");
    let mut card = (*agent.card()).clone();
    card.capabilities =
        AgentCapabilities { push_notifications: Some(false), ..AgentCapabilities::default() };
    let demo = listen(Server::new(agent.with_card(card))).await;
    let gateway = gateway(remote(demo.address(), &PAIRS[0])).await;
    let hook = Stub::start(|_| Answer::of(200, "text/plain", "")).await;
    let webhook = TaskPushNotificationConfig {
        url: format!("http://{}/hook", hook.address()),
        ..TaskPushNotificationConfig::default()
    };
    let configuration = SendMessageConfiguration {
        task_push_notification_config: Some(Box::new(webhook)),
        ..SendMessageConfiguration::default()
    };
    let request = SendMessageRequest {
        configuration: Some(configuration),
        ..SendMessageRequest::from(user_message("chunks 3"))
    };
    let behind = caller(demo.address(), &PAIRS[0]).send(request.clone()).await;
    assert!(behind.is_err(), "the agent itself tells none: {behind:?}");
    let sent = caller(gateway.address(), &PAIRS[0]).send(request).await.unwrap();
    let SendMessageResponse::Task(task) = sent else { panic!("{sent:?}") };
    assert_eq!(task.status.state, TaskState::Completed);
    let since = Instant::now();
    while !hook.asked().iter().any(|it| it.body.contains("TASK_STATE_COMPLETED")) {
        assert!(since.elapsed() < PATIENT, "{:?}", hook.asked());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let told: Vec<_> = hook.asked().into_iter().map(|it| it.body).collect();
    assert!(told.iter().all(|it| it.contains(task.id.as_str())), "{told:?}");
}
