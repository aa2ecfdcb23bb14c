//! The card of an agent elsewhere: checked before it is believed, and signed anew.

mod calling;
mod certificates;
mod recorder;

use std::fs;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use latimer_client::{CardTrust, Client, Error, user_message};
use latimer_daemon::Daemon;
use latimer_protocol::SendMessageResponse;
use latimer_protocol::card::{JwsAlgorithm, KeySet, SigningKey};
use latimer_server::generate_key;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::surroundings::Place;
use recorder::Recorder;

/// Longer than anything here takes, on a busy machine too.
const PATIENT: Duration = Duration::from_secs(30);

struct Keys {
    private: String,
    public: KeySet,
}

fn keys() -> Keys {
    let private = generate_key(JwsAlgorithm::EdDsa).unwrap().reveal().to_owned();
    let mut public = KeySet::default();
    public.insert(SigningKey::read(&private).unwrap().verifying_key().unwrap());
    Keys { private, public }
}

async fn start(place: &Place) -> Daemon {
    Daemon::start(&place.load().unwrap().config).await.unwrap()
}

fn demo(key: &Keys) -> Place {
    let place = Place::with(
        "listen = \"127.0.0.1:0\"\n[[agents]]\nname = \"demo\"\nkind = \"demo\"\n\
         [signing]\nkey = \"own.pem\"\n[store]\nkind = \"memory\"\n",
    );
    fs::write(place.folder.path().join("own.pem"), &key.private).unwrap();
    place
}

fn gateway(behind: &Daemon, trusted: &Keys, own: &Keys) -> Place {
    let place = Place::with(&format!(
        "listen = \"127.0.0.1:0\"\n[[agents]]\nname = \"partner\"\nkind = \"a2a\"\n\
         url = \"http://{}\"\nsignatures = \"required\"\ntrusted_keys = [\"theirs.json\"]\n\
         [signing]\nkey = \"own.pem\"\n[store]\nkind = \"memory\"\n",
        behind.address(),
    ));
    let trusted: Vec<_> = trusted.public.iter().map(|it| it.to_jwk().unwrap()).collect();
    let trusted = serde_json::json!({ "keys": trusted });
    fs::write(place.folder.path().join("theirs.json"), trusted.to_string()).unwrap();
    fs::write(place.folder.path().join("own.pem"), &own.private).unwrap();
    place
}

/// Answers every request with a card that says that the agent is elsewhere.
async fn elsewhere(agent: SocketAddr) -> (SocketAddr, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let card = serde_json::json!({
        "name": "elsewhere", "description": "d", "version": "1",
        "supportedInterfaces": [{
            "url": format!("http://{agent}/a2a"),
            "protocolBinding": "JSONRPC", "protocolVersion": "1.0",
        }],
        "capabilities": {}, "skills": [],
        "defaultInputModes": ["text"], "defaultOutputModes": ["text"],
    });
    let body = card.to_string();
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n{body}",
        body.len(),
    );
    let mut serving = JoinSet::new();
    serving.spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut asked = [0; 4096];
            // Whatever is asked is answered.
            if stream.read(&mut asked).await.is_ok_and(|read| read > 0) {
                stream.write_all(answer.as_bytes()).await.ok();
            }
        }
    });
    (address, serving)
}

#[tokio::test]
async fn an_address_that_a_card_names_is_not_called_for_that() {
    let inner = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (card, _serving) = elsewhere(inner.local_addr().unwrap()).await;
    let place = Place::with(&format!(
        "listen = \"127.0.0.1:0\"\n[[agents]]\nname = \"partner\"\nkind = \"a2a\"\n\
         url = \"http://{card}\"\nauth_token = \"s3cret\"\n[store]\nkind = \"memory\"\n",
    ));
    let gateway = start(&place).await;
    let client = Client::new(&format!("http://{}/a2a", gateway.address())).unwrap();
    tokio::select! {
        _ = inner.accept() => panic!("the address in the card was called"),
        sent = client.send(user_message("hello")) => {
            let Err(Error::Agent(refused)) = sent else { panic!("{sent:?}") };
            assert!(refused.message().contains("not been found yet"), "{refused}");
        }
    }
}

#[tokio::test]
async fn a_card_is_checked_and_signed_anew() {
    let (theirs, own, other) = (keys(), keys(), keys());
    let behind = start(&demo(&theirs)).await;

    let trusting = start(&gateway(&behind, &theirs, &own)).await;
    let url = format!("http://{}", trusting.address());
    let client = Client::new(&format!("{url}/a2a")).unwrap();
    let Ok(SendMessageResponse::Task(task)) = client.send(user_message("echo hello")).await else {
        panic!("no task")
    };
    assert_eq!(task.text(), "hello");
    let card =
        |keys: &Keys| Client::builder(&url).trust(CardTrust::Required(keys.public.clone())).card();
    let found = card(&own).await.unwrap();
    assert_eq!(found.name, "demo", "it is that of the agent, signed by us");
    assert!(matches!(card(&theirs).await, Err(Error::UntrustedCard(_))));

    let distrustful = start(&gateway(&behind, &other, &own)).await;
    let client = Client::new(&format!("http://{}/a2a", distrustful.address())).unwrap();
    let since = Instant::now();
    let Err(Error::Agent(refused)) = client.send(user_message("echo hello")).await else {
        panic!("a card of somebody else is believed")
    };
    assert!(refused.message().contains("not been found yet"), "{refused}");
    assert!(since.elapsed() < PATIENT);
}

#[tokio::test]
async fn an_agent_is_shown_what_the_file_has_for_it() {
    for (keys, shown) in [
        (
            "headers = { X-Team = \"blue\" }\nauth_token_file = \"token\"\ntenant = \"red\"\n",
            &["x-team: blue\r\n", "authorization: bearer from-a-file\r\n", r#""tenant":"red""#][..],
        ),
        (
            "[agents.oauth]\nclient_id = \"gateway\"\nclient_secret_env = \"SECRET\"\n\
             scopes = [\"agents\"]\n",
            &["authorization: bearer granted\r\n"],
        ),
    ] {
        let recorder = Recorder::start().await;
        let place = Place::with(&format!(
            "listen = \"127.0.0.1:0\"\n[store]\nkind = \"memory\"\n\
             [server]\nuser_agent = \"Example/1.0\"\n[[agents]]\n\
             name = \"partner\"\nkind = \"a2a\"\nurl = \"http://{}\"\n{keys}",
            recorder.address,
        ))
        .variable("SECRET", "s3cret");
        fs::write(place.folder.path().join("token"), "from-a-file\n").unwrap();
        let gateway = start(&place).await;
        let client = Client::new(&format!("http://{}/a2a", gateway.address())).unwrap();
        let sent = client.send(user_message("hello")).await;
        assert!(matches!(sent, Ok(SendMessageResponse::Message(_))), "{sent:?}");
        let call = recorder.asked("POST /a2a").to_ascii_lowercase();
        for shown in shown.iter().chain(&["user-agent: example/1.0\r\n"]) {
            assert!(call.contains(shown), "{shown}: {call}");
        }
        let token = recorder.asked("POST /token");
        assert_eq!(
            token.contains("grant_type=client_credentials"),
            keys.contains("oauth"),
            "{token}"
        );
    }
}
