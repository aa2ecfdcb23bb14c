//! Tokens from each grant: requested once, renewed once, and sent to one origin.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::future::join_all;
use latimer_client::credentials::oauth::{
    AuthorizationServer, CodeFlow, DeviceFlow, OAuthClient, TokenSource,
};
use latimer_client::outbound::{Guard, HttpClient as Http};
use latimer_client::{Client, Credentials, Error, user_message};
use latimer_protocol::Secret;
use serde_json::json;
use url::Url;

use super::{card, task_response};
use crate::support::{Stub, StubResponse, allow_loopback};

const SECRET: &str = "s3cret of the client";

/// Parses a form.
pub(super) fn form(body: &str) -> HashMap<String, String> {
    url::form_urlencoded::parse(body.as_bytes()).into_owned().collect()
}

/// A server that numbers its tokens, each valid for `seconds`.
pub(super) async fn token_server(seconds: u64) -> Stub {
    let count = AtomicUsize::new(1);
    Stub::start(move |request| {
        let number = count.fetch_add(1, Ordering::SeqCst);
        let form = form(&request.body);
        match form["grant_type"].as_str() {
            "refresh_token" if form["refresh_token"] != format!("refresh-{}", number - 1) => {
                let error = json!({"error": "invalid_grant", "error_description": "used\u{7} up"});
                StubResponse::new(400, "application/json", &error.to_string())
            }
            _ => StubResponse::json(json!({
                "access_token": format!("token-{number}"),
                "token_type": "Bearer",
                "expires_in": seconds,
                "refresh_token": format!("refresh-{number}"),
            })),
        }
    })
    .await
}

/// An agent that accepts these tokens.
pub(super) async fn agent_accepting(is_good: fn(&str) -> bool) -> Stub {
    Stub::start(move |request| {
        let token = request.header("authorization").and_then(|it| it.strip_prefix("Bearer "));
        match token.is_some_and(is_good) {
            true => StubResponse::json(task_response()),
            false => StubResponse::new(401, "application/json", "{}"),
        }
    })
    .await
}

pub(super) fn authorization_server(stub: &Stub, with_secret: bool) -> AuthorizationServer {
    let http = Http::builder(Guard::new(allow_loopback())).build().unwrap();
    let client = OAuthClient {
        client_secret: with_secret.then(|| Secret::new(SECRET)),
        scopes: vec!["read".into(), "write".into()],
        ..OAuthClient::new("my-client")
    };
    AuthorizationServer::new(http, client, format!("{}/token", stub.url()))
}

pub(super) fn client_with(agent: &Stub, tokens: TokenSource) -> Client {
    Client::builder(agent.url()).credentials(Credentials::tokens(tokens)).build().unwrap()
}

#[tokio::test]
async fn client_credentials_grant_fetches_one_token_for_all_calls() {
    let (token_server, agent) =
        (token_server(3600).await, agent_accepting(|it| it == "token-1").await);
    let client = client_with(
        &agent,
        TokenSource::client_credentials(authorization_server(&token_server, true)),
    );
    for _ in 0..2 {
        client.send(user_message("hello")).await.unwrap();
    }
    let [request] = token_server.requests().try_into().expect("one request for two calls");
    assert_eq!(form(&request.body)["grant_type"], "client_credentials");
    assert_eq!(form(&request.body)["scope"], "read write");
    assert!(request.header("authorization").unwrap().starts_with("Basic "));
    assert!(!request.body.contains("s3cret"));
    assert!(agent.requests().iter().all(|it| !it.full_text().contains("s3cret")));
}

#[tokio::test]
async fn concurrent_calls_renew_rejected_token_once() {
    let (token_server, agent) =
        (token_server(3600).await, agent_accepting(|it| it == "token-2").await);
    let client = client_with(
        &agent,
        TokenSource::client_credentials(authorization_server(&token_server, true)),
    );
    let calls = join_all((0..100).map(|_| client.send(user_message("hello")))).await;
    assert!(calls.iter().all(Result::is_ok), "{:?}", calls.iter().find(|it| it.is_err()));
    let requests = token_server.requests();
    assert_eq!(requests.len(), 2, "one rejected request and one renewal");
    assert_eq!(form(&requests[1].body)["refresh_token"], "refresh-1");
}

