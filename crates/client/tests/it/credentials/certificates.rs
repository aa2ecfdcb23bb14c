//! Certificates of servers, and client certificates.

use latimer_client::{Client, CredentialSet, Error, user_message};
use latimer_protocol::SendMessageResponse;
use latimer_protocol::card::{
    AgentCard, AgentInterface, MutualTlsSecurityScheme, ProtocolBinding, SecurityRequirement,
    SecurityScheme,
};
use latimer_server::{
    Agent, CertificateAuth, ClientCertificateMode, RunningServer, Server, Tls, Turn,
};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, SanType,
};
use tempfile::TempDir;

use crate::support::{BINDING_VERSIONS, allow_loopback, listen};

struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = certificate_params("client");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// Returns a certificate and its key, in PEM.
    fn sign(&self, name: &str, purpose: ExtendedKeyUsagePurpose) -> (String, String) {
        let mut params = certificate_params(name);
        params.subject_alt_names = vec![SanType::DnsName("localhost".try_into().unwrap())];
        params.extended_key_usages = vec![purpose];
        let key = KeyPair::generate().unwrap();
        (params.signed_by(&key, &self.0).unwrap().pem(), key.serialize_pem())
    }
}

fn certificate_params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

/// A server that requires client certificates and returns their names.
async fn mtls_server(authority: &Authority, dir: &TempDir) -> RunningServer {
    let path = |name: &str| dir.path().join(name);
    let (certificate, key) = authority.sign("server", ExtendedKeyUsagePurpose::ServerAuth);
    std::fs::write(path("server.pem"), certificate).unwrap();
    std::fs::write(path("server.key"), key).unwrap();
    std::fs::write(path("callers.pem"), authority.0.pem()).unwrap();
    let tls = Tls::new(path("server.pem"), path("server.key"));
    let tls = tls.client_ca(path("callers.pem"), ClientCertificateMode::Required);
    let agent = Agent::from_fn("who", |turn: Turn| async move {
        turn.direct_reply(turn.caller().id().to_string()).await
    });
    listen(
        Server::new(agent.with_direct_replies()).tls(tls).authenticate(CertificateAuth::default()),
    )
    .await
}

#[tokio::test]
async fn client_certificate_authenticates_over_every_binding() {
    let (authority, dir) = (Authority::new(), TempDir::new().unwrap());
    let server = mtls_server(&authority, &dir).await;
    let url = format!("https://localhost:{}", server.address().port());
    let (certificate, key) = authority.sign("alice", ExtendedKeyUsagePurpose::ClientAuth);
    let builder = || Client::builder(&url).root_certificates(authority.0.pem());
    assert!(builder().connect().await.is_err(), "the server requires a certificate");
    for (binding, version) in BINDING_VERSIONS.into_iter().filter(|(_, it)| it.as_str() != "0.1") {
        let builder = builder()
            .client_certificate(certificate.clone(), key.clone())
            .credential_set(CredentialSet::default());
        let builder = builder.bindings([binding.clone()]).versions([version]);
        let client = builder.connect().await.unwrap();
        let response = client.send(user_message("who am I?")).await.unwrap();
        let SendMessageResponse::Message(message) = response else { panic!("{response:?}") };
        assert_eq!(message.text(), "cert:CN=alice", "{binding} {version}");
    }
}

#[tokio::test]
async fn client_certificate_is_sent_only_to_its_origin() {
    let (authority, dir) = (Authority::new(), TempDir::new().unwrap());
    let server = mtls_server(&authority, &dir).await;
    let url = format!("https://localhost:{}", server.address().port());
    let (certificate, key) = authority.sign("alice", ExtendedKeyUsagePurpose::ClientAuth);
    let mut card = AgentCard {
        supported_interfaces: vec![AgentInterface::new(&*url, ProtocolBinding::JsonRpc)],
        security_requirements: vec![SecurityRequirement::scheme("mtls")],
        ..AgentCard::default()
    };
    let scheme = SecurityScheme::MutualTls(MutualTlsSecurityScheme::default());
    card.security_schemes.insert("mtls".into(), scheme);
    for (certificate_url, is_accepted) in [(&*url, true), ("https://other.example", false)] {
        let client = Client::builder(card.clone())
            .guard_rules(allow_loopback())
            .root_certificates(authority.0.pem())
            .client_certificate_for(certificate_url, certificate.clone(), key.clone())
            .credential_set(CredentialSet::default())
            .connect()
            .await;
        match client {
            Ok(client) => {
                assert!(is_accepted, "{certificate_url}");
                client.send(user_message("who am I?")).await.unwrap();
            }
            Err(error) => {
                assert!(
                    !is_accepted && matches!(error, Error::NoCredentials(_)),
                    "{certificate_url}: {error:?}"
                );
            }
        }
    }
}
