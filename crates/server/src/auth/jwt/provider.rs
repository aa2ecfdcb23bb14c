//! The identity provider: where its keys are, and what they are.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode, Uri};
use jsonwebtoken::jwk::Jwk;
use latimer_outbound::{AllowRule, Guard, HttpClient, RequestError, RequestLimits, Rules};
use serde::Deserialize;
use serde_json::Value;

use super::InvalidJwt;

/// What an answer may cost.
const REQUEST_LIMITS: RequestLimits = RequestLimits {
    timeout: Duration::from_secs(5),
    max_body_bytes: 1024 * 1024,
    max_redirects: 3,
};

/// An identity provider.
#[derive(Debug)]
pub(super) struct Provider {
    issuer: String,
    keys_url: Option<String>,
    client: HttpClient,
}

/// Why there are no keys.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProviderError {
    #[error("{url}: {source}")]
    Unreachable { url: String, source: RequestError },
    #[error("{url} answers {status}")]
    UnexpectedStatus { url: String, status: StatusCode },
    #[error("{url} answers something else than is expected there")]
    InvalidResponse { url: String },
    #[error("{url} is that of another issuer, {issuer:?}")]
    IssuerMismatch { url: String, issuer: String },
}

/// What a provider says about itself.
#[derive(Deserialize)]
struct DiscoveryDocument {
    issuer: String,
    jwks_uri: String,
}

#[derive(Deserialize)]
struct JwksDocument {
    keys: Vec<Value>,
}

impl Provider {
    /// The provider of this issuer. It, and the address of its keys, may be anywhere; what it leads
    /// to besides must be on the public internet.
    pub(super) fn new(issuer: &str, keys_url: Option<&str>) -> Result<Self, InvalidJwt> {
        let rules = Rules { allow: trusted_origins(issuer, keys_url)?, ..Rules::default() };
        let client = HttpClient::builder(Guard::new(rules)).build().map_err(|error| {
            InvalidJwt { setting: "issuer", problem: format!("cannot be called: {error}") }
        })?;
        Ok(Self { issuer: issuer.to_owned(), keys_url: keys_url.map(str::to_owned), client })
    }

    /// Where it describes itself.
    pub(super) fn discovery_url(&self) -> String {
        format!("{}/.well-known/openid-configuration", self.issuer.trim_end_matches('/'))
    }

    /// Its keys, as they are now. Those that nobody here understands are left out.
    pub(super) async fn fetch_keys(&self) -> Result<Vec<Jwk>, ProviderError> {
        let url = match &self.keys_url {
            Some(url) => url.clone(),
            None => self.discover_keys_url().await?,
        };
        let JwksDocument { keys } = self.get_json(&url).await?;
        Ok(keys.into_iter().filter_map(|it| serde_json::from_value(it).ok()).collect())
    }

    async fn discover_keys_url(&self) -> Result<String, ProviderError> {
        let url = self.discovery_url();
        let DiscoveryDocument { issuer, jwks_uri } = self.get_json(&url).await?;
        match issuer == self.issuer {
            true => Ok(jwks_uri),
            false => Err(ProviderError::IssuerMismatch { url, issuer }),
        }
    }

    async fn get_json<T: for<'de> Deserialize<'de>>(&self, url: &str) -> Result<T, ProviderError> {
        let invalid_response = || ProviderError::InvalidResponse { url: url.to_owned() };
        let request = Request::get(url).header("accept", "application/json");
        let request = request.body(Bytes::new()).map_err(|_| invalid_response())?;
        let response = self.client.send(request, &REQUEST_LIMITS).await;
        let response = response
            .map_err(|source| ProviderError::Unreachable { url: url.to_owned(), source })?;
        match response.status() {
            StatusCode::OK => {
                serde_json::from_slice(response.body()).map_err(|_| invalid_response())
            }
            status => Err(ProviderError::UnexpectedStatus { url: url.to_owned(), status }),
        }
    }
}

/// Where the provider is, as its settings say.
pub(super) fn trusted_origins(
    issuer: &str,
    keys_url: Option<&str>,
) -> Result<Vec<AllowRule>, InvalidJwt> {
    let mut allowed = Vec::new();
    for (setting, url) in [("issuer", Some(issuer)), ("jwks_url", keys_url)] {
        let Some(url) = url else { continue };
        let invalid = |problem: String| InvalidJwt { setting, problem };
        // What stands behind it in the name of a caller is the subject.
        if setting == "issuer" && url.contains(['?', '#']) {
            return Err(invalid("must have neither a query nor a fragment".to_owned()));
        }
        let origin = parse_origin(url).map_err(|it| invalid(it.to_owned()))?;
        allowed.push(origin.parse().map_err(|it| invalid(format!("{origin:?} {it}")))?);
    }
    Ok(allowed)
}

/// The host and port of a URL that can be trusted to be what it says.
fn parse_origin(url: &str) -> Result<String, &'static str> {
    let uri: Uri = url.parse().map_err(|_| "is not a URL")?;
    let host = uri.host().filter(|it| !it.is_empty()).ok_or("is not a URL")?;
    let is_local = host == "localhost" || is_loopback_ip(host);
    let port = match uri.scheme_str() {
        Some("https") => 443,
        Some("http") if is_local => 80,
        _ => return Err("must begin with https:// (http:// is enough on this machine)"),
    };
    Ok(format!("{host}:{}", uri.port_u16().unwrap_or(port)))
}

fn is_loopback_ip(host: &str) -> bool {
    let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    address.is_ok_and(|it| it.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn issuer_url_must_be_https_or_loopback() {
        for (url, want) in [
            ("https://login.example", Ok("login.example:443")),
            ("https://login.example:8443/realms/a", Ok("login.example:8443")),
            ("http://127.0.0.1:9000", Ok("127.0.0.1:9000")),
            ("http://[::1]:9000", Ok("[::1]:9000")),
            ("http://localhost", Ok("localhost:80")),
            ("http://login.example", Err("https://")),
            ("ftp://login.example", Err("https://")),
            ("login.example", Err("https://")),
            ("", Err("not a URL")),
            ("https://login.example/keys?p=a", Ok("login.example:443")),
        ] {
            match (parse_origin(url), want) {
                (Ok(actual), Ok(want)) => assert_eq!(actual, want, "{url}"),
                (Err(actual), Err(want)) => assert!(actual.contains(want), "{url}: {actual}"),
                (actual, _) => panic!("{url}: {actual:?}"),
            }
        }
    }
}
