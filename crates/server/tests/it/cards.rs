//! Content, format and caching of cards.

use http::Method;
use latimer_protocol::Secret;
use latimer_protocol::card::{AgentCapabilities, AgentCard, AgentExtension, Severity, validate};
use latimer_server::{Agent, ApiKeys, Server, Settings, Turn};
use serde_json::{Value, json};

use crate::support::{send_http2, shouter_server, start_server, test_agent};

const CARD: &str = "/.well-known/agent-card.json";

/// Returns binding, version, URL and tenant of each interface.
fn interfaces(card: &Value) -> Vec<(String, String, String, Value)> {
    let text = |it: &Value, name: &str| it[name].as_str().unwrap_or_default().to_owned();
    let all = card["supportedInterfaces"].as_array().unwrap().iter();
    all.map(|it| {
        let (binding, version) = (text(it, "protocolBinding"), text(it, "protocolVersion"));
        (binding, version, text(it, "url"), it["tenant"].clone())
    })
    .collect()
}

#[tokio::test]
async fn card_lists_served_interfaces_and_is_valid() {
    let server = start_server(shouter_server(Settings::default())).await;
    let card = server.get(CARD).await;
    assert_eq!((card.status, card.header("content-type")), (200, "application/json"));
    let card = card.json();
    let (host, url) = (server.address.to_string(), format!("http://{}/a2a", server.address));
    let want = [
        ("JSONRPC", "1.0", &url),
        ("HTTP+JSON", "1.0", &url),
        ("GRPC", "1.0", &host),
        ("JSONRPC", "0.3", &url),
        ("HTTP+JSON", "0.3", &url),
        ("GRPC", "0.3", &host),
    ];
    let want = want.map(|(binding, version, url)| {
        (binding.to_owned(), version.to_owned(), url.clone(), Value::Null)
    });
    assert_eq!(interfaces(&card), want);
    assert_eq!((&card["url"], &card["preferredTransport"]), (&json!(url), &json!("JSONRPC")));
    let others = json!([
        {"url": url, "transport": "HTTP+JSON"}, {"url": host, "transport": "GRPC"},
    ]);
    assert_eq!(card["additionalInterfaces"], others);
    let mut capabilities = card["capabilities"].clone();
    let extensions = capabilities.as_object_mut().unwrap().remove("extensions").unwrap();
    assert_eq!(extensions[0]["uri"], "urn:latimer:cursor:v1");
    let want = json!({
        "streaming": true, "pushNotifications": true, "extendedAgentCard": false,
        "stateTransitionHistory": true,
    });
    assert_eq!(capabilities, want);
    let problems = validate(&server.v1().get(CARD).await.json());
    assert!(problems.iter().all(|it| it.severity == Severity::Warning), "{problems:?}");
}

#[tokio::test]
async fn card_format_follows_version_and_path() {
    let settings =
        Settings { agent_card_path: Some("/cards/it.json".into()), ..Settings::default() };
    let server = start_server(shouter_server(settings)).await;
    let superset = server.get(CARD).await.json();
    for path in ["/api/a2a/agent-card.json", "/cards/it.json", "/a2a/.well-known/agent-card.json"] {
        assert_eq!(server.get(path).await.json(), superset, "{path}");
    }
    assert!(superset.get("url").is_some() && superset.get("supportedInterfaces").is_some());
    let pure = server.v1().get(CARD).await.json();
    assert!(pure.get("url").is_none() && pure.get("supportedInterfaces").is_some());
    let oldest = server.get("/.well-known/agent.json").await.json();
    assert!(oldest.get("supportedInterfaces").is_none());
    assert_eq!(oldest["url"], format!("http://{}/a2a", server.address));
    assert_eq!(oldest["defaultInputModes"], json!(["text"]));
    // Card requests ignore unsupported versions.
    let other = server.with_header("a2a-version", "99.0").get(CARD).await;
    assert_eq!((other.status, other.json()), (200, superset));
}

