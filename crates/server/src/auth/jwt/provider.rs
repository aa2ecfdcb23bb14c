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
const LIMITS: RequestLimits = RequestLimits {
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
pub(super) enum NoAnswer {
    #[error("{url}: {source}")]
    Unreachable { url: String, source: RequestError },
    #[error("{url} answers {status}")]
    Refused { url: String, status: StatusCode },
    #[error("{url} answers something else than is expected there")]
    Unreadable { url: String },
    #[error("{url} is that of another issuer, {found:?}")]
    Other { url: String, found: String },
}

/// What a provider says about itself.
#[derive(Deserialize)]
struct Discovered {
    issuer: String,
    jwks_uri: String,
}

#[derive(Deserialize)]
struct Keys {
    keys: Vec<Value>,
}

impl Provider {
    /// The provider of this issuer. It, and the address of its keys, may be anywhere; what it leads
    /// to besides must be on the public internet.
    pub(super) fn new(issuer: &str, keys_url: Option<&str>) -> Result<Self, InvalidJwt> {
        let rules = Rules { allow: origins(issuer, keys_url)?, ..Rules::default() };
        let client = HttpClient::builder(Guard::new(rules)).build().map_err(|error| {
            InvalidJwt { setting: "issuer", problem: format!("cannot be called: {error}") }
        })?;
        Ok(Self { issuer: issuer.to_owned(), keys_url: keys_url.map(str::to_owned), client })
    }

    /// Where it describes itself.
    pub(super) fn discovery(&self) -> String {
        format!("{}/.well-known/openid-configuration", self.issuer.trim_end_matches('/'))
    }

    /// Its keys, as they are now. Those that nobody here understands are left out.
    pub(super) async fn keys(&self) -> Result<Vec<Jwk>, NoAnswer> {
        let url = match &self.keys_url {
            Some(url) => url.clone(),
            None => self.discover().await?,
        };
        let Keys { keys } = self.get(&url).await?;
        Ok(keys.into_iter().filter_map(|it| serde_json::from_value(it).ok()).collect())
    }

    async fn discover(&self) -> Result<String, NoAnswer> {
        let url = self.discovery();
        let Discovered { issuer, jwks_uri } = self.get(&url).await?;
        match issuer == self.issuer {
            true => Ok(jwks_uri),
            false => Err(NoAnswer::Other { url, found: issuer }),
        }
    }

    async fn get<T: for<'de> Deserialize<'de>>(&self, url: &str) -> Result<T, NoAnswer> {
        let unreadable = || NoAnswer::Unreadable { url: url.to_owned() };
        let request = Request::get(url).header("accept", "application/json");
        let request = request.body(Bytes::new()).map_err(|_| unreadable())?;
        let answer = self.client.send(request, &LIMITS).await;
        let answer =
            answer.map_err(|source| NoAnswer::Unreachable { url: url.to_owned(), source })?;
        match answer.status() {
            StatusCode::OK => serde_json::from_slice(answer.body()).map_err(|_| unreadable()),
            status => Err(NoAnswer::Refused { url: url.to_owned(), status }),
        }
    }
}

/// Where the provider is, as its settings say.
pub(super) fn origins(issuer: &str, keys_url: Option<&str>) -> Result<Vec<AllowRule>, InvalidJwt> {
    let mut allowed = Vec::new();
    for (setting, url) in [("issuer", Some(issuer)), ("jwks_url", keys_url)] {
        let Some(url) = url else { continue };
        let invalid = |problem: String| InvalidJwt { setting, problem };
        // What stands behind it in the name of a caller is the subject.
        if setting == "issuer" && url.contains(['?', '#']) {
            return Err(invalid("must have neither a query nor a fragment".to_owned()));
        }
        let origin = origin(url).map_err(|it| invalid(it.to_owned()))?;
        allowed.push(origin.parse().map_err(|it| invalid(format!("{origin:?} {it}")))?);
    }
    Ok(allowed)
}

/// The host and port of a URL that can be trusted to be what it says.
fn origin(url: &str) -> Result<String, &'static str> {
    let uri: Uri = url.parse().map_err(|_| "is not a URL")?;
    let host = uri.host().filter(|it| !it.is_empty()).ok_or("is not a URL")?;
    let here = host == "localhost" || is_loopback(host);
    let port = match uri.scheme_str() {
        Some("https") => 443,
        Some("http") if here => 80,
        _ => return Err("must begin with https:// (http:// is enough on this machine)"),
    };
    Ok(format!("{host}:{}", uri.port_u16().unwrap_or(port)))
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    address.is_ok_and(|it| it.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issuer_is_a_url_that_nobody_else_can_answer() {
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
            match (origin(url), want) {
                (Ok(found), Ok(want)) => assert_eq!(found, want, "{url}"),
                (Err(found), Err(want)) => assert!(found.contains(want), "{url}: {found}"),
                (found, _) => panic!("{url}: {found:?}"),
            }
        }
    }
}
