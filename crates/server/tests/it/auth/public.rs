//! Public endpoints, and those that require authentication.

use latimer_pb::{v0_3, v1};
use latimer_protocol::Secret;
use latimer_protocol::card::AgentCard;
use latimer_server::{ApiKeys, KeyDigest, OPERATOR_SCOPE, PushSettings, Server, Settings};
use serde_json::json;
use tonic::Code;
use tonic::transport::{Channel, Endpoint};
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;

use crate::support::{TestClient, message, send_body, start_server, test_agent};

fn api_keys() -> ApiKeys {
    ApiKeys::default().with_operator_key(&Secret::new("sesame"))
}

fn server(settings: Settings) -> Server {
    let extended = AgentCard { name: "extended".into(), ..AgentCard::default() };
    Server::new(test_agent("shouter").with_extended_card(extended)).settings(settings)
}

fn to_strings(all: &[&str]) -> Vec<String> {
    all.iter().map(|it| (*it).to_owned()).collect()
}

#[tokio::test]
async fn only_cards_and_health_are_public_with_authentication() {
    let server = start_server(server(Settings::default()).authenticate(api_keys())).await;
    let authenticated = server.with_header("authorization", "Bearer sesame");
    for (path, is_public) in [
        ("/.well-known/agent-card.json", true),
        ("/.well-known/agent.json", true),
        ("/api/a2a/agent-card.json", true),
        ("/a2a/.well-known/agent-card.json", true),
        ("/a2a/agents/shouter/.well-known/agent-card.json", true),
        ("/a2a/agents", true),
        ("/health", true),
        ("/ready", true),
        ("/metrics", false),
        ("/a2a/tasks", false),
        ("/a2a/extendedAgentCard", false),
        ("/v1/card", false),
        ("/agent/authenticatedExtendedCard", false),
    ] {
        let version = if path.starts_with("/a2a/") { "1.0" } else { "0.3" };
        let status = server.with_header("a2a-version", version).get(path).await.status;
        assert_eq!(status, if is_public { 200 } else { 401 }, "{path}");
        assert_eq!(
            authenticated.with_header("a2a-version", version).get(path).await.status,
            200,
            "{path}"
        );
    }
    let metrics = server.get("/metrics").await;
    assert_eq!(metrics.header("www-authenticate"), r#"Bearer realm="latimer""#);
    let plain = server.get("/.well-known/agent-card.json").await;
    assert!(plain.header("cache-control").starts_with("public"));
}

#[tokio::test]
async fn public_paths_skip_auth_but_reject_invalid_keys() {
    let public_paths = to_strings(&["/metrics", "/a2a/agents/shouter", "/v1/*"]);
    let server = start_server(
        server(Settings { public_paths, ..Settings::default() }).authenticate(api_keys()),
    )
    .await;
    let hello = || send_body("SendMessage", "hi");
    assert_eq!(server.get("/metrics").await.status, 200);
    assert_eq!(server.v1().post("/a2a/agents/shouter", hello()).await.status, 200);
    assert_eq!(server.get("/v1/tasks").await.status, 200);
    assert_eq!(server.v1().post("/a2a", hello()).await.status, 401);
    assert_eq!(
        server.v1().get("/a2a/agents/shouter/tasks").await.status,
        401,
        "a pattern without /* matches exactly"
    );
    assert_eq!(server.v1().post("/v1", hello()).await.status, 404);
    let wrong = server.v1().with_header("authorization", "Bearer wrong");
    assert_eq!(wrong.post("/a2a/agents/shouter", hello()).await.status, 401);
    let authenticated = server.v1().with_header("authorization", "Bearer sesame");
    authenticated.post("/a2a/agents/shouter", hello()).await;
    assert_eq!(
        authenticated.get("/a2a/tasks").await.json()["totalSize"],
        1,
        "the key identifies the caller on a public path, too"
    );
    let card = server.get("/v1/card").await;
    assert_eq!(card.status, 401, "the extended card requires authentication even on public paths");
}

#[tokio::test]
async fn cards_require_auth_when_configured() {
    let settings = Settings { card_requires_auth: true, ..Settings::default() };
    let server = start_server(server(settings).authenticate(api_keys())).await;
    let authenticated = server.with_header("x-api-key", "sesame");
    for path in ["/.well-known/agent-card.json", "/.well-known/agent.json", "/a2a/agents"] {
        let refused = server.get(path).await;
        assert_eq!(
            (refused.status, refused.header("www-authenticate")),
            (401, r#"Bearer realm="latimer""#)
        );
        let card = authenticated.get(path).await;
        assert_eq!(card.status, 200, "{path}");
        assert!(card.header("cache-control").starts_with("private"), "{path}");
        assert!(card.header("vary").contains("Authorization"), "{path}");
    }
    assert_eq!(server.get("/health").await.status, 200);
}

async fn reflect(channel: Channel, key: Option<&str>) -> Option<Code> {
    let message = ServerReflectionRequest::default();
    let mut request = tonic::Request::new(futures_util::stream::iter([message]));
    if let Some(key) = key {
        request.metadata_mut().insert("x-api-key", key.parse().unwrap());
    }
    ServerReflectionClient::new(channel)
        .server_reflection_info(request)
        .await
        .err()
        .map(|it| it.code())
}

/// By default, metrics and gRPC reflection are available on loopback without authentication, and to
/// authenticated callers.
#[tokio::test]
async fn metrics_and_reflection_follow_one_access_rule() {
    for (address, requires_key, setting, (metrics, reflection)) in [
        ("127.0.0.1:0", false, None, (200, None)),
        ("127.0.0.1:0", false, Some(false), (404, Some(Code::Unimplemented))),
        ("127.0.0.1:0", true, None, (401, Some(Code::Unauthenticated))),
        ("0.0.0.0:0", false, None, (404, Some(Code::Unimplemented))),
        ("0.0.0.0:0", false, Some(true), (200, None)),
        ("0.0.0.0:0", true, None, (401, Some(Code::Unauthenticated))),
        ("0.0.0.0:0", true, Some(true), (401, Some(Code::Unauthenticated))),
    ] {
        let settings = Settings { metrics: setting, reflection: setting, ..Settings::default() };
        let server = server(settings).bind(address);
        let server = if requires_key { server.authenticate(api_keys()) } else { server };
        let running = server.listen().await.unwrap();
        let caller = TestClient::new(([127, 0, 0, 1], running.address().port()).into());
        let what = format!("{address} {requires_key} {setting:?}");
        assert_eq!(caller.get("/metrics").await.status, metrics, "{what}");
        let endpoint = Endpoint::from_shared(format!("http://{}", caller.address)).unwrap();
        let channel = endpoint.connect().await.unwrap();
        assert_eq!(reflect(channel.clone(), None).await, reflection, "{what}");
        if requires_key {
            assert_eq!(caller.with_header("x-api-key", "sesame").get("/metrics").await.status, 200);
            assert_eq!(reflect(channel, Some("sesame")).await, None, "{what}");
        }
    }
}

#[tokio::test]
async fn dead_letters_require_operator_scope_or_loopback() {
    let digest = |key: &str| KeyDigest::from_key(&Secret::new(key));
    let keys = api_keys().with_key("ops", digest("ops"), [OPERATOR_SCOPE]).with_key(
        "ci",
        digest("ci"),
        ["deploy"],
    );
    for (address, proxy, key, want) in [
        ("127.0.0.1:0", false, None, 200),
        ("127.0.0.1:0", true, None, 403),
        ("0.0.0.0:0", false, None, 403),
        ("127.0.0.1:0", false, Some(""), 401),
        ("127.0.0.1:0", false, Some("ci"), 403),
        ("127.0.0.1:0", true, Some("ops"), 200),
        ("0.0.0.0:0", false, Some("sesame"), 200),
    ] {
        let trusted_proxies = proxy.then(|| "10.0.0.1".parse().unwrap()).into_iter().collect();
        let server = server(Settings { trusted_proxies, ..Settings::default() }).bind(address);
        let server = if key.is_some() { server.authenticate(keys.clone()) } else { server };
        let running = server.listen().await.unwrap();
        let caller = TestClient::new(([127, 0, 0, 1], running.address().port()).into());
        let caller = match key {
            None | Some("") => caller,
            Some(key) => caller.with_header("x-api-key", key),
        };
        let response = caller.get("/api/push/dead").await;
        assert_eq!(response.status, want, "{address} {proxy} {key:?}: {}", response.text());
    }
}

/// 1.0, section 13.3: without authentication no server declares or serves it.
#[tokio::test]
async fn extended_card_requires_authentication() {
    for (address, requires_key, sends_key, want) in [
        ("127.0.0.1:0", false, false, 400),
        ("127.0.0.1:0", true, false, 401),
        ("127.0.0.1:0", true, true, 200),
        ("0.0.0.0:0", false, false, 400),
        ("0.0.0.0:0", true, false, 401),
        ("0.0.0.0:0", true, true, 200),
    ] {
        // All paths are public, so that only this rule rejects calls.
        let public_paths = to_strings(&["/*"]);
        let server = server(Settings { public_paths, ..Settings::default() }).bind(address);
        let server = if requires_key { server.authenticate(api_keys()) } else { server };
        let running = server.listen().await.unwrap();
        let caller = TestClient::new(([127, 0, 0, 1], running.address().port()).into());
        let caller = if sends_key { caller.with_header("x-api-key", "sesame") } else { caller };
        let what = format!("{address} {requires_key} {sends_key}");
        let rest = caller.v1().get("/a2a/extendedAgentCard").await;
        assert_eq!(rest.status, want, "{what}");
        let rpc = r#"{"jsonrpc":"2.0","id":1,"method":"GetExtendedAgentCard"}"#;
        let codes = [(200, 0), (401, -31401), (400, -32004)];
        let code = codes.iter().find(|it| it.0 == want).unwrap().1;
        assert_eq!(caller.v1().post("/a2a", rpc).await.rpc_error_code(), code, "{what}");
        let card = caller.v1().get("/.well-known/agent-card.json").await.json();
        let offered = &card["capabilities"]["extendedAgentCard"];
        assert_eq!(offered, &json!(want != 400), "{what}: declared capability");
        let endpoint = Endpoint::from_shared(format!("http://{}", caller.address)).unwrap();
        let channel = endpoint.connect().await.unwrap();
        let mut client = v0_3::client::A2aServiceClient::new(channel);
        let mut request = tonic::Request::new(v0_3::GetAgentCardRequest {});
        if sends_key {
            request.metadata_mut().insert("x-api-key", "sesame".parse().unwrap());
        }
        let name = client.get_agent_card(request).await.unwrap().into_inner().name;
        let best = if want == 200 { "extended" } else { "shouter" };
        assert_eq!(name, best, "{what}: 0.3 has one method for both cards");
    }
}

#[tokio::test]
async fn anonymous_callers_neither_list_tasks_nor_use_webhooks() {
    let hook = json!({"url": "http://127.0.0.1:9/hook"});
    for (address, has_auth, sends_key, list_status, list_code, hook_status, hook_code) in [
        ("127.0.0.1:0", false, false, 200, None, 200, 0),
        ("127.0.0.1:0", true, false, 200, None, 200, 0),
        ("0.0.0.0:0", false, false, 403, Some(Code::PermissionDenied), 400, -32003),
        ("0.0.0.0:0", true, false, 401, Some(Code::Unauthenticated), 401, -31401),
        ("0.0.0.0:0", true, true, 200, None, 200, 0),
    ] {
        let what = format!("{address} {has_auth} {sends_key}");
        let push = PushSettings { allow_loopback: Some(true), ..PushSettings::default() };
        let settings = Settings { public_paths: to_strings(&["/*"]), push, ..Settings::default() };
        let server = server(settings).bind(address);
        let server = if has_auth { server.authenticate(api_keys()) } else { server };
        let running = server.listen().await.unwrap();
        let caller = TestClient::new(([127, 0, 0, 1], running.address().port()).into());
        let caller = if sends_key { caller.with_header("x-api-key", "sesame") } else { caller };
        let client = caller.v1();
        let sent = client.post("/a2a", immediate_send(None)).await.json();
        let id = sent["result"]["task"]["id"].as_str().unwrap_or_else(|| panic!("{what}: {sent}"));
        // The id of a task gives access to it.
        assert_eq!(client.get(&format!("/a2a/tasks/{id}")).await.status, 200, "{what}");
        assert_eq!(client.get("/a2a/tasks").await.status, list_status, "{what}");
        let v0_3 = caller.with_header("a2a-version", "0.3");
        assert_eq!(v0_3.get("/v1/tasks").await.status, list_status, "{what}: 0.3");
        let list = r#"{"jsonrpc":"2.0","id":1,"method":"ListTasks"}"#;
        let rpc = client.post("/a2a", list).await;
        assert_eq!(rpc.rpc_error_code() == 0, list_status == 200, "{what}: {}", rpc.text());
        let endpoint = Endpoint::from_shared(format!("http://{}", caller.address)).unwrap();
        let channel = endpoint.connect().await.unwrap();
        let mut request = tonic::Request::new(v1::ListTasksRequest::default());
        if sends_key {
            request.metadata_mut().insert("x-api-key", "sesame".parse().unwrap());
        }
        let listed = v1::client::A2aServiceClient::new(channel).list_tasks(request).await;
        assert_eq!(listed.err().map(|it| it.code()), list_code, "{what}: gRPC");
        let registered = client
            .post(&format!("/a2a/tasks/{id}/pushNotificationConfigs"), hook.to_string())
            .await;
        assert_eq!(registered.status, hook_status, "{what}: {}", registered.text());
        let hooks = client.get(&format!("/a2a/tasks/{id}/pushNotificationConfigs")).await;
        assert_eq!(hooks.status, hook_status, "{what}: {}", hooks.text());
        let inline = client.post("/a2a", immediate_send(Some(&hook))).await;
        assert_eq!(inline.rpc_error_code(), hook_code, "{what}: {}", inline.text());
        let card = caller.get("/.well-known/agent-card.json").await.json();
        let offered = &card["capabilities"]["pushNotifications"];
        assert_eq!(offered, &json!(has_auth || hook_status == 200), "{what}");
    }
}

/// Returns a JSON-RPC 1.0 request that creates a task and does not wait for its result.
fn immediate_send(hook: Option<&serde_json::Value>) -> String {
    let mut configuration = json!({"returnImmediately": true});
    if let Some(hook) = hook {
        configuration["taskPushNotificationConfig"] = hook.clone();
    }
    let message: serde_json::Value = serde_json::from_str(&message("hi")).unwrap();
    json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage",
        "params": {"message": message, "configuration": configuration}})
    .to_string()
}
