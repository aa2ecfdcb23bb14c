//! Access by web pages: CORS, and protection against DNS rebinding.

use http::Method;
use latimer_server::{Server, Settings};
use tonic::Code;
use tonic::transport::Endpoint;

use crate::support::{TestClient, send_body, send_http2, shouter_server, start_server, test_agent};

const CARD: &str = "/.well-known/agent-card.json";
const APP: &str = "https://app.example";

fn with_origins(origins: &[&str]) -> Settings {
    let allowed_origins = origins.iter().map(|it| (*it).to_owned()).collect();
    Settings { allowed_origins, allowed_hosts: vec!["*".into()], ..Settings::default() }
}

async fn preflight(caller: &TestClient, path: &str, method: &str) -> crate::support::TestResponse {
    let client = caller.with_header("access-control-request-method", method);
    client.send(Method::OPTIONS, path, "").await
}

#[tokio::test]
async fn unlisted_origin_cannot_call_agents() {
    let server = start_server(shouter_server(with_origins(&[]))).await;
    let page = server.v1().with_header("origin", APP);
    for path in ["/a2a", "/a2a/message:send", "/a2a/tasks"] {
        let response = preflight(&page, path, "POST").await;
        for name in ["access-control-allow-origin", "access-control-allow-methods", "vary"] {
            assert_eq!(response.header(name), "", "{path} {name}");
        }
        assert_ne!(response.status, 204, "{path}");
    }
    let listed = page.get("/a2a/tasks").await;
    assert_eq!((listed.status, listed.header("access-control-allow-origin")), (200, ""));
    // Cards allow every origin with a wildcard, so that caches can share one response.
    for caller in [&page, &server.client] {
        for path in [CARD, "/a2a/agents", "/a2a/agents/shouter/.well-known/agent-card.json"] {
            let card = caller.get(path).await;
            assert_eq!(card.header("access-control-allow-origin"), "*", "{path}");
            assert!(card.header("access-control-expose-headers").contains("ETag"), "{path}");
        }
    }
    let response = preflight(&page, CARD, "GET").await;
    assert_eq!((response.status, response.header("access-control-allow-origin")), (204, "*"));
    for path in ["/health", "/ready", "/metrics", "/nothing"] {
        assert_eq!(page.get(path).await.header("access-control-allow-origin"), "", "{path}");
    }
}

#[tokio::test]
async fn listed_origin_can_call_agents() {
    let server = start_server(shouter_server(with_origins(&["https://other.example", APP]))).await;
    for (origin, want) in [
        (APP, APP),
        ("https://evil.example", ""),
        ("https://app.example.evil.example", ""),
        ("http://app.example", ""),
        ("https://app.example:444", ""),
        ("null", ""),
    ] {
        let page = server.v1().with_header("origin", origin);
        for path in ["/a2a", "/a2a/tasks", "/a2a/agents/shouter/tasks/t"] {
            let preflight_response = preflight(&page, path, "DELETE").await;
            assert_eq!(
                preflight_response.header("access-control-allow-origin"),
                want,
                "{origin} {path}"
            );
            if want == origin {
                assert_eq!(preflight_response.status, 204);
                assert!(
                    preflight_response.header("access-control-allow-methods").contains("DELETE")
                );
                for name in ["Authorization", "Content-Type", "A2A-Version", "Last-Event-ID"] {
                    assert!(
                        preflight_response.header("access-control-allow-headers").contains(name),
                        "{name}"
                    );
                }
            }
        }
        // Errors have CORS headers, too; credentials are never allowed.
        for response in [page.get("/a2a/tasks").await, page.get("/a2a/tasks/none").await] {
            assert_eq!(response.header("access-control-allow-origin"), want, "{origin}");
            let exposed = response.header("access-control-expose-headers").contains("Retry-After");
            assert_eq!(exposed, !want.is_empty(), "{origin}");
            assert_eq!(response.header("access-control-allow-credentials"), "");
            assert_eq!(response.header("vary"), "Origin", "{origin}");
        }
    }
    let listed = server.v1().get("/a2a/tasks").await;
    assert_eq!(listed.header("vary"), "Origin", "a cached response must vary by origin");
    let preflight_response = preflight(&server.with_header("origin", APP), "/a2a", "POST").await;
    let varies: Vec<_> = preflight_response.headers.get_all("vary").iter().collect();
    assert_eq!(varies.len(), 2, "{varies:?}");
}

