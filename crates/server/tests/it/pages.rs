//! Pages in browsers: which may call, and which only pretend to be on this machine.

use http::Method;
use latimer_server::{Server, Settings};
use tonic::Code;
use tonic::transport::Endpoint;

use crate::support::{Caller, agent, h2, send, shouter, site};

const CARD: &str = "/.well-known/agent-card.json";
const APP: &str = "https://app.example";

fn with_origins(origins: &[&str]) -> Settings {
    let allowed_origins = origins.iter().map(|it| (*it).to_owned()).collect();
    Settings { allowed_origins, allowed_hosts: vec!["*".into()], ..Settings::default() }
}

async fn preflight(caller: &Caller, path: &str, method: &str) -> crate::support::Answer {
    let asks = caller.with("access-control-request-method", method);
    asks.ask(Method::OPTIONS, path, "").await
}

#[tokio::test]
async fn agents_are_for_no_page_unless_it_is_named() {
    let site = site(shouter(with_origins(&[]))).await;
    let page = site.v1().with("origin", APP);
    for path in ["/a2a", "/a2a/message:send", "/a2a/tasks"] {
        let asked = preflight(&page, path, "POST").await;
        for name in ["access-control-allow-origin", "access-control-allow-methods", "vary"] {
            assert_eq!(asked.header(name), "", "{path} {name}");
        }
        assert_ne!(asked.status, 204, "{path}");
    }
    let listed = page.get("/a2a/tasks").await;
    assert_eq!((listed.status, listed.header("access-control-allow-origin")), (200, ""));
    // Cards are for every page, and say so to everybody: caches give one answer to all.
    for caller in [&page, &site.caller] {
        for path in [CARD, "/a2a/agents", "/a2a/agents/shouter/.well-known/agent-card.json"] {
            let card = caller.get(path).await;
            assert_eq!(card.header("access-control-allow-origin"), "*", "{path}");
            assert!(card.header("access-control-expose-headers").contains("ETag"), "{path}");
        }
    }
    let asked = preflight(&page, CARD, "GET").await;
    assert_eq!((asked.status, asked.header("access-control-allow-origin")), (204, "*"));
    for path in ["/health", "/ready", "/metrics", "/nothing"] {
        assert_eq!(page.get(path).await.header("access-control-allow-origin"), "", "{path}");
    }
}

#[tokio::test]
async fn agents_are_for_the_pages_that_are_named() {
    let site = site(shouter(with_origins(&["https://other.example", APP]))).await;
    for (origin, want) in [
        (APP, APP),
        ("https://evil.example", ""),
        ("https://app.example.evil.example", ""),
        ("http://app.example", ""),
        ("https://app.example:444", ""),
        ("null", ""),
    ] {
        let page = site.v1().with("origin", origin);
        for path in ["/a2a", "/a2a/tasks", "/a2a/agents/shouter/tasks/t"] {
            let asked = preflight(&page, path, "DELETE").await;
            assert_eq!(asked.header("access-control-allow-origin"), want, "{origin} {path}");
            if want == origin {
                assert_eq!(asked.status, 204);
                assert!(asked.header("access-control-allow-methods").contains("DELETE"));
                for name in ["Authorization", "Content-Type", "A2A-Version", "Last-Event-ID"] {
                    assert!(asked.header("access-control-allow-headers").contains(name), "{name}");
                }
            }
        }
        // Errors can be read, too, and no cookie ever comes along.
        for answer in [page.get("/a2a/tasks").await, page.get("/a2a/tasks/none").await] {
            assert_eq!(answer.header("access-control-allow-origin"), want, "{origin}");
            let exposed = answer.header("access-control-expose-headers").contains("Retry-After");
            assert_eq!(exposed, !want.is_empty(), "{origin}");
            assert_eq!(answer.header("access-control-allow-credentials"), "");
            assert_eq!(answer.header("vary"), "Origin", "{origin}");
        }
    }
    let listed = site.v1().get("/a2a/tasks").await;
    assert_eq!(listed.header("vary"), "Origin", "whoever keeps it must ask again for a page");
    let asked = preflight(&site.with("origin", APP), "/a2a", "POST").await;
    let varies: Vec<_> = asked.headers.get_all("vary").iter().collect();
    assert_eq!(varies.len(), 2, "{varies:?}");
}

#[tokio::test]
async fn a_star_is_any_page_and_never_with_cookies() {
    let site = site(shouter(with_origins(&["*"]))).await;
    for caller in [site.v1().with("origin", "https://evil.example"), site.v1()] {
        let listed = caller.get("/a2a/tasks").await;
        assert_eq!(listed.header("access-control-allow-origin"), "*");
        assert_eq!(listed.header("access-control-allow-credentials"), "");
        assert_eq!(listed.header("vary"), "");
    }
}

#[tokio::test]
async fn what_is_no_origin_and_no_host_is_told_at_the_start() {
    for wrong in ["app.example", "https://app.example/", "https://App.example", "null", "https://"]
    {
        let server = shouter(with_origins(&[wrong])).bind("127.0.0.1:0");
        let error = server.listen().await.expect_err(wrong).to_string();
        assert!(error.starts_with("allowed_origins: "), "{error}");
    }
    let settings = Settings { allowed_hosts: vec!["https://a".into()], ..Settings::default() };
    let error = shouter(settings).bind("127.0.0.1:0").listen().await.expect_err("no host");
    assert!(error.to_string().starts_with("allowed_hosts: "), "{error}");
}

