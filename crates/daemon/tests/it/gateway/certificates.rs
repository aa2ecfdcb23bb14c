//! An agent behind TLS: whom the gateway believes, and who it is there.

use std::fs;
use std::path::Path;

use latimer_client::{Client, user_message};
use latimer_daemon::Daemon;
use latimer_protocol::SendMessageResponse;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, SanType,
};

use super::start;
use crate::surroundings::Place;

struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = named("ours");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// Writes its own certificate, and one that it signs with its key.
    fn write(&self, folder: &Path, name: &str, purpose: ExtendedKeyUsagePurpose) {
        let mut params = named(name);
        params.subject_alt_names = vec![SanType::DnsName("localhost".try_into().unwrap())];
        params.extended_key_usages = vec![purpose];
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        fs::write(folder.join("ca.pem"), self.0.pem()).unwrap();
        fs::write(folder.join(format!("{name}.pem")), certificate.pem()).unwrap();
        fs::write(folder.join(format!("{name}.key")), key.serialize_pem()).unwrap();
    }
}

fn named(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

/// An agent that only speaks to those who show a certificate.
async fn guarded(authority: &Authority) -> (Daemon, Place) {
    let place = Place::with(
        "listen = \"127.0.0.1:0\"\n[[agents]]\nname = \"demo\"\nkind = \"demo\"\n\
         [store]\nkind = \"memory\"\n[tls]\ncertificate = \"server.pem\"\nkey = \"server.key\"\n\
         client_ca = \"ca.pem\"\n",
    );
    authority.write(place.folder.path(), "server", ExtendedKeyUsagePurpose::ServerAuth);
    (start(&place).await, place)
}

const KEYS: &str = "root_certificates = \"ca.pem\"\nclient_certificate = \"gateway.pem\"\n\
                    client_key = \"gateway.key\"\n";

fn gateway(authority: &Authority, behind: &Daemon, keys: &str) -> Place {
    let place = Place::with(&format!(
        "listen = \"127.0.0.1:0\"\n[store]\nkind = \"memory\"\n[[agents]]\nname = \"partner\"\n\
         kind = \"a2a\"\nurl = \"https://localhost:{}\"\n{keys}",
        behind.address().port(),
    ));
    authority.write(place.folder.path(), "gateway", ExtendedKeyUsagePurpose::ClientAuth);
    place
}

#[tokio::test]
async fn an_agent_that_wants_a_certificate_is_shown_one() {
    let authority = Authority::new();
    let (behind, _place) = guarded(&authority).await;
    let known = start(&gateway(&authority, &behind, KEYS)).await;
    let client = |gateway: &Daemon| Client::new(&format!("http://{}/a2a", gateway.address()));
    let sent = client(&known).unwrap().send(user_message("echo hello")).await;
    let Ok(SendMessageResponse::Task(task)) = sent else { panic!("{sent:?}") };
    assert_eq!(task.text(), "hello");

    let nobody = start(&gateway(&authority, &behind, "root_certificates = \"ca.pem\"\n")).await;
    let sent = client(&nobody).unwrap().send(user_message("echo hello")).await;
    assert!(sent.is_err(), "nobody is let in without a certificate: {sent:?}");
}

#[tokio::test]
async fn a_certificate_that_cannot_be_used_is_told_at_the_start() {
    let authority = Authority::new();
    let (behind, _place) = guarded(&authority).await;
    let half = gateway(&authority, &behind, "client_certificate = \"gateway.pem\"\n").problem();
    assert!(half.contains("`client_certificate` needs `client_key`"), "{half}");
    for (file, text, want) in [
        ("gateway.key", None, "gateway.key"),
        ("gateway.key", Some("no key"), "certificate and key cannot be used"),
        ("ca.pem", Some("no certificate"), "root certificates cannot be read"),
    ] {
        let place = gateway(&authority, &behind, KEYS);
        let path = place.folder.path().join(file);
        match text {
            Some(text) => fs::write(path, text).unwrap(),
            None => fs::remove_file(path).unwrap(),
        }
        let error = Daemon::start(&place.load().unwrap().config).await.unwrap_err().to_string();
        assert!(error.contains("partner") && error.contains(want), "{error}");
    }
}
