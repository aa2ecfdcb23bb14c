//! Parsed request URL. The same parsed value is checked and requested, so that two parsers cannot
//! disagree.

use std::fmt;

use http::Uri;
use url::Url;

use crate::forbidden::Forbidden;
use crate::host::Host;

/// Normalized HTTP or HTTPS URL, parsed as browsers do: `http://0x7f.1` is `http://127.0.0.1`.
///
/// `Debug` prints only the origin, because the path and query of a webhook URL may be secret.
///
/// ```
/// # use latimer_outbound::{Guard, Rules};
/// let guard = Guard::new(Rules::default());
/// let target = guard.check_without_dns("https://Hooks.Example./a?token=b")?;
/// assert_eq!(target.origin(), "https://hooks.example:443");
/// assert_eq!(format!("{target:?}"), r#"Target("https://hooks.example:443")"#);
/// # Ok::<(), latimer_outbound::Forbidden>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Target {
    uri: Uri,
    scheme: Scheme,
    host: Host,
    port: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    Http,
    Https,
}

impl Target {
    /// Returns the normalized URL to request.
    #[must_use]
    pub fn uri(&self) -> &Uri {
        &self.uri
    }

    /// Returns scheme, host and port, such as `https://hooks.example:443`. Safe to log.
    #[must_use]
    pub fn origin(&self) -> String {
        let scheme = match self.scheme {
            Scheme::Http => "http",
            Scheme::Https => "https",
        };
        format!("{scheme}://{}:{}", self.host, self.port)
    }

    pub(crate) fn parse(url: &str) -> Result<Self, Forbidden> {
        Self::new(&Url::parse(url).map_err(|_| Forbidden::Url)?)
    }

    /// Resolves a `Location` header relative to this URL.
    #[cfg(feature = "client")]
    pub(crate) fn join(&self, location: &str) -> Result<Self, Forbidden> {
        let base = Url::parse(&self.uri.to_string()).map_err(|_| Forbidden::Url)?;
        Self::new(&base.join(location).map_err(|_| Forbidden::Url)?)
    }

    fn new(url: &Url) -> Result<Self, Forbidden> {
        let scheme = match url.scheme() {
            "http" => Scheme::Http,
            "https" => Scheme::Https,
            _ => return Err(Forbidden::Scheme),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Forbidden::UserInfo);
        }
        let host = url.host().and_then(Host::new).ok_or(Forbidden::Url)?;
        let port = url.port_or_known_default().ok_or(Forbidden::Url)?;
        if port == 0 {
            return Err(Forbidden::Port);
        }
        let uri = url.as_str().parse().map_err(|_| Forbidden::Url)?;
        Ok(Self { uri, scheme, host, port })
    }

    pub(crate) fn scheme(&self) -> Scheme {
        self.scheme
    }

    pub(crate) fn host(&self) -> &Host {
        &self.host
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    #[cfg(feature = "client")]
    pub(crate) fn same_origin(&self, other: &Self) -> bool {
        (self.scheme, &self.host, self.port) == (other.scheme, &other.host, other.port)
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("Target").field(&self.origin()).finish()
    }
}
