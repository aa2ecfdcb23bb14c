//! TLS, and authentication by client certificate.

use std::time::{Duration, Instant};

use latimer_protocol::Secret;
use latimer_server::{
    Agent, AnyOf, ApiKeys, CertificateAuth, ClientCertificateMode, HttpLimits, JwtAuth,
    JwtSettings, Server, Settings, Tls, Turn,
};
use serde_json::json;
use tempfile::TempDir;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;

use super::certificates::{CertificateAuthority, TlsClient};
use crate::support::{Log, TestClient, TestServer, send_body, start_server};

/// Creates an agent that replies with its caller.
fn identity_server() -> Server {
    let agent = Agent::from_fn("who", |turn: Turn| async move {
        let caller = turn.caller();
        turn.direct_reply(format!("{} [{}]", caller.id(), caller.scopes().join(" "))).await
    });
    Server::new(agent.with_direct_replies())
}

struct TlsFixture {
    directory: TempDir,
    authority: CertificateAuthority,
    server: TestServer,
}

/// Starts a server that requests client certificates.
async fn tls_fixture(mode: ClientCertificateMode, server: Server) -> TlsFixture {
    let directory = TempDir::new().unwrap();
    let authority = CertificateAuthority::new("trusted CA");
    let roots = directory.path().join("callers.pem");
    std::fs::write(&roots, authority.pem()).unwrap();
    let tls = authority.server("server").write(directory.path()).client_ca(roots, mode);
    TlsFixture { server: start_server(server.tls(tls)).await, directory, authority }
}

fn reply_text(response: &crate::support::TestResponse) -> String {
    response.json()["result"]["message"]["parts"][0]["text"].as_str().unwrap_or_default().to_owned()
}

fn json_client(server: &TestServer) -> TestClient {
    server.v1().with_header("content-type", "application/json")
}

#[tokio::test]
async fn only_certificates_of_the_configured_ca_can_connect() {
    let method = CertificateAuth::default().with_scopes(["read"]);
    let TlsFixture { authority, server, directory } =
        tls_fixture(ClientCertificateMode::Required, identity_server().authenticate(method)).await;
    let caller = json_client(&server);
    let hello = send_body("SendMessage", "hi");
    let (good, expired) = (authority.client("alice"), authority.expired_client("alice"));
    let foreign = CertificateAuthority::new("trusted CA").client("alice");
    let server_identity = authority.server("alice");
    let authenticated = TlsClient::new(&caller, &authority, Some(&good));
    assert_eq!(
        reply_text(&authenticated.post("/a2a", &hello).await.unwrap()),
        "cert:CN=alice [read]"
    );
    for (what, identity) in [
        ("foreign", Some(&foreign)),
        ("expired", Some(&expired)),
        ("a server's", Some(&server_identity)),
        ("none", None),
    ] {
        let response = TlsClient::new(&caller, &authority, identity).post("/a2a", &hello).await;
        assert!(response.is_err(), "{what}: {response:?}");
    }
    let card = authenticated.get("/.well-known/agent-card.json").await.unwrap().json();
    assert_eq!(card["securitySchemes"], json!({"mtls": {"mtlsSecurityScheme": {}}}));
    assert_eq!(card["securityRequirements"], json!([{"schemes": {"mtls": {}}}]));
    drop(directory);
}

