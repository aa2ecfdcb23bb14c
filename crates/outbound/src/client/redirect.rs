//! Which redirects are followed.

use http::header::{AUTHORIZATION, COOKIE, LOCATION, PROXY_AUTHORIZATION};
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, Response, StatusCode};

use super::error::RequestError;
use crate::target::Target;

/// Why a redirect is not followed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RedirectError {
    /// It leads to another origin, which the request is not meant for.
    #[error("leads to another host")]
    CrossOrigin {
        /// The origin it leads to.
        origin: String,
    },
    /// It asks for another request than the one that was sent.
    #[error("asks for another method")]
    MethodChange {
        /// The origin it leads to.
        origin: String,
    },
    /// It follows too many others.
    #[error("follows too many others")]
    TooMany,
    /// It does not say where to.
    #[error("cannot be read")]
    InvalidLocation,
}

/// Headers that are credentials whether or not anybody marked them as sensitive.
const CREDENTIAL_HEADERS: [HeaderName; 6] = [
    AUTHORIZATION,
    COOKIE,
    PROXY_AUTHORIZATION,
    HeaderName::from_static("a2a-notification-token"),
    HeaderName::from_static("x-a2a-notification-token"),
    HeaderName::from_static("x-api-key"),
];

/// Where an answer sends its request; nowhere if it is no redirect.
pub(super) fn next_target<B>(
    from: &Target,
    request: &Parts,
    response: &Response<B>,
) -> Result<Option<Target>, RequestError> {
    let Some(location) = response.headers().get(LOCATION) else { return Ok(None) };
    let is_safe_method = [Method::GET, Method::HEAD].contains(&request.method);
    let preserves_method = match response.status() {
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => true,
        StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND | StatusCode::SEE_OTHER => is_safe_method,
        _ => return Ok(None),
    };
    let location = location.to_str().map_err(|_| RedirectError::InvalidLocation)?;
    let to = from.join(location)?;
    let may_cross_origin = is_safe_method && !request.headers.iter().any(is_credential);
    if !preserves_method {
        Err(RedirectError::MethodChange { origin: to.origin() }.into())
    } else if may_cross_origin || to.same_origin(from) {
        Ok(Some(to))
    } else {
        Err(RedirectError::CrossOrigin { origin: to.origin() }.into())
    }
}

fn is_credential((name, value): (&HeaderName, &HeaderValue)) -> bool {
    value.is_sensitive() || CREDENTIAL_HEADERS.contains(name)
}
