//! Who asks: the seam where callers are told apart, and the ways to do it.
//!
//! Each way names its callers so that no two of them can name the same one: `key:NAME` for a named
//! key, `jwt:ISSUER#SUBJECT` for a token, `cert:…` for a certificate.

mod access;
mod any;
mod certificate;
mod extract;
mod jwt;
mod keys;

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;

use async_trait::async_trait;
use http::HeaderMap;
use latimer_protocol::card::{AgentCard, SecurityRequirement, SecurityScheme};
use latimer_protocol::{Caller, Error, ErrorKind};

pub use access::Access;
pub(crate) use access::SCOPE_KEY;
pub use any::AnyOf;
pub use certificate::{CertificateAuth, CertificateName, ClientCertificate, InvalidCertificate};
pub use jwt::{InvalidJwt, Jwt, JwtAlgorithm, JwtSettings};
pub use keys::{ApiKeys, InvalidDigest, KeyDigest};

/// Finds out who makes a request.
///
/// It is asked before a body is read. Cards, health and readiness are for everybody, and so are the
/// public paths of [`Settings`](crate::Settings).
#[async_trait]
pub trait Authenticate: fmt::Debug + Send + Sync + 'static {
    /// The caller, by what the request shows.
    ///
    /// # Errors
    /// [`ErrorKind::Unauthenticated`] when it shows nothing that counts, and
    /// [`ErrorKind::PermissionDenied`] when that is known and not welcome. An error with the fact
    /// [`AUTH_ERROR_KEY`] says that something was shown, and what is wrong with it: such a caller is not
    /// let in as an anonymous one, not even where everybody may.
    async fn authenticate(&self, credentials: PresentedCredentials<'_>) -> Result<Caller, Error>;

    /// What the `WWW-Authenticate` header asks for.
    fn challenge(&self) -> &str {
        "Bearer"
    }

    /// What cards say about it. When it is nothing, a card says what its author does.
    fn security(&self) -> SecurityDeclaration {
        SecurityDeclaration::default()
    }
}

/// The fact of an error that says what is wrong with what was shown, in the words of RFC 6750:
/// `invalid_token`, `invalid_request` or `insufficient_scope`. The challenge repeats it.
pub const AUTH_ERROR_KEY: &str = "error";

/// What was shown does not count.
pub(crate) const INVALID_TOKEN: &str = "invalid_token";
/// What was shown cannot be read at all.
pub(crate) const INVALID_REQUEST: &str = "invalid_request";
/// What was shown counts, and is not enough.
pub(crate) const INSUFFICIENT_SCOPE: &str = "insufficient_scope";

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

/// An error about something that was shown and is wrong.
fn invalid_credentials(
    reason: &'static str,
    message: impl Into<std::borrow::Cow<'static, str>>,
) -> Error {
    Error::new(ErrorKind::Unauthenticated, message).with_metadata(AUTH_ERROR_KEY, reason)
}

/// A function that knows callers by their headers.
pub(crate) struct HeaderAuth<F>(pub(crate) F);

impl<F> fmt::Debug for HeaderAuth<F> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Extractor")
    }
}

#[async_trait]
impl<F> Authenticate for HeaderAuth<F>
where
    F: Fn(&HeaderMap) -> Option<Caller> + Send + Sync + 'static,
{
    async fn authenticate(&self, credentials: PresentedCredentials<'_>) -> Result<Caller, Error> {
        (self.0)(credentials.headers).ok_or_else(|| ErrorKind::Unauthenticated.into())
    }
}
