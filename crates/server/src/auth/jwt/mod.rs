//! Callers by tokens of an identity provider: JWTs, signed with keys that it publishes.

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

/// The most that clocks may be apart.
const MAX_LEEWAY: Duration = Duration::from_secs(3600);
/// Names of the schemes in cards: with discovery, and without.
const OIDC_SCHEME: &str = "oidc";
const JWT_SCHEME: &str = "jwt";

/// Which tokens count.
///
/// ```
/// # use latimer_server::{Jwt, JwtSettings};
/// let settings = JwtSettings::new("https://login.example.com", "latimer");
/// let method = Jwt::new(settings)?;
/// # drop(method);
/// # Ok::<(), latimer_server::InvalidJwt>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JwtSettings {
    /// Who issues them: a URL, as it stands in `iss`. Keys are found by OpenID Connect discovery.
    pub issuer: String,
    /// For whom they are: one of these must stand in `aud`.
    pub audiences: Vec<String>,
    /// Where the keys are, when discovery is not to say that.
    pub keys_url: Option<String>,
    /// How they may be signed.
    pub algorithms: Vec<JwtAlgorithm>,
    /// How far clocks may be apart.
    pub leeway: Duration,
    /// Scopes that each must have.
    pub scopes: Vec<String>,
    /// The claim that names the caller.
    pub principal_claim: String,
    /// How long keys are used without asking for them again.
    pub keys_max_age: Duration,
}

impl JwtSettings {
    /// Tokens of this issuer for this audience.
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
        }
    }

    /// Whether tokens can be told from each other by these.
    ///
    /// # Errors
    /// When they cannot.
    pub fn check(&self) -> Result<(), InvalidJwt> {
        provider::trusted_origins(&self.issuer, self.keys_url.as_deref())?;
        let invalid = |setting, problem: &str| Err(InvalidJwt { setting, problem: problem.into() });
        if self.audiences.is_empty() || self.audiences.iter().any(String::is_empty) {
            return invalid("audience", "say for whom tokens are: any other server's would count");
        }
        if self.algorithms.is_empty() {
            return invalid("algorithms", "name at least one");
        }
        if self.leeway > MAX_LEEWAY {
            return invalid("leeway", "must not be more than an hour");
        }
        if self.principal_claim.is_empty() {
            return invalid("principal_claim", "must name a claim");
        }
        Ok(())
    }
}

/// Settings with which no token could be told from another.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{setting}: {problem}")]
pub struct InvalidJwt {
    /// Which of them.
    pub setting: &'static str,
    /// What is wrong with it.
    pub problem: String,
}

/// Lets in whoever shows a token that an identity provider has signed. The caller is
/// `jwt:ISSUER#SUBJECT`; its scopes are those in `scope` and `scp`, and its metadata are the claims.
pub struct Jwt {
    settings: JwtSettings,
    keys: KeySet,
    security: SecurityDeclaration,
}

impl Jwt {
    /// Does not ask for keys yet: that happens when the first token comes.
    ///
    /// # Errors
    /// When settings are wrong.
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
        let keys = KeySet::new(provider, settings.keys_max_age);
        Ok(Self { settings, keys, security })
    }

    async fn verify(&self, token: &str) -> Result<Claims, AuthError> {
        let header = decode_header(token).map_err(|_| {
            AuthError::invalid("the token is not a JWT, or its algorithm is not allowed here")
        })?;
        self.check_header(&header)?;
        let query = KeyQuery { kid: header.kid.as_deref(), algorithm: header.alg };
        let key = self.keys.find(query).await.map_err(|error| match error {
            KeyLookupError::Unknown => {
                AuthError::invalid("the token is signed with a key that its issuer does not have")
            }
            KeyLookupError::Ambiguous => {
                AuthError::invalid("the token does not say with which key it is signed")
            }
            KeyLookupError::Unavailable => AuthError::Unavailable(
                "tokens cannot be verified now, because their issuer cannot be reached".into(),
            ),
        })?;
        let verified = decode(token, &key, &self.validation(&header));
        verified.map(|it| it.claims).map_err(|error| token_error(error.kind()))
    }

    fn check_header(&self, header: &Header) -> Result<(), AuthError> {
        if !self.settings.algorithms.iter().any(|it| it.matches(header.alg)) {
            return Err(AuthError::invalid(
                "the token is signed with an algorithm that is not allowed here",
            ));
        }
        // RFC 7515 4.1.11: whoever does not understand one of them must refuse.
        match &header.crit {
            Some(_) => Err(AuthError::invalid("the token needs extensions that are not known")),
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
impl Authenticate for Jwt {
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

impl fmt::Debug for Jwt {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Jwt").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// What a caller learns about a token that does not count.
fn token_error(problem: &JwtErrorKind) -> AuthError {
    AuthError::Invalid(match problem {
        JwtErrorKind::ExpiredSignature => "the token has expired".into(),
        JwtErrorKind::ImmatureSignature => "the token is not valid yet".into(),
        JwtErrorKind::InvalidIssuer => "the token is of another issuer".into(),
        JwtErrorKind::InvalidAudience => "the token is for another audience".into(),
        JwtErrorKind::InvalidSignature => "the signature of the token is wrong".into(),
        JwtErrorKind::InvalidAlgorithm | JwtErrorKind::InvalidKeyFormat => {
            "the token is not signed as its key is made for".into()
        }
        JwtErrorKind::MissingRequiredClaim(claim) => {
            format!("the token has no claim {claim}").into()
        }
        _ => "the token is not a JWT".into(),
    })
}
