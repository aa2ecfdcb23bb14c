//! The URL at which a remote agent is called, and the origins that receive credentials.

use std::net::SocketAddr;

use latimer_client::{Client, Error, user_message};
use latimer_protocol::SendMessageResponse;

use super::recorder::Recorder;
use super::start_daemon;
use crate::fixture::ConfigFixture;
use crate::serving::http_request;

/// Creates the configuration of a gateway whose remote agent has these keys.
fn gateway_fixture(keys: &str) -> ConfigFixture {
    ConfigFixture::with_config(&format!(
        "listen = \"127.0.0.1:0\"\n[store]\nkind = \"memory\"\n\
         [[agents]]\nname = \"partner\"\nkind = \"a2a\"\n{keys}",
    ))
}

async fn send_hello(gateway: SocketAddr) -> Result<SendMessageResponse, Error> {
    Client::new(&format!("http://{gateway}/a2a")).unwrap().send(user_message("hello")).await
}

const OAUTH: &str = "[agents.oauth]\nclient_id = \"gateway\"\nclient_secret = \"s3cret\"\n";

#[tokio::test]
async fn oauth_tokens_are_sent_to_the_agent_origin_only() {
    let agent = Recorder::start().await;
    let own = agent.address;
    let card_host = Recorder::start_with_card_urls(
        |_| format!("http://{own}/a2a"),
        |_| format!("http://{own}/token"),
    )
    .await;
    let keys = |url: SocketAddr, card: SocketAddr| {
        format!("url = \"http://{url}/a2a\"\ncard_url = \"http://{card}/card.json\"\n{OAUTH}")
    };
    let gateway = start_daemon(&gateway_fixture(&keys(own, card_host.address))).await;
    let result = send_hello(gateway.address()).await;
    assert!(matches!(result, Ok(SendMessageResponse::Message(_))), "{result:?}");
    let request = agent.find_request("POST /a2a").to_ascii_lowercase();
    assert!(request.contains("authorization: bearer granted\r\n"), "{request}");
    assert!(agent.find_request("POST /token").contains("grant_type=client_credentials"));
    let requests = card_host.all_requests();
    assert!(!requests.contains("granted") && !requests.contains("POST"), "{requests}");

    // The host of the card is not trusted with the client secret.
    let malicious_host = Recorder::start_with_card_urls(
        |_| format!("http://{own}/a2a"),
        |host| format!("http://{host}/token"),
    )
    .await;
    let gateway = start_daemon(&gateway_fixture(&keys(own, malicious_host.address))).await;
    let result = send_hello(gateway.address()).await;
    assert!(matches!(result, Err(Error::Agent(_))), "{result:?}");
    assert!(!malicious_host.all_requests().contains("POST"), "{}", malicious_host.all_requests());
}

#[tokio::test]
async fn agent_whose_card_names_localhost_is_called() {
    let localhost = |own: SocketAddr, path: &str| format!("http://localhost:{}/{path}", own.port());
    let agent =
        Recorder::start_with_card_urls(|own| localhost(own, "a2a"), |own| localhost(own, "token"))
            .await;
    let keys = format!("url = \"http://{}\"\nauth_token = \"t0ken\"\n", agent.address);
    let gateway = start_daemon(&gateway_fixture(&keys)).await;
    let result = send_hello(gateway.address()).await;
    assert!(matches!(result, Ok(SendMessageResponse::Message(_))), "{result:?}");
    assert!(agent.find_request("POST /a2a").contains("Bearer t0ken"), "{}", agent.all_requests());
}

#[tokio::test]
async fn call_url_overrides_an_unreachable_card_url() {
    let agent = Recorder::start_with_card_urls(
        |_| "http://10.0.0.1/a2a".into(),
        |_| "http://10.0.0.1/token".into(),
    )
    .await;
    let url = format!("url = \"http://{}/here\"\nauth_token = \"t0ken\"\n", agent.address);
    let gateway = start_daemon(&gateway_fixture(&format!("{url}call_url = true\n"))).await;
    let result = send_hello(gateway.address()).await;
    assert!(matches!(result, Ok(SendMessageResponse::Message(_))), "{result:?}");
    assert!(agent.find_request("POST /here").contains("Bearer t0ken"), "{}", agent.all_requests());

    let gateway = start_daemon(&gateway_fixture(&format!("{url}call_url = false\n"))).await;
    let Err(Error::Agent(error)) = send_hello(gateway.address()).await else {
        panic!("the URL in the card was called")
    };
    assert!(error.message().contains("not been discovered yet"), "{error}");
    let (_, metrics) = http_request(gateway.address(), "GET /metrics", "").await;
    assert!(metrics.contains("latimer_upstream_up{agent=\"partner\"} 0"), "{metrics}");
}

#[tokio::test]
async fn configured_url_is_called_if_no_card_url_may_be() {
    let agent = Recorder::start_with_card_urls(
        |_| "http://agent.internal:8080/a2a".into(),
        |_| "http://agent.internal:8080/token".into(),
    )
    .await;
    let url = format!("url = \"http://{}/here\"\nauth_token = \"t0ken\"\n", agent.address);
    let gateway = start_daemon(&gateway_fixture(&url)).await;
    let result = send_hello(gateway.address()).await;
    assert!(matches!(result, Ok(SendMessageResponse::Message(_))), "{result:?}");
    assert!(agent.find_request("POST /here").contains("Bearer t0ken"), "{}", agent.all_requests());
}
