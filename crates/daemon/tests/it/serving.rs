//! Endpoints of a running daemon.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use latimer_daemon::{Daemon, StartError};
use latimer_protocol::card::{JwsAlgorithm, KeySet, VerifyPolicy, verify};
use serde_json::Value;

use crate::fixture::ConfigFixture;

/// Creates a configuration that listens on a free port and stores tasks in memory.
pub(crate) fn config_fixture(text: &str) -> ConfigFixture {
    let fixture = ConfigFixture::with_config(text).with_flag("--listen", "listen", "127.0.0.1:0");
    fixture.with_env_var("LATIMER__STORE__KIND", "memory")
}

pub(crate) async fn start_daemon(fixture: &ConfigFixture) -> Daemon {
    Daemon::start(&fixture.load().unwrap().config).await.unwrap()
}

/// Sends an HTTP request and returns the status and body of the response.
pub(crate) async fn http_request(address: SocketAddr, head: &str, body: &str) -> (u16, String) {
    let length = body.len();
    let request = format!(
        "{head} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    send_raw(address, request).await
}

pub(crate) async fn send_raw(address: SocketAddr, request: String) -> (u16, String) {
    let response = tokio::task::spawn_blocking(move || {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        response
    });
    let response = response.await.unwrap();
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

pub(crate) const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"hello"}]}}}"#;

pub(crate) const ECHO_AGENT: &str = "[[agents]]\nname = \"echo\"\nkind = \"echo\"\n";

