//! Authentication, access rules and TLS of a configured daemon.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;

use latimer_daemon::{Daemon, StartError, hash_key, validate};
use latimer_server::{Access, JwtSettings};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::fixture::ConfigFixture;
use crate::serving::{ECHO_AGENT, HELLO, config_fixture, http_request, send_raw, start_daemon};

async fn send_hello(address: SocketAddr, path: &str, headers: &str) -> (u16, String) {
    send_raw(address, hello_request(path, headers)).await
}

fn hello_request(path: &str, headers: &str) -> String {
    let length = HELLO.len();
    format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{HELLO}"
    )
}

fn named_keys() -> String {
    let key = |name: &str, scopes: &str| {
        let digest = hash_key(name);
        format!("[[auth.keys]]\nname = \"{name}\"\nsha256 = \"{digest}\"\nscopes = [{scopes}]\n")
    };
    format!("{}{}", key("ann", "\"deploy\""), key("bob", ""))
}

#[tokio::test(flavor = "multi_thread")]
async fn named_keys_authenticate_separate_callers() {
    let closed = "[[agents]]\nname = \"closed\"\nkind = \"echo\"\n\
                  allow = { principals = [\"key:ann\", \"api-key\"], scopes = [\"deploy\"] }\n";
    let text = format!("api_key = \"sesame\"\n{ECHO_AGENT}{closed}{}", named_keys());
    let daemon = start_daemon(&config_fixture(&text)).await;
    for (key, open, closed) in
        [("sesame", 200, 403), ("ann", 200, 200), ("bob", 200, 403), ("eve", 401, 401)]
    {
        let header = format!("X-API-Key: {key}\r\n");
        assert_eq!(send_hello(daemon.address(), "/a2a", &header).await.0, open, "{key}");
        let (status, body) = send_hello(daemon.address(), "/a2a/agents/closed", &header).await;
        assert_eq!(status, closed, "{key}: {body}");
    }
    let (_, card) = http_request(daemon.address(), "GET /.well-known/agent-card.json", "").await;
    assert!(card.contains("apiKeyHeader") && card.contains("X-API-Key"), "{card}");
}