#[tokio::test]
async fn wildcard_origin_never_allows_credentials() {
    let server = start_server(shouter_server(with_origins(&["*"]))).await;
    for caller in [server.v1().with_header("origin", "https://evil.example"), server.v1()] {
        let listed = caller.get("/a2a/tasks").await;
        assert_eq!(listed.header("access-control-allow-origin"), "*");
        assert_eq!(listed.header("access-control-allow-credentials"), "");
        assert_eq!(listed.header("vary"), "");
    }
}

#[tokio::test]
async fn invalid_origin_or_host_setting_fails_startup() {
    for invalid in
        ["app.example", "https://app.example/", "https://App.example", "null", "https://"]
    {
        let server = shouter_server(with_origins(&[invalid])).bind("127.0.0.1:0");
        let error = server.listen().await.expect_err(invalid).to_string();
        assert!(error.starts_with("allowed_origins: "), "{error}");
    }
    let settings = Settings { allowed_hosts: vec!["https://a".into()], ..Settings::default() };
    let error = shouter_server(settings).bind("127.0.0.1:0").listen().await.expect_err("no host");
    assert!(error.to_string().starts_with("allowed_hosts: "), "{error}");
}

#[tokio::test]
async fn loopback_server_rejects_foreign_hosts_in_every_binding() {
    let settings =
        Settings { allowed_hosts: vec!["agents.internal".into()], ..Settings::default() };
    let server = start_server(shouter_server(settings)).await;
    let as_host = |host: &str| server.v1().with_header("host", host);
    for host in ["localhost", "LOCALHOST:99", "x.localhost", "[::1]:1", "agents.internal:80"] {
        assert_eq!(as_host(host).get(CARD).await.status, 200, "{host}");
        let sent = as_host(host).post("/a2a", send_body("SendMessage", "hi")).await;
        assert_eq!((sent.status, sent.rpc_error_code()), (200, 0), "{host}");
    }
    let evil = as_host("evil.example:8080");
    let rpc = evil.post("/a2a", send_body("SendMessage", "hi")).await;
    assert_eq!((rpc.status, rpc.rpc_error_code()), (403, -31403), "{}", rpc.text());
    assert!(rpc.text().contains("the host evil.example is not allowed"), "{}", rpc.text());
    let rest = evil.get("/a2a/tasks").await;
    let reason = &rest.json()["error"]["details"][0]["reason"];
    assert_eq!((rest.status, reason.as_str()), (403, Some("UNAUTHORIZED")));
    let older = server.with_header("host", "evil.example").get("/a2a/v1/tasks/x").await;
    assert_eq!((older.status, older.json()["code"].as_i64()), (403, Some(-31403)));
    for path in [CARD, "/a2a/agents", "/.well-known/agent.json", "/metrics"] {
        assert_eq!(evil.get(path).await.status, 403, "{path}");
    }
    // Probes are exempt: they are public and may use any host name.
    for path in ["/health", "/ready"] {
        assert_eq!(evil.get(path).await.status, 200, "{path}");
    }
    let page = evil.with_header("origin", "http://evil.example:8080");
    assert_ne!(preflight(&page, CARD, "GET").await.status, 204);
}