#[tokio::test]
async fn unchanged_card_gets_304() {
    let server = start_server(shouter_server(Settings::default())).await;
    let card = server.get(CARD).await;
    let tag = card.header("etag").to_owned();
    assert!(tag.starts_with('"') && tag.len() > 10, "{tag}");
    assert_eq!(card.header("cache-control"), "public, max-age=300");
    assert_eq!(card.header("vary"), "A2A-Version");
    assert_eq!(card.header("access-control-allow-origin"), "*");
    let since = card.header("last-modified").to_owned();
    let same = server.with_header("if-none-match", format!("\"other\", W/{tag}")).get(CARD).await;
    assert_eq!((same.status, same.text(), same.header("etag")), (304, "", &*tag));
    let same = server.with_header("if-modified-since", since).get(CARD).await;
    assert_eq!(same.status, 304);
    assert_eq!(server.with_header("if-none-match", "\"other\"").get(CARD).await.status, 200);
    // Each card format has its own ETag.
    assert_ne!(server.v1().get(CARD).await.header("etag"), tag);
    assert_eq!(server.v1().with_header("if-none-match", &*tag).get(CARD).await.status, 200);
    let head = server.send(Method::HEAD, CARD, "").await;
    assert_eq!((head.status, head.text(), head.header("etag")), (200, "", &*tag));
    assert_eq!(head.header("content-length"), card.body.len().to_string());
}

#[tokio::test]
async fn cards_allow_cross_origin_reads_but_no_writes() {
    let server = start_server(shouter_server(Settings::default())).await;
    let page = server.with_header("origin", "https://anything.example");
    let preflight = page.with_header("access-control-request-method", "GET");
    let response = preflight.send(Method::OPTIONS, CARD, "").await;
    assert_eq!((response.status, response.header("access-control-allow-origin")), (204, "*"));
    assert!(response.header("access-control-allow-headers").contains("A2A-Version"));
    let response = server.send(Method::OPTIONS, CARD, "").await;
    assert_eq!((response.status, response.header("allow")), (204, "GET, HEAD, OPTIONS"));
    let response = server.send(Method::POST, CARD, "").await;
    assert_eq!((response.status, response.header("allow")), (405, "GET, HEAD, OPTIONS"));
    assert_eq!(response.json()["error"]["code"], 405);
}

#[tokio::test]
async fn card_urls_follow_host_and_trusted_proxy_headers() {
    let trusting =
        Settings { trusted_proxies: vec!["127.0.0.0/8".parse().unwrap()], ..Settings::default() };
    for (settings, headers, want) in [
        (Settings::default(), &[("host", "agents.example:99")][..], "http://agents.example:99/a2a"),
        (
            Settings::default(),
            &[("host", "a.example"), ("x-forwarded-host", "evil.example")],
            "http://a.example/a2a",
        ),
        (
            trusting.clone(),
            &[
                ("host", "inside"),
                ("x-forwarded-host", "a.example"),
                ("x-forwarded-proto", "https"),
            ],
            "https://a.example/a2a",
        ),
        (
            trusting,
            &[
                ("forwarded", "for=1.2.3.4;host=b.example;proto=https"),
                ("x-forwarded-prefix", "/team"),
            ],
            "https://b.example/team/a2a",
        ),
        (
            Settings { public_url: Some("https://c.example".into()), ..Settings::default() },
            &[("host", "inside")],
            "https://c.example/a2a",
        ),
    ] {
        let trusts = !settings.trusted_proxies.is_empty();
        let settings = Settings { allowed_hosts: vec!["*".into()], ..settings };
        let server = start_server(shouter_server(settings)).await;
        let caller = headers
            .iter()
            .fold(server.client.clone(), |caller, (name, value)| caller.with_header(name, *value));
        let card = caller.get(CARD).await;
        assert_eq!(card.json()["url"], want, "{headers:?}");
        assert_eq!(card.header("vary").contains("X-Forwarded-Host"), trusts, "{headers:?}");
        let has_grpc = interfaces(&card.json()).iter().any(|(binding, ..)| binding == "GRPC");
        assert_eq!(has_grpc, !want.contains("/team"), "gRPC does not support a path prefix");
    }
    // HTTP/2 has no Host header.
    let server = start_server(shouter_server(Settings::default())).await;
    let card = send_http2(&server.client, Method::GET, CARD, "").await.json();
    assert_eq!(card["url"], format!("http://{}/a2a", server.address));
}