#[tokio::test(flavor = "multi_thread")]
async fn public_paths_and_card_auth_are_enforced() {
    let text = "api_key = \"sesame\"\npublic_paths = [\"/a2a\"]\ncard_requires_auth = true\n";
    let daemon = start_daemon(&config_fixture(&format!("{text}{ECHO_AGENT}"))).await;
    let address = daemon.address();
    assert_eq!(send_hello(address, "/a2a", "").await.0, 200);
    assert_eq!(send_hello(address, "/a2a", "X-API-Key: wrong\r\n").await.0, 401);
    assert_eq!(send_hello(address, "/", "").await.0, 401);
    for (path, want) in [
        ("/.well-known/agent-card.json", 401),
        ("/metrics", 401),
        ("/health", 200),
        ("/ready", 200),
    ] {
        assert_eq!(http_request(address, &format!("GET {path}"), "").await.0, want, "{path}");
    }
    let off =
        start_daemon(&config_fixture(&format!("[server]\nmetrics = false\n{ECHO_AGENT}"))).await;
    assert_eq!(http_request(off.address(), "GET /metrics", "").await.0, 404);
    let on = start_daemon(&config_fixture(ECHO_AGENT)).await;
    assert_eq!(
        http_request(on.address(), "GET /metrics", "").await.0,
        200,
        "requests from this machine need no key"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn remote_listen_requires_an_auth_method() {
    let jwt = "[auth.jwt]\nissuer = \"https://login.example\"\naudience = [\"latimer\"]\n";
    for (text, want) in [
        (String::new(), false),
        ("api_key = \"sesame\"\n".into(), true),
        (named_keys(), true),
        (jwt.to_owned(), true),
        ("dangerously_allow_unauthenticated_remote = true\n".into(), true),
        ("public_paths = [\"/metrics\"]\n".into(), false),
        ("api_key = \"sesame\"\npublic_paths = [\"/*\"]\n".into(), false),
    ] {
        let fixture = ConfigFixture::with_config(&format!("{text}{ECHO_AGENT}")).with_flag(
            "--listen",
            "listen",
            "0.0.0.0:0",
        );
        let fixture = fixture.with_env_var("LATIMER__STORE__KIND", "memory");
        let loaded = fixture.load().unwrap();
        let warning = "all anonymous callers share one identity";
        let warns = loaded.warnings.iter().any(|it| it.to_string().contains(warning));
        assert_eq!(warns, text.contains("dangerously"), "{text}");
        let config = loaded.config;
        let checked = validate(&config).await;
        assert_eq!(checked.is_ok(), want, "{text}");
        match Daemon::start(&config).await {
            Ok(_) => assert!(want, "{text}"),
            Err(error) => {
                assert!(
                    !want && matches!(error, StartError::UnauthenticatedRemote { .. }),
                    "{error}"
                );
                let hint = error.hint().unwrap();
                for key in [
                    "`api_key`",
                    "[[auth.keys]]",
                    "[auth.jwt]",
                    "tls.client_ca",
                    "dangerously_allow_unauthenticated_remote",
                ] {
                    assert!(hint.contains(key), "{hint}");
                }
            }
        }
    }
}

#[test]
fn jwt_and_access_settings_are_loaded() {
    let text = format!(
        "{ECHO_AGENT}allow.scopes = [\"deploy\"]\n[auth.jwt]\nissuer = \"https://login.example\"\n\
         audience = [\"a\", \"b\"]\njwks_url = \"https://login.example/keys?x=1\"\n\
         algorithms = [\"ES256\"]\nleeway = \"5s\"\nscopes = [\"s\"]\n\
         principal_claim = \"client_id\"\nkeys_max_age = \"1h\"\njwks_max_stale = \"2h\"\n"
    );
    let config = ConfigFixture::with_config(&text).load().unwrap().config;
    let mut want = JwtSettings::new("https://login.example", "a");
    want.audiences.push("b".into());
    want.keys_url = Some("https://login.example/keys?x=1".into());
    want.algorithms = vec!["ES256".parse().unwrap()];
    want.leeway = std::time::Duration::from_secs(5);
    want.scopes = vec!["s".into()];
    want.principal_claim = "client_id".into();
    want.keys_max_age = std::time::Duration::from_secs(3600);
    want.keys_max_stale = std::time::Duration::from_secs(7200);
    assert_eq!(config.auth.jwt, Some(want));
    let access = Access { scopes: vec!["deploy".into()], ..Access::default() };
    assert_eq!(config.agents[0].access(), access);
    let defaults = ConfigFixture::with_config(
        "[auth.jwt]\nissuer = \"https://x.example\"\naudience = [\"a\"]\n",
    );
    let defaults = defaults.load().unwrap().config.auth.jwt.unwrap();
    assert_eq!(
        defaults,
        JwtSettings::new("https://x.example", "a"),
        "the defaults differ from those of the library"
    );
}

#[test]
fn invalid_auth_settings_are_reported_without_keys() {
    let key = |name: &str, digest: &str| {
        format!("[[auth.keys]]\nname = \"{name}\"\nsha256 = \"{digest}\"\n")
    };
    let digest = hash_key("x");
    let jwt = |more: &str| format!("[auth.jwt]\nissuer = \"https://x.example\"\n{more}\n");
    for (text, want) in [
        (key("ci", "open sesame"), "is not 64 hexadecimal digits"),
        (key("", &digest), "`name` of an API key is empty"),
        (format!("{}{}", key("a", &digest), key("a", &hash_key("y"))), "two API keys named \"a\""),
        (format!("{}{}", key("a", &digest), key("b", &digest)), "duplicates another key"),
        (jwt(""), "`auth.jwt.audience`"),
        (jwt("audience = [\"a\"]\nalgorithms = [\"HS256\"]"), "\"HS256\" is not one of RS256"),
        (jwt("audience = [\"a\"]\nalgorithms = [\"none\"]"), "\"none\" is not one of RS256"),
        (jwt("audience = [\"a\"]\nleeway = \"2h\""), "`auth.jwt.leeway`"),
        ("[auth.jwt]\naudience = [\"a\"]\n".into(), "needs `issuer`"),
        (
            "[auth.jwt]\nissuer = \"http://x.example\"\naudience = [\"a\"]\n".into(),
            "must begin with https://",
        ),
        ("[tls]\nkey = \"k\"\n".into(), "needs `certificate`"),
        ("[tls]\ncertificate = \"c\"\n".into(), "needs `key`"),
        ("[tls]\nclient_ca = \"c\"\n".into(), "needs `certificate`"),
        ("[tls]\nclient_name = \"serial\"\n".into(), "tls.client_name"),
        ("public_paths = [\"metrics\"]\n".into(), "\"metrics\" does not start with `/`"),
        ("card_requires_auth = true\n".into(), "no authentication is configured"),
        (format!("{ECHO_AGENT}allow.scopes = [\"x\"]\n"), "rejects every caller of agent"),
    ] {
        let error = ConfigFixture::with_config(&text).load().unwrap_err().to_string();
        assert!(error.contains(want), "{text}\n{error}");
        assert!(!error.contains("sesame"), "{error}");
    }
}

#[test]
fn key_digests_are_redacted() {
    let loaded = ConfigFixture::with_config(&named_keys()).load().unwrap();
    let settings = loaded.effective_settings();
    let digest = settings.iter().find(|it| it.key == "auth.keys[0].sha256").unwrap();
    assert_eq!(digest.value, "\"(hidden)\"");
    assert!(!format!("{:?}", loaded.config).contains(&hash_key("ann")));
}

/// Writes an authority, and a server and a client certificate that it signed.
fn write_certificates(directory: &Path) {
    let params_for = |name: &str, alternatives: Vec<String>| {
        let mut params = CertificateParams::new(alternatives).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params
    };
    let mut params = params_for("authority", vec![]);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    std::fs::write(directory.join("ca.pem"), authority.pem()).unwrap();
    for (name, alternatives) in [("server", vec!["localhost".to_owned()]), ("caller", vec![])] {
        let key = KeyPair::generate().unwrap();
        let certificate = params_for(name, alternatives).signed_by(&key, &authority).unwrap();
        std::fs::write(directory.join(format!("{name}.pem")), certificate.pem()).unwrap();
        std::fs::write(directory.join(format!("{name}.key")), key.serialize_pem()).unwrap();
    }
}

/// Sends a request over TLS and returns the response.
fn tls_request(
    address: SocketAddr,
    directory: &Path,
    with_certificate: bool,
    request: &str,
) -> std::io::Result<String> {
    let pem = |name: &str| CertificateDer::from_pem_file(directory.join(name)).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(pem("ca.pem")).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider);
    let config = config.with_safe_default_protocol_versions().unwrap();
    let config = config.with_root_certificates(roots);
    let key = || PrivateKeyDer::from_pem_file(directory.join("caller.key")).unwrap();
    let config = match with_certificate {
        true => config.with_client_auth_cert(vec![pem("caller.pem")], key()).unwrap(),
        false => config.with_no_client_auth(),
    };
    let name = ServerName::try_from("localhost").unwrap();
    let session = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut stream = StreamOwned::new(session, TcpStream::connect(address)?);
    stream.write_all(request.as_bytes())?;
    let mut response = Vec::new();
    stream.read_to_end(&mut response)?;
    Ok(String::from_utf8(response).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn client_certificates_authenticate_callers() {
    let text =
        "[tls]\ncertificate = \"server.pem\"\nkey = \"server.key\"\nclient_ca = \"ca.pem\"\n";
    let closed = "[agents.allow]\nprincipals = [\"cert:CN=caller\"]\n";
    let fixture = config_fixture(&format!("{ECHO_AGENT}{closed}{text}"));
    write_certificates(fixture.temp_dir.path());
    let config = fixture.load().unwrap().config;
    validate(&config).await.unwrap();
    let daemon = start_daemon(&fixture).await;
    let banner = daemon.banner();
    assert!(banner.a2a_url.as_deref().unwrap().starts_with("https://"), "{banner:?}");
    let (address, directory) = (daemon.address(), fixture.temp_dir.path().to_owned());
    let responses = tokio::task::spawn_blocking(move || {
        [true, false].map(|with_certificate| {
            tls_request(address, &directory, with_certificate, &hello_request("/a2a", ""))
        })
    });
    let [authenticated, anonymous] = responses.await.unwrap();
    assert!(authenticated.as_ref().unwrap().starts_with("HTTP/1.1 200"), "{authenticated:?}");
    assert!(anonymous.is_err(), "{anonymous:?}");
    std::fs::write(fixture.temp_dir.path().join("server.key"), "no key").unwrap();
    let error = validate(&config).await.unwrap_err();
    assert!(error.is_config_error() && error.to_string().contains("tls.key"), "{error}");
}
