//! Connections with TLS, and callers that show certificates.

use std::time::{Duration, Instant};

use latimer_protocol::Secret;
use latimer_server::{
    Agent, AnyOf, Certificates, ClientCertificates, HttpLimits, Keys, Server, Settings, Tls, Turn,
};
use serde_json::json;
use tempfile::TempDir;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;

use super::certificates::{Authority, Secured};
use crate::support::{Caller, Log, Site, send, site};

/// Says who asks.
fn who() -> Server {
    Server::new(Agent::from_fn("who", |turn: Turn| async move {
        let caller = turn.caller();
        turn.say(format!("{} [{}]", caller.id(), caller.scopes().join(" "))).await
    }))
}

struct World {
    folder: TempDir,
    authority: Authority,
    site: Site,
}

/// A server that callers' certificates are asked for.
async fn world(rule: ClientCertificates, server: Server) -> World {
    let folder = TempDir::new().unwrap();
    let authority = Authority::new("ours");
    let roots = folder.path().join("callers.pem");
    std::fs::write(&roots, authority.pem()).unwrap();
    let tls = authority.server("server").write(folder.path()).client_ca(roots, rule);
    World { site: site(server.tls(tls)).await, folder, authority }
}

fn said(answer: &crate::support::Answer) -> String {
    answer.json()["result"]["message"]["parts"][0]["text"].as_str().unwrap_or_default().to_owned()
}

fn json_caller(site: &Site) -> Caller {
    site.v1().with("content-type", "application/json")
}

#[tokio::test]
async fn only_certificates_of_the_right_authority_connect() {
    let method = Certificates::default().with_scopes(["read"]);
    let World { authority, site, folder } =
        world(ClientCertificates::Required, who().authenticate(method)).await;
    let caller = json_caller(&site);
    let hello = send("SendMessage", "hi");
    let (good, expired) = (authority.caller("alice"), authority.expired("alice"));
    let foreign = Authority::new("ours").caller("alice");
    let server = authority.server("alice");
    let known = Secured::new(&caller, &authority, Some(&good));
    assert_eq!(said(&known.post("/a2a", &hello).await.unwrap()), "cert:CN=alice [read]");
    for (what, own) in [
        ("foreign", Some(&foreign)),
        ("expired", Some(&expired)),
        ("a server's", Some(&server)),
        ("none", None),
    ] {
        let answer = Secured::new(&caller, &authority, own).post("/a2a", &hello).await;
        assert!(answer.is_err(), "{what}: {answer:?}");
    }
    let card = known.get("/.well-known/agent-card.json").await.unwrap().json();
    assert_eq!(card["securitySchemes"], json!({"mtls": {"mtlsSecurityScheme": {}}}));
    assert_eq!(card["securityRequirements"], json!([{"schemes": {"mtls": {}}}]));
    drop(folder);
}

#[tokio::test]
async fn where_certificates_are_optional_something_else_may_do() {
    let keys = Keys::default().with_unnamed(&Secret::new("sesame"));
    // Behind routes of somebody's own, it is the same.
    let routes = axum::Router::new().route("/mine", axum::routing::get(|| async { "mine" }));
    let any = AnyOf::default().with(keys).with(Certificates::default());
    let World { authority, site, folder } =
        world(ClientCertificates::Optional, who().authenticate(any).routes(routes)).await;
    let hello = send("SendMessage", "hi");
    let caller = json_caller(&site);
    let nobody = Secured::new(&caller, &authority, None);
    let refused = nobody.post("/a2a", &hello).await.unwrap();
    assert_eq!((refused.status, refused.code()), (401, -31401));
    assert_eq!(nobody.get("/.well-known/agent-card.json").await.unwrap().status, 200);
    let own = authority.caller("alice");
    let known = Secured::new(&caller, &authority, Some(&own));
    assert_eq!(said(&known.post("/a2a", &hello).await.unwrap()), "cert:CN=alice []");
    let with_key = Secured::new(&caller.with("x-api-key", "sesame"), &authority, None);
    assert_eq!(said(&with_key.post("/a2a", &hello).await.unwrap()), "api-key [latimer:operator]");
    let foreign = Authority::new("theirs").caller("alice");
    let stranger = Secured::new(&caller, &authority, Some(&foreign));
    assert!(stranger.post("/a2a", &hello).await.is_err(), "a wrong one is worse than none");
    drop(folder);
}