#[tokio::test]
async fn host_check_covers_http2_and_grpc() {
    let server = start_server(shouter_server(Settings::default())).await;
    assert_eq!(send_http2(&server.client, Method::GET, CARD, "").await.status, 200);
    for (authority, refused) in [("localhost:1", false), ("evil.example", true)] {
        let endpoint = Endpoint::from_shared(format!("http://{}", server.address)).unwrap();
        let origin = format!("http://{authority}").parse().unwrap();
        let channel = endpoint.origin(origin).connect().await.unwrap();
        let mut newest = latimer_pb::v1::client::A2aServiceClient::new(channel);
        let listed = newest.list_tasks(latimer_pb::v1::ListTasksRequest::default()).await;
        match refused {
            false => assert_eq!(listed.unwrap().into_inner().total_size, 0),
            true => assert_eq!(listed.unwrap_err().code(), Code::PermissionDenied),
        }
    }
}

#[tokio::test]
async fn loopback_server_rejects_foreign_origins() {
    let settings = Settings { allowed_origins: vec![APP.into()], ..Settings::default() };
    let server = start_server(shouter_server(settings)).await;
    for (origin, status) in [
        ("http://localhost:3000", 200),
        ("http://127.0.0.1:1", 200),
        (APP, 200),
        ("https://evil.example", 403),
        ("null", 403),
    ] {
        let page = server.v1().with_header("origin", origin);
        let sent = page.post("/a2a", send_body("SendMessage", "hi")).await;
        assert_eq!(sent.status, status, "{origin}");
        assert_eq!(page.get("/a2a/tasks").await.status, status, "{origin}");
        assert_eq!(page.get(CARD).await.status, 200, "{origin}: cards allow every origin");
    }
    let listed = server.v1().get("/a2a/tasks").await.json();
    assert_eq!(listed["totalSize"], 3, "rejected calls created no tasks");
}

#[tokio::test]
async fn merged_routes_check_host_and_origin() {
    let hello = axum::Router::new().route("/hello", axum::routing::get(|| async { "hello" }));
    let server = start_server(shouter_server(Settings::default()).merge_routes(hello)).await;
    assert_eq!(server.get("/hello").await.text(), "hello");
    for (name, value) in [("host", "evil.example"), ("origin", "https://evil.example")] {
        let foreign = server.with_header(name, value);
        assert_eq!(foreign.get("/hello").await.status, 403, "{name}");
        assert_eq!(
            foreign.post("/a2a", send_body("SendMessage", "hi")).await.status,
            403,
            "{name}"
        );
        assert_eq!(foreign.get("/health").await.status, 200, "{name}");
    }
}

#[tokio::test]
async fn host_check_is_skipped_behind_proxy_or_public_listener() {
    let trusting =
        Settings { trusted_proxies: vec!["127.0.0.1".parse().unwrap()], ..Settings::default() };
    let proxied = start_server(shouter_server(trusting)).await;
    for (name, value) in [("host", "agents.example"), ("origin", "https://a.example")] {
        let foreign = proxied.v1().with_header(name, value);
        let direct = foreign.post("/a2a", send_body("SendMessage", "hi")).await;
        assert_eq!(direct.status, 403, "direct request: {name}");
        for header in ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto"] {
            let forwarded = foreign.with_header(header, "for=192.0.2.1");
            let response = forwarded.post("/a2a", send_body("SendMessage", "hi")).await;
            assert_eq!(response.status, 200, "{header}: {name}");
        }
    }
    let running = Server::new(test_agent("shouter")).bind("0.0.0.0:0").listen().await.unwrap();
    let port = running.address().port();
    let caller = TestClient::new(([127, 0, 0, 1], port).into()).v1();
    assert_eq!(caller.with_header("host", "agents.example").get(CARD).await.status, 200);
    let public = Settings { public_url: Some("https://p.example/x".into()), ..Settings::default() };
    let public = start_server(shouter_server(public)).await;
    assert_eq!(public.with_header("host", "p.example").get(CARD).await.status, 200);
    assert_eq!(public.with_header("host", "q.example").get(CARD).await.status, 403);
}
