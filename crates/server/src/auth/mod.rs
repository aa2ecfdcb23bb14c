//! Authentication of callers, and authorization by agent.
//!
//! Each method prefixes its principals, so that two methods cannot produce the same one: `key:NAME`
//! for an API key, `jwt:ISSUER#SUBJECT` for a token, `cert:…` for a certificate.
//!
//! | module | content |
//! | --- | --- |
//! | `access` | allow list of an agent |
//! | `any` | combination of several methods |
//! | `certificate` | TLS client certificates |
//! | `error` | errors of authentication and authorization |
//! | `extract` | bearer tokens and API keys in headers |
//! | `jwt` | tokens of an identity provider |
//! | `keys` | API keys |

mod access;
mod any;
#[cfg_attr(not(feature = "tls"), path = "certificate/disabled.rs")]
mod certificate;
mod error;
mod extract;
#[cfg(feature = "jwt")]
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
pub use certificate::ClientCertificate;
#[cfg(feature = "tls")]
pub use certificate::{CertificateAuth, CertificateName, InvalidCertificate};
pub use error::AuthError;
#[cfg(feature = "jwt")]
pub use jwt::{InvalidJwt, JwtAlgorithm, JwtAuth, JwtSettings};
pub use keys::{ApiKeys, InvalidDigest, KeyDigest};

/// Scope of operators.
pub const OPERATOR_SCOPE: &str = "latimer:operator";

/// Method that authenticates the caller of a request.
///
/// The server authenticates a request before it reads the body. Cards, health and readiness need no
/// authentication, nor do the public paths of [`Settings`](crate::Settings).
///
/// ```
/// use async_trait::async_trait;
/// use http::HeaderMap;
/// use latimer_protocol::Caller;
/// use latimer_server::{AuthError, Authenticate, PresentedCredentials, Server};
///
/// /// Authenticates callers by a header that a trusted proxy sets.
/// #[derive(Debug)]
/// struct ProxyAuth;
///
/// #[async_trait]
/// impl Authenticate for ProxyAuth {
///     async fn authenticate(
///         &self,
///         presented: PresentedCredentials<'_>,
///     ) -> Result<Caller, AuthError> {
///         let user = presented.headers.get("x-user").ok_or(AuthError::Missing)?;
///         let user = user.to_str().map_err(|_| AuthError::Malformed("invalid user".into()))?;
///         Ok(Caller::new(format!("proxy:{user}")))
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut headers = HeaderMap::new();
/// let rejection = ProxyAuth.authenticate(PresentedCredentials::new(&headers)).await;
/// assert_eq!(rejection.unwrap_err(), AuthError::Missing);
///
/// headers.insert("x-user", "alice".parse()?);
/// let caller = ProxyAuth.authenticate(PresentedCredentials::new(&headers)).await?;
/// assert_eq!(&**caller.id(), "proxy:alice");
///
/// let server = Server::echo().authenticate(ProxyAuth);
/// # drop(server);
/// # Ok(())
/// # }
/// ```
#[async_trait]
pub trait Authenticate: fmt::Debug + Send + Sync + 'static {
    /// Returns the caller that the credentials of a request identify.
    ///
    /// # Errors
    /// Returns [`AuthError::Missing`] only if the request has no credentials of this method. Every
    /// other error rejects the request, also on public paths.
    async fn authenticate(&self, presented: PresentedCredentials<'_>) -> Result<Caller, AuthError>;

    /// Returns the authentication scheme, with parameters, for the `WWW-Authenticate` header.
    fn challenge(&self) -> &str {
        "Bearer"
    }

    /// Returns the part of a request that contains the credential. [`AnyOf`] rejects a request if one
    /// of its credentials is accepted by no method. By default the token of the request.
    fn credential_source(&self) -> CredentialSource {
        CredentialSource::Token
    }

    /// Returns the security schemes for cards. If there are none, cards keep the schemes of their
    /// authors.
    fn security(&self) -> SecurityDeclaration {
        SecurityDeclaration::default()
    }
}

/// Challenge of the methods that accept bearer tokens.
const BEARER_CHALLENGE: &str = "Bearer realm=\"latimer\"";

/// Part of a request that contains a credential.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CredentialSource {
    /// The header `Authorization` or `X-API-Key`.
    #[default]
    Token,
    /// The client certificate of the connection.
    Certificate,
    /// Another part, by its name, such as that of a header.
    Other(&'static str),
}

/// Credentials of a request.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PresentedCredentials<'a> {
    /// Request headers; for gRPC, the metadata.
    pub headers: &'a HeaderMap,
    /// Peer address of the connection, if known.
    pub peer: Option<SocketAddr>,
    /// Verified client certificate of the connection.
    pub certificate: Option<&'a ClientCertificate>,
}

impl<'a> PresentedCredentials<'a> {
    /// Creates credentials with headers only.
    #[must_use]
    pub fn new(headers: &'a HeaderMap) -> Self {
        Self { headers, peer: None, certificate: None }
    }
}

/// Security schemes and requirements that a method adds to cards.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SecurityDeclaration {
    /// Schemes by name.
    pub schemes: BTreeMap<String, SecurityScheme>,
    /// Combinations of schemes; a caller must satisfy one of them.
    pub requirements: Vec<SecurityRequirement>,
}

impl SecurityDeclaration {
    /// Adds a scheme that is sufficient by itself.
    #[must_use]
    pub fn with_alternative(mut self, name: impl Into<String>, scheme: SecurityScheme) -> Self {
        let name = name.into();
        self.requirements.push(SecurityRequirement::scheme(name.clone()));
        self.schemes.insert(name, scheme);
        self
    }

    /// Replaces the schemes and requirements of a card. Adds `scopes`, which the agent requires, to
    /// the schemes that support scopes. Does nothing without schemes.
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

/// Authentication method that calls a function with the request headers.
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
