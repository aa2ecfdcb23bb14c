//! Tests of webhooks for upstream agents without push notifications.

use std::time::{Duration, Instant};

use latimer_client::user_message;
use latimer_protocol::card::AgentCapabilities;
use latimer_protocol::{
    SendMessageConfiguration, SendMessageRequest, SendMessageResponse, TaskPushNotificationConfig,
    TaskState,
};
use latimer_runtime::DemoAgent;
use latimer_server::Server;

use super::stub::{Stub, StubResponse};
use super::{
    BINDING_VERSIONS, TEST_TIMEOUT, client_for, remote_agent, start_gateway, start_server,
};

#[tokio::test]
async fn gateway_delivers_webhooks_for_upstream_without_push() {
    let agent = DemoAgent::new_agent("demo");
    let mut card = (*agent.card()).clone();
    card.capabilities =
        AgentCapabilities { push_notifications: Some(false), ..AgentCapabilities::default() };
    let demo = start_server(Server::new(agent.with_card(card))).await;
    let gateway = start_gateway(remote_agent(demo.address(), &BINDING_VERSIONS[0])).await;
    let hook = Stub::start(|_| StubResponse::new(200, "text/plain", "")).await;
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
    let direct = client_for(demo.address(), &BINDING_VERSIONS[0]).send(request.clone()).await;
    assert!(direct.is_err(), "the upstream agent has no push notifications: {direct:?}");
    let sent = client_for(gateway.address(), &BINDING_VERSIONS[0]).send(request).await.unwrap();
    let SendMessageResponse::Task(task) = sent else { panic!("{sent:?}") };
    assert_eq!(task.status.state, TaskState::Completed);
    let since = Instant::now();
    while !hook.requests().iter().any(|it| it.body.contains("TASK_STATE_COMPLETED")) {
        assert!(since.elapsed() < TEST_TIMEOUT, "{:?}", hook.requests());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let bodies: Vec<_> = hook.requests().into_iter().map(|it| it.body).collect();
    assert!(bodies.iter().all(|it| it.contains(task.id.as_str())), "{bodies:?}");
}