#[tokio::test]
async fn optional_client_certificates_allow_an_api_key() {
    let keys = ApiKeys::default().with_operator_key(&Secret::new("sesame"));
    // Merged routes do not change the authentication.
    let routes = axum::Router::new().route("/mine", axum::routing::get(|| async { "mine" }));
    let any = AnyOf::default().with(keys).with(CertificateAuth::default());
    let TlsFixture { authority, server, directory } = tls_fixture(
        ClientCertificateMode::Optional,
        identity_server().authenticate(any).merge_routes(routes),
    )
    .await;
    let hello = send_body("SendMessage", "hi");
    let caller = json_client(&server);
    let anonymous = TlsClient::new(&caller, &authority, None);
    let refused = anonymous.post("/a2a", &hello).await.unwrap();
    assert_eq!((refused.status, refused.rpc_error_code()), (401, -31401));
    assert_eq!(anonymous.get("/.well-known/agent-card.json").await.unwrap().status, 200);
    let identity = authority.client("alice");
    let authenticated = TlsClient::new(&caller, &authority, Some(&identity));
    assert_eq!(reply_text(&authenticated.post("/a2a", &hello).await.unwrap()), "cert:CN=alice []");
    let with_key = TlsClient::new(&caller.with_header("x-api-key", "sesame"), &authority, None);
    assert_eq!(
        reply_text(&with_key.post("/a2a", &hello).await.unwrap()),
        "api-key [latimer:operator]"
    );
    let foreign = CertificateAuthority::new("foreign CA").client("alice");
    let untrusted = TlsClient::new(&caller, &authority, Some(&foreign));
    assert!(
        untrusted.post("/a2a", &hello).await.is_err(),
        "an untrusted certificate is rejected, a missing one is not"
    );
    drop(directory);
}

#[tokio::test]
async fn every_presented_credential_must_be_accepted() {
    let keys = ApiKeys::default().with_operator_key(&Secret::new("sesame"));
    let jwt = JwtAuth::new(JwtSettings::new("https://login.example.com", "latimer")).unwrap();
    for (order, any) in [
        (
            "certificates first",
            AnyOf::default().with(CertificateAuth::default()).with(keys.clone()),
        ),
        ("keys first", AnyOf::default().with(keys.clone()).with(CertificateAuth::default())),
        ("keys and tokens", {
            AnyOf::default().with(jwt).with(keys.clone()).with(CertificateAuth::default())
        }),
    ] {
        let fixture =
            tls_fixture(ClientCertificateMode::Optional, identity_server().authenticate(any)).await;
        let identity = fixture.authority.client("alice");
        let hello = send_body("SendMessage", "hi");
        for (header, value, identity, want) in [
            ("x-api-key", "sesame", Some(&identity), 200),
            ("authorization", "Bearer sesame", Some(&identity), 200),
            ("authorization", "Bearer sesame", None, 200),
            ("x-api-key", "wrong", Some(&identity), 401),
            ("authorization", "Bearer wrong", Some(&identity), 401),
            ("authorization", "Bearer wrong", None, 401),
            ("x-other", "unread", Some(&identity), 200),
        ] {
            let caller = json_client(&fixture.server).with_header(header, value);
            let caller = TlsClient::new(&caller, &fixture.authority, identity);
            let status = caller.post("/a2a", &hello).await.unwrap().status;
            let has_certificate = identity.is_some();
            assert_eq!(status, want, "{order}: {header}: {value}, certificate {has_certificate}");
        }
        drop(fixture);
    }
}

