//! Options of clients: each takes effect, or is an error that says what to change.

use std::path::Path;

use http::HeaderMap;
use latimer_client::{
    CardSource, CardTrust, Client, ClientBuilder, CredentialSet, Credentials, Error, user_message,
};
use latimer_protocol::card::{
    AgentCard, AgentInterface, ApiKeySecurityScheme, CardFormat, KeySet, ProtocolBinding,
    SecurityRequirement, SecurityScheme,
};
use latimer_protocol::{ErrorKind, Secret, SendMessageResponse};
use serde_json::json;

use crate::support::{Stub, StubResponse, allow_loopback};

type Configure = fn(ClientBuilder) -> ClientBuilder;

/// A card that requires an API key.
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

fn credential_set() -> CredentialSet {
    CredentialSet { api_key: Some(Secret::new("k3y")), ..CredentialSet::default() }
}

fn bearer() -> Credentials {
    Credentials::bearer(Secret::new("t0ken")).unwrap()
}

fn headers() -> HeaderMap {
    ["a", "b"].map(|it| ("x-twice".parse().unwrap(), it.parse().unwrap())).into_iter().collect()
}

fn assert_setup_error(result: Result<Client, Error>, want: &str) {
    let error = result.unwrap_err();
    assert!(matches!(&error, Error::InvalidSetup(_)), "{want}: {error:?}");
    assert!(error.to_string().contains(want), "{want}: {error}");
}

#[tokio::test]
async fn build_rejects_options_that_need_a_card() {
    let builder = || Client::builder("https://a.example");
    assert_setup_error(builder().credential_set(credential_set()).build(), "use `connect`");
    assert_setup_error(
        builder().trust(CardTrust::Required(KeySet::default())).build(),
        "use `connect`",
    );
    assert_setup_error(
        builder().trust(CardTrust::IfSigned(KeySet::default())).build(),
        "use `connect`",
    );
    builder().trust(CardTrust::Unverified).build().unwrap();

    let builder_with_card = || Client::builder(card("https://a.example"));
    let trusting = builder_with_card().trust(CardTrust::Required(KeySet::default()));
    assert_setup_error(trusting.connect().await, "the file of the card");
    builder_with_card().connect().await.unwrap();
}

#[tokio::test]
async fn credentials_without_an_origin_are_rejected() {
    let agent = Stub::start(|_| StubResponse::json(json!({}))).await;
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), card(&agent.url()).to_json(CardFormat::V1_0).to_string()).unwrap();
    let sources = || [CardSource::from(file.path()), card(&agent.url()).into()];
    let cases: [(Configure, &str); 4] = [
        (|it| it.credential_set(credential_set()), "`credential_set_for`"),
        (|it| it.credentials(bearer()), "`credentials_for`"),
        (|it| it.headers(headers()), "`credentials_for`"),
        (|it| it.client_certificate("certificate", "key"), "`client_certificate_for`"),
    ];
    for source in sources() {
        for (configure, want) in cases {
            let builder = configure(Client::builder(source.clone()).guard_rules(allow_loopback()));
            assert_setup_error(builder.connect().await, want);
        }
    }
    assert!(agent.requests().is_empty());
}

#[tokio::test]
async fn header_may_have_several_values() {
    let task = json!({"id": "t1", "status": {"state": "TASK_STATE_COMPLETED"}});
    let response = json!({"jsonrpc": "2.0", "id": "1", "result": {"task": task}});
    let agent = Stub::start(move |_| StubResponse::json(&response)).await;
    let mut headers = headers();
    headers.insert("authorization", "replaced".parse().unwrap());
    let builder = Client::builder(agent.url()).headers(headers).credentials(bearer());
    let response = builder.build().unwrap().send(user_message("hello")).await.unwrap();
    assert!(matches!(response, SendMessageResponse::Task(_)));
    let request = agent.requests().pop().unwrap();
    let lines = |name: &str| {
        let lines = request.headers.lines().filter(|it| it.to_ascii_lowercase().starts_with(name));
        lines.map(|it| it.split_once(": ").unwrap().1.to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(lines("x-twice"), ["a", "b"]);
    assert_eq!(lines("authorization"), ["Bearer t0ken"]);
}

#[tokio::test]
async fn file_path_is_not_taken_for_a_url() {
    for text in ["./agent-card.json", "/tmp/agent-card.json", "cards/a.json", "~/a.json"] {
        assert_setup_error(Client::connect(text).await, "for a card in a file");
    }
    for text in ["agents.example", "ftp://a.example/agent.json"] {
        let error = Client::connect(text).await.unwrap_err();
        assert!(matches!(error, Error::InvalidSetup(_)), "{text}: {error:?}");
        assert!(!error.to_string().contains("file"), "{text}: {error}");
    }
    let error = Client::connect(Path::new("./no-agent-card.json")).await.unwrap_err();
    assert!(matches!(error, Error::NoCard(_)), "{error:?}");
}

#[tokio::test]
async fn contradicted_card_is_invalidated() {
    for (kind, is_invalidated) in [
        (ErrorKind::VersionNotSupported, true),
        (ErrorKind::MethodNotFound, true),
        (ErrorKind::TaskNotFound, false),
    ] {
        let error = latimer_protocol::Error::from(kind).to_jsonrpc(latimer_protocol::Version::V1_0);
        let agent = Stub::start(move |request| match request.method.as_str() {
            "GET" => {
                let origin = format!("http://{}", request.header("host").unwrap());
                StubResponse::json(card(&origin).to_json(CardFormat::V1_0))
            }
            _ => StubResponse::json(json!({"jsonrpc": "2.0", "id": "1", "error": error})),
        })
        .await;
        let client = Client::connect(agent.url()).await.unwrap();
        client.send(user_message("hello")).await.unwrap_err();
        let before = agent.requests().len();
        client.fetch_card().await.unwrap();
        assert_eq!(agent.requests().len() > before, is_invalidated, "{kind:?}");
    }
}
