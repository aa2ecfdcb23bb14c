//! Saved logins, redirect URIs, and logins while the server is unavailable.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use latimer_client::credentials::oauth::{CodeFlow, DeviceFlow, SavedTokens, TokenSource};
use latimer_client::{Error, user_message};
use latimer_protocol::Secret;
use serde_json::json;
use url::Url;

use super::grants::{
    agent_accepting, authorization_server, client_with, form, send_redirect, token_server,
};
use crate::support::{Stub, StubResponse};

const PAGE: &str = "https://login.example/authorize";

#[tokio::test]
async fn saved_login_survives_restart() {
    let (token_server, agent) =
        (token_server(3600).await, agent_accepting(|it| it.starts_with("token-")).await);
    let flow = CodeFlow::new(authorization_server(&token_server, false), PAGE);
    let login = flow.start("https://app.example/back").unwrap();
    let tokens = flow.finish(&login, "code", login.state.reveal()).await.unwrap();
    let saved = tokens.save();
    assert_eq!(saved.access_token, Some(Secret::new("token-1")));
    assert_eq!(saved.refresh_token, Some(Secret::new("refresh-1")));
    let lifetime = saved.expires_at.unwrap().duration_since(SystemTime::now()).unwrap();
    assert!((3000..=3600).contains(&lifetime.as_secs()), "{lifetime:?}");
    assert!(!format!("{saved:?}").contains("-1"), "{saved:?}");

    let restored =
        TokenSource::restore(authorization_server(&token_server, false), saved.clone()).unwrap();
    assert_eq!(restored.save(), saved);
    client_with(&agent, restored).send(user_message("hello")).await.unwrap();
    assert_eq!(token_server.requests().len(), 1, "no second login");

    let expired = SavedTokens { expires_at: Some(SystemTime::UNIX_EPOCH), ..saved };
    let restored =
        TokenSource::restore(authorization_server(&token_server, false), expired).unwrap();
    client_with(&agent, restored.clone()).send(user_message("hello")).await.unwrap();
    assert_eq!(form(&token_server.requests()[1].body)["refresh_token"], "refresh-1");
    assert_eq!(restored.save().access_token, Some(Secret::new("token-2")));
    assert_eq!(restored.save().refresh_token, Some(Secret::new("refresh-2")));
    let requests = agent.requests();
    let sent_tokens = requests.iter().map(|it| it.header("authorization").unwrap());
    assert_eq!(sent_tokens.collect::<Vec<_>>(), ["Bearer token-1", "Bearer token-2"]);
}

#[tokio::test]
async fn redirect_uri_is_configurable_and_must_be_local() {
    let token_server = token_server(3600).await;
    let flow = CodeFlow::new(authorization_server(&token_server, false), PAGE);
    let browser = |url: &str| {
        let query = form(Url::parse(url).unwrap().query().unwrap());
        tokio::spawn(async move {
            send_redirect(&query["redirect_uri"], &[("code", "it"), ("state", &query["state"])])
                .await;
        });
    };
    let limit = Duration::from_secs(30);
    let local_flow = flow.clone().redirect_uri("http://localhost/back/here");
    local_flow.interactive(limit, browser).await.unwrap();
    let redirect_uri = Url::parse(&form(&token_server.requests()[0].body)["redirect_uri"]).unwrap();
    assert_eq!((redirect_uri.host_str(), redirect_uri.path()), (Some("localhost"), "/back/here"));

    // The port is taken, so an error shows that no other port was tried.
    let occupied = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("http://{}/back", occupied.local_addr().unwrap());
    let error = flow.clone().redirect_uri(uri).interactive(limit, |_| {}).await.unwrap_err();
    assert!(matches!(&error, Error::InvalidSetup(it) if it.contains("cannot listen")), "{error}");
    let remote_flow = flow.redirect_uri("https://app.example/back");
    let error = remote_flow.interactive(limit, |_| {}).await.unwrap_err();
    assert!(matches!(&error, Error::InvalidSetup(it) if it.contains("of this machine")), "{error}");
}

/// A server with device codes, whose other responses the test defines.
async fn device_flow(
    expires_in: u64,
    respond: impl Fn(usize) -> StubResponse + Send + Sync + 'static,
) -> (Stub, DeviceFlow) {
    let polls = AtomicUsize::new(0);
    let stub = Stub::start(move |request| match request.path.as_str() {
        "/device" => StubResponse::json(json!({
            "device_code": "d1", "user_code": "WDJB", "interval": 0,
            "verification_uri": "https://login.example/device", "expires_in": expires_in,
        })),
        _ => respond(polls.fetch_add(1, Ordering::SeqCst)),
    })
    .await;
    let flow =
        DeviceFlow::new(authorization_server(&stub, false), format!("{}/device", stub.url()));
    (stub, flow)
}

#[tokio::test]
async fn device_login_retries_unavailable_server() {
    let (stub, flow) = device_flow(600, |poll| match poll {
        0 => StubResponse::Close(String::new()),
        1 => StubResponse::new(503, "text/html", "<h1>Away</h1>"),
        _ => StubResponse::json(json!({"access_token": "token-1", "token_type": "bearer"})),
    })
    .await;
    let prompt = flow.start().await.unwrap();
    let tokens = flow.finish(&prompt).await.unwrap();
    assert_eq!(tokens.save().access_token, Some(Secret::new("token-1")));
    assert_eq!(stub.requests().len(), 4);
}

#[tokio::test]
async fn device_login_ends_when_denied_or_expired() {
    let denied = json!({"error": "access_denied"}).to_string();
    let (stub, flow) =
        device_flow(600, move |_| StubResponse::new(400, "application/json", &denied)).await;
    let error = flow.finish(&flow.start().await.unwrap()).await.unwrap_err();
    assert!(error.to_string().contains("access_denied"), "{error}");
    assert_eq!(stub.requests().len(), 2);

    let (_stub, flow) =
        device_flow(0, |_| StubResponse::new(503, "text/html", "<h1>Away</h1>")).await;
    let error = flow.finish(&flow.start().await.unwrap()).await.unwrap_err();
    assert!(error.to_string().contains("503"), "{error}");
}
