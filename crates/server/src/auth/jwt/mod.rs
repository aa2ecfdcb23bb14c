//! Authentication by JWT: tokens that an identity provider signs with keys it publishes.
//!
//! | module | content |
//! | --- | --- |
//! | `algorithm` | accepted signature algorithms |
//! | `claims` | claims of a verified token |
//! | `key_set` | cache of the provider's keys |
//! | `provider` | discovery document and keys of the provider |

mod algorithm;
mod claims;
mod key_set;
mod provider;

use std::collections::HashSet;
use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use jsonwebtoken::errors::ErrorKind as JwtErrorKind;
use jsonwebtoken::{Header, Validation, decode, decode_header};
use latimer_protocol::card::{HttpAuthSecurityScheme, OpenIdConnectSecurityScheme, SecurityScheme};
use latimer_protocol::{Caller, Secret};

pub use algorithm::JwtAlgorithm;

use self::claims::Claims;
use self::key_set::{KeyLookupError, KeyQuery, KeySet};
use self::provider::Provider;
use super::access::require_scopes;
use super::{
    AuthError, Authenticate, BEARER_CHALLENGE, PresentedCredentials, SecurityDeclaration, extract,
};

/// Maximum accepted clock difference.
const MAX_LEEWAY: Duration = Duration::from_secs(3600);
/// Names of the security schemes in cards, with and without discovery.
const OIDC_SCHEME: &str = "oidc";
const JWT_SCHEME: &str = "jwt";

/// Rules for accepting tokens.
///
/// ```
/// # use latimer_server::{JwtAuth, JwtSettings};
/// let settings = JwtSettings::new("https://login.example.com", "latimer");
/// let method = JwtAuth::new(settings)?;
/// # drop(method);
/// # Ok::<(), latimer_server::InvalidJwt>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JwtSettings {
    /// URL of the issuer, exactly as in the claim `iss`. OpenID Connect discovery locates its keys
    /// unless `keys_url` is set.
    pub issuer: String,
    /// Accepted audiences; the claim `aud` must contain one of them.
    pub audiences: Vec<String>,
    /// URL of the key set (JWKS). Disables discovery.
    pub keys_url: Option<String>,
    /// Accepted signature algorithms.
    pub algorithms: Vec<JwtAlgorithm>,
    /// Accepted clock difference for `exp` and `nbf`; at most one hour.
    pub leeway: Duration,
    /// Scopes that every token must have.
    pub scopes: Vec<String>,
    /// Claim that identifies the caller.
    pub principal_claim: String,
    /// Time after which cached keys are fetched again.
    pub keys_max_age: Duration,
    /// Time after `keys_max_age` for which cached keys remain in use while they cannot be fetched.
    /// Afterwards no token is accepted until the provider responds.
    pub keys_max_stale: Duration,
}

impl JwtSettings {
    /// Creates settings for one issuer and audience, with default values for the rest.
    pub fn new(issuer: impl Into<String>, audience: impl Into<String>) -> Self {
        Self {
            issuer: issuer.into(),
            audiences: vec![audience.into()],
            keys_url: None,
            algorithms: JwtAlgorithm::DEFAULT.to_vec(),
            leeway: Duration::from_secs(60),
            scopes: Vec::new(),
            principal_claim: "sub".to_owned(),
            keys_max_age: Duration::from_secs(600),
            keys_max_stale: Duration::from_secs(24 * 3600),
        }
    }

    /// Validates the settings.
    ///
    /// # Errors
    /// Returns the first invalid setting.
    pub fn check(&self) -> Result<(), InvalidJwt> {
        provider::trusted_origins(&self.issuer, self.keys_url.as_deref())?;
        let invalid = |setting, problem: &str| Err(InvalidJwt { setting, problem: problem.into() });
        if self.audiences.is_empty() || self.audiences.iter().any(String::is_empty) {
            return invalid(
                "audience",
                "must not be empty: tokens for other servers would be accepted",
            );
        }
        if self.algorithms.is_empty() {
            return invalid("algorithms", "must contain at least one algorithm");
        }
        if self.leeway > MAX_LEEWAY {
            return invalid("leeway", "must be at most one hour");
        }
        if self.principal_claim.is_empty() {
            return invalid("principal_claim", "must name a claim");
        }
        Ok(())
    }
}

/// A setting is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{setting}: {problem}")]
pub struct InvalidJwt {
    /// Name of the setting.
    pub setting: &'static str,
    /// Description of the problem.
    pub problem: String,
}

/// Authenticates callers by JWT. The principal is `jwt:ISSUER#SUBJECT`, the scopes are those in the
/// claims `scope` and `scp`, and the caller's metadata are the claims.
pub struct JwtAuth {
    settings: JwtSettings,
    keys: KeySet,
    security: SecurityDeclaration,
}

