//! Calls from pages in browsers. Cards are for everybody; agents for the origins that are allowed.

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, ORIGIN,
    VARY,
};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};

use super::Front;
use super::body::Body;
use super::place::Place;

const ANY: HeaderValue = HeaderValue::from_static("*");
const HEADERS: HeaderValue = HeaderValue::from_static(
    "Accept, A2A-Extensions, A2A-Version, Authorization, Content-Type, If-None-Match, \
     Last-Event-ID, X-A2A-Extensions, X-API-Key",
);
const EXPOSED: HeaderValue = HeaderValue::from_static(
    "A2A-Extensions, ETag, Retry-After, WWW-Authenticate, X-A2A-Extensions",
);

/// Where a page comes from that makes a request.
pub(super) fn origin(head: &Parts) -> Option<&HeaderValue> {
    head.headers.get(ORIGIN)
}

impl Front {
    /// The answer to a browser that asks whether it may.
    pub(super) fn preflight(
        &self,
        head: &Parts,
        origin: &HeaderValue,
        place: Place<'_>,
    ) -> Option<Response<Body>> {
        let asks = head.method == Method::OPTIONS
            && head.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
        let methods = match place {
            Place::Card(..) | Place::Agents | Place::Keys => "GET, HEAD, OPTIONS",
            Place::JsonRpc(_) | Place::Rest(..) => "GET, POST, DELETE, OPTIONS",
            _ => return None,
        };
        self.allowed(origin, place).filter(|_| asks)?;
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NO_CONTENT;
        let headers = response.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(methods));
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HEADERS);
        headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("3600"));
        self.allow_origin(origin, place, headers);
        Some(response)
    }

    /// Lets a page of the origin read an answer, if it may.
    pub(super) fn allow_origin(
        &self,
        origin: &HeaderValue,
        place: Place<'_>,
        headers: &mut HeaderMap,
    ) {
        let Some(allowed) = self.allowed(origin, place) else { return };
        if allowed != ANY {
            headers.append(VARY, HeaderValue::from_static("Origin"));
        }
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, allowed);
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    }

    fn allowed(&self, origin: &HeaderValue, place: Place<'_>) -> Option<HeaderValue> {
        let named = &self.settings.allowed_origins;
        match place {
            Place::Card(..) | Place::Agents | Place::Keys => Some(ANY),
            Place::JsonRpc(_) | Place::Rest(..) if named.iter().any(|it| it == "*") => Some(ANY),
            Place::JsonRpc(_) | Place::Rest(..) => {
                named.iter().any(|it| it.as_bytes() == origin.as_bytes()).then(|| origin.clone())
            }
            _ => None,
        }
    }
}
