//! Where an agent elsewhere is called, and what is shown where.

use std::net::SocketAddr;

use latimer_client::{Client, Error, user_message};
use latimer_protocol::SendMessageResponse;

use super::recorder::Recorder;
use super::start;
use crate::serving::ask;
use crate::surroundings::Place;

/// A gateway whose agent is configured like this.
fn place(keys: &str) -> Place {
    Place::with(&format!(
        "listen = \"127.0.0.1:0\"\n[store]\nkind = \"memory\"\n\
         [[agents]]\nname = \"partner\"\nkind = \"a2a\"\n{keys}",
    ))
}

async fn send(gateway: SocketAddr) -> Result<SendMessageResponse, Error> {
    Client::new(&format!("http://{gateway}/a2a")).unwrap().send(user_message("hello")).await
}

const OAUTH: &str = "[agents.oauth]\nclient_id = \"gateway\"\nclient_secret = \"s3cret\"\n";

#[tokio::test]
async fn a_token_and_what_it_is_got_for_stay_with_the_agent_of_a_card_elsewhere() {
    let agent = Recorder::start().await;
    let own = agent.address;
    let cards =
        Recorder::naming(|_| format!("http://{own}/a2a"), |_| format!("http://{own}/token")).await;
    let keys = |url: SocketAddr, card: SocketAddr| {
        format!("url = \"http://{url}/a2a\"\ncard_url = \"http://{card}/card.json\"\n{OAUTH}")
    };
    let gateway = start(&place(&keys(own, cards.address))).await;
    let sent = send(gateway.address()).await;
    assert!(matches!(sent, Ok(SendMessageResponse::Message(_))), "{sent:?}");
    let call = agent.asked("POST /a2a").to_ascii_lowercase();
    assert!(call.contains("authorization: bearer granted\r\n"), "{call}");
    assert!(agent.asked("POST /token").contains("grant_type=client_credentials"));
    let seen = cards.all();
    assert!(!seen.contains("granted") && !seen.contains("POST"), "{seen}");

    // Who has the card is not vouched for by that: it may not be shown the secret.
    let thief =
        Recorder::naming(|_| format!("http://{own}/a2a"), |thief| format!("http://{thief}/token"))
            .await;
    let gateway = start(&place(&keys(own, thief.address))).await;
    let sent = send(gateway.address()).await;
    assert!(matches!(sent, Err(Error::Agent(_))), "{sent:?}");
    assert!(!thief.all().contains("POST"), "{}", thief.all());
}

#[tokio::test]
async fn an_agent_whose_card_says_localhost_is_called() {
    let localhost = |own: SocketAddr, path: &str| format!("http://localhost:{}/{path}", own.port());
    let agent = Recorder::naming(|own| localhost(own, "a2a"), |own| localhost(own, "token")).await;
    let keys = format!("url = \"http://{}\"\nauth_token = \"t0ken\"\n", agent.address);
    let gateway = start(&place(&keys)).await;
    let sent = send(gateway.address()).await;
    assert!(matches!(sent, Ok(SendMessageResponse::Message(_))), "{sent:?}");
    assert!(agent.asked("POST /a2a").contains("Bearer t0ken"), "{}", agent.all());
}

#[tokio::test]
async fn an_agent_that_does_not_know_its_address_is_called_at_its_url() {
    let agent =
        Recorder::naming(|_| "http://10.0.0.1/a2a".into(), |_| "http://10.0.0.1/token".into())
            .await;
    let url = format!("url = \"http://{}/here\"\nauth_token = \"t0ken\"\n", agent.address);
    let gateway = start(&place(&format!("{url}call_url = true\n"))).await;
    let sent = send(gateway.address()).await;
    assert!(matches!(sent, Ok(SendMessageResponse::Message(_))), "{sent:?}");
    assert!(agent.asked("POST /here").contains("Bearer t0ken"), "{}", agent.all());

    let gateway = start(&place(&url)).await;
    let Err(Error::Agent(missing)) = send(gateway.address()).await else { panic!("it is called") };
    assert!(missing.message().contains("not been found yet"), "{missing}");
    let (_, metrics) = ask(gateway.address(), "GET /metrics", "").await;
    assert!(metrics.contains("latimer_upstream_up{agent=\"partner\"} 0"), "{metrics}");
}