impl JwtAuth {
    /// Creates the method. The first token triggers the first request for keys.
    ///
    /// # Errors
    /// Returns the first invalid setting.
    pub fn new(settings: JwtSettings) -> Result<Self, InvalidJwt> {
        settings.check()?;
        let provider = Provider::new(&settings.issuer, settings.keys_url.as_deref())?;
        let (name, scheme) = match &settings.keys_url {
            None => (
                OIDC_SCHEME,
                SecurityScheme::OpenIdConnect(OpenIdConnectSecurityScheme {
                    open_id_connect_url: provider.discovery_url(),
                    ..Default::default()
                }),
            ),
            Some(_) => (
                JWT_SCHEME,
                SecurityScheme::HttpAuth(HttpAuthSecurityScheme {
                    scheme: "Bearer".to_owned(),
                    bearer_format: Some("JWT".to_owned()),
                    ..Default::default()
                }),
            ),
        };
        let mut security = SecurityDeclaration::default().with_alternative(name, scheme);
        if name == OIDC_SCHEME {
            let scopes = settings.scopes.iter().cloned();
            security.requirements = security
                .requirements
                .into_iter()
                .map(|it| it.with_scopes(name, scopes.clone()))
                .collect();
        }
        let keys = KeySet::new(provider, settings.keys_max_age, settings.keys_max_stale);
        Ok(Self { settings, keys, security })
    }

    async fn verify(&self, token: &str) -> Result<Claims, AuthError> {
        let header = decode_header(token).map_err(|_| {
            AuthError::invalid("the token is not a JWT or uses an unsupported algorithm")
        })?;
        self.check_header(&header)?;
        let query = KeyQuery { kid: header.kid.as_deref(), algorithm: header.alg };
        let key = self.keys.find(query).await.map_err(|error| match error {
            KeyLookupError::Unknown => AuthError::invalid(
                "the token is signed with a key that its issuer does not publish",
            ),
            KeyLookupError::Ambiguous => {
                AuthError::invalid("the token has no key id, and its issuer publishes several keys")
            }
            KeyLookupError::Unavailable => AuthError::Unavailable(
                "tokens cannot be verified: their issuer is unreachable".into(),
            ),
        })?;
        let verified = decode(token, &key, &self.validation(&header));
        verified.map(|it| it.claims).map_err(|error| token_error(error.kind()))
    }

    fn check_header(&self, header: &Header) -> Result<(), AuthError> {
        if !self.settings.algorithms.iter().any(|it| it.matches(header.alg)) {
            return Err(AuthError::invalid(
                "the token is signed with an algorithm that is not accepted",
            ));
        }
        // RFC 7515 4.1.11: a token with an unknown critical extension is invalid.
        match &header.crit {
            Some(_) => Err(AuthError::invalid("the token requires unknown extensions")),
            None => Ok(()),
        }
    }

    fn validation(&self, header: &Header) -> Validation {
        let mut validation = Validation::new(header.alg);
        validation.leeway = self.settings.leeway.as_secs();
        validation.validate_nbf = true;
        validation.aud = Some(self.settings.audiences.iter().cloned().collect());
        validation.iss = Some(HashSet::from([self.settings.issuer.clone()]));
        validation.set_required_spec_claims(&["exp", "iss", "aud"]);
        validation
    }
}

#[async_trait]
impl Authenticate for JwtAuth {
    async fn authenticate(&self, presented: PresentedCredentials<'_>) -> Result<Caller, AuthError> {
        let token = extract::bearer_token(presented.headers)?.ok_or(AuthError::Missing)?;
        let claims = self.verify(token).await?;
        let JwtSettings { issuer, principal_claim, scopes, .. } = &self.settings;
        let subject = claims.string_claim(principal_claim).filter(|it| !it.is_empty());
        let subject = subject.ok_or_else(|| {
            AuthError::invalid(format!("the token has no claim {principal_claim}"))
        })?;
        let caller = Caller::new(format!("jwt:{issuer}#{subject}"))
            .with_scopes(claims.scopes())
            .with_token(Secret::new(token))
            .with_metadata(claims.into_metadata());
        require_scopes(scopes, &caller)?;
        Ok(caller)
    }

    fn challenge(&self) -> &str {
        BEARER_CHALLENGE
    }

    fn security(&self) -> SecurityDeclaration {
        self.security.clone()
    }
}

impl fmt::Debug for JwtAuth {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("JwtAuth").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// Creates the error for an invalid token, with a message for the caller.
fn token_error(problem: &JwtErrorKind) -> AuthError {
    AuthError::Invalid(match problem {
        JwtErrorKind::ExpiredSignature => "the token has expired".into(),
        JwtErrorKind::ImmatureSignature => "the token is not valid yet".into(),
        JwtErrorKind::InvalidIssuer => "the token was issued by another issuer".into(),
        JwtErrorKind::InvalidAudience => "the token is for another audience".into(),
        JwtErrorKind::InvalidSignature => "the signature of the token is invalid".into(),
        JwtErrorKind::InvalidAlgorithm | JwtErrorKind::InvalidKeyFormat => {
            "the algorithm of the token does not match its key".into()
        }
        JwtErrorKind::MissingRequiredClaim(claim) => {
            format!("the token has no claim {claim}").into()
        }
        _ => "the token is not a JWT".into(),
    })
}
