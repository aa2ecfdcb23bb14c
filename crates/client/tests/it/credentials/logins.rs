//! Logins are kept, come back to where they should, and outlast a server that is away.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use latimer_client::credentials::oauth::{CodeFlow, DeviceFlow, Saved, Tokens};
use latimer_client::{Error, says};
use latimer_protocol::Secret;
use serde_json::json;
use url::Url;

use super::grants::{agent, client, come_back, form, granting, server};
use crate::support::{Answer, Stub};

const PAGE: &str = "https://login.example/authorize";

#[tokio::test]
async fn a_login_outlasts_the_program() {
    let (granting, agent) = (granting(3600).await, agent(|it| it.starts_with("token-")).await);
    let flow = CodeFlow::new(server(&granting, false), PAGE);
    let login = flow.start("https://us.example/back").unwrap();
    let tokens = flow.finish(&login, "code", login.state.reveal()).await.unwrap();
    let saved = tokens.saved();
    assert_eq!(saved.access, Some(Secret::new("token-1")));
    assert_eq!(saved.refresh, Some(Secret::new("refresh-1")));
    let lasts = saved.expires.unwrap().duration_since(SystemTime::now()).unwrap();
    assert!((3000..=3600).contains(&lasts.as_secs()), "{lasts:?}");
    assert!(!format!("{saved:?}").contains("-1"), "{saved:?}");

    let restored = Tokens::restored(server(&granting, false), saved.clone()).unwrap();
    assert_eq!(restored.saved(), saved);
    client(&agent, restored).send(says("hello")).await.unwrap();
    assert_eq!(granting.asked().len(), 1, "nobody logs in again");

    let expired = Saved { expires: Some(SystemTime::UNIX_EPOCH), ..saved };
    let restored = Tokens::restored(server(&granting, false), expired).unwrap();
    client(&agent, restored.clone()).send(says("hello")).await.unwrap();
    assert_eq!(form(&granting.asked()[1].body)["refresh_token"], "refresh-1");
    assert_eq!(restored.saved().access, Some(Secret::new("token-2")));
    assert_eq!(restored.saved().refresh, Some(Secret::new("refresh-2")));
    let shown = agent.asked();
    let shown = shown.iter().map(|it| it.header("authorization").unwrap());
    assert_eq!(shown.collect::<Vec<_>>(), ["Bearer token-1", "Bearer token-2"]);
}

#[tokio::test]
async fn a_browser_comes_back_to_where_the_server_expects_it() {
    let granting = granting(3600).await;
    let flow = CodeFlow::new(server(&granting, false), PAGE);
    let browser = |url: &str| {
        let said = form(Url::parse(url).unwrap().query().unwrap());
        tokio::spawn(async move {
            come_back(&said["redirect_uri"], &[("code", "it"), ("state", &said["state"])]).await;
        });
    };
    let patient = Duration::from_secs(30);
    let known = flow.clone().redirect_uri("http://localhost/back/here");
    known.interactive(patient, browser).await.unwrap();
    let back = Url::parse(&form(&granting.asked()[0].body)["redirect_uri"]).unwrap();
    assert_eq!((back.host_str(), back.path()), (Some("localhost"), "/back/here"));

    // A port that is taken shows that no other one is used.
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("http://{}/back", taken.local_addr().unwrap());
    let error = flow.clone().redirect_uri(uri).interactive(patient, |_| {}).await.unwrap_err();
    assert!(matches!(&error, Error::Setup(it) if it.contains("no port")), "{error}");
    let elsewhere = flow.redirect_uri("https://us.example/back");
    let error = elsewhere.interactive(patient, |_| {}).await.unwrap_err();
    assert!(matches!(&error, Error::Setup(it) if it.contains("of this machine")), "{error}");
}

/// A server that gives codes, and answers otherwise as a test wants.
async fn device(
    lasts: u64,
    answer: impl Fn(usize) -> Answer + Send + Sync + 'static,
) -> (Stub, DeviceFlow) {
    let polls = AtomicUsize::new(0);
    let stub = Stub::start(move |asked| match asked.path.as_str() {
        "/device" => Answer::json(json!({
            "device_code": "d1", "user_code": "WDJB", "interval": 0,
            "verification_uri": "https://login.example/device", "expires_in": lasts,
        })),
        _ => answer(polls.fetch_add(1, Ordering::SeqCst)),
    })
    .await;
    let flow = DeviceFlow::new(server(&stub, false), format!("{}/device", stub.url()));
    (stub, flow)
}

#[tokio::test]
async fn a_server_that_is_away_is_asked_again() {
    let (stub, flow) = device(600, |poll| match poll {
        0 => Answer::Close(String::new()),
        1 => Answer::of(503, "text/html", "<h1>Away</h1>"),
        _ => Answer::json(json!({"access_token": "token-1", "token_type": "bearer"})),
    })
    .await;
    let prompt = flow.start().await.unwrap();
    let tokens = flow.finish(&prompt).await.unwrap();
    assert_eq!(tokens.saved().access, Some(Secret::new("token-1")));
    assert_eq!(stub.asked().len(), 4);
}

#[tokio::test]
async fn a_login_that_is_declined_or_too_late_ends() {
    let denied = json!({"error": "access_denied"}).to_string();
    let (stub, flow) = device(600, move |_| Answer::of(400, "application/json", &denied)).await;
    let error = flow.finish(&flow.start().await.unwrap()).await.unwrap_err();
    assert!(error.to_string().contains("access_denied"), "{error}");
    assert_eq!(stub.asked().len(), 2);

    let (_stub, flow) = device(0, |_| Answer::of(503, "text/html", "<h1>Away</h1>")).await;
    let error = flow.finish(&flow.start().await.unwrap()).await.unwrap_err();
    assert!(error.to_string().contains("503"), "{error}");
}