#[tokio::test]
async fn granted_token_is_sent_only_to_its_origin() {
    let (token_server, other_agent) =
        (token_server(3600).await, Stub::start(|_| StubResponse::json(task_response())).await);
    let target = other_agent.url();
    let agent = Stub::start(move |request| match request.method.as_str() {
        "GET" => StubResponse::json(card(&target)),
        _ => StubResponse::with_headers(307, &format!("location: {target}\r\n"), ""),
    })
    .await;
    let credentials = Credentials::tokens(TokenSource::client_credentials(authorization_server(
        &token_server,
        true,
    )));
    let builder = || {
        Client::builder(agent.url()).guard_rules(allow_loopback()).credentials(credentials.clone())
    };
    builder()
        .connect()
        .await
        .unwrap()
        .send(user_message("to the interface of the card"))
        .await
        .unwrap();
    builder()
        .build()
        .unwrap()
        .send(user_message("to the target of the redirect"))
        .await
        .unwrap_err();
    assert!(
        agent.requests().iter().any(|it| it.full_text().contains("token-1")),
        "the token is sent to its own origin"
    );
    assert_eq!(other_agent.requests().len(), 1, "the message does not follow the redirect");
    for request in other_agent.requests() {
        assert!(!request.full_text().contains("token-") && !request.full_text().contains("s3cret"));
        assert_eq!(request.header("authorization"), None);
    }
}

#[tokio::test]
async fn expired_token_is_renewed_before_use() {
    let (token_server, agent) = (token_server(0).await, agent_accepting(|_| true).await);
    let client = client_with(
        &agent,
        TokenSource::client_credentials(authorization_server(&token_server, true)),
    );
    client.send(user_message("hello")).await.unwrap();
    client.send(user_message("hello")).await.unwrap();
    let sent_tokens: Vec<_> =
        agent.requests().iter().map(|it| it.header("authorization").unwrap().to_owned()).collect();
    assert_eq!(sent_tokens, ["Bearer token-1", "Bearer token-2"]);
}

#[tokio::test]
async fn token_error_text_is_sanitized() {
    let error = json!({"error": "invalid_client", "error_description": "no\u{1b}[31m"});
    let token_server =
        Stub::start(move |_| StubResponse::new(401, "application/json", &error.to_string())).await;
    let agent = agent_accepting(|_| true).await;
    let client = client_with(
        &agent,
        TokenSource::client_credentials(authorization_server(&token_server, true)),
    );
    let error = client.send(user_message("hello")).await.unwrap_err();
    assert!(matches!(error, Error::NoCredentials(_)), "{error:?}");
    assert!(error.to_string().ends_with("invalid_client: no[31m"), "{error}");
    assert!(!error.to_string().contains("s3cret"), "{error}");
    assert!(agent.requests().is_empty(), "nothing is sent without a token");
}

/// Sends the redirect of a login page with these parameters, as a browser does.
pub(super) async fn send_redirect(url: &str, parameters: &[(&str, &str)]) {
    let mut target = Url::parse(url).unwrap();
    target.query_pairs_mut().extend_pairs(parameters);
    let stream =
        tokio::net::TcpStream::connect((target.host_str().unwrap(), target.port().unwrap()));
    let mut stream = stream.await.unwrap();
    let path = format!("{}?{}", target.path(), target.query().unwrap());
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
    tokio::io::AsyncWriteExt::write_all(&mut stream, request.as_bytes()).await.unwrap();
    let mut response = String::new();
    tokio::io::AsyncReadExt::read_to_string(&mut stream, &mut response).await.unwrap();
    assert!(response.contains("This"), "{response}");
}

#[tokio::test]
async fn browser_login_obtains_tokens() {
    let (token_server, agent) =
        (token_server(3600).await, agent_accepting(|it| it == "token-1").await);
    let flow = CodeFlow::new(
        authorization_server(&token_server, false),
        "https://login.example/authorize?x=y",
    );
    let opened_url = Arc::new(Mutex::new(String::new()));
    let browser = {
        let opened_url = Arc::clone(&opened_url);
        move |url: &str| {
            opened_url.lock().unwrap().push_str(url);
            let query = form(Url::parse(url).unwrap().query().unwrap());
            tokio::spawn(async move {
                let redirect_uri = &query["redirect_uri"];
                send_redirect(redirect_uri, &[("code", "forged"), ("state", "guessed")]).await;
                send_redirect(redirect_uri, &[("code", "the code"), ("state", &query["state"])])
                    .await;
            });
        }
    };
    let tokens = flow.interactive(Duration::from_secs(30), browser).await.unwrap();
    client_with(&agent, tokens).send(user_message("hello")).await.unwrap();

    let query = form(Url::parse(&opened_url.lock().unwrap()).unwrap().query().unwrap());
    assert_eq!(
        (&*query["x"], &*query["response_type"], &*query["client_id"]),
        ("y", "code", "my-client")
    );
    let token_request = form(&token_server.requests()[0].body);
    assert_eq!((&*token_request["code"], &*token_request["client_id"]), ("the code", "my-client"));
    assert_eq!(token_request["redirect_uri"], query["redirect_uri"]);
    let digest = aws_lc_rs::digest::digest(
        &aws_lc_rs::digest::SHA256,
        token_request["code_verifier"].as_bytes(),
    );
    assert_eq!(query["code_challenge"], URL_SAFE_NO_PAD.encode(digest));
}