#[tokio::test]
async fn both_versions_of_http_are_spoken_and_cards_say_https() {
    let folder = TempDir::new().unwrap();
    let authority = Authority::new("ours");
    let site = site(who().tls(authority.server("server").write(folder.path()))).await;
    for protocol in ["h2", "http/1.1"] {
        let caller = Secured::new(&site.v1(), &authority, None).speaking(protocol);
        let agreed =
            caller.connect().await.unwrap().get_ref().1.alpn_protocol().map(<[u8]>::to_vec);
        assert_eq!(agreed.as_deref(), Some(protocol.as_bytes()));
        let card = caller.get("/.well-known/agent-card.json").await.unwrap().json();
        let url = card["supportedInterfaces"][0]["url"].as_str().unwrap();
        assert!(url.starts_with("https://"), "{protocol}: {url}");
    }
    let plain = site.raw(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n", |_| false).await;
    assert!(!plain.contains("200"), "without TLS there is nothing: {plain}");
}

#[tokio::test]
async fn whoever_is_silent_holds_up_nobody_and_is_cut_off() {
    let folder = TempDir::new().unwrap();
    let authority = Authority::new("ours");
    let http = HttpLimits { header_time: Duration::from_secs(2), ..HttpLimits::default() };
    let server = who().settings(Settings { http, ..Settings::default() });
    let site = site(server.tls(authority.server("server").write(folder.path()))).await;
    let mut silent = TcpStream::connect(site.address).await.unwrap();
    let caller = Secured::new(&site.v1(), &authority, None);
    assert_eq!(caller.get("/health").await.unwrap().status, 200);
    let mut nothing = [0; 1];
    let cut = tokio::time::timeout(Duration::from_secs(20), silent.read(&mut nothing)).await;
    assert_eq!(cut.expect("in time").unwrap_or(0), 0);
}

/// Asks until the answer is what it is to be.
async fn until(mut done: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !done().await {
        assert!(began.elapsed() < Duration::from_secs(20), "it does not happen");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_certificate_that_changes_is_used_and_a_broken_one_is_not() {
    let folder = TempDir::new().unwrap();
    let log = Log::default();
    let _logging = log.begin();
    let authority = Authority::new("ours");
    let tls = authority.server("first").write(folder.path());
    let site = site(who().tls(tls.look_every(Duration::from_millis(20)))).await;
    let caller = Secured::new(&site.v1(), &authority, None);
    let first = caller.server().await;
    std::fs::write(folder.path().join("server.pem"), "no certificate").unwrap();
    until(async || !log.lines("cannot be used").is_empty()).await;
    assert_eq!(caller.server().await, first, "the last good one stays");
    assert_eq!(caller.get("/health").await.unwrap().status, 200);
    authority.server("second").write(folder.path());
    until(async || caller.server().await != first).await;
    assert_eq!(caller.get("/health").await.unwrap().status, 200);
    let second = caller.server().await;
    let new = TempDir::new_in(folder.path()).unwrap();
    authority.server("third").write(new.path());
    for name in ["server.pem", "server.key"] {
        std::fs::rename(new.path().join(name), folder.path().join(name)).unwrap();
    }
    until(async || caller.server().await != second).await;
}

#[tokio::test]
async fn files_that_cannot_be_used_are_named() {
    let folder = TempDir::new().unwrap();
    let authority = Authority::new("ours");
    let good = authority.server("server");
    let other = authority.server("other");
    let path = |name: &str| folder.path().join(name);
    good.write(folder.path());
    std::fs::write(path("other.key"), other.key).unwrap();
    std::fs::write(path("empty"), "").unwrap();
    let roots = |tls: Tls, name: &str| tls.client_ca(path(name), ClientCertificates::Required);
    let of = |certificate: &str, key: &str| Tls::new(path(certificate), path(key));
    for (tls, setting) in [
        (of("nothing", "server.key"), "tls.certificate"),
        (of("empty", "server.key"), "tls.certificate"),
        (of("server.pem", "nothing"), "tls.key"),
        (of("server.pem", "empty"), "tls.key"),
        (of("server.pem", "other.key"), "tls.certificate"),
        (roots(of("server.pem", "server.key"), "empty"), "tls.client_ca"),
    ] {
        let error = tls.check().unwrap_err().to_string();
        assert!(error.starts_with(setting), "{error}");
        let error = who().bind("127.0.0.1:0").tls(tls).listen().await.unwrap_err().to_string();
        assert!(error.starts_with(setting), "{error}");
    }
    assert!(of("server.pem", "server.key").check().is_ok());
}
