//! Callers by the certificates that they showed on their connections.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;
use latimer_protocol::card::{MutualTlsSecurityScheme, SecurityScheme};
use latimer_protocol::{Caller, Error, ErrorKind};
use x509_cert::Certificate;
use x509_cert::der::Decode as _;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;

use super::{Authenticate, Credentials, INVALID_TOKEN, Security, wrong};

/// The name of the scheme in cards.
const SCHEME: &str = "mtls";
/// HTTP has no scheme for certificates, and a refusal must name one.
const CHALLENGE: &str = "Certificate realm=\"latimer\"";

/// Lets in whoever showed a certificate that the server trusts. Whom it trusts is for
/// [`Tls::client_ca`](crate::Tls::client_ca) to say.
///
/// A caller is named by what its certificate names: `cert:CN=alice,O=Example` by the subject,
/// `cert:dns:alice.example`, `cert:uri:spiffe://example/alice` or `cert:email:alice@example`.
#[derive(Clone, Debug, Default)]
pub struct Certificates {
    name: Name,
    scopes: Vec<String>,
}

/// What of a certificate names its caller. Of several alternative names of one kind it is the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Name {
    /// The subject.
    #[default]
    Subject,
    /// An alternative name that is a host.
    Dns,
    /// An alternative name that is a URI.
    Uri,
    /// An alternative name that is an address of e-mail.
    Email,
}

impl Certificates {
    /// Names callers by this.
    #[must_use]
    pub fn by(name: Name) -> Self {
        Self { name, scopes: Vec::new() }
    }

    /// Gives all of them these scopes.
    #[must_use]
    pub fn with_scopes<S: Into<String>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.scopes = scopes.into_iter().map(Into::into).collect();
        self
    }

    fn principal(&self, shown: &ClientCertificate) -> Option<String> {
        let Read { subject, alternatives, .. } = &*shown.0;
        let alternative = |kind| {
            let found = alternatives.iter().find(|(it, _)| *it == kind);
            found.map(|(_, name)| name.as_str())
        };
        Some(match self.name {
            Name::Subject if subject.is_empty() => return None,
            Name::Subject => format!("cert:{subject}"),
            Name::Dns => format!("cert:dns:{}", alternative(Name::Dns)?),
            Name::Uri => format!("cert:uri:{}", alternative(Name::Uri)?),
            Name::Email => format!("cert:email:{}", alternative(Name::Email)?),
        })
    }
}

#[async_trait]
impl Authenticate for Certificates {
    async fn authenticate(&self, shown: Credentials<'_>) -> Result<Caller, Error> {
        let certificate = shown.certificate.ok_or(ErrorKind::Unauthenticated)?;
        // A connection may outlive the certificate that it was opened with.
        if certificate.0.expires < SystemTime::now() {
            return Err(wrong(INVALID_TOKEN, "the client certificate has expired"));
        }
        let principal = self.principal(certificate).ok_or_else(|| {
            wrong(INVALID_TOKEN, "the client certificate has no name of the kind that counts here")
        })?;
        Ok(Caller::new(principal).with_scopes(self.scopes.iter().cloned()))
    }

    fn challenge(&self) -> &str {
        CHALLENGE
    }

    fn security(&self) -> Security {
        Security::default()
            .or(SCHEME, SecurityScheme::MutualTls(MutualTlsSecurityScheme::default()))
    }
}

/// A certificate that the sender of a request showed, and that was verified. Whoever serves the
/// router behind TLS of their own puts it into the extensions of each request.
#[derive(Clone)]
pub struct ClientCertificate(Arc<Read>);

struct Read {
    subject: String,
    alternatives: Vec<(Name, String)>,
    expires: SystemTime,
}

/// Something that is not a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is not a certificate")]
pub struct InvalidCertificate;

impl ClientCertificate {
    /// Reads a certificate in DER. It does not verify it.
    ///
    /// # Errors
    /// When it is none.
    pub fn from_der(der: &[u8]) -> Result<Self, InvalidCertificate> {
        let certificate = Certificate::from_der(der).map_err(|_| InvalidCertificate)?;
        let certificate = certificate.tbs_certificate();
        let found =
            certificate.get_extension::<SubjectAltName>().map_err(|_| InvalidCertificate)?;
        let alternatives = found.map(|(_, names)| names.0).unwrap_or_default();
        Ok(Self(Arc::new(Read {
            subject: certificate.subject().to_string(),
            alternatives: alternatives.iter().filter_map(name).collect(),
            expires: certificate.validity().not_after.to_system_time(),
        })))
    }
}

fn name(name: &GeneralName) -> Option<(Name, String)> {
    let (kind, text) = match name {
        GeneralName::DnsName(text) => (Name::Dns, text),
        GeneralName::UniformResourceIdentifier(text) => (Name::Uri, text),
        GeneralName::Rfc822Name(text) => (Name::Email, text),
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
        let made = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
        ClientCertificate::from_der(made.der()).unwrap()
    }

    async fn who(method: Certificates, shown: &ClientCertificate) -> Result<Caller, Error> {
        let headers = HeaderMap::new();
        let mut credentials = Credentials::new(&headers);
        credentials.certificate = Some(shown);
        method.authenticate(credentials).await
    }

    #[tokio::test]
    async fn a_caller_is_what_its_certificate_names() {
        let shown = certificate(|params| {
            params.distinguished_name.push(DnType::OrganizationName, "Example, Inc");
            params.distinguished_name.push(DnType::CommonName, "alice");
            params.subject_alt_names = vec![
                SanType::URI("spiffe://example/alice".try_into().unwrap()),
                SanType::DnsName("alice.example".try_into().unwrap()),
                SanType::DnsName("other.example".try_into().unwrap()),
            ];
        });
        for (name, want) in [
            (Name::Subject, Some("cert:CN=alice,O=Example\\, Inc")),
            (Name::Dns, Some("cert:dns:alice.example")),
            (Name::Uri, Some("cert:uri:spiffe://example/alice")),
            (Name::Email, None),
        ] {
            let caller = who(Certificates::by(name).with_scopes(["s"]), &shown).await;
            assert_eq!(caller.as_ref().ok().map(|it| &**it.id()), want, "{name:?}");
            if let Ok(caller) = caller {
                assert_eq!(caller.scopes(), ["s"]);
            }
        }
    }

    #[tokio::test]
    async fn a_certificate_without_a_name_or_past_its_time_is_nobodys() {
        let nameless = certificate(|_| {});
        let expired = certificate(|params| {
            params.distinguished_name.push(DnType::CommonName, "alice");
            params.not_after = rcgen::date_time_ymd(2020, 1, 1);
        });
        for (shown, want) in [(nameless, "no name"), (expired, "has expired")] {
            let error = who(Certificates::default(), &shown).await.unwrap_err();
            assert!(error.message().contains(want), "{error}");
        }
        assert!(ClientCertificate::from_der(b"no").is_err());
    }
}