#[tokio::test]
async fn a_server_on_loopback_refuses_other_names_in_every_form() {
    let settings =
        Settings { allowed_hosts: vec!["agents.internal".into()], ..Settings::default() };
    let site = site(shouter(settings)).await;
    let as_host = |host: &str| site.v1().with("host", host);
    for host in ["localhost", "LOCALHOST:99", "x.localhost", "[::1]:1", "agents.internal:80"] {
        assert_eq!(as_host(host).get(CARD).await.status, 200, "{host}");
        let sent = as_host(host).post("/a2a", send("SendMessage", "hi")).await;
        assert_eq!((sent.status, sent.code()), (200, 0), "{host}");
    }
    let evil = as_host("evil.example:8080");
    let rpc = evil.post("/a2a", send("SendMessage", "hi")).await;
    assert_eq!((rpc.status, rpc.code()), (403, -31403), "{}", rpc.text());
    assert!(rpc.text().contains("this server is not evil.example"), "{}", rpc.text());
    let rest = evil.get("/a2a/tasks").await;
    let reason = &rest.json()["error"]["details"][0]["reason"];
    assert_eq!((rest.status, reason.as_str()), (403, Some("UNAUTHORIZED")));
    let older = site.with("host", "evil.example").get("/a2a/v1/tasks/x").await;
    assert_eq!((older.status, older.json()["code"].as_i64()), (403, Some(-31403)));
    for path in [CARD, "/a2a/agents", "/.well-known/agent.json", "/metrics"] {
        assert_eq!(evil.get(path).await.status, 403, "{path}");
    }
    // Whether it is alive is no secret, and those who look do not know its name.
    for path in ["/health", "/ready"] {
        assert_eq!(evil.get(path).await.status, 200, "{path}");
    }
    let page = evil.with("origin", "http://evil.example:8080");
    assert_ne!(preflight(&page, CARD, "GET").await.status, 204);
}

#[tokio::test]
async fn http_2_and_grpc_have_a_name_too() {
    let site = site(shouter(Settings::default())).await;
    assert_eq!(h2(&site.caller, Method::GET, CARD, "").await.status, 200);
    for (authority, refused) in [("localhost:1", false), ("evil.example", true)] {
        let endpoint = Endpoint::from_shared(format!("http://{}", site.address)).unwrap();
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
async fn a_server_on_loopback_refuses_pages_from_elsewhere() {
    let settings = Settings { allowed_origins: vec![APP.into()], ..Settings::default() };
    let site = site(shouter(settings)).await;
    for (origin, status) in [
        ("http://localhost:3000", 200),
        ("http://127.0.0.1:1", 200),
        (APP, 200),
        ("https://evil.example", 403),
        ("null", 403),
    ] {
        let page = site.v1().with("origin", origin);
        let sent = page.post("/a2a", send("SendMessage", "hi")).await;
        assert_eq!(sent.status, status, "{origin}");
        assert_eq!(page.get("/a2a/tasks").await.status, status, "{origin}");
        assert_eq!(page.get(CARD).await.status, 200, "{origin}: cards are for everybody");
    }
    let listed = site.v1().get("/a2a/tasks").await.json();
    assert_eq!(listed["totalSize"], 3, "nothing came of the others");
}

#[tokio::test]
async fn routes_beside_the_servers_own_are_for_its_names_too() {
    let hello = axum::Router::new().route("/hello", axum::routing::get(|| async { "hello" }));
    let site = site(shouter(Settings::default()).routes(hello)).await;
    assert_eq!(site.get("/hello").await.text(), "hello");
    for (name, value) in [("host", "evil.example"), ("origin", "https://evil.example")] {
        let strange = site.with(name, value);
        assert_eq!(strange.get("/hello").await.status, 403, "{name}");
        assert_eq!(strange.post("/a2a", send("SendMessage", "hi")).await.status, 403, "{name}");
        assert_eq!(strange.get("/health").await.status, 200, "{name}");
    }
}

#[tokio::test]
async fn names_are_not_asked_for_behind_a_proxy_nor_where_others_can_call() {
    let trusting =
        Settings { trusted_proxies: vec!["127.0.0.1".parse().unwrap()], ..Settings::default() };
    let behind = site(shouter(trusting)).await;
    let strange = behind.v1().with("host", "agents.example").with("origin", "https://a.example");
    assert_eq!(strange.get("/a2a/tasks").await.status, 200);
    let running = Server::new(agent("shouter")).bind("0.0.0.0:0").listen().await.unwrap();
    let port = running.address().port();
    let caller = Caller::new(([127, 0, 0, 1], port).into()).v1();
    assert_eq!(caller.with("host", "agents.example").get("/a2a/tasks").await.status, 200);
    let public = Settings { public_url: Some("https://p.example/x".into()), ..Settings::default() };
    let public = site(shouter(public)).await;
    assert_eq!(public.with("host", "p.example").get(CARD).await.status, 200);
    assert_eq!(public.with("host", "q.example").get(CARD).await.status, 403);
}