#[tokio::test]
async fn each_agent_has_its_own_card_urls() {
    let server =
        start_server(Server::new(test_agent("one")).with_agent(test_agent("two")).primary("two"))
            .await;
    let base = format!("http://{}/a2a", server.address);
    assert_eq!(server.get(CARD).await.json()["name"], "two");
    let card = server.get("/a2a/agents/one/.well-known/agent-card.json").await.json();
    assert_eq!(card["name"], "one");
    let own_url = format!("{base}/agents/one");
    let want = [
        ("JSONRPC", "1.0", own_url.clone(), Value::Null),
        ("HTTP+JSON", "1.0", own_url.clone(), Value::Null),
        ("GRPC", "1.0", server.address.to_string(), json!("one")),
        ("JSONRPC", "0.3", own_url.clone(), Value::Null),
        ("HTTP+JSON", "0.3", own_url.clone(), Value::Null),
    ];
    let want = want.map(|(binding, version, url, tenant)| {
        (binding.to_owned(), version.to_owned(), url, tenant)
    });
    assert_eq!(interfaces(&card), want, "gRPC 0.3 cannot select one of several agents");
    let oldest = server.get("/a2a/agents/one/.well-known/agent.json").await.json();
    assert_eq!(oldest["url"], own_url);
    let list = server.get("/a2a/agents").await;
    let all = list.json();
    assert_eq!(all["total"], 2);
    assert_eq!(
        (&all["agents"][0]["name"], &all["agents"][0]["url"]),
        (&json!("one"), &json!(own_url))
    );
    assert_eq!(
        (&all["agents"][1]["name"], &all["agents"][1]["url"]),
        (&json!("two"), &json!(base))
    );
    let tag = list.header("etag").to_owned();
    assert_eq!(server.with_header("if-none-match", tag).get("/a2a/agents").await.status, 304);
}

#[tokio::test]
async fn server_without_agents_serves_a_placeholder_card() {
    let server = start_server(Server::empty()).await;
    let card = server.get(CARD).await.json();
    assert_eq!(card["skills"], json!([]));
    assert_eq!(card["url"], format!("http://{}/a2a", server.address));
    assert_eq!(server.get("/.well-known/agent.json").await.status, 200);
    assert_eq!(server.get("/a2a/agents").await.json(), json!({"agents": [], "total": 0}));
    let call = crate::support::send_body("SendMessage", "hi");
    assert_eq!(server.v1().post("/a2a", call).await.rpc_error_code(), -31503);
}

#[tokio::test]
async fn extended_card_is_served_at_every_version_path() {
    let extended = AgentCard { name: "shouter extended".into(), ..AgentCard::default() };
    let keys = ApiKeys::default().with_operator_key(&Secret::new("sesame"));
    let server = Server::new(test_agent("shouter").with_extended_card(extended));
    let server = start_server(server.authenticate(keys)).await;
    let server = server.with_header("x-api-key", "sesame");
    let public = server.get(CARD).await.json();
    assert_eq!(public["capabilities"]["extendedAgentCard"], true);
    assert_eq!(public["supportsAuthenticatedExtendedCard"], true);
    let rpc = |method: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"}}"#);
    let newest = [
        server.v1().get("/a2a/extendedAgentCard").await.json(),
        server.v1().post("/a2a", rpc("GetExtendedAgentCard")).await.json()["result"].clone(),
    ];
    for card in newest {
        assert_eq!(card["name"], "shouter extended");
        assert_eq!(interfaces(&card), interfaces(&public));
        assert!(card.get("url").is_none());
    }
    let older = [
        server.get("/a2a/v1/card").await.json(),
        server.get("/v1/card").await.json(),
        server.get("/agent/authenticatedExtendedCard").await.json(),
        server.get("/a2a/agent/authenticatedExtendedCard").await.json(),
        server.post("/a2a", rpc("agent/getAuthenticatedExtendedCard")).await.json()["result"]
            .clone(),
    ];
    for card in older {
        assert_eq!(card["name"], "shouter extended");
        assert_eq!(card["url"], public["url"]);
    }
    let plain = server.v1().post("/a2a", rpc("GetAgentCard")).await.json();
    assert_eq!(plain["result"], server.v1().get(CARD).await.json());
}

