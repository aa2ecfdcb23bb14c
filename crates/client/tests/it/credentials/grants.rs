//! Tokens are got by every grant, renewed once for all who need them, and shown where they belong.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::future::join_all;
use latimer_client::credentials::oauth::{
    AuthorizationServer, CodeFlow, DeviceFlow, OAuthClient, Tokens,
};
use latimer_client::outbound::{Guard, HttpClient as Http};
use latimer_client::{Client, Credentials, Error, says};
use latimer_protocol::Secret;
use serde_json::json;
use url::Url;

use super::{card, task};
use crate::support::{Answer, Stub, loopback};

const SECRET: &str = "s3cret of the client";

/// What a form says.
pub(super) fn form(body: &str) -> HashMap<String, String> {
    url::form_urlencoded::parse(body.as_bytes()).into_owned().collect()
}

/// A server that numbers the tokens it grants, each good for so many seconds.
pub(super) async fn granting(seconds: u64) -> Stub {
    let count = AtomicUsize::new(1);
    Stub::start(move |asked| {
        let number = count.fetch_add(1, Ordering::SeqCst);
        let form = form(&asked.body);
        match form["grant_type"].as_str() {
            "refresh_token" if form["refresh_token"] != format!("refresh-{}", number - 1) => {
                let error = json!({"error": "invalid_grant", "error_description": "used\u{7} up"});
                Answer::of(400, "application/json", &error.to_string())
            }
            _ => Answer::json(json!({
                "access_token": format!("token-{number}"),
                "token_type": "Bearer",
                "expires_in": seconds,
                "refresh_token": format!("refresh-{number}"),
            })),
        }
    })
    .await
}

/// An agent that knows some tokens.
pub(super) async fn agent(good: fn(&str) -> bool) -> Stub {
    Stub::start(move |asked| {
        let token = asked.header("authorization").and_then(|it| it.strip_prefix("Bearer "));
        match token.is_some_and(good) {
            true => Answer::json(task()),
            false => Answer::of(401, "application/json", "{}"),
        }
    })
    .await
}

pub(super) fn server(stub: &Stub, secret: bool) -> AuthorizationServer {
    let http = Http::builder(Guard::new(loopback())).build().unwrap();
    let client = OAuthClient {
        secret: secret.then(|| Secret::new(SECRET)),
        scopes: vec!["read".into(), "write".into()],
        ..OAuthClient::new("us")
    };
    AuthorizationServer::new(http, client, format!("{}/token", stub.url()))
}

pub(super) fn client(agent: &Stub, tokens: Tokens) -> Client {
    Client::builder(agent.url()).credentials(Credentials::tokens(tokens)).build().unwrap()
}

#[tokio::test]
async fn a_program_asks_with_its_own_credentials() {
    let (granting, agent) = (granting(3600).await, agent(|it| it == "token-1").await);
    let client = client(&agent, Tokens::for_client(server(&granting, true)));
    for _ in 0..2 {
        client.send(says("hello")).await.unwrap();
    }
    let [asked] = granting.asked().try_into().expect("one request for two calls");
    assert_eq!(form(&asked.body)["grant_type"], "client_credentials");
    assert_eq!(form(&asked.body)["scope"], "read write");
    assert!(asked.header("authorization").unwrap().starts_with("Basic "));
    assert!(!asked.body.contains("s3cret"));
    assert!(agent.asked().iter().all(|it| !it.all().contains("s3cret")));
}

#[tokio::test]
async fn a_hundred_calls_renew_once() {
    let (granting, agent) = (granting(3600).await, agent(|it| it == "token-2").await);
    let client = client(&agent, Tokens::for_client(server(&granting, true)));
    let calls = join_all((0..100).map(|_| client.send(says("hello")))).await;
    assert!(calls.iter().all(Result::is_ok), "{:?}", calls.iter().find(|it| it.is_err()));
    let asked = granting.asked();
    assert_eq!(asked.len(), 2, "one that was refused, and one for all");
    assert_eq!(form(&asked[1].body)["refresh_token"], "refresh-1");
}

