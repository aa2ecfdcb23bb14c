//! Credentials, and the origins that receive them.

mod certificates;
mod credential_set;
mod grants;
mod logins;
mod providers;

use http::HeaderMap;
use latimer_client::{ApiKeyLocation, Client, Credentials, Error, user_message};
use latimer_protocol::card::{AgentCard, AgentInterface, CardFormat, ProtocolBinding};
use latimer_protocol::{ErrorKind, Secret, Version};
use latimer_server::{ApiKeys, Server};
use serde_json::{Value, json};

use crate::support::{BINDING_VERSIONS, Stub, StubResponse, allow_loopback, listen};

const TOKEN: &str = "t0ken-of-one-origin";

fn credentials() -> Credentials {
    let key = Credentials::api_key(ApiKeyLocation::Cookie, "session", Secret::new(TOKEN)).unwrap();
    let query = Credentials::api_key(ApiKeyLocation::Query, "key", Secret::new(TOKEN)).unwrap();
    Credentials::bearer(Secret::new(TOKEN)).unwrap().with(key).with(query)
}

fn headers() -> HeaderMap {
    HeaderMap::from_iter([("x-secret".parse().unwrap(), TOKEN.parse().unwrap())])
}

fn card(url: &str) -> Value {
    let interface = AgentInterface::new(url, ProtocolBinding::JsonRpc);
    let card =
        AgentCard { name: "a".into(), supported_interfaces: vec![interface], ..Default::default() };
    card.to_json(CardFormat::V1_0)
}

fn task_response() -> Value {
    let task = json!({"id": "t1", "status": {"state": "TASK_STATE_COMPLETED"}});
    json!({"jsonrpc": "2.0", "id": "1", "result": {"task": task}})
}

#[tokio::test]
async fn all_credentials_are_sent_to_their_origin() {
    let agent = Stub::start(|_| StubResponse::json(task_response())).await;
    let builder = Client::builder(format!("{}/a2a?x=y", agent.url()));
    let client = builder.credentials(credentials()).headers(headers()).build().unwrap();
    client.send(user_message("hello")).await.unwrap();
    let request = &agent.requests()[0];
    assert_eq!(request.path, format!("/a2a?x=y&key={TOKEN}"));
    assert_eq!(request.header("authorization"), Some(&*format!("Bearer {TOKEN}")));
    assert_eq!(request.header("cookie"), Some(&*format!("session={TOKEN}")));
    assert_eq!(request.header("x-secret"), Some(TOKEN));
    assert_eq!(request.header("a2a-version"), Some("1.0"));
    let name = concat!("Latimer/", env!("CARGO_PKG_VERSION"), " A2A");
    assert_eq!(request.header("user-agent"), Some(name));
    assert!(!format!("{client:?}").contains(TOKEN));
}

#[tokio::test]
async fn credentials_are_not_sent_to_another_origin_in_the_card() {
    let other_agent = Stub::start(|_| StubResponse::json(task_response())).await;
    let url = other_agent.url();
    let agent = Stub::start(move |_| StubResponse::json(card(&url))).await;
    let builder = Client::builder(agent.url()).guard_rules(allow_loopback());
    let client = builder.credentials(credentials()).headers(headers()).connect().await.unwrap();
    client.send(user_message("hello")).await.unwrap();
    assert_eq!(other_agent.requests().len(), 1);
    for request in agent.requests().iter().chain(&other_agent.requests()) {
        assert!(!request.full_text().contains(TOKEN), "{}", request.full_text());
    }

    // Unless the credentials are bound to that origin.
    let builder = Client::builder(agent.url()).guard_rules(allow_loopback());
    let client = builder.credentials_for(other_agent.url(), credentials()).connect().await.unwrap();
    client.send(user_message("hello")).await.unwrap();
    assert!(other_agent.requests()[1].full_text().contains(TOKEN));
}

#[tokio::test]
async fn credentials_do_not_follow_cross_origin_redirects() {
    let other_agent = Stub::start(|request| match request.method.as_str() {
        "GET" => StubResponse::json(card("https://a.example/")),
        _ => StubResponse::json(task_response()),
    })
    .await;
    for status in [301, 302, 303, 307, 308] {
        let target = other_agent.url();
        let agent = Stub::start(move |request| {
            let location = format!("location: {target}{}\r\n", request.path);
            // A card that is not public is requested with the token.
            match request.method.as_str() {
                "GET" if request.header("authorization").is_none() => {
                    StubResponse::with_headers(401, "", "")
                }
                _ => StubResponse::with_headers(status, &location, ""),
            }
        })
        .await;
        let builder = || {
            Client::builder(agent.url()).guard_rules(allow_loopback()).credentials(credentials())
        };
        builder().connect().await.unwrap_err();
        let client = builder().build().unwrap();
        client.send(user_message("hello")).await.unwrap_err();
        client.stream(user_message("hello")).await.err().expect("no stream");
        assert!(agent.requests().iter().any(|it| it.full_text().contains(TOKEN)), "{status}");
    }
    for request in other_agent.requests() {
        assert!(!request.full_text().contains(TOKEN), "{}", request.full_text());
    }
}

#[tokio::test]
async fn bearer_token_authenticates_over_every_binding() {
    let keys = ApiKeys::default().with_operator_key(&Secret::new(TOKEN));
    let agent = latimer_runtime::DemoAgent::new_agent("demo");
    let server = listen(Server::new(agent).authenticate(keys)).await;
    for (binding, version) in BINDING_VERSIONS {
        let builder = || {
            Client::builder(format!("http://{}/a2a", server.address()))
                .bindings([binding.clone()])
                .versions([version])
        };
        let client = builder().build().unwrap();
        let Err(Error::Agent(error)) = client.send(user_message("echo hello")).await else {
            panic!("{binding} {version}: accepted")
        };
        assert_eq!(error.kind(), ErrorKind::Unauthenticated, "{binding} {version}");
        let bearer = Credentials::bearer(Secret::new(TOKEN)).unwrap();
        let client = builder().credentials(bearer).build().unwrap();
        client.send(user_message("echo hello")).await.unwrap();
        if version != Version::V0_1 {
            drop(client.stream(user_message("echo hello")).await.unwrap());
        }
    }
}
