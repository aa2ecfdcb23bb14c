//! Tests of TLS: trusted roots, client certificates and negotiated versions of HTTP.

use std::sync::Arc;

use http::Version;
use latimer_outbound::{Guard, HttpClient, InvalidTls, RequestError, Rules};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::RootCertStore;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::PrivateKeyDer;
use rustls::server::WebPkiClientVerifier;

use crate::support::{Harness, Listener, StubResponse, Transport, allow_only};

/// Certificate authority of a test.
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

    /// Creates a server transport with a certificate for `name`, which optionally requires a client
    /// certificate.
    fn server(&self, name: &str, request_client_cert: bool, alpn: &[&str]) -> Transport {
        let provider = Arc::new(default_provider());
        let (certificate, key) = self.issue(name);
        let builder = rustls::ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .expect("versions");
        let builder = if request_client_cert {
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
        Transport::Tls(Arc::new(config))
    }
}

async fn listener(transport: Transport) -> Listener {
    Listener::start_at("127.0.0.1:0", transport, |_| StubResponse::text("hello"))
        .await
        .expect("loopback")
}

#[tokio::test]
async fn certificate_must_match_requested_host_name() {
    let authority = Authority::new();
    let listener = listener(authority.server("hooks.test", false, &["h2", "http/1.1"])).await;
    let port = listener.port();
    let [own, other] = ["hooks", "other"].map(|it| format!("{it}.test:{port}"));
    let rules = allow_only([&own, &other]);
    for (trust_root, name, want) in
        [(true, &own, true), (true, &other, false), (false, &own, false), (true, &own, true)]
    {
        let harness = Harness::with_builder(rules.clone(), |builder| match trust_root {
            true => builder.root_certificates(authority.pem()),
            false => builder,
        });
        harness.resolver.set("hooks.test", &[&["127.0.0.1"]]);
        harness.resolver.set("other.test", &[&["127.0.0.1"]]);
        match harness.post(&format!("https://{name}/")).await {
            Ok(_) => assert!(want, "{name}"),
            Err(RequestError::Tls { .. }) => assert!(!want, "{name}"),
            Err(failure) => panic!("{name}: {failure:?}"),
        }
    }
}

#[tokio::test]
async fn highest_common_http_version_is_negotiated() {
    let authority = Authority::new();
    for (alpn, want) in [
        (&["h2", "http/1.1"][..], Version::HTTP_2),
        (&["http/1.1"], Version::HTTP_11),
        (&[], Version::HTTP_11),
    ] {
        let listener = listener(authority.server("127.0.0.1", false, alpn)).await;
        let rules = Rules { allow_loopback: true, ..Rules::default() };
        let harness =
            Harness::with_builder(rules, |builder| builder.root_certificates(authority.pem()));
        let url = format!("https://{}/", listener.address);
        let response = harness.post(&url).await.expect("a response");
        assert_eq!(response.version(), want, "{alpn:?}");
    }
}

#[tokio::test]
async fn client_certificate_is_sent_when_requested() {
    let authority = Authority::new();
    let listener = listener(authority.server("127.0.0.1", true, &[])).await;
    let (certificate, key) = authority.issue("client.test");
    for has_identity in [true, false] {
        let rules = Rules { allow_loopback: true, ..Rules::default() };
        let harness = Harness::with_builder(rules, |builder| {
            let builder = builder.root_certificates(authority.pem());
            match has_identity {
                true => {
                    let origin = format!("https://{}", listener.address);
                    builder.identity(origin, certificate.pem(), key.serialize_pem())
                }
                false => builder,
            }
        });
        let result = harness.post(&format!("https://{}/", listener.address)).await;
        assert_eq!(result.is_ok(), has_identity, "{result:?}");
    }
}

#[tokio::test]
async fn client_certificate_is_sent_to_one_origin_only() {
    let authority = Authority::new();
    let other = listener(authority.server("127.0.0.1", true, &[])).await;
    let other_url = format!("https://{}/", other.address);
    let transport = authority.server("127.0.0.1", true, &[]);
    let server =
        Listener::start_at("127.0.0.1:0", transport, move |request| match request.uri.path() {
            "/redirect" => StubResponse::redirect(302, &other_url),
            _ => StubResponse::text("hello"),
        });
    let server = server.await.expect("loopback");
    let (certificate, key) = authority.issue("client.test");
    let harness =
        Harness::with_builder(Rules { allow_loopback: true, ..Rules::default() }, |builder| {
            let url = format!("https://{}/anything", server.address);
            let builder = builder.root_certificates(authority.pem());
            builder.identity(url, certificate.pem(), key.serialize_pem())
        });
    harness
        .get(&format!("https://{}/", server.address))
        .await
        .expect("the client certificate is accepted");
    for url in
        [format!("https://{}/", other.address), format!("https://{}/redirect", server.address)]
    {
        let failure = harness.get(&url).await.expect_err(&url);
        assert!(
            matches!(failure, RequestError::Tls { .. } | RequestError::Broken { .. }),
            "{failure:?}"
        );
    }
    assert!(other.requests().is_empty());
}

#[test]
fn invalid_certificate_or_key_is_rejected() {
    let guard = || Guard::new(Rules::default());
    let authority = Authority::new();
    let (certificate, _) = authority.issue("client.test");
    let (_, other) = authority.issue("client.test");
    let roots = HttpClient::builder(guard()).root_certificates("no PEM").build();
    assert!(matches!(roots, Err(InvalidTls::Roots { .. })), "{roots:?}");
    for (certificate, key) in [
        (certificate.pem(), "no PEM".to_owned()),
        ("no PEM".to_owned(), other.serialize_pem()),
        (certificate.pem(), other.serialize_pem()),
    ] {
        let builder = HttpClient::builder(guard());
        let identity = builder.identity("https://a.example", certificate, key).build();
        assert!(matches!(identity, Err(InvalidTls::Identity { .. })), "{identity:?}");
    }
}