#[tokio::test(flavor = "multi_thread")]
async fn agents_reply_at_their_urls() {
    let text = format!(
        "{ECHO_AGENT}[[agents]]\nname = \"shout\"\nkind = \"command\"\ncommand = [\"tr\", \"a-z\", \"A-Z\"]\n"
    );
    let daemon = start_daemon(&config_fixture(&text)).await;
    for (path, want) in
        [("/a2a", "hello"), ("/a2a/agents/echo", "hello"), ("/a2a/agents/shout", "HELLO\\n")]
    {
        let (status, body) = http_request(daemon.address(), &format!("POST {path}"), HELLO).await;
        assert_eq!(status, 200, "{path}");
        assert!(body.contains(&format!(r#"{{"text":"{want}"}}"#)), "{path}: {body}");
    }
    let (status, body) = http_request(daemon.address(), "GET /a2a/agents", "").await;
    assert!(status == 200 && body.contains("shout"), "{body}");
    daemon.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn streaming_can_be_disabled_per_agent() {
    let no_streaming = "[[agents]]\nname = \"quiet\"\nkind = \"echo\"\nstreaming = false\n";
    let daemon = start_daemon(&config_fixture(&format!("{ECHO_AGENT}{no_streaming}"))).await;
    for (name, want) in [("quiet", "-32004"), ("echo", "TASK_STATE_COMPLETED")] {
        let hello = HELLO.replace("SendMessage", "SendStreamingMessage");
        let (_, body) =
            http_request(daemon.address(), &format!("POST /a2a/agents/{name}"), &hello).await;
        assert!(body.contains(want), "{name}: {body}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a2a_endpoints_reflect_the_serving_state() {
    for (text, call_status, health_status) in [
        ("[log]\nfilter = \"warn\"", 404, 200),
        ("[a2a]\nenabled = false\n[[agents]]\nname = \"echo\"\nkind = \"echo\"", 503, 200),
        (ECHO_AGENT, 200, 200),
    ] {
        let daemon = start_daemon(&config_fixture(text)).await;
        for path in ["/a2a", "/", "/v1/rpc"] {
            let (status, body) =
                http_request(daemon.address(), &format!("POST {path}"), HELLO).await;
            assert_eq!(status, call_status, "{text}: {path}: {body}");
        }
        let (status, _) = http_request(daemon.address(), "GET /health", "").await;
        assert_eq!(status, health_status, "{text}");
        let (status, _) =
            http_request(daemon.address(), "GET /.well-known/agent-card.json", "").await;
        assert_eq!(status == 404, call_status == 404, "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn api_key_is_required_except_for_cards_and_health() {
    let daemon =
        start_daemon(&config_fixture(&format!("api_key = \"sesame\"\n{ECHO_AGENT}"))).await;
    let address = daemon.address();
    let (status, _) = http_request(address, "POST /a2a", HELLO).await;
    assert_eq!(status, 401);
    for (key, want) in [("sesame", 200), ("sesam", 401)] {
        let length = HELLO.len();
        let request = format!(
            "POST /a2a HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {key}\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{HELLO}"
        );
        assert_eq!(send_raw(address, request).await.0, want, "{key}");
    }
    for path in ["/.well-known/agent-card.json", "/.well-known/agent.json", "/health", "/ready"] {
        assert_eq!(http_request(address, &format!("GET {path}"), "").await.0, 200, "{path}");
    }
    let (_, card) = http_request(address, "GET /.well-known/agent-card.json", "").await;
    assert!(card.contains("securitySchemes"), "{card}");
}

#[tokio::test(flavor = "multi_thread")]
async fn card_without_agents_lists_no_skills() {
    let daemon = start_daemon(&config_fixture("[a2a]\nenabled = true")).await;
    let (status, body) = http_request(daemon.address(), "GET /.well-known/agent.json", "").await;
    assert!(status == 200 && body.contains("\"skills\":[]"), "{body}");
}

#[tokio::test(flavor = "multi_thread")]
async fn custom_listen_path_replaces_the_default() {
    let daemon = start_daemon(&config_fixture(&format!(
        "[a2a]\nlisten_path = \"/agents/api\"\n{ECHO_AGENT}"
    )))
    .await;
    for (path, want) in [("/agents/api", 200), ("/a2a", 404)] {
        assert_eq!(
            http_request(daemon.address(), &format!("POST {path}"), HELLO).await.0,
            want,
            "{path}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn remote_listen_requires_key_or_explicit_opt_out() {
    let with_echo = |rest: &str| ConfigFixture::with_config(&format!("{rest}\n{ECHO_AGENT}"));
    let listen_on_all = |fixture: ConfigFixture| {
        let fixture = fixture.with_flag("--listen", "listen", "0.0.0.0:0");
        fixture.with_env_var("LATIMER__STORE__KIND", "memory")
    };
    for (text, want) in [
        ("", false),
        ("api_key = \"\"", false),
        ("api_key = \"sesame\"", true),
        ("dangerously_allow_unauthenticated_remote = true", true),
    ] {
        let fixture = listen_on_all(with_echo(text));
        let started = Daemon::start(&fixture.load().unwrap().config).await;
        assert_eq!(started.is_ok(), want, "{text}");
    }
    let fixture = with_echo("").with_flag("--listen", "listen", "localhost:0");
    let fixture = fixture.with_env_var("LATIMER__STORE__KIND", "memory");
    assert!(Daemon::start(&fixture.load().unwrap().config).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn locked_store_error_names_the_holder() {
    let fixture =
        ConfigFixture::with_config(ECHO_AGENT).with_flag("--listen", "listen", "127.0.0.1:0");
    let config = fixture.load().unwrap().config;
    let first = Daemon::start(&config).await.unwrap();
    let error = Daemon::start(&config).await.expect_err("in use");
    let pid = std::process::id();
    assert!(matches!(error, StartError::Store(_)) && !error.is_config_error());
    assert!(error.to_string().contains(&format!("process {pid}")), "{error}");
    first.shutdown().await;
    Daemon::start(&config).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn cards_are_signed_and_all_keys_are_published() {
    let text =
        format!("{ECHO_AGENT}[signing]\nkey = \"new.pem\"\npublish = [\"keys/former.pem\"]\n");
    let fixture = config_fixture(&text);
    let directory = fixture.temp_dir.path();
    std::fs::create_dir(directory.join("keys")).unwrap();
    for name in ["new.pem", "keys/former.pem"] {
        let key = latimer_server::generate_key(JwsAlgorithm::EdDsa).unwrap();
        std::fs::write(directory.join(name), key.reveal()).unwrap();
    }
    let daemon = start_daemon(&fixture).await;
    let (_, keys) = http_request(daemon.address(), "GET /.well-known/jwks.json", "").await;
    let keys: Value = serde_json::from_str(&keys).unwrap();
    assert_eq!(keys["keys"].as_array().unwrap().len(), 2);
    let address = daemon.address();
    let request = format!(
        "GET /.well-known/agent-card.json HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
    );
    let card: Value = serde_json::from_str(&send_raw(address, request).await.1).unwrap();
    let keys = KeySet::from_jwks(&keys).unwrap();
    assert!(verify(&card, &keys, &VerifyPolicy::default()).is_ok(), "{card}");
}

#[tokio::test(flavor = "multi_thread")]
async fn unusable_signing_keys_fail_validation_and_start() {
    for (text, want) in [
        ("[signing]\nkey = \"missing.pem\"\n", "cannot read key file"),
        ("[signing]\nkey = \"latimer.toml\"\n", "the key is malformed"),
    ] {
        let fixture = config_fixture(&format!("{ECHO_AGENT}{text}"));
        let config = fixture.load().unwrap().config;
        for error in [
            latimer_daemon::validate(&config).await.unwrap_err(),
            Daemon::start(&config).await.unwrap_err(),
        ] {
            assert!(error.to_string().contains(want), "{error}");
            assert!(error.is_config_error());
        }
    }
    let publish_only =
        config_fixture(&format!("{ECHO_AGENT}[signing]\npublish = [\"former.pem\"]\n"));
    let error = publish_only.load().unwrap_err().to_string();
    assert!(error.contains("`signing.publish` needs `signing.key`"), "{error}");
}
