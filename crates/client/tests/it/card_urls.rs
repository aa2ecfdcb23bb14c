//! The URL that a client calls if the card and the caller name different ones.

use latimer_client::{CardSource, Client, Credentials, Error, user_message};
use latimer_protocol::Secret;
use latimer_protocol::card::{AgentCard, AgentInterface, CardFormat, ProtocolBinding};
use serde_json::{Value, json};

use crate::support::{Stub, StubResponse};

/// A card with these URLs, in which `PORT` is replaced by the port of the server.
fn card(urls: &[String], port: &str) -> Value {
    let interface =
        |url: &String| AgentInterface::new(url.replace("PORT", port), ProtocolBinding::JsonRpc);
    let card = AgentCard {
        name: "found".into(),
        supported_interfaces: urls.iter().map(interface).collect(),
        ..AgentCard::default()
    };
    card.to_json(CardFormat::V1_0)
}

/// An agent at every path, whose card has these URLs.
async fn agent_with_card_urls(urls: &[&str]) -> Stub {
    let urls: Vec<_> = urls.iter().map(ToString::to_string).collect();
    Stub::start(move |request| match request.method.as_str() {
        "GET" => {
            let port = request.header("host").and_then(|it| it.rsplit(':').next()).unwrap();
            StubResponse::json(card(&urls, port))
        }
        _ => {
            let task = json!({"id": "t1", "status": {"state": "TASK_STATE_COMPLETED"}});
            StubResponse::json(json!({"jsonrpc": "2.0", "id": "1", "result": {"task": task}}))
        }
    })
    .await
}

/// Returns the path of the call and the credentials that it sent.
async fn call_path_and_authorization(agent: &Stub, client: &Client) -> (String, Option<String>) {
    client.send(user_message("hello")).await.unwrap();
    let requests = agent.requests();
    let call = requests.iter().rfind(|it| it.method == "POST").unwrap();
    (call.path.clone(), call.header("authorization").map(str::to_owned))
}

fn bearer_credentials() -> Credentials {
    Credentials::bearer(Secret::new("t0ken")).unwrap()
}

#[tokio::test]
async fn equivalent_host_in_card_resolves_to_caller_host() {
    for urls in [
        &["http://localhost:PORT/a2a"][..],
        &["http://[::1]:PORT/a2a"],
        &["http://0.0.0.0:PORT/a2a"],
        &["http://[::]:PORT/a2a"],
        &["/a2a"],
        &["../a2a"],
    ] {
        let agent = agent_with_card_urls(urls).await;
        let client =
            Client::builder(agent.url()).credentials(bearer_credentials()).connect().await.unwrap();
        let want = ("/a2a".to_owned(), Some("Bearer t0ken".to_owned()));
        assert_eq!(call_path_and_authorization(&agent, &client).await, want, "{urls:?}");
    }
}

#[tokio::test]
async fn interface_resolving_to_forbidden_address_is_rejected() {
    let agent =
        agent_with_card_urls(&["http://localhost:1/a2a", "http://127.0.0.1:PORT/good"]).await;
    let client = Client::connect(agent.url()).await.unwrap();
    assert_eq!(call_path_and_authorization(&agent, &client).await.0, "/good");
    let rejected = &client.interface().unwrap().rejected[0].to_string();
    assert!(rejected.contains("http://localhost:1 must begin with https://"), "{rejected}");

    let agent = agent_with_card_urls(&["http://localhost:1/a2a", "https://localhost:1/a2a"]).await;
    let error = Client::connect(agent.url()).await.unwrap_err();
    assert!(matches!(error, Error::NoInterface(_)), "{error}");
    let error = error.to_string();
    assert!(error.contains("https://localhost:1 points to an address"), "{error}");
    assert!(error.contains("ClientBuilder::ignore_card_urls"), "{error}");
}

/// Makes no calls: the test covers the selection among URLs that the guard allows.
#[tokio::test]
async fn card_url_is_called_if_same_origin_or_public_https() {
    for (url, want) in [
        ("http://127.0.0.1:PORT/other", true),
        ("https://93.184.216.34/a2a", true),
        ("https://93.184.216.34:8443/a2a", true),
        ("http://93.184.216.34/a2a", false),
        ("https://10.0.0.1/a2a", false),
        ("https://169.254.169.254/", false),
        ("http://127.0.0.1:1/", false),
        ("http://0.0.0.0:1/", false),
    ] {
        let agent = agent_with_card_urls(&[url]).await;
        let connected = Client::connect(agent.url()).await;
        assert_eq!(connected.is_ok(), want, "{url}: {connected:?}");
    }
}

#[tokio::test]
async fn ignore_card_urls_calls_the_configured_url() {
    let agent = agent_with_card_urls(&["https://wrong.example/a2a", "http://10.0.0.1/"]).await;
    let client = Client::builder(format!("{}/here", agent.url())).credentials(bearer_credentials());
    let client = client.ignore_card_urls().connect().await.unwrap();
    let want = ("/here".to_owned(), Some("Bearer t0ken".to_owned()));
    assert_eq!(call_path_and_authorization(&agent, &client).await, want);

    let card_server = agent_with_card_urls(&["https://wrong.example/a2a"]).await;
    let card = CardSource::CardUrl(format!("{}/card.json", card_server.url()));
    let url = format!("{}/there", agent.url());
    let client =
        Client::builder(card.clone()).agent_url(&url).credentials_for(&url, bearer_credentials());
    let client = client.ignore_card_urls().connect().await.unwrap();
    let want = ("/there".to_owned(), Some("Bearer t0ken".to_owned()));
    assert_eq!(call_path_and_authorization(&agent, &client).await, want);
    assert!(card_server.requests().iter().all(|it| it.header("authorization").is_none()));

    let error = Client::builder(card).ignore_card_urls().connect().await.unwrap_err();
    assert!(matches!(error, Error::InvalidSetup(_)), "{error}");
}

#[tokio::test]
async fn agent_url_is_allowed_for_card_from_another_origin() {
    let agent = agent_with_card_urls(&[]).await;
    let card_server =
        agent_with_card_urls(&[&format!("http://localhost:{}/x", agent.address().port())]).await;
    let card = CardSource::CardUrl(format!("{}/card.json", card_server.url()));
    let client = Client::builder(card.clone()).agent_url(agent.url()).connect().await.unwrap();
    assert_eq!(call_path_and_authorization(&agent, &client).await.0, "/x");
    assert!(Client::connect(card).await.is_err(), "the URL of the card is untrusted");
}

#[tokio::test]
async fn agent_url_is_the_fallback_for_forbidden_card_urls() {
    let agent = agent_with_card_urls(&["http://agent.internal:8080/a2a"]).await;
    let url = format!("{}/here", agent.url());
    let error = Client::builder(&url).connect().await.unwrap_err();
    assert!(matches!(error, Error::NoInterface(_)), "{error}");
    let client = Client::builder(&url)
        .credentials(bearer_credentials())
        .fall_back_to_agent_url()
        .connect()
        .await
        .unwrap();
    let want = ("/here".to_owned(), Some("Bearer t0ken".to_owned()));
    assert_eq!(call_path_and_authorization(&agent, &client).await, want);

    // A URL in the card that may be called is preferred.
    let agent =
        agent_with_card_urls(&["http://agent.internal:8080/a2a", "http://127.0.0.1:PORT/a2a"])
            .await;
    let url = format!("{}/here", agent.url());
    let client = Client::builder(&url).fall_back_to_agent_url().connect().await.unwrap();
    assert_eq!(call_path_and_authorization(&agent, &client).await.0, "/a2a");
}
