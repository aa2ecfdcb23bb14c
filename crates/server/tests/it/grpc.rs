//! gRPC of both packages, called with tonic clients.

use std::net::SocketAddr;

use futures_util::StreamExt as _;
use http::Method;
use latimer_pb::{rpc, v0_3, v1};
use latimer_server::{HttpLimits, PushSettings, Server, Settings};
use prost::Message as _;
use tonic::metadata::MetadataValue;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status};
use tonic_health::pb::health_client::HealthClient;
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus};

use crate::support::{shouter_server, start_server, test_agent};

async fn channel(address: SocketAddr) -> Channel {
    Endpoint::from_shared(format!("http://{address}")).unwrap().connect().await.unwrap()
}

async fn v1_client(address: SocketAddr) -> v1::client::A2aServiceClient<Channel> {
    v1::client::A2aServiceClient::new(channel(address).await)
}

fn send_request(text: &str) -> v1::SendMessageRequest {
    let content = Some(v1::part::Content::Text(text.into()));
    let message = v1::Message {
        message_id: format!("{text}-{:?}", std::time::Instant::now()),
        role: v1::Role::User.into(),
        parts: vec![v1::Part { content, ..Default::default() }],
        ..Default::default()
    };
    v1::SendMessageRequest { message: Some(message), ..Default::default() }
}

fn reason(status: &Status) -> String {
    let details = rpc::Status::decode(status.details()).unwrap().details;
    let info = details.iter().find_map(|it| it.to_msg::<rpc::ErrorInfo>().ok()).unwrap();
    assert_eq!(info.domain, "a2a-protocol.org");
    info.reason
}

