//! Authentication by TLS client certificate.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;
use latimer_protocol::Caller;
use latimer_protocol::card::{MutualTlsSecurityScheme, SecurityScheme};
use x509_cert::Certificate;
use x509_cert::der::Decode as _;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;

use super::{AuthError, Authenticate, CredentialSource, PresentedCredentials, SecurityDeclaration};

/// Name of the security scheme in cards.
const SCHEME: &str = "mtls";
/// HTTP defines no authentication scheme for certificates, but a 401 response requires a challenge.
const CHALLENGE: &str = "Certificate realm=\"latimer\"";

/// Authenticates callers by the client certificate of their connection. The TLS listener verifies
/// certificates against [`Tls::client_ca`](crate::Tls::client_ca); this method checks only that the
/// certificate has not expired since the connection was opened.
///
/// The principal is `cert:` and the selected name: `cert:CN=alice,O=Example` for the subject,
/// `cert:dns:alice.example`, `cert:uri:spiffe://example/alice` or `cert:email:alice@example`.
#[derive(Clone, Debug, Default)]
pub struct CertificateAuth {
    name: CertificateName,
    scopes: Vec<String>,
}

/// Name of a certificate that becomes the principal. Of several alternative names of one kind, the
/// first is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CertificateName {
    /// Subject.
    #[default]
    Subject,
    /// Alternative name of type DNS.
    Dns,
    /// Alternative name of type URI.
    Uri,
    /// Alternative name of type email.
    Email,
}

impl CertificateAuth {
    /// Creates a method that takes the principal from this name.
    #[must_use]
    pub fn named_by(name: CertificateName) -> Self {
        Self { name, scopes: Vec::new() }
    }

    /// Sets the scopes of all callers.
    #[must_use]
    pub fn with_scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.scopes = scopes.into_iter().map(Into::into).collect();
        self
    }

    fn principal(&self, certificate: &ClientCertificate) -> Option<String> {
        let ParsedCertificate { subject, alternatives, .. } = &*certificate.0;
        let find_alternative = |kind| {
            let entry = alternatives.iter().find(|(it, _)| *it == kind);
            entry.map(|(_, name)| name.as_str())
        };
        Some(match self.name {
            CertificateName::Subject if subject.is_empty() => return None,
            CertificateName::Subject => format!("cert:{subject}"),
            CertificateName::Dns => format!("cert:dns:{}", find_alternative(CertificateName::Dns)?),
            CertificateName::Uri => format!("cert:uri:{}", find_alternative(CertificateName::Uri)?),
            CertificateName::Email => {
                format!("cert:email:{}", find_alternative(CertificateName::Email)?)
            }
        })
    }
}

#[async_trait]
impl Authenticate for CertificateAuth {
    async fn authenticate(&self, presented: PresentedCredentials<'_>) -> Result<Caller, AuthError> {
        let certificate = presented.certificate.ok_or(AuthError::Missing)?;
        // A connection can outlive its certificate.
        if certificate.0.expires < SystemTime::now() {
            return Err(AuthError::invalid("the client certificate has expired"));
        }
        let principal = self.principal(certificate).ok_or_else(|| {
            AuthError::invalid("the client certificate has no name of the configured kind")
        })?;
        Ok(Caller::new(principal).with_scopes(self.scopes.iter().cloned()))
    }

    fn challenge(&self) -> &str {
        CHALLENGE
    }

    fn credential_source(&self) -> CredentialSource {
        CredentialSource::Certificate
    }

    fn security(&self) -> SecurityDeclaration {
        SecurityDeclaration::default()
            .with_alternative(SCHEME, SecurityScheme::MutualTls(MutualTlsSecurityScheme::default()))
    }
}

/// Verified client certificate of a connection. An embedder that terminates TLS itself adds it to the
/// extensions of each request.
#[derive(Clone)]
pub struct ClientCertificate(Arc<ParsedCertificate>);

struct ParsedCertificate {
    subject: String,
    alternatives: Vec<(CertificateName, String)>,
    expires: SystemTime,
}

/// Bytes are not a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is not a DER-encoded certificate")]
pub struct InvalidCertificate;

