//! What is shown, and where it never is.

mod certificates;
mod grants;
mod logins;
mod providers;
mod wallet;

use http::HeaderMap;
use latimer_client::{Client, Credentials, Error, KeyPlace, says};
use latimer_protocol::card::{AgentCard, AgentInterface, CardFormat, ProtocolBinding};
use latimer_protocol::{ErrorKind, Secret, Version};
use latimer_server::{ApiKeys, Server};
use serde_json::{Value, json};

use crate::support::{Answer, PAIRS, Stub, listen, loopback};

const TOKEN: &str = "t0ken-of-one-origin";

fn token() -> Credentials {
    let key = Credentials::api_key(KeyPlace::Cookie, "session", Secret::new(TOKEN)).unwrap();
    let query = Credentials::api_key(KeyPlace::Query, "key", Secret::new(TOKEN)).unwrap();
    Credentials::bearer(Secret::new(TOKEN)).unwrap().and(key).and(query)
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

fn task() -> Value {
    let task = json!({"id": "t1", "status": {"state": "TASK_STATE_COMPLETED"}});
    json!({"jsonrpc": "2.0", "id": "1", "result": {"task": task}})
}

#[tokio::test]
async fn everything_is_shown_at_its_own_origin() {
    let own = Stub::start(|_| Answer::json(task())).await;
    let builder = Client::builder(format!("{}/a2a?x=y", own.url()));
    let client = builder.credentials(token()).headers(headers()).build().unwrap();
    client.send(says("hello")).await.unwrap();
    let asked = &own.asked()[0];
    assert_eq!(asked.path, format!("/a2a?x=y&key={TOKEN}"));
    assert_eq!(asked.header("authorization"), Some(&*format!("Bearer {TOKEN}")));
    assert_eq!(asked.header("cookie"), Some(&*format!("session={TOKEN}")));
    assert_eq!(asked.header("x-secret"), Some(TOKEN));
    assert_eq!(asked.header("a2a-version"), Some("1.0"));
    let name = concat!("Latimer/", env!("CARGO_PKG_VERSION"), " A2A");
    assert_eq!(asked.header("user-agent"), Some(name));
    assert!(!format!("{client:?}").contains(TOKEN));
}

#[tokio::test]
async fn a_token_never_arrives_at_an_address_that_a_card_names() {
    let elsewhere = Stub::start(|_| Answer::json(task())).await;
    let url = elsewhere.url();
    let own = Stub::start(move |_| Answer::json(card(&url))).await;
    let builder = Client::builder(own.url()).rules(loopback());
    let client = builder.credentials(token()).headers(headers()).connect().await.unwrap();
    client.send(says("hello")).await.unwrap();
    assert_eq!(elsewhere.asked().len(), 1);
    for asked in own.asked().iter().chain(&elsewhere.asked()) {
        assert!(!asked.all().contains(TOKEN), "{}", asked.all());
    }

    // Unless it is for it.
    let builder = Client::builder(own.url()).rules(loopback());
    let client = builder.credentials_for(elsewhere.url(), token()).connect().await.unwrap();
    client.send(says("hello")).await.unwrap();
    assert!(elsewhere.asked()[1].all().contains(TOKEN));
}

#[tokio::test]
async fn a_token_never_follows_a_redirect_to_another_origin() {
    let elsewhere = Stub::start(|asked| match asked.method.as_str() {
        "GET" => Answer::json(card("https://a.example/")),
        _ => Answer::json(task()),
    })
    .await;
    for status in [301, 302, 303, 307, 308] {
        let to = elsewhere.url();
        let own = Stub::start(move |asked| {
            let location = format!("location: {to}{}\r\n", asked.path);
            // A card that is not for everybody is asked for with the token.
            match asked.method.as_str() {
                "GET" if asked.header("authorization").is_none() => Answer::with(401, "", ""),
                _ => Answer::with(status, &location, ""),
            }
        })
        .await;
        let builder = || Client::builder(own.url()).rules(loopback()).credentials(token());
        builder().connect().await.unwrap_err();
        let client = builder().build().unwrap();
        client.send(says("hello")).await.unwrap_err();
        client.stream(says("hello")).await.err().expect("no stream");
        assert!(own.asked().iter().any(|it| it.all().contains(TOKEN)), "{status}");
    }
    for asked in elsewhere.asked() {
        assert!(!asked.all().contains(TOKEN), "{}", asked.all());
    }
}

#[tokio::test]
async fn a_key_opens_the_real_server_over_every_binding() {
    let keys = ApiKeys::default().with_operator_key(&Secret::new(TOKEN));
    let agent = latimer_runtime::Demo::agent("demo");
    let server = listen(Server::new(agent).authenticate(keys)).await;
    for (binding, version) in PAIRS {
        let builder = || {
            Client::builder(format!("http://{}/a2a", server.address()))
                .bindings([binding.clone()])
                .versions([version])
        };
        let client = builder().build().unwrap();
        let Err(Error::Agent(error)) = client.send(says("echo hello")).await else {
            panic!("{binding} {version}: let in")
        };
        assert_eq!(error.kind(), ErrorKind::Unauthenticated, "{binding} {version}");
        let bearer = Credentials::bearer(Secret::new(TOKEN)).unwrap();
        let client = builder().credentials(bearer).build().unwrap();
        client.send(says("echo hello")).await.unwrap();
        if version != Version::V0_1 {
            drop(client.stream(says("echo hello")).await.unwrap());
        }
    }
}