fn expect_task(response: v1::SendMessageResponse) -> v1::Task {
    match response.payload {
        Some(v1::send_message_response::Payload::Task(task)) => task,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn v1_service_sends_gets_lists_cancels_and_streams() {
    let server = start_server(shouter_server(Settings::default())).await;
    let mut client = v1_client(server.address).await;
    let created = expect_task(client.send_message(send_request("ask")).await.unwrap().into_inner());
    assert_eq!(created.status.as_ref().unwrap().state(), v1::TaskState::InputRequired);
    let get = v1::GetTaskRequest {
        id: created.id.clone(),
        history_length: Some(0),
        ..Default::default()
    };
    let got = client.get_task(get).await.unwrap().into_inner();
    assert_eq!((&got.id, got.history.len()), (&created.id, 0));
    let listed = client.list_tasks(v1::ListTasksRequest::default()).await.unwrap().into_inner();
    assert_eq!((listed.total_size, listed.tasks.len()), (1, 1));
    let cancel = v1::CancelTaskRequest { id: created.id.clone(), ..Default::default() };
    let canceled = client.cancel_task(cancel).await.unwrap().into_inner();
    assert_eq!(canceled.status.unwrap().state(), v1::TaskState::Canceled);
    let events: Vec<_> = client
        .send_streaming_message(send_request("hi"))
        .await
        .unwrap()
        .into_inner()
        .map(Result::unwrap)
        .collect()
        .await;
    let first = events[0].payload.as_ref().unwrap();
    assert!(matches!(first, v1::stream_response::Payload::Task(_)));
    let Some(v1::stream_response::Payload::StatusUpdate(last)) = &events.last().unwrap().payload
    else {
        panic!("{events:?}")
    };
    assert_eq!(last.status.as_ref().unwrap().state(), v1::TaskState::Completed);
}

#[tokio::test]
async fn v0_3_service_sends_gets_cancels_and_streams() {
    let server = start_server(shouter_server(Settings::default())).await;
    let mut client = v0_3::client::A2aServiceClient::new(channel(server.address).await);
    let message = |text: &str| v0_3::SendMessageRequest {
        request: Some(v0_3::Message {
            message_id: text.into(),
            role: v0_3::Role::User.into(),
            content: vec![v0_3::Part {
                part: Some(v0_3::part::Part::Text(text.into())),
                ..Default::default()
            }],
            ..Default::default()
        }),
        ..Default::default()
    };
    let sent = client.send_message(message("ask")).await.unwrap().into_inner();
    let Some(v0_3::send_message_response::Payload::Task(created)) = sent.payload else { panic!() };
    let name = format!("tasks/{}", created.id);
    let get = v0_3::GetTaskRequest { name: name.clone(), ..Default::default() };
    let got = client.get_task(get).await.unwrap().into_inner();
    assert_eq!(got.status.unwrap().state(), v0_3::TaskState::InputRequired);
    let canceled = client.cancel_task(v0_3::CancelTaskRequest { name }).await.unwrap().into_inner();
    assert_eq!(canceled.status.unwrap().state(), v0_3::TaskState::Cancelled);
    let stream = client.send_streaming_message(message("hi")).await.unwrap().into_inner();
    let events: Vec<_> = stream.map(Result::unwrap).collect().await;
    let Some(v0_3::stream_response::Payload::StatusUpdate(last)) = &events.last().unwrap().payload
    else {
        panic!("{events:?}")
    };
    assert!(last.r#final);
    let bad = v0_3::GetTaskRequest { name: "tasks/a/b".into(), ..Default::default() };
    assert_eq!(client.get_task(bad).await.unwrap_err().code(), Code::InvalidArgument);
}

#[tokio::test]
async fn error_details_carry_the_reason() {
    let push = PushSettings { enabled: false, ..PushSettings::default() };
    let server = start_server(shouter_server(Settings { push, ..Settings::default() })).await;
    let mut client = v1_client(server.address).await;
    let get = || v1::GetTaskRequest { id: "none".into(), ..Default::default() };
    let status = client.get_task(get()).await.unwrap_err();
    assert_eq!((status.code(), &*reason(&status)), (Code::NotFound, "TASK_NOT_FOUND"));
    assert!(status.message().contains("none"));
    let status = client.send_message(v1::SendMessageRequest::default()).await.unwrap_err();
    assert_eq!((status.code(), &*reason(&status)), (Code::InvalidArgument, "INVALID_PARAMS"));
    let mut empty = send_request("x");
    empty.message.as_mut().unwrap().parts.clear();
    assert_eq!(client.send_message(empty).await.unwrap_err().code(), Code::InvalidArgument);
    let many = v1::ListTasksRequest { page_size: Some(101), ..Default::default() };
    assert_eq!(client.list_tasks(many).await.unwrap_err().code(), Code::InvalidArgument);
    let subscribe = v1::SubscribeToTaskRequest { id: "none".into(), ..Default::default() };
    let status = client.subscribe_to_task(subscribe).await.unwrap_err();
    assert_eq!(reason(&status), "TASK_NOT_FOUND");
    for (declared, want) in [
        ("99.0", "VERSION_NOT_SUPPORTED"),
        ("0.3", "VERSION_NOT_SUPPORTED"),
        ("1.0", "TASK_NOT_FOUND"),
    ] {
        let mut request = Request::new(get());
        request.metadata_mut().insert("a2a-version", declared.parse().unwrap());
        let status = client.get_task(request).await.unwrap_err();
        assert_eq!(reason(&status), want, "{declared}");
    }
    let push = v1::TaskPushNotificationConfig {
        task_id: "t".into(),
        url: "https://a.example".into(),
        ..Default::default()
    };
    let status = client.create_task_push_notification_config(push).await.unwrap_err();
    assert_eq!(reason(&status), "PUSH_NOTIFICATION_NOT_SUPPORTED");
}

#[tokio::test]
async fn malformed_grpc_call_gets_a_grpc_status() {
    let server = start_server(shouter_server(Settings::default())).await;
    let grpc = server.with_header("content-type", "application/grpc");
    for (path, body, want) in [
        ("/lf.a2a.v1.A2AService/Nothing", "", "12"),
        ("/lf.a2a.v1.A2AService/GetTask", "", "3"),
        ("/lf.a2a.v1.A2AService/GetTask", "\0\0\0\0\u{3}\u{7f}\u{7f}\u{7f}", "3"),
        ("/lf.a2a.v1.A2AService/GetTask", "\u{1}\0\0\0\0", "13"),
        ("/grpc.nothing.v1.Nothing/X", "", "12"),
    ] {
        let response = crate::support::send_http2(&grpc, Method::POST, path, body).await;
        assert_eq!(
            (response.status, response.header("grpc-status")),
            (200, want),
            "{path} {body:?}"
        );
        assert_eq!(response.header("content-type"), "application/grpc", "{path}");
    }
}

#[tokio::test]
async fn compressed_message_is_rejected_with_accepted_encoding() {
    let server = start_server(shouter_server(Settings::default())).await;
    let grpc = server.with_header("content-type", "application/grpc");
    // gRPC frame: compressed flag, length, and a message with the id `none`.
    let (plain, compressed) = ("\0\0\0\0\u{6}\u{12}\u{4}none", "\u{1}\0\0\0\u{6}\u{12}\u{4}none");
    for (service, encoding, body, want, accepted) in [
        ("lf.a2a.v1.A2AService", "gzip", compressed, "12", "identity"),
        ("a2a.v1.A2AService", "gzip", compressed, "12", "identity"),
        ("lf.a2a.v1.A2AService", "identity", compressed, "13", ""),
        // A declared encoding does not require compression.
        ("lf.a2a.v1.A2AService", "gzip", plain, "5", ""),
    ] {
        let caller = grpc.with_header("grpc-encoding", encoding);
        let path = format!("/{service}/GetTask");
        let response = crate::support::send_http2(&caller, Method::POST, &path, body).await;
        assert_eq!(
            (response.status, response.header("grpc-status")),
            (200, want),
            "{path} {encoding}"
        );
        assert_eq!(response.header("grpc-accept-encoding"), accepted, "{path} {encoding}");
    }
    let metrics = server.get("/metrics").await;
    let refused = r#"{operation="GetTask",version="1.0",binding="grpc",outcome="refused"} 3"#;
    assert!(metrics.text().contains(refused), "{}", metrics.text());
}

#[tokio::test]
async fn metadata_carries_extensions_and_resume_cursor() {
    let server = start_server(shouter_server(Settings::default())).await;
    let mut client = v1_client(server.address).await;
    let mut request = Request::new(send_request("hi"));
    let cursor: MetadataValue<_> = latimer_server::CURSOR_EXTENSION.parse().unwrap();
    request.metadata_mut().insert("a2a-extensions", cursor);
    let response = client.send_streaming_message(request).await.unwrap();
    assert_eq!(
        response.metadata().get("a2a-extensions").unwrap(),
        latimer_server::CURSOR_EXTENSION
    );
    let events: Vec<_> = response.into_inner().map(Result::unwrap).collect().await;
    let Some(v1::stream_response::Payload::Task(task)) = &events[0].payload else { panic!() };
    for seen in 1..events.len() {
        let mut request =
            Request::new(v1::SubscribeToTaskRequest { id: task.id.clone(), ..Default::default() });
        request.metadata_mut().insert("last-event-id", seen.to_string().parse().unwrap());
        let remaining = client.subscribe_to_task(request).await.unwrap().into_inner();
        assert_eq!(remaining.count().await, events.len() - seen, "after {seen}");
    }
}

#[tokio::test]
async fn tenant_selects_the_agent() {
    let server = start_server(Server::new(test_agent("one")).with_agent(test_agent("two"))).await;
    let mut client = v1_client(server.address).await;
    client
        .send_message(v1::SendMessageRequest { tenant: "two".into(), ..send_request("hi") })
        .await
        .unwrap();
    for (tenant, want) in [("one", 0), ("two", 1)] {
        let request = v1::ListTasksRequest { tenant: tenant.into(), ..Default::default() };
        let listed = client.list_tasks(request).await.unwrap().into_inner();
        assert_eq!(listed.total_size, want, "{tenant}");
    }
}

#[tokio::test]
async fn oversized_grpc_message_is_rejected() {
    let http = HttpLimits { max_body_bytes: 1000, ..HttpLimits::default() };
    let server = start_server(shouter_server(Settings { http, ..Settings::default() })).await;
    let mut client = v1_client(server.address).await;
    let status = client.send_message(send_request(&"x".repeat(2000))).await.unwrap_err();
    assert_eq!((status.code(), &*reason(&status)), (Code::InvalidArgument, "INVALID_REQUEST"));
    assert!(client.send_message(send_request("hi")).await.is_ok(), "the connection can be reused");
}

#[tokio::test]
async fn unauthenticated_grpc_call_is_rejected() {
    let server = shouter_server(Settings::default()).authenticate_with(|_| None);
    let server = start_server(server).await;
    let mut client = v1_client(server.address).await;
    let status = client.send_message(send_request("hi")).await.unwrap_err();
    assert_eq!(status.code(), Code::Unauthenticated);
}

#[tokio::test]
async fn grpc_health_reports_serving() {
    let server = start_server(shouter_server(Settings::default())).await;
    let mut client = HealthClient::new(channel(server.address).await);
    for service in ["", "lf.a2a.v1.A2AService", "a2a.v1.A2AService"] {
        let request = HealthCheckRequest { service: service.into() };
        let response = client.check(request).await.unwrap().into_inner();
        assert_eq!(response.status(), ServingStatus::Serving, "{service}");
    }
    let unknown = client.check(HealthCheckRequest { service: "x".into() }).await.unwrap_err();
    assert_eq!(unknown.code(), Code::NotFound);
}

#[tokio::test]
async fn reflection_is_served_in_v1_and_v1alpha() {
    let server = start_server(shouter_server(Settings::default())).await;
    let channel = channel(server.address).await;
    let names = {
        use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
        use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
        use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;
        let mut client = ServerReflectionClient::new(channel.clone());
        let request = tonic_reflection::pb::v1::ServerReflectionRequest {
            message_request: Some(MessageRequest::ListServices(String::new())),
            ..Default::default()
        };
        let stream = futures_util::stream::iter([request]);
        let mut responses = client.server_reflection_info(stream).await.unwrap().into_inner();
        let response = responses.next().await.unwrap().unwrap().message_response;
        let Some(MessageResponse::ListServicesResponse(list)) = response else { panic!() };
        list.service.into_iter().map(|it| it.name).collect::<Vec<_>>()
    };
    for name in ["lf.a2a.v1.A2AService", "a2a.v1.A2AService", "grpc.health.v1.Health"] {
        assert!(names.iter().any(|it| it == name), "{name} in {names:?}");
    }
    use tonic_reflection::pb::v1alpha::server_reflection_client::ServerReflectionClient;
    use tonic_reflection::pb::v1alpha::server_reflection_request::MessageRequest;
    let mut client = ServerReflectionClient::new(channel);
    let request = tonic_reflection::pb::v1alpha::ServerReflectionRequest {
        message_request: Some(MessageRequest::FileContainingSymbol("lf.a2a.v1.A2AService".into())),
        ..Default::default()
    };
    let stream = futures_util::stream::iter([request]);
    let mut responses = client.server_reflection_info(stream).await.unwrap().into_inner();
    assert!(responses.next().await.unwrap().is_ok());
}

#[tokio::test]
async fn stream_limits_the_history_of_its_first_task_over_grpc() {
    let server = start_server(shouter_server(Settings::default())).await;
    let mut client = v1_client(server.address).await;
    for (history_length, want) in [(None, 1), (Some(0), 0)] {
        let configuration = v1::SendMessageConfiguration { history_length, ..Default::default() };
        let request =
            v1::SendMessageRequest { configuration: Some(configuration), ..send_request("hi") };
        let mut events = client.send_streaming_message(request).await.unwrap().into_inner();
        let first = events.next().await.unwrap().unwrap().payload;
        let Some(v1::stream_response::Payload::Task(task)) = first else { panic!("{first:?}") };
        assert_eq!(task.history.len(), want, "{history_length:?}");
    }
}