#[tokio::test]
async fn a_granted_token_stays_at_its_origin() {
    let (granting, elsewhere) = (granting(3600).await, Stub::start(|_| Answer::json(task())).await);
    let to = elsewhere.url();
    let own = Stub::start(move |asked| match asked.method.as_str() {
        "GET" => Answer::json(card(&to)),
        _ => Answer::with(307, &format!("location: {to}\r\n"), ""),
    })
    .await;
    let credentials = Credentials::tokens(Tokens::for_client(server(&granting, true)));
    let builder = || Client::builder(own.url()).rules(loopback()).credentials(credentials.clone());
    builder().connect().await.unwrap().send(says("to where the card leads")).await.unwrap();
    builder().build().unwrap().send(says("to where the redirect leads")).await.unwrap_err();
    assert!(own.asked().iter().any(|it| it.all().contains("token-1")), "shown at its own");
    assert_eq!(elsewhere.asked().len(), 1, "no message follows a redirect");
    for asked in elsewhere.asked() {
        assert!(!asked.all().contains("token-") && !asked.all().contains("s3cret"));
        assert_eq!(asked.header("authorization"), None);
    }
}

#[tokio::test]
async fn what_expires_is_renewed_before_it_is_refused() {
    let (granting, agent) = (granting(0).await, agent(|_| true).await);
    let client = client(&agent, Tokens::for_client(server(&granting, true)));
    client.send(says("hello")).await.unwrap();
    client.send(says("hello")).await.unwrap();
    let shown: Vec<_> =
        agent.asked().iter().map(|it| it.header("authorization").unwrap().to_owned()).collect();
    assert_eq!(shown, ["Bearer token-1", "Bearer token-2"]);
}

#[tokio::test]
async fn a_refusal_is_told_in_safe_words() {
    let error = json!({"error": "invalid_client", "error_description": "no\u{1b}[31m"});
    let granting =
        Stub::start(move |_| Answer::of(401, "application/json", &error.to_string())).await;
    let agent = agent(|_| true).await;
    let client = client(&agent, Tokens::for_client(server(&granting, true)));
    let error = client.send(says("hello")).await.unwrap_err();
    assert!(matches!(error, Error::Credentials(_)), "{error:?}");
    assert!(error.to_string().ends_with("invalid_client: no[31m"), "{error}");
    assert!(!error.to_string().contains("s3cret"), "{error}");
    assert!(agent.asked().is_empty(), "nothing is sent without a token");
}

/// What a browser brings back from the page of a login.
pub(super) async fn come_back(url: &str, bring: &[(&str, &str)]) {
    let mut to = Url::parse(url).unwrap();
    to.query_pairs_mut().extend_pairs(bring);
    let stream = tokio::net::TcpStream::connect((to.host_str().unwrap(), to.port().unwrap()));
    let mut stream = stream.await.unwrap();
    let path = format!("{}?{}", to.path(), to.query().unwrap());
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
    tokio::io::AsyncWriteExt::write_all(&mut stream, request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    tokio::io::AsyncReadExt::read_to_string(&mut stream, &mut answer).await.unwrap();
    assert!(answer.contains("This"), "{answer}");
}

#[tokio::test]
async fn somebody_logs_in_with_a_browser() {
    let (granting, agent) = (granting(3600).await, agent(|it| it == "token-1").await);
    let flow = CodeFlow::new(server(&granting, false), "https://login.example/authorize?x=y");
    let opened = Arc::new(Mutex::new(String::new()));
    let browser = {
        let opened = Arc::clone(&opened);
        move |url: &str| {
            opened.lock().unwrap().push_str(url);
            let said = form(Url::parse(url).unwrap().query().unwrap());
            tokio::spawn(async move {
                let back = &said["redirect_uri"];
                come_back(back, &[("code", "forged"), ("state", "guessed")]).await;
                come_back(back, &[("code", "the code"), ("state", &said["state"])]).await;
            });
        }
    };
    let tokens = flow.interactive(Duration::from_secs(30), browser).await.unwrap();
    client(&agent, tokens).send(says("hello")).await.unwrap();

    let said = form(Url::parse(&opened.lock().unwrap()).unwrap().query().unwrap());
    assert_eq!((&*said["x"], &*said["response_type"], &*said["client_id"]), ("y", "code", "us"));
    let got = form(&granting.asked()[0].body);
    assert_eq!((&*got["code"], &*got["client_id"]), ("the code", "us"));
    assert_eq!(got["redirect_uri"], said["redirect_uri"]);
    let digest =
        aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, got["code_verifier"].as_bytes());
    assert_eq!(said["code_challenge"], URL_SAFE_NO_PAD.encode(digest));
}

