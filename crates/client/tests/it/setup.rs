//! What a client is set up with is used, or is an error that says what to do.

use std::path::Path;

use http::HeaderMap;
use latimer_client::{Builder, Client, Credentials, Error, Source, Trust, Wallet, says};
use latimer_protocol::card::{
    AgentCard, AgentInterface, ApiKeySecurityScheme, CardFormat, KeySet, ProtocolBinding,
    SecurityRequirement, SecurityScheme,
};
use latimer_protocol::{ErrorKind, Secret, SendMessageResponse};
use serde_json::json;

use crate::support::{Answer, Stub, loopback};

type SetUp = fn(Builder) -> Builder;

/// A card that wants a key.
fn card(url: &str) -> AgentCard {
    let key = ApiKeySecurityScheme {
        location: "header".into(),
        name: "x-key".into(),
        ..ApiKeySecurityScheme::default()
    };
    AgentCard {
        name: "a".into(),
        supported_interfaces: vec![AgentInterface::new(url, ProtocolBinding::JsonRpc)],
        security_schemes: [("key".to_owned(), SecurityScheme::ApiKey(key))].into(),
        security_requirements: vec![SecurityRequirement::scheme("key")],
        ..AgentCard::default()
    }
}

fn wallet() -> Wallet {
    Wallet { api_key: Some(Secret::new("k3y")), ..Wallet::default() }
}

fn bearer() -> Credentials {
    Credentials::bearer(Secret::new("t0ken")).unwrap()
}

fn headers() -> HeaderMap {
    ["a", "b"].map(|it| ("x-twice".parse().unwrap(), it.parse().unwrap())).into_iter().collect()
}

fn says_so(answer: Result<Client, Error>, want: &str) {
    let error = answer.unwrap_err();
    assert!(matches!(&error, Error::Setup(_)), "{want}: {error:?}");
    assert!(error.to_string().contains(want), "{want}: {error}");
}

#[tokio::test]
async fn what_needs_a_card_is_not_built_without_one() {
    let builder = || Client::builder("https://a.example");
    says_so(builder().wallet(wallet()).build(), "use `connect`");
    says_so(builder().trust(Trust::Signed(KeySet::default())).build(), "use `connect`");
    says_so(builder().trust(Trust::IfSigned(KeySet::default())).build(), "use `connect`");
    builder().trust(Trust::Everybody).build().unwrap();

    let in_hand = || Client::builder(card("https://a.example"));
    let trusting = in_hand().trust(Trust::Signed(KeySet::default()));
    says_so(trusting.connect().await, "the file of the card");
    in_hand().connect().await.unwrap();
}

#[tokio::test]
async fn what_is_for_an_address_has_one() {
    let agent = Stub::start(|_| Answer::json(json!({}))).await;
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), card(&agent.url()).to_json(CardFormat::V1_0).to_string()).unwrap();
    let sources = || [Source::from(file.path()), card(&agent.url()).into()];
    let cases: [(SetUp, &str); 4] = [
        (|it| it.wallet(wallet()), "`wallet_for`"),
        (|it| it.credentials(bearer()), "`credentials_for`"),
        (|it| it.headers(headers()), "`credentials_for`"),
        (|it| it.identity("certificate", "key"), "`identity_for`"),
    ];
    for source in sources() {
        for (set_up, want) in cases {
            let builder = set_up(Client::builder(source.clone()).rules(loopback()));
            says_so(builder.connect().await, want);
        }
    }
    assert!(agent.asked().is_empty());
}

#[tokio::test]
async fn a_header_may_have_several_values() {
    let task = json!({"id": "t1", "status": {"state": "TASK_STATE_COMPLETED"}});
    let answer = json!({"jsonrpc": "2.0", "id": "1", "result": {"task": task}});
    let agent = Stub::start(move |_| Answer::json(&answer)).await;
    let mut headers = headers();
    headers.insert("authorization", "replaced".parse().unwrap());
    let builder = Client::builder(agent.url()).headers(headers).credentials(bearer());
    let sent = builder.build().unwrap().send(says("hello")).await.unwrap();
    assert!(matches!(sent, SendMessageResponse::Task(_)));
    let asked = agent.asked().pop().unwrap();
    let lines = |name: &str| {
        let lines = asked.headers.lines().filter(|it| it.to_ascii_lowercase().starts_with(name));
        lines.map(|it| it.split_once(": ").unwrap().1.to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(lines("x-twice"), ["a", "b"]);
    assert_eq!(lines("authorization"), ["Bearer t0ken"]);
}

#[tokio::test]
async fn a_path_is_not_taken_for_an_address() {
    for text in ["./agent-card.json", "/tmp/agent-card.json", "cards/a.json", "~/a.json"] {
        says_so(Client::connect(text).await, "for a card in a file");
    }
    for text in ["agents.example", "ftp://a.example/agent.json"] {
        let error = Client::connect(text).await.unwrap_err();
        assert!(matches!(error, Error::Setup(_)), "{text}: {error:?}");
        assert!(!error.to_string().contains("file"), "{text}: {error}");
    }
    let error = Client::connect(Path::new("./no-agent-card.json")).await.unwrap_err();
    assert!(matches!(error, Error::Card(_)), "{error:?}");
}

#[tokio::test]
async fn a_card_that_the_agent_belies_is_forgotten() {
    for (kind, forgotten) in [
        (ErrorKind::VersionNotSupported, true),
        (ErrorKind::MethodNotFound, true),
        (ErrorKind::TaskNotFound, false),
    ] {
        let error = latimer_protocol::Error::from(kind).to_jsonrpc(latimer_protocol::Version::V1_0);
        let agent = Stub::start(move |asked| match asked.method.as_str() {
            "GET" => {
                let own = format!("http://{}", asked.header("host").unwrap());
                Answer::json(card(&own).to_json(CardFormat::V1_0))
            }
            _ => Answer::json(json!({"jsonrpc": "2.0", "id": "1", "error": error})),
        })
        .await;
        let client = Client::connect(agent.url()).await.unwrap();
        client.send(says("hello")).await.unwrap_err();
        let before = agent.asked().len();
        client.fetch_card().await.unwrap();
        assert_eq!(agent.asked().len() > before, forgotten, "{kind:?}");
    }
}
