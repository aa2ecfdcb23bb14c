//! Who asks: the seam where callers are told apart, and the ways to do it.
//!
//! Each way names its callers so that no two of them can name the same one: `key:NAME` for a named
//! key, `jwt:ISSUER#SUBJECT` for a token, `cert:…` for a certificate.

mod access;
mod any;
mod certificate;
mod error;
mod extract;
mod jwt;
mod keys;

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;

use async_trait::async_trait;
use http::HeaderMap;
use latimer_protocol::Caller;
use latimer_protocol::card::{AgentCard, SecurityRequirement, SecurityScheme};

pub use access::Access;
pub use any::AnyOf;
pub use certificate::{CertificateAuth, CertificateName, ClientCertificate, InvalidCertificate};
pub use error::AuthError;
pub use jwt::{InvalidJwt, Jwt, JwtAlgorithm, JwtSettings};
pub use keys::{ApiKeys, InvalidDigest, KeyDigest};

/// Finds out who makes a request.
///
/// It is asked before a body is read. Cards, health and readiness are for everybody, and so are the
/// public paths of [`Settings`](crate::Settings).
#[async_trait]
pub trait Authenticate: fmt::Debug + Send + Sync + 'static {
    /// Returns the caller that the credentials of a request identify.
    ///
    /// # Errors
    /// Returns [`AuthError::Missing`] only if the request has no credentials of this method. Every
    /// other error rejects the request, also on public paths.
    async fn authenticate(&self, presented: PresentedCredentials<'_>) -> Result<Caller, AuthError>;

    /// What the `WWW-Authenticate` header asks for.
    fn challenge(&self) -> &str {
        "Bearer"
    }

    /// What cards say about it. When it is nothing, a card says what its author does.
    fn security(&self) -> SecurityDeclaration {
        SecurityDeclaration::default()
    }
}

/// The challenge of everything that takes bearer tokens.
const BEARER_CHALLENGE: &str = "Bearer realm=\"latimer\"";

/// What a request shows of its sender.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PresentedCredentials<'a> {
    /// Its headers, or the metadata of gRPC.
    pub headers: &'a HeaderMap,
    /// Where it came from, if that is known.
    pub peer: Option<SocketAddr>,
    /// The certificate that its sender showed on the connection, verified.
    pub certificate: Option<&'a ClientCertificate>,
}

impl<'a> PresentedCredentials<'a> {
    /// What a request with these headers shows.
    #[must_use]
    pub fn new(headers: &'a HeaderMap) -> Self {
        Self { headers, peer: None, certificate: None }
    }
}

/// What cards say about how to authenticate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SecurityDeclaration {
    /// The schemes, by name.
    pub schemes: BTreeMap<String, SecurityScheme>,
    /// Combinations of them, of which any one is enough.
    pub requirements: Vec<SecurityRequirement>,
}

impl SecurityDeclaration {
    /// The same, with one more scheme, which is enough by itself.
    #[must_use]
    pub fn with_alternative(mut self, name: impl Into<String>, scheme: SecurityScheme) -> Self {
        let name = name.into();
        self.requirements.push(SecurityRequirement::scheme(name.clone()));
        self.schemes.insert(name, scheme);
        self
    }

    /// Has a card say so. An agent may need scopes, which only some schemes can give.
    pub(crate) fn apply_to(&self, card: &mut AgentCard, scopes: &[String]) {
        if self.schemes.is_empty() {
            return;
        }
        card.security_schemes.clone_from(&self.schemes);
        card.security_requirements.clone_from(&self.requirements);
        for requirement in &mut card.security_requirements {
            for (name, required_scopes) in &mut requirement.schemes {
                let supports_scopes = matches!(
                    self.schemes.get(name),
                    Some(SecurityScheme::OpenIdConnect(_) | SecurityScheme::OAuth2(_))
                );
                let missing =
                    scopes.iter().filter(|it| supports_scopes && !required_scopes.contains(it));
                let missing: Vec<_> = missing.cloned().collect();
                required_scopes.extend(missing);
            }
        }
    }
}

/// A function that knows callers by their headers.
pub(crate) struct HeaderAuth<F>(pub(crate) F);

impl<F> fmt::Debug for HeaderAuth<F> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("HeaderAuth")
    }
}

#[async_trait]
impl<F> Authenticate for HeaderAuth<F>
where
    F: Fn(&HeaderMap) -> Option<Caller> + Send + Sync + 'static,
{
    async fn authenticate(&self, presented: PresentedCredentials<'_>) -> Result<Caller, AuthError> {
        (self.0)(presented.headers).ok_or(AuthError::Missing)
    }
}