#[tokio::test]
async fn a_login_can_be_led_by_hand_refused_and_awaited_in_vain() {
    let granting = granting(3600).await;
    let flow = CodeFlow::new(server(&granting, false), "https://login.example/authorize");
    let login = flow.start("https://us.example/back").unwrap();
    assert!(login.url.contains("redirect_uri=https%3A%2F%2Fus.example%2Fback"), "{}", login.url);
    assert!(!format!("{login:?}").contains(login.verifier.reveal()));
    let error = flow.finish(&login, "code", "another state").await.unwrap_err();
    assert!(error.to_string().contains("not that of this login"), "{error}");
    flow.finish(&login, "code", login.state.reveal()).await.unwrap();
    assert_eq!(form(&granting.asked()[0].body)["code_verifier"], login.verifier.reveal());

    let refuse = |url: &str| {
        let said = form(Url::parse(url).unwrap().query().unwrap());
        tokio::spawn(async move {
            let bring = [("error", "access_denied"), ("state", &*said["state"])];
            come_back(&said["redirect_uri"], &bring).await;
        });
    };
    let error = flow.interactive(Duration::from_secs(30), refuse).await.unwrap_err();
    assert!(error.to_string().contains("access_denied"), "{error}");
    let error = flow.interactive(Duration::from_millis(50), |_| {}).await.unwrap_err();
    assert!(error.to_string().contains("nobody has logged in"), "{error}");
}

#[tokio::test]
async fn somebody_logs_in_on_another_device() {
    let polls = AtomicUsize::new(0);
    let granting = Stub::start(move |asked| {
        if asked.path == "/device" {
            return Answer::json(json!({
                "device_code": "d1", "user_code": "WDJB", "interval": 0,
                "verification_uri": "https://login.example/device", "expires_in": 60,
            }));
        }
        let pending = json!({"error": "authorization_pending"}).to_string();
        match polls.fetch_add(1, Ordering::SeqCst) {
            0 | 1 => Answer::of(400, "application/json", &pending),
            _ => Answer::json(json!({"access_token": "token-1", "token_type": "bearer"})),
        }
    })
    .await;
    let agent = agent(|it| it == "token-1").await;
    let flow = DeviceFlow::new(server(&granting, false), format!("{}/device", granting.url()));
    let prompt = flow.start().await.unwrap();
    assert_eq!(prompt.user_code, "WDJB");
    assert!(!format!("{prompt:?}").contains("d1"), "{prompt:?}");
    let tokens = flow.finish(&prompt).await.unwrap();
    client(&agent, tokens).send(says("hello")).await.unwrap();
    let asked = granting.asked();
    assert_eq!(form(&asked[0].body)["client_id"], "us");
    assert_eq!((asked.len(), &*form(&asked[1].body)["device_code"]), (4, "d1"));
}

#[tokio::test]
async fn a_login_that_cannot_be_renewed_says_so() {
    let granting =
        Stub::start(|_| Answer::json(json!({"access_token": "t", "token_type": "bearer"}))).await;
    let agent = agent(|_| false).await;
    let flow = CodeFlow::new(server(&granting, false), "https://login.example/authorize");
    let login = flow.start("https://us.example/back").unwrap();
    let tokens = flow.finish(&login, "code", login.state.reveal()).await.unwrap();
    let error = client(&agent, tokens).send(says("hello")).await.unwrap_err();
    assert!(error.to_string().contains("log in again"), "{error}");
}
