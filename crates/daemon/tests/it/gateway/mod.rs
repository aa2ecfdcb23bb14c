//! Gateways: verification and signing of upstream cards, credentials for remote agents.

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

use crate::fixture::ConfigFixture;
use recorder::Recorder;

/// Time allowed for one step, sufficient on a busy machine.
const TEST_TIMEOUT: Duration = Duration::from_secs(30);

struct SigningKeys {
    private: String,
    public: KeySet,
}

fn generate_keys() -> SigningKeys {
    let private = generate_key(JwsAlgorithm::EdDsa).unwrap().reveal().to_owned();
    let mut public = KeySet::default();
    public.insert(SigningKey::read(&private).unwrap().verifying_key().unwrap());
    SigningKeys { private, public }
}

async fn start_daemon(fixture: &ConfigFixture) -> Daemon {
    Daemon::start(&fixture.load().unwrap().config).await.unwrap()
}

fn demo_fixture(key: &SigningKeys) -> ConfigFixture {
    let fixture = ConfigFixture::with_config(
        "listen = \"127.0.0.1:0\"\n[[agents]]\nname = \"demo\"\nkind = \"demo\"\n\
         [signing]\nkey = \"own.pem\"\n[store]\nkind = \"memory\"\n",
    );
    fs::write(fixture.temp_dir.path().join("own.pem"), &key.private).unwrap();
    fixture
}

fn gateway_fixture(upstream: &Daemon, trusted: &SigningKeys, own: &SigningKeys) -> ConfigFixture {
    let fixture = ConfigFixture::with_config(&format!(
        "listen = \"127.0.0.1:0\"\n[[agents]]\nname = \"partner\"\nkind = \"a2a\"\n\
         url = \"http://{}\"\nsignatures = \"required\"\ntrusted_keys = [\"trusted.json\"]\n\
         [signing]\nkey = \"own.pem\"\n[store]\nkind = \"memory\"\n",
        upstream.address(),
    ));
    let trusted: Vec<_> = trusted.public.iter().map(|it| it.to_jwk().unwrap()).collect();
    let trusted = serde_json::json!({ "keys": trusted });
    fs::write(fixture.temp_dir.path().join("trusted.json"), trusted.to_string()).unwrap();
    fs::write(fixture.temp_dir.path().join("own.pem"), &own.private).unwrap();
    fixture
}

/// Starts a server that responds to every request with a card whose URL is `agent`.
async fn serve_card_naming(agent: SocketAddr) -> (SocketAddr, JoinSet<()>) {
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
    let response = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n{body}",
        body.len(),
    );
    let mut server = JoinSet::new();
    server.spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 4096];
            if stream.read(&mut request).await.is_ok_and(|read| read > 0) {
                stream.write_all(response.as_bytes()).await.ok();
            }
        }
    });
    (address, server)
}

#[tokio::test]
async fn card_url_at_another_origin_is_not_called() {
    let inner = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (card, _server) = serve_card_naming(inner.local_addr().unwrap()).await;
    let fixture = ConfigFixture::with_config(&format!(
        "listen = \"127.0.0.1:0\"\n[[agents]]\nname = \"partner\"\nkind = \"a2a\"\n\
         url = \"http://{card}\"\nauth_token = \"s3cret\"\ncall_url = false\n[store]\nkind = \"memory\"\n",
    ));
    let gateway = start_daemon(&fixture).await;
    let client = Client::new(&format!("http://{}/a2a", gateway.address())).unwrap();
    tokio::select! {
        _ = inner.accept() => panic!("the URL in the card was called"),
        sent = client.send(user_message("hello")) => {
            let Err(Error::Agent(error)) = sent else { panic!("{sent:?}") };
            assert!(error.message().contains("not been discovered yet"), "{error}");
        }
    }
}

#[tokio::test]
async fn upstream_card_is_verified_and_signed_again() {
    let (upstream_keys, gateway_keys, other_keys) =
        (generate_keys(), generate_keys(), generate_keys());
    let upstream = start_daemon(&demo_fixture(&upstream_keys)).await;

    let trusting = start_daemon(&gateway_fixture(&upstream, &upstream_keys, &gateway_keys)).await;
    let url = format!("http://{}", trusting.address());
    let client = Client::new(&format!("{url}/a2a")).unwrap();
    let Ok(SendMessageResponse::Task(task)) = client.send(user_message("echo hello")).await else {
        panic!("no task")
    };
    assert_eq!(task.text(), "hello");
    let card = |keys: &SigningKeys| {
        Client::builder(&url).trust(CardTrust::Required(keys.public.clone())).card()
    };
    let gateway_card = card(&gateway_keys).await.unwrap();
    assert_eq!(
        gateway_card.name, "demo",
        "the gateway serves the upstream card under its own signature"
    );
    assert!(matches!(card(&upstream_keys).await, Err(Error::UntrustedCard(_))));

    let distrustful = start_daemon(&gateway_fixture(&upstream, &other_keys, &gateway_keys)).await;
    let client = Client::new(&format!("http://{}/a2a", distrustful.address())).unwrap();
    let started = Instant::now();
    let Err(Error::Agent(error)) = client.send(user_message("echo hello")).await else {
        panic!("a card with an untrusted signature was accepted")
    };
    assert!(error.message().contains("not been discovered yet"), "{error}");
    assert!(started.elapsed() < TEST_TIMEOUT);
}

#[tokio::test]
async fn configured_credentials_are_sent_to_the_agent() {
    for (keys, expected) in [
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
        let fixture = ConfigFixture::with_config(&format!(
            "listen = \"127.0.0.1:0\"\n[store]\nkind = \"memory\"\n\
             [server]\nuser_agent = \"Example/1.0\"\n[[agents]]\n\
             name = \"partner\"\nkind = \"a2a\"\nurl = \"http://{}\"\n{keys}",
            recorder.address,
        ))
        .with_env_var("SECRET", "s3cret");
        fs::write(fixture.temp_dir.path().join("token"), "from-a-file\n").unwrap();
        let gateway = start_daemon(&fixture).await;
        let client = Client::new(&format!("http://{}/a2a", gateway.address())).unwrap();
        let result = client.send(user_message("hello")).await;
        assert!(matches!(result, Ok(SendMessageResponse::Message(_))), "{result:?}");
        let request = recorder.find_request("POST /a2a").to_ascii_lowercase();
        for header in expected.iter().chain(&["user-agent: example/1.0\r\n"]) {
            assert!(request.contains(header), "{header}: {request}");
        }
        let token = recorder.find_request("POST /token");
        assert_eq!(
            token.contains("grant_type=client_credentials"),
            keys.contains("oauth"),
            "{token}"
        );
    }
}