impl ClientCertificate {
    /// Decodes a DER-encoded certificate without verifying it.
    ///
    /// # Errors
    /// Returns [`InvalidCertificate`] if the bytes are not a certificate.
    pub fn from_der(der: &[u8]) -> Result<Self, InvalidCertificate> {
        let certificate = Certificate::from_der(der).map_err(|_| InvalidCertificate)?;
        let certificate = certificate.tbs_certificate();
        let extension =
            certificate.get_extension::<SubjectAltName>().map_err(|_| InvalidCertificate)?;
        let alternatives = extension.map(|(_, names)| names.0).unwrap_or_default();
        Ok(Self(Arc::new(ParsedCertificate {
            subject: certificate.subject().to_string(),
            alternatives: alternatives.iter().filter_map(alternative_name).collect(),
            expires: certificate.validity().not_after.to_system_time(),
        })))
    }
}

fn alternative_name(name: &GeneralName) -> Option<(CertificateName, String)> {
    let (kind, text) = match name {
        GeneralName::DnsName(text) => (CertificateName::Dns, text),
        GeneralName::UniformResourceIdentifier(text) => (CertificateName::Uri, text),
        GeneralName::Rfc822Name(text) => (CertificateName::Email, text),
        _ => return None,
    };
    Some((kind, text.as_str().to_owned()))
}

impl fmt::Debug for ClientCertificate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ClientCertificate").field("subject", &self.0.subject).finish()
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;
    use rcgen::{CertificateParams, DnType, KeyPair, SanType};

    use super::*;

    fn certificate(change: impl FnOnce(&mut CertificateParams)) -> ClientCertificate {
        let mut params = CertificateParams::default();
        params.distinguished_name.remove(DnType::CommonName);
        change(&mut params);
        let signed = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
        ClientCertificate::from_der(signed.der()).unwrap()
    }

    async fn authenticate(
        method: CertificateAuth,
        certificate: &ClientCertificate,
    ) -> Result<Caller, AuthError> {
        let headers = HeaderMap::new();
        let mut credentials = PresentedCredentials::new(&headers);
        credentials.certificate = Some(certificate);
        method.authenticate(credentials).await
    }

    #[tokio::test]
    async fn principal_comes_from_selected_certificate_name() {
        let certificate = certificate(|params| {
            params.distinguished_name.push(DnType::OrganizationName, "Example, Inc");
            params.distinguished_name.push(DnType::CommonName, "alice");
            params.subject_alt_names = vec![
                SanType::URI("spiffe://example/alice".try_into().unwrap()),
                SanType::DnsName("alice.example".try_into().unwrap()),
                SanType::DnsName("other.example".try_into().unwrap()),
            ];
        });
        for (name, want) in [
            (CertificateName::Subject, Some("cert:CN=alice,O=Example\\, Inc")),
            (CertificateName::Dns, Some("cert:dns:alice.example")),
            (CertificateName::Uri, Some("cert:uri:spiffe://example/alice")),
            (CertificateName::Email, None),
        ] {
            let caller =
                authenticate(CertificateAuth::named_by(name).with_scopes(["s"]), &certificate)
                    .await;
            assert_eq!(caller.as_ref().ok().map(|it| &**it.id()), want, "{name:?}");
            if let Ok(caller) = caller {
                assert_eq!(caller.scopes(), ["s"]);
            }
        }
    }

    #[tokio::test]
    async fn nameless_or_expired_certificate_is_rejected() {
        let nameless = certificate(|_| {});
        let expired = certificate(|params| {
            params.distinguished_name.push(DnType::CommonName, "alice");
            params.not_after = rcgen::date_time_ymd(2020, 1, 1);
        });
        for (certificate, want) in [(nameless, "no name"), (expired, "has expired")] {
            let error = authenticate(CertificateAuth::default(), &certificate).await.unwrap_err();
            assert!(matches!(error, AuthError::Invalid(_)), "{error:?}");
            assert!(error.to_string().contains(want), "{error}");
        }
        assert!(ClientCertificate::from_der(b"no").is_err());
    }
}
