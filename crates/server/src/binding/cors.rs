//! Cross-origin access of web pages (CORS). Cards are readable from every origin, agents from the
//! configured origins.
//!
//! Authentication never uses cookies, only headers that the page must set itself. Responses therefore
//! never allow credentials, and `*` exposes nothing that the page could not read anyway.

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, ORIGIN,
    VARY,
};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};

use super::Frontend;
use super::body::Body;
use super::route_table::RouteTarget;

const ANY_ORIGIN: HeaderValue = HeaderValue::from_static("*");
const ALLOWED_HEADERS: HeaderValue = HeaderValue::from_static(
    "Accept, A2A-Extensions, A2A-Version, Authorization, Content-Type, If-None-Match, \
     Last-Event-ID, X-A2A-Extensions, X-API-Key",
);
const EXPOSED_HEADERS: HeaderValue = HeaderValue::from_static(
    "A2A-Extensions, ETag, Retry-After, WWW-Authenticate, X-A2A-Extensions",
);
/// `Vary` header of preflight responses.
const PREFLIGHT_VARY: HeaderValue =
    HeaderValue::from_static("Access-Control-Request-Headers, Access-Control-Request-Method");

/// Returns the origin of the web page that sent a request.
pub(super) fn origin(head: &Parts) -> Option<&HeaderValue> {
    head.headers.get(ORIGIN)
}

/// Returns whether a string is an origin in the format of browsers: scheme, host and optional port.
pub(crate) fn is_origin(text: &str) -> bool {
    let is_valid_byte =
        |it: u8| it.is_ascii_graphic() && !it.is_ascii_uppercase() && !b"/?#@*".contains(&it);
    text.split_once("://").is_some_and(|(scheme, host)| {
        [scheme, host].iter().all(|it| !it.is_empty() && it.bytes().all(is_valid_byte))
    })
}

/// Origins whose pages may read the resources of a route.
enum AllowedOrigins<'a> {
    None,
    Any,
    Listed(&'a [String]),
}

impl Frontend {
    /// Returns the response to a preflight request, or `None` for other requests.
    pub(super) fn preflight(
        &self,
        head: &Parts,
        origin: &HeaderValue,
        target: RouteTarget<'_>,
    ) -> Option<Response<Body>> {
        let is_preflight = head.method == Method::OPTIONS
            && head.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
        let methods = match target {
            RouteTarget::Card(..) | RouteTarget::CardList | RouteTarget::Jwks => {
                "GET, HEAD, OPTIONS"
            }
            _ => "GET, POST, DELETE, OPTIONS",
        };
        self.allow_origin_value(Some(origin), target).filter(|_| is_preflight)?;
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NO_CONTENT;
        let headers = response.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(methods));
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, ALLOWED_HEADERS);
        headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("3600"));
        headers.insert(VARY, PREFLIGHT_VARY);
        self.allow_origin(Some(origin), target, headers);
        Some(response)
    }

    /// Adds the headers that allow a page of the origin to read a response, if permitted. Public routes
    /// allow `*` regardless of the origin, so that caches can share the response.
    pub(super) fn allow_origin(
        &self,
        origin: Option<&HeaderValue>,
        target: RouteTarget<'_>,
        headers: &mut HeaderMap,
    ) {
        if let AllowedOrigins::Listed(_) = self.allowed_origins(target) {
            headers.append(VARY, HeaderValue::from_static("Origin"));
        }
        if let Some(value) = self.allow_origin_value(origin, target) {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, value);
            headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED_HEADERS);
        }
    }

    fn allow_origin_value(
        &self,
        origin: Option<&HeaderValue>,
        target: RouteTarget<'_>,
    ) -> Option<HeaderValue> {
        match self.allowed_origins(target) {
            AllowedOrigins::None => None,
            AllowedOrigins::Any => Some(ANY_ORIGIN),
            AllowedOrigins::Listed(listed) => origin
                .filter(|it| listed.iter().any(|name| name.as_bytes() == it.as_bytes()))
                .cloned(),
        }
    }

    fn allowed_origins(&self, target: RouteTarget<'_>) -> AllowedOrigins<'_> {
        let listed = &self.settings.allowed_origins;
        match target {
            RouteTarget::Card(..) | RouteTarget::CardList | RouteTarget::Jwks => {
                AllowedOrigins::Any
            }
            RouteTarget::JsonRpc(_) | RouteTarget::Rest(..) if listed.is_empty() => {
                AllowedOrigins::None
            }
            RouteTarget::JsonRpc(_) | RouteTarget::Rest(..)
                if listed.iter().any(|it| it == "*") =>
            {
                AllowedOrigins::Any
            }
            RouteTarget::JsonRpc(_) | RouteTarget::Rest(..) => AllowedOrigins::Listed(listed),
            RouteTarget::Grpc
            | RouteTarget::Health
            | RouteTarget::Ready
            | RouteTarget::Metrics
            | RouteTarget::DeadLetters(_)
            | RouteTarget::NotFound => AllowedOrigins::None,
        }
    }
}
