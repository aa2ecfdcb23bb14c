//! Generated certificates, and clients that use them.

use std::io;
use std::path::Path;
use std::sync::Arc;

use http::{Method, Version};
use hyper_util::rt::{TokioExecutor, TokioIo};
use latimer_server::Tls;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, SanType, date_time_ymd,
};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::support::{TestClient, TestResponse, read_response};

/// Certificate authority.
pub(super) struct CertificateAuthority(CertifiedIssuer<'static, KeyPair>);

/// Certificate and private key in PEM format.
#[derive(Clone)]
pub(super) struct Identity {
    pub(super) certificate: String,
    pub(super) key: String,
}

impl CertificateAuthority {
    pub(super) fn new(name: &str) -> Self {
        let mut params = params_for(name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    pub(super) fn pem(&self) -> String {
        self.0.pem()
    }

    /// Issues a server certificate for loopback.
    pub(super) fn server(&self, name: &str) -> Identity {
        let mut params = params_for(name);
        params.subject_alt_names = vec![SanType::DnsName("localhost".try_into().unwrap())];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.sign(params)
    }

    /// Issues a client certificate.
    pub(super) fn client(&self, name: &str) -> Identity {
        let mut params = params_for(name);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(params)
    }

    /// Issues an expired client certificate.
    pub(super) fn expired_client(&self, name: &str) -> Identity {
        let mut params = params_for(name);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        params.not_before = date_time_ymd(2019, 1, 1);
        params.not_after = date_time_ymd(2020, 1, 1);
        self.sign(params)
    }

    fn sign(&self, params: CertificateParams) -> Identity {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap().pem();
        Identity { certificate, key: key.serialize_pem() }
    }
}

fn params_for(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

impl Identity {
    /// Writes certificate and key into a directory and returns the TLS settings for a server.
    pub(super) fn write(&self, directory: &Path) -> Tls {
        let (certificate, key) = (directory.join("server.pem"), directory.join("server.key"));
        // The two files are replaced one after the other, as in practice.
        std::fs::write(&certificate, &self.certificate).unwrap();
        std::fs::write(&key, &self.key).unwrap();
        Tls::new(certificate, key)
    }
}

/// Client that trusts one authority and may have a certificate.
pub(super) struct TlsClient {
    pub(super) client: TestClient,
    connector: TlsConnector,
}

impl TlsClient {
    pub(super) fn new(
        client: &TestClient,
        authority: &CertificateAuthority,
        identity: Option<&Identity>,
    ) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add(authority.0.der().clone()).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(default_provider()));
        let config = config.with_safe_default_protocol_versions().unwrap();
        let config = config.with_root_certificates(roots);
        let config = match identity {
            None => config.with_no_client_auth(),
            Some(identity) => {
                let chain =
                    CertificateDer::from_pem_slice(identity.certificate.as_bytes()).unwrap();
                let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).unwrap();
                config.with_client_auth_cert(vec![chain], key).unwrap()
            }
        };
        Self { client: client.clone(), connector: TlsConnector::from(Arc::new(config)) }
    }

    /// Returns a client that offers only this protocol.
    pub(super) fn with_alpn(mut self, protocol: &str) -> Self {
        let mut config = ClientConfig::clone(self.connector.config());
        config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
        self.connector = TlsConnector::from(Arc::new(config));
        self
    }

    pub(super) async fn connect(&self) -> io::Result<TlsStream<TcpStream>> {
        let stream = TcpStream::connect(self.client.address).await?;
        self.connector.connect(ServerName::try_from("localhost").unwrap(), stream).await
    }

    /// Returns the certificate of the server.
    pub(super) async fn server_certificate(&self) -> Vec<u8> {
        let stream = self.connect().await.unwrap();
        stream.get_ref().1.peer_certificates().unwrap()[0].to_vec()
    }

    pub(super) async fn get(&self, path: &str) -> io::Result<TestResponse> {
        self.send(Method::GET, path, "").await
    }

    pub(super) async fn post(&self, path: &str, body: &str) -> io::Result<TestResponse> {
        self.send(Method::POST, path, body).await
    }

    async fn send(&self, method: Method, path: &str, body: &str) -> io::Result<TestResponse> {
        let stream = self.connect().await?;
        let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        let mut request = self.client.build_request(method, path, body.to_owned());
        let io = TokioIo::new(stream);
        let (connection, response) = if is_http2 {
            let handshake = hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await;
            let (mut sender, connection) = handshake.map_err(io::Error::other)?;
            *request.uri_mut() = format!("https://localhost{path}").parse().unwrap();
            *request.version_mut() = Version::HTTP_2;
            request.headers_mut().remove("host");
            (tokio::spawn(connection), sender.send_request(request).await)
        } else {
            let handshake = hyper::client::conn::http1::handshake(io).await;
            let (mut sender, connection) = handshake.map_err(io::Error::other)?;
            (tokio::spawn(connection), sender.send_request(request).await)
        };
        let response = read_response(response.map_err(io::Error::other)?).await;
        connection.abort();
        Ok(response)
    }
}
