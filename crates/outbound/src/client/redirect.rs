//! Rules for following redirects.

use http::header::{AUTHORIZATION, COOKIE, LOCATION, PROXY_AUTHORIZATION};
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, Response, StatusCode};

use super::error::RequestError;
use crate::target::Target;

/// Reason why a redirect is not followed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RedirectError {
    /// The redirect points to another origin, and the request has credentials or is not safe.
    #[error("points to another origin")]
    CrossOrigin {
        /// Origin of the redirect's location.
        origin: String,
    },
    /// The redirect requires another method than the request has.
    #[error("changes the request method")]
    MethodChange {
        /// Origin of the redirect's location.
        origin: String,
    },
    /// The number of redirects exceeds the limit.
    #[error("exceeds the redirect limit")]
    TooMany,
    /// The `Location` header is not valid text.
    #[error("has an invalid location")]
    InvalidLocation,
}

/// Headers that are credentials even if they are not marked as sensitive.
const CREDENTIAL_HEADERS: [HeaderName; 6] = [
    AUTHORIZATION,
    COOKIE,
    PROXY_AUTHORIZATION,
    HeaderName::from_static("a2a-notification-token"),
    HeaderName::from_static("x-a2a-notification-token"),
    HeaderName::from_static("x-api-key"),
];

/// Returns the target of a redirect to follow; `None` if the response is not a redirect.
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
