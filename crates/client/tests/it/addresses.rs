//! Where an agent is called, when its card and its caller name different addresses.

use latimer_client::{Client, Credentials, Error, Source, says};
use latimer_protocol::Secret;
use latimer_protocol::card::{AgentCard, AgentInterface, CardFormat, ProtocolBinding};
use serde_json::{Value, json};

use crate::support::{Answer, Stub};

/// A card with these addresses. `PORT` stands for that of the server.
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

/// An agent that answers everywhere, and whose card names these addresses.
async fn naming(urls: &[&str]) -> Stub {
    let urls: Vec<_> = urls.iter().map(ToString::to_string).collect();
    Stub::start(move |asked| match asked.method.as_str() {
        "GET" => {
            let port = asked.header("host").and_then(|it| it.rsplit(':').next()).unwrap();
            Answer::json(card(&urls, port))
        }
        _ => {
            let task = json!({"id": "t1", "status": {"state": "TASK_STATE_COMPLETED"}});
            Answer::json(json!({"jsonrpc": "2.0", "id": "1", "result": {"task": task}}))
        }
    })
    .await
}

/// The path that the agent is called at, with what is shown to it.
async fn called(agent: &Stub, client: &Client) -> (String, Option<String>) {
    client.send(says("hello")).await.unwrap();
    let asked = agent.asked();
    let call = asked.iter().rfind(|it| it.method == "POST").unwrap();
    (call.path.clone(), call.header("authorization").map(str::to_owned))
}

fn token() -> Credentials {
    Credentials::bearer(Secret::new("t0ken")).unwrap()
}

#[tokio::test]
async fn another_word_for_the_named_host_means_that_host() {
    for urls in [
        &["http://localhost:PORT/a2a"][..],
        &["http://[::1]:PORT/a2a"],
        &["http://0.0.0.0:PORT/a2a"],
        &["http://[::]:PORT/a2a"],
        &["/a2a"],
        &["../a2a"],
    ] {
        let agent = naming(urls).await;
        let client = Client::builder(agent.url()).credentials(token()).connect().await.unwrap();
        let want = ("/a2a".to_owned(), Some("Bearer t0ken".to_owned()));
        assert_eq!(called(&agent, &client).await, want, "{urls:?}");
    }
}

#[tokio::test]
async fn an_interface_whose_name_leads_where_it_may_not_is_passed_over() {
    let agent = naming(&["http://localhost:1/a2a", "http://127.0.0.1:PORT/good"]).await;
    let client = Client::connect(agent.url()).await.unwrap();
    assert_eq!(called(&agent, &client).await.0, "/good");
    let passed = &client.choice().unwrap().passed_over[0].to_string();
    assert!(passed.contains("http://localhost:1 must begin with https://"), "{passed}");

    let agent = naming(&["http://localhost:1/a2a", "https://localhost:1/a2a"]).await;
    let error = Client::connect(agent.url()).await.unwrap_err();
    assert!(matches!(error, Error::NoInterface(_)), "{error}");
    let error = error.to_string();
    assert!(error.contains("https://localhost:1 leads to an address"), "{error}");
    assert!(error.contains("Builder::at_named_address"), "{error}");
}

/// Nobody is called here: what the guard lets through is chosen.
#[tokio::test]
async fn an_address_in_a_card_is_called_if_it_is_the_named_one_or_public() {
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
        let agent = naming(&[url]).await;
        let connected = Client::connect(agent.url()).await;
        assert_eq!(connected.is_ok(), want, "{url}: {connected:?}");
    }
}

#[tokio::test]
async fn an_agent_that_does_not_know_its_address_is_called_where_it_is_known_to_be() {
    let agent = naming(&["https://wrong.example/a2a", "http://10.0.0.1/"]).await;
    let client = Client::builder(format!("{}/here", agent.url())).credentials(token());
    let client = client.at_named_address().connect().await.unwrap();
    let want = ("/here".to_owned(), Some("Bearer t0ken".to_owned()));
    assert_eq!(called(&agent, &client).await, want);

    let cards = naming(&["https://wrong.example/a2a"]).await;
    let card = Source::CardUrl(format!("{}/card.json", cards.url()));
    let url = format!("{}/there", agent.url());
    let client = Client::builder(card.clone()).agent_url(&url).credentials_for(&url, token());
    let client = client.at_named_address().connect().await.unwrap();
    let want = ("/there".to_owned(), Some("Bearer t0ken".to_owned()));
    assert_eq!(called(&agent, &client).await, want);
    assert!(cards.asked().iter().all(|it| it.header("authorization").is_none()));

    let error = Client::builder(card).at_named_address().connect().await.unwrap_err();
    assert!(matches!(error, Error::Setup(_)), "{error}");
}

#[tokio::test]
async fn the_named_agent_of_a_card_elsewhere_may_be_called() {
    let agent = naming(&[]).await;
    let cards = naming(&[&format!("http://localhost:{}/x", agent.address().port())]).await;
    let card = Source::CardUrl(format!("{}/card.json", cards.url()));
    let client = Client::builder(card.clone()).agent_url(agent.url()).connect().await.unwrap();
    assert_eq!(called(&agent, &client).await.0, "/x");
    assert!(Client::connect(card).await.is_err(), "nobody vouches for it");
}
