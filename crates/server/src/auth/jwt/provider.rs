//! Client of the identity provider: fetches its discovery document and keys.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode, Uri};
use jsonwebtoken::jwk::Jwk;
use latimer_outbound::{
    AllowRule, Guard, HttpClient, RequestError, RequestLimits, Rules, is_loopback_host,
};
use serde::Deserialize;
use serde_json::Value;

use super::InvalidJwt;

/// Limits of a request to the provider.
const REQUEST_LIMITS: RequestLimits = RequestLimits {
    timeout: Duration::from_secs(5),
    max_body_bytes: 1024 * 1024,
    max_redirects: 3,
};

/// Identity provider of one issuer.
#[derive(Debug)]
pub(super) struct Provider {
    issuer: String,
    keys_url: Option<String>,
    client: HttpClient,
}

/// Reason that the keys could not be fetched.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProviderError {
    #[error("{url}: {source}")]
    Unreachable { url: String, source: RequestError },
    #[error("{url} responded with status {status}")]
    UnexpectedStatus { url: String, status: StatusCode },
    #[error("{url} did not return the expected JSON")]
    InvalidResponse { url: String },
    #[error("{url} describes another issuer: {issuer:?}")]
    IssuerMismatch { url: String, issuer: String },
}

/// Discovery document of a provider.
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
    /// Creates the provider of an issuer. The issuer and `keys_url` may be on a private network; URLs
    /// from the discovery document and redirects must be on the public internet.
    pub(super) fn new(issuer: &str, keys_url: Option<&str>) -> Result<Self, InvalidJwt> {
        let rules = Rules { allow: trusted_origins(issuer, keys_url)?, ..Rules::default() };
        let client =
            HttpClient::builder(Guard::new(rules)).build().map_err(|error| InvalidJwt {
                setting: "issuer",
                problem: format!("cannot create an HTTP client: {error}"),
            })?;
        Ok(Self { issuer: issuer.to_owned(), keys_url: keys_url.map(str::to_owned), client })
    }

    /// Returns the URL of the discovery document.
    pub(super) fn discovery_url(&self) -> String {
        format!("{}/.well-known/openid-configuration", self.issuer.trim_end_matches('/'))
    }

    /// Fetches the current keys. Keys in an unknown format are left out.
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

/// Returns the origins of the configured URLs, which the guard allows even on private networks.
pub(super) fn trusted_origins(
    issuer: &str,
    keys_url: Option<&str>,
) -> Result<Vec<AllowRule>, InvalidJwt> {
    let mut allowed = Vec::new();
    for (setting, url) in [("issuer", Some(issuer)), ("jwks_url", keys_url)] {
        let Some(url) = url else { continue };
        let invalid = |problem: String| InvalidJwt { setting, problem };
        // A principal separates issuer and subject by `#`.
        if setting == "issuer" && url.contains(['?', '#']) {
            return Err(invalid("must have neither a query nor a fragment".to_owned()));
        }
        let origin = parse_origin(url).map_err(|it| invalid(it.to_owned()))?;
        allowed.push(origin.parse().map_err(|it| invalid(format!("{origin:?} {it}")))?);
    }
    Ok(allowed)
}

/// Returns host and port of a URL whose server is authenticated: HTTPS, or loopback.
fn parse_origin(url: &str) -> Result<String, &'static str> {
    let uri: Uri = url.parse().map_err(|_| "is not a URL")?;
    let host = uri.host().filter(|it| !it.is_empty()).ok_or("is not a URL")?;
    let is_local = is_loopback_host(host);
    let port = match uri.scheme_str() {
        Some("https") => 443,
        Some("http") if is_local => 80,
        _ => return Err("must begin with https:// (http:// is allowed for loopback addresses)"),
    };
    Ok(format!("{host}:{}", uri.port_u16().unwrap_or(port)))
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
            ("http://LOCALHOST:1", Ok("LOCALHOST:1")),
            ("http://login.localhost", Ok("login.localhost:80")),
            ("http://[::ffff:127.0.0.1]:1", Ok("[::ffff:127.0.0.1]:1")),
            ("http://login.example", Err("https://")),
            ("http://localhost.example", Err("https://")),
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