#[tokio::test]
async fn login_can_be_completed_manually_denied_or_timed_out() {
    let token_server = token_server(3600).await;
    let flow = CodeFlow::new(
        authorization_server(&token_server, false),
        "https://login.example/authorize",
    );
    let login = flow.start("https://app.example/back").unwrap();
    assert!(login.url.contains("redirect_uri=https%3A%2F%2Fapp.example%2Fback"), "{}", login.url);
    assert!(!format!("{login:?}").contains(login.verifier.reveal()));
    let error = flow.finish(&login, "code", "another state").await.unwrap_err();
    assert!(error.to_string().contains("belongs to another login"), "{error}");
    flow.finish(&login, "code", login.state.reveal()).await.unwrap();
    assert_eq!(form(&token_server.requests()[0].body)["code_verifier"], login.verifier.reveal());

    let deny = |url: &str| {
        let query = form(Url::parse(url).unwrap().query().unwrap());
        tokio::spawn(async move {
            let parameters = [("error", "access_denied"), ("state", &*query["state"])];
            send_redirect(&query["redirect_uri"], &parameters).await;
        });
    };
    let error = flow.interactive(Duration::from_secs(30), deny).await.unwrap_err();
    assert!(error.to_string().contains("access_denied"), "{error}");
    let error = flow.interactive(Duration::from_millis(50), |_| {}).await.unwrap_err();
    assert!(error.to_string().contains("was not finished in time"), "{error}");
}

#[tokio::test]
async fn device_login_obtains_tokens() {
    let polls = AtomicUsize::new(0);
    let token_server = Stub::start(move |request| {
        if request.path == "/device" {
            return StubResponse::json(json!({
                "device_code": "d1", "user_code": "WDJB", "interval": 0,
                "verification_uri": "https://login.example/device", "expires_in": 60,
            }));
        }
        let pending = json!({"error": "authorization_pending"}).to_string();
        match polls.fetch_add(1, Ordering::SeqCst) {
            0 | 1 => StubResponse::new(400, "application/json", &pending),
            _ => StubResponse::json(json!({"access_token": "token-1", "token_type": "bearer"})),
        }
    })
    .await;
    let agent = agent_accepting(|it| it == "token-1").await;
    let flow = DeviceFlow::new(
        authorization_server(&token_server, false),
        format!("{}/device", token_server.url()),
    );
    let prompt = flow.start().await.unwrap();
    assert_eq!(prompt.user_code, "WDJB");
    assert!(!format!("{prompt:?}").contains("d1"), "{prompt:?}");
    let tokens = flow.finish(&prompt).await.unwrap();
    client_with(&agent, tokens).send(user_message("hello")).await.unwrap();
    let requests = token_server.requests();
    assert_eq!(form(&requests[0].body)["client_id"], "my-client");
    assert_eq!((requests.len(), &*form(&requests[1].body)["device_code"]), (4, "d1"));
}

#[tokio::test]
async fn login_without_refresh_token_asks_to_log_in_again() {
    let token_server =
        Stub::start(|_| StubResponse::json(json!({"access_token": "t", "token_type": "bearer"})))
            .await;
    let agent = agent_accepting(|_| false).await;
    let flow = CodeFlow::new(
        authorization_server(&token_server, false),
        "https://login.example/authorize",
    );
    let login = flow.start("https://app.example/back").unwrap();
    let tokens = flow.finish(&login, "code", login.state.reveal()).await.unwrap();
    let error = client_with(&agent, tokens).send(user_message("hello")).await.unwrap_err();
    assert!(error.to_string().contains("log in again"), "{error}");
}
