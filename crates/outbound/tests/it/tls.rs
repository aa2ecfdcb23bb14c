//! TLS: whom the client believes, what it shows, and what is spoken over it.

use std::sync::Arc;

use http::Version;
use latimer_outbound::{Client, Failure, Guard, InvalidTls, Rules};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::RootCertStore;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::PrivateKeyDer;
use rustls::server::WebPkiClientVerifier;

use crate::support::{Answer, Bench, Listener, Tls, allowing};

/// An authority that nobody knows but these tests.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("parameters");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        Self(CertifiedIssuer::self_signed(params, key).expect("a certificate"))
    }

    fn pem(&self) -> String {
        self.0.pem()
    }

    fn issue(&self, name: &str) -> (rcgen::Certificate, KeyPair) {
        let params = CertificateParams::new(vec![name.to_owned()]).expect("parameters");
        let key = KeyPair::generate().expect("a key");
        (params.signed_by(&key, &self.0).expect("a certificate"), key)
    }

    /// A server with a certificate for `name`; it may ask for one of this authority.
    fn server(&self, name: &str, asks: bool, alpn: &[&str]) -> Tls {
        let provider = Arc::new(default_provider());
        let (certificate, key) = self.issue(name);
        let builder = rustls::ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .expect("versions");
        let builder = if asks {
            let mut roots = RootCertStore::empty();
            roots.add(self.0.der().clone()).expect("a root");
            let verifier =
                WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
            builder.with_client_cert_verifier(verifier.expect("a verifier"))
        } else {
            builder.with_no_client_auth()
        };
        let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
        let mut config =
            builder.with_single_cert(vec![certificate.der().clone()], key).expect("a server");
        config.alpn_protocols = alpn.iter().map(|it| it.as_bytes().to_vec()).collect();
        Tls::With(Arc::new(config))
    }
}

async fn listener(tls: Tls) -> Listener {
    Listener::start_at("127.0.0.1:0", tls, |_| Answer::text("hello")).await.expect("loopback")
}

#[tokio::test]
async fn the_name_that_is_called_is_the_name_that_is_vouched_for() {
    let authority = Authority::new();
    let listener = listener(authority.server("hooks.test", false, &["h2", "http/1.1"])).await;
    let port = listener.port();
    let [own, other] = ["hooks", "other"].map(|it| format!("{it}.test:{port}"));
    let rules = allowing([&own, &other]);
    for (root, name, want) in
        [(true, &own, true), (true, &other, false), (false, &own, false), (true, &own, true)]
    {
        let bench = Bench::with(rules.clone(), |builder| match root {
            true => builder.root_certificates(authority.pem()),
            false => builder,
        });
        bench.names.set("hooks.test", &[&["127.0.0.1"]]);
        bench.names.set("other.test", &[&["127.0.0.1"]]);
        match bench.post(&format!("https://{name}/")).await {
            Ok(_) => assert!(want, "{name}"),
            Err(Failure::Tls { .. }) => assert!(!want, "{name}"),
            Err(failure) => panic!("{name}: {failure:?}"),
        }
    }
}

#[tokio::test]
async fn the_better_version_of_http_is_negotiated() {
    let authority = Authority::new();
    for (alpn, want) in [
        (&["h2", "http/1.1"][..], Version::HTTP_2),
        (&["http/1.1"], Version::HTTP_11),
        (&[], Version::HTTP_11),
    ] {
        let listener = listener(authority.server("127.0.0.1", false, alpn)).await;
        let rules = Rules { loopback: true, ..Rules::default() };
        let bench = Bench::with(rules, |builder| builder.root_certificates(authority.pem()));
        let url = format!("https://{}/", listener.address);
        let response = bench.post(&url).await.expect("an answer");
        assert_eq!(response.version(), want, "{alpn:?}");
    }
}

#[tokio::test]
async fn a_server_that_asks_is_told_who_calls() {
    let authority = Authority::new();
    let listener = listener(authority.server("127.0.0.1", true, &[])).await;
    let (certificate, key) = authority.issue("client.test");
    for known in [true, false] {
        let rules = Rules { loopback: true, ..Rules::default() };
        let bench = Bench::with(rules, |builder| {
            let builder = builder.root_certificates(authority.pem());
            match known {
                true => {
                    let own = format!("https://{}", listener.address);
                    builder.identity(own, certificate.pem(), key.serialize_pem())
                }
                false => builder,
            }
        });
        let found = bench.post(&format!("https://{}/", listener.address)).await;
        assert_eq!(found.is_ok(), known, "{found:?}");
    }
}

#[tokio::test]
async fn a_certificate_is_for_one_origin() {
    let authority = Authority::new();
    let other = listener(authority.server("127.0.0.1", true, &[])).await;
    let elsewhere = format!("https://{}/", other.address);
    let asking = authority.server("127.0.0.1", true, &[]);
    let own = Listener::start_at("127.0.0.1:0", asking, move |seen| match seen.uri.path() {
        "/redirect" => Answer::redirect(302, &elsewhere),
        _ => Answer::text("hello"),
    });
    let own = own.await.expect("loopback");
    let (certificate, key) = authority.issue("client.test");
    let bench = Bench::with(Rules { loopback: true, ..Rules::default() }, |builder| {
        let url = format!("https://{}/anything", own.address);
        let builder = builder.root_certificates(authority.pem());
        builder.identity(url, certificate.pem(), key.serialize_pem())
    });
    bench.get(&format!("https://{}/", own.address)).await.expect("it is known there");
    for nowhere_else in
        [format!("https://{}/", other.address), format!("https://{}/redirect", own.address)]
    {
        let failure = bench.get(&nowhere_else).await.expect_err(&nowhere_else);
        assert!(matches!(failure, Failure::Tls { .. } | Failure::Broken { .. }), "{failure:?}");
    }
    assert!(other.seen().is_empty());
}

#[test]
fn what_is_no_certificate_is_refused() {
    let guard = || Guard::new(Rules::default());
    let authority = Authority::new();
    let (certificate, _) = authority.issue("client.test");
    let (_, other) = authority.issue("client.test");
    let roots = Client::builder(guard()).root_certificates("no PEM").build();
    assert!(matches!(roots, Err(InvalidTls::Roots { .. })), "{roots:?}");
    for (certificate, key) in [
        (certificate.pem(), "no PEM".to_owned()),
        ("no PEM".to_owned(), other.serialize_pem()),
        (certificate.pem(), other.serialize_pem()),
    ] {
        let builder = Client::builder(guard());
        let identity = builder.identity("https://a.example", certificate, key).build();
        assert!(matches!(identity, Err(InvalidTls::Identity { .. })), "{identity:?}");
    }
}
