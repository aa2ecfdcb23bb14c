//! Calls from pages in browsers. Cards are for everybody; agents for the origins that are allowed.
//!
//! Nothing here has to do with cookies: who calls is said in a header that a page must know itself.
//! So nobody is ever told that credentials may come along, and `*` gives nothing away.

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
/// What the answer to a browser that asks depends on.
const ASKED: HeaderValue =
    HeaderValue::from_static("Access-Control-Request-Headers, Access-Control-Request-Method");

/// Where a page comes from that makes a request.
pub(super) fn origin(head: &Parts) -> Option<&HeaderValue> {
    head.headers.get(ORIGIN)
}

/// Whether a text is an origin as browsers write it: a scheme, a host, perhaps a port, and no more.
pub(crate) fn is_origin(text: &str) -> bool {
    let plain =
        |it: u8| it.is_ascii_graphic() && !it.is_ascii_uppercase() && !b"/?#@*".contains(&it);
    text.split_once("://").is_some_and(|(scheme, host)| {
        [scheme, host].iter().all(|it| !it.is_empty() && it.bytes().all(plain))
    })
}

/// Whose pages may read what is at a place.
enum Readers<'a> {
    Nobody,
    Everybody,
    These(&'a [String]),
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
            _ => "GET, POST, DELETE, OPTIONS",
        };
        self.allowed(Some(origin), place).filter(|_| asks)?;
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NO_CONTENT;
        let headers = response.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(methods));
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HEADERS);
        headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("3600"));
        headers.insert(VARY, ASKED);
        self.allow_origin(Some(origin), place, headers);
        Some(response)
    }

    /// Lets a page of the origin read an answer, if it may. What is for everybody says so to
    /// everybody, so that one answer can be kept for all.
    pub(super) fn allow_origin(
        &self,
        origin: Option<&HeaderValue>,
        place: Place<'_>,
        headers: &mut HeaderMap,
    ) {
        if let Readers::These(_) = self.readers(place) {
            headers.append(VARY, HeaderValue::from_static("Origin"));
        }
        if let Some(allowed) = self.allowed(origin, place) {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, allowed);
            headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
        }
    }

    fn allowed(&self, origin: Option<&HeaderValue>, place: Place<'_>) -> Option<HeaderValue> {
        match self.readers(place) {
            Readers::Nobody => None,
            Readers::Everybody => Some(ANY),
            Readers::These(named) => origin
                .filter(|it| named.iter().any(|name| name.as_bytes() == it.as_bytes()))
                .cloned(),
        }
    }

    fn readers(&self, place: Place<'_>) -> Readers<'_> {
        let named = &self.settings.allowed_origins;
        match place {
            Place::Card(..) | Place::Agents | Place::Keys => Readers::Everybody,
            Place::JsonRpc(_) | Place::Rest(..) if named.is_empty() => Readers::Nobody,
            Place::JsonRpc(_) | Place::Rest(..) if named.iter().any(|it| it == "*") => {
                Readers::Everybody
            }
            Place::JsonRpc(_) | Place::Rest(..) => Readers::These(named),
            Place::Grpc
            | Place::Health
            | Place::Ready
            | Place::Metrics
            | Place::DeadLetters(_)
            | Place::Nothing => Readers::Nobody,
        }
    }
}
