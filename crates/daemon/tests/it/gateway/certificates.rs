//! TLS to a remote agent: trusted roots and client certificates.

use std::fs;
use std::path::Path;

use latimer_client::{Client, user_message};
use latimer_daemon::Daemon;
use latimer_protocol::SendMessageResponse;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, SanType,
};

use super::start_daemon;
use crate::fixture::ConfigFixture;

struct CertificateAuthority(CertifiedIssuer<'static, KeyPair>);

impl CertificateAuthority {
    fn new() -> Self {
        let mut params = certificate_params("authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// Writes the certificate of the authority, and one that it signs with its key.
    fn write(&self, directory: &Path, name: &str, purpose: ExtendedKeyUsagePurpose) {
        let mut params = certificate_params(name);
        params.subject_alt_names = vec![SanType::DnsName("localhost".try_into().unwrap())];
        params.extended_key_usages = vec![purpose];
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        fs::write(directory.join("ca.pem"), self.0.pem()).unwrap();
        fs::write(directory.join(format!("{name}.pem")), certificate.pem()).unwrap();
        fs::write(directory.join(format!("{name}.key")), key.serialize_pem()).unwrap();
    }
}

fn certificate_params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

/// Starts a daemon whose agent requires client certificates.
async fn start_mtls_agent(authority: &CertificateAuthority) -> (Daemon, ConfigFixture) {
    let fixture = ConfigFixture::with_config(
        "listen = \"127.0.0.1:0\"\n[[agents]]\nname = \"demo\"\nkind = \"demo\"\n\
         [store]\nkind = \"memory\"\n[tls]\ncertificate = \"server.pem\"\nkey = \"server.key\"\n\
         client_ca = \"ca.pem\"\n",
    );
    authority.write(fixture.temp_dir.path(), "server", ExtendedKeyUsagePurpose::ServerAuth);
    (start_daemon(&fixture).await, fixture)
}

const MTLS_KEYS: &str = "root_certificates = \"ca.pem\"\nclient_certificate = \"gateway.pem\"\n\
                    client_key = \"gateway.key\"\n";

fn gateway_fixture(
    authority: &CertificateAuthority,
    upstream: &Daemon,
    keys: &str,
) -> ConfigFixture {
    let fixture = ConfigFixture::with_config(&format!(
        "listen = \"127.0.0.1:0\"\n[store]\nkind = \"memory\"\n[[agents]]\nname = \"partner\"\n\
         kind = \"a2a\"\nurl = \"https://localhost:{}\"\n{keys}",
        upstream.address().port(),
    ));
    authority.write(fixture.temp_dir.path(), "gateway", ExtendedKeyUsagePurpose::ClientAuth);
    fixture
}

#[tokio::test]
async fn client_certificate_is_sent_to_agent_requiring_it() {
    let authority = CertificateAuthority::new();
    let (upstream, _fixture) = start_mtls_agent(&authority).await;
    let authenticated = start_daemon(&gateway_fixture(&authority, &upstream, MTLS_KEYS)).await;
    let client = |gateway: &Daemon| Client::new(&format!("http://{}/a2a", gateway.address()));
    let result = client(&authenticated).unwrap().send(user_message("echo hello")).await;
    let Ok(SendMessageResponse::Task(task)) = result else { panic!("{result:?}") };
    assert_eq!(task.text(), "hello");

    let anonymous =
        start_daemon(&gateway_fixture(&authority, &upstream, "root_certificates = \"ca.pem\"\n"))
            .await;
    let result = client(&anonymous).unwrap().send(user_message("echo hello")).await;
    assert!(result.is_err(), "a caller without a certificate was accepted: {result:?}");
}

#[tokio::test]
async fn unusable_client_certificate_fails_at_start() {
    let authority = CertificateAuthority::new();
    let (upstream, _fixture) = start_mtls_agent(&authority).await;
    let incomplete =
        gateway_fixture(&authority, &upstream, "client_certificate = \"gateway.pem\"\n")
            .load_error();
    assert!(incomplete.contains("`client_certificate` needs `client_key`"), "{incomplete}");
    for (file, text, want) in [
        ("gateway.key", None, "gateway.key"),
        ("gateway.key", Some("no key"), "invalid client certificate"),
        ("ca.pem", Some("no certificate"), "invalid root certificates"),
    ] {
        let fixture = gateway_fixture(&authority, &upstream, MTLS_KEYS);
        let path = fixture.temp_dir.path().join(file);
        match text {
            Some(text) => fs::write(path, text).unwrap(),
            None => fs::remove_file(path).unwrap(),
        }
        let error = Daemon::start(&fixture.load().unwrap().config).await.unwrap_err().to_string();
        assert!(error.contains("partner") && error.contains(want), "{error}");
    }
}
