//! Certificates: whose are believed, and whom ours is shown to.

use latimer_client::{Client, Error, Wallet, says};
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

use crate::support::{PAIRS, listen, loopback};

struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = named("ours");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// A certificate and its key, in PEM.
    fn sign(&self, name: &str, purpose: ExtendedKeyUsagePurpose) -> (String, String) {
        let mut params = named(name);
        params.subject_alt_names = vec![SanType::DnsName("localhost".try_into().unwrap())];
        params.extended_key_usages = vec![purpose];
        let key = KeyPair::generate().unwrap();
        (params.signed_by(&key, &self.0).unwrap().pem(), key.serialize_pem())
    }
}

fn named(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

/// A server that only speaks to those who show a certificate, and tells them their name.
async fn guarded(authority: &Authority, folder: &TempDir) -> RunningServer {
    let at = |name: &str| folder.path().join(name);
    let (certificate, key) = authority.sign("server", ExtendedKeyUsagePurpose::ServerAuth);
    std::fs::write(at("server.pem"), certificate).unwrap();
    std::fs::write(at("server.key"), key).unwrap();
    std::fs::write(at("callers.pem"), authority.0.pem()).unwrap();
    let tls = Tls::new(at("server.pem"), at("server.key"));
    let tls = tls.client_ca(at("callers.pem"), ClientCertificateMode::Required);
    let agent = Agent::from_fn("who", |turn: Turn| async move {
        turn.direct_reply(turn.caller().id().to_string()).await
    });
    listen(Server::new(agent).tls(tls).authenticate(CertificateAuth::default())).await
}

#[tokio::test]
async fn a_certificate_opens_the_real_server_over_every_binding() {
    let (authority, folder) = (Authority::new(), TempDir::new().unwrap());
    let server = guarded(&authority, &folder).await;
    let url = format!("https://localhost:{}", server.address().port());
    let (certificate, key) = authority.sign("alice", ExtendedKeyUsagePurpose::ClientAuth);
    let builder = || Client::builder(&url).root_certificates(authority.0.pem());
    assert!(builder().connect().await.is_err(), "nobody is let in without a certificate");
    for (binding, version) in PAIRS.into_iter().filter(|(_, it)| it.as_str() != "0.1") {
        let builder =
            builder().identity(certificate.clone(), key.clone()).wallet(Wallet::default());
        let builder = builder.bindings([binding.clone()]).versions([version]);
        let client = builder.connect().await.unwrap();
        let sent = client.send(says("who am I?")).await.unwrap();
        let SendMessageResponse::Message(said) = sent else { panic!("{sent:?}") };
        assert_eq!(said.text(), "cert:CN=alice", "{binding} {version}");
    }
}

#[tokio::test]
async fn a_certificate_is_shown_where_it_is_for() {
    let (authority, folder) = (Authority::new(), TempDir::new().unwrap());
    let server = guarded(&authority, &folder).await;
    let url = format!("https://localhost:{}", server.address().port());
    let (certificate, key) = authority.sign("alice", ExtendedKeyUsagePurpose::ClientAuth);
    let mut card = AgentCard {
        supported_interfaces: vec![AgentInterface::new(&*url, ProtocolBinding::JsonRpc)],
        security_requirements: vec![SecurityRequirement::scheme("mtls")],
        ..AgentCard::default()
    };
    let scheme = SecurityScheme::MutualTls(MutualTlsSecurityScheme::default());
    card.security_schemes.insert("mtls".into(), scheme);
    for (at, known) in [(&*url, true), ("https://other.example", false)] {
        let client = Client::builder(card.clone())
            .rules(loopback())
            .root_certificates(authority.0.pem())
            .identity_for(at, certificate.clone(), key.clone())
            .wallet(Wallet::default())
            .connect()
            .await;
        match client {
            Ok(client) => {
                assert!(known, "{at}");
                client.send(says("who am I?")).await.unwrap();
            }
            Err(error) => {
                assert!(!known && matches!(error, Error::Credentials(_)), "{at}: {error:?}");
            }
        }
    }
}