#[tokio::test]
async fn missing_extended_card_is_reported_per_version() {
    let server = start_server(shouter_server(Settings::default())).await;
    let rpc = |method: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"}}"#);
    assert_eq!(
        server.v1().post("/a2a", rpc("GetExtendedAgentCard")).await.rpc_error_code(),
        -32004
    );
    assert_eq!(
        server.post("/a2a", rpc("agent/getAuthenticatedExtendedCard")).await.rpc_error_code(),
        -32007
    );
    assert_eq!(server.v1().get("/a2a/extendedAgentCard").await.status, 400);
    assert_eq!(server.get("/v1/card").await.status, 404);
}

#[tokio::test]
async fn required_extension_applies_to_calls_not_cards() {
    let extension = AgentExtension { uri: "urn:x".into(), required: true, ..Default::default() };
    let capabilities = AgentCapabilities { extensions: vec![extension], ..Default::default() };
    let card = AgentCard { name: "shouter".into(), capabilities, ..AgentCard::default() };
    let agent: Agent = test_agent("shouter").with_card(card);
    let server = start_server(Server::new(agent)).await;
    let card = server.get(CARD).await;
    assert_eq!(card.status, 200);
    assert_eq!(card.json()["capabilities"]["extensions"][0]["required"], true);
    let call = crate::support::send_body("SendMessage", "hi");
    assert_eq!(server.v1().post("/a2a", call.clone()).await.rpc_error_code(), -32008);
    let response =
        server.v1().with_header("a2a-extensions", "urn:x, urn:unknown").post("/a2a", call).await;
    assert_eq!((response.rpc_error_code(), response.header("a2a-extensions")), (0, "urn:x"));
}

#[tokio::test]
async fn card_cache_is_bounded_for_arbitrary_hosts() {
    let settings = Settings { allowed_hosts: vec!["*".into()], ..Settings::default() };
    let server = start_server(shouter_server(settings)).await;
    for number in 0..600 {
        let host = format!("h{number}.example");
        let card = server.with_header("host", &*host).get(CARD).await.json();
        assert_eq!(card["url"], format!("http://{host}/a2a"));
    }
}

#[tokio::test]
async fn changed_card_replaces_the_cached_one() {
    let agent =
        Agent::from_fn("learner", |turn: Turn| async move { turn.direct_reply("hi").await });
    let card_handle = agent.card_handle().clone();
    let server = start_server(Server::new(agent).with_agent(shouter_agent())).await;
    let list = "/a2a/agents";
    let mut tags = Vec::new();
    for description in ["", "first change", "second change"] {
        card_handle
            .set(AgentCard { description: description.into(), ..(*card_handle.card()).clone() });
        let (card, all) = (server.get(CARD).await, server.get(list).await);
        assert_eq!(card.json()["description"], description);
        assert_eq!(all.json()["agents"][0]["description"], description, "{}", all.text());
        tags.push(card.header("etag").to_owned());
        assert_eq!(server.get(CARD).await.header("etag"), tags.last().unwrap());
    }
    tags.dedup();
    assert_eq!(tags.len(), 3);
}

fn shouter_agent() -> Agent {
    Agent::from_fn("shouter", |turn: Turn| async move { turn.direct_reply("HI").await })
}