#[tokio::test]
async fn tls_serves_http1_and_http2_with_https_card_urls() {
    let directory = TempDir::new().unwrap();
    let authority = CertificateAuthority::new("trusted CA");
    let server =
        start_server(identity_server().tls(authority.server("server").write(directory.path())))
            .await;
    for protocol in ["h2", "http/1.1"] {
        let caller = TlsClient::new(&server.v1(), &authority, None).with_alpn(protocol);
        let agreed =
            caller.connect().await.unwrap().get_ref().1.alpn_protocol().map(<[u8]>::to_vec);
        assert_eq!(agreed.as_deref(), Some(protocol.as_bytes()));
        let card = caller.get("/.well-known/agent-card.json").await.unwrap().json();
        let url = card["supportedInterfaces"][0]["url"].as_str().unwrap();
        assert!(url.starts_with("https://"), "{protocol}: {url}");
    }
    let plain = server.send_raw(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n", |_| false).await;
    assert!(!plain.contains("200"), "plain HTTP is not served: {plain}");
}

#[tokio::test]
async fn silent_client_is_disconnected_and_blocks_no_other() {
    let directory = TempDir::new().unwrap();
    let authority = CertificateAuthority::new("trusted CA");
    let http = HttpLimits { header_timeout: Duration::from_secs(2), ..HttpLimits::default() };
    let server = identity_server().settings(Settings { http, ..Settings::default() });
    let server = start_server(server.tls(authority.server("server").write(directory.path()))).await;
    let mut silent = TcpStream::connect(server.address).await.unwrap();
    let caller = TlsClient::new(&server.v1(), &authority, None);
    assert_eq!(caller.get("/health").await.unwrap().status, 200);
    let mut buffer = [0; 1];
    let read = tokio::time::timeout(Duration::from_secs(20), silent.read(&mut buffer)).await;
    assert_eq!(read.expect("closed within the timeout").unwrap_or(0), 0);
}

/// Waits until a condition holds, and panics after 20 seconds.
async fn wait_until(mut done: impl AsyncFnMut() -> bool) {
    let started = Instant::now();
    while !done().await {
        assert!(started.elapsed() < Duration::from_secs(20), "timed out");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn changed_certificate_is_reloaded_unless_broken() {
    let directory = TempDir::new().unwrap();
    let log = Log::default();
    let _logging = log.capture();
    let authority = CertificateAuthority::new("trusted CA");
    let tls = authority.server("first").write(directory.path());
    let server =
        start_server(identity_server().tls(tls.reload_interval(Duration::from_millis(20)))).await;
    let caller = TlsClient::new(&server.v1(), &authority, None);
    let first = caller.server_certificate().await;
    std::fs::write(directory.path().join("server.pem"), "no certificate").unwrap();
    wait_until(async || !log.lines_containing("certificate reload failed").is_empty()).await;
    assert_eq!(caller.server_certificate().await, first, "the last valid certificate stays in use");
    assert_eq!(caller.get("/health").await.unwrap().status, 200);
    authority.server("second").write(directory.path());
    wait_until(async || caller.server_certificate().await != first).await;
    assert_eq!(caller.get("/health").await.unwrap().status, 200);
    let second = caller.server_certificate().await;
    let new = TempDir::new_in(directory.path()).unwrap();
    authority.server("third").write(new.path());
    for name in ["server.pem", "server.key"] {
        std::fs::rename(new.path().join(name), directory.path().join(name)).unwrap();
    }
    wait_until(async || caller.server_certificate().await != second).await;
}

#[tokio::test]
async fn unusable_tls_file_is_named_in_the_error() {
    let directory = TempDir::new().unwrap();
    let authority = CertificateAuthority::new("trusted CA");
    let good = authority.server("server");
    let other = authority.server("other");
    let path = |name: &str| directory.path().join(name);
    good.write(directory.path());
    std::fs::write(path("other.key"), other.key).unwrap();
    std::fs::write(path("empty"), "").unwrap();
    let roots = |tls: Tls, name: &str| tls.client_ca(path(name), ClientCertificateMode::Required);
    let tls_files = |certificate: &str, key: &str| Tls::new(path(certificate), path(key));
    for (tls, setting) in [
        (tls_files("nothing", "server.key"), "tls.certificate"),
        (tls_files("empty", "server.key"), "tls.certificate"),
        (tls_files("server.pem", "nothing"), "tls.key"),
        (tls_files("server.pem", "empty"), "tls.key"),
        (tls_files("server.pem", "other.key"), "tls.certificate"),
        (roots(tls_files("server.pem", "server.key"), "empty"), "tls.client_ca"),
    ] {
        let error = tls.check().unwrap_err().to_string();
        assert!(error.starts_with(setting), "{error}");
        let error =
            identity_server().bind("127.0.0.1:0").tls(tls).listen().await.unwrap_err().to_string();
        assert!(error.starts_with(setting), "{error}");
    }
    assert!(tls_files("server.pem", "server.key").check().is_ok());
}
