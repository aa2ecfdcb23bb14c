//! Matching of requests to routes.

use http::Method;

use super::encoding::{self, MALFORMED_ENCODING, decode, decode_form, is_literal};
use super::{ReplyFormat, Route, param_names};
use crate::binding::VersionPolicy;
use crate::display::truncate_for_display;
use crate::error::{Error, ErrorKind, MAX_DISPLAYED_CHARS};
use crate::json::InvalidField;
use crate::operation::route::{self as table, Row};
use crate::version::Version;

/// Maximum number of path segments in a tenant.
const MAX_TENANT_SEGMENTS: usize = 8;

/// Request line and declared version of a request.
#[derive(Clone, Copy, Debug)]
pub struct RouteRequest<'a> {
    /// The HTTP method.
    pub method: &'a Method,
    /// Path relative to the URL of the interface, percent-encoded.
    pub path: &'a str,
    /// Query string without the `?`; may be empty.
    pub query: &'a str,
    /// Version that the client declared.
    pub declared: Option<Version>,
    /// Policy for requests without a declared version.
    pub version_policy: VersionPolicy,
}

impl<'a> RouteRequest<'a> {
    /// Creates a request without a query and without a declared version.
    #[must_use]
    pub fn new(method: &'a Method, path: &'a str) -> Self {
        Self { method, path, query: "", declared: None, version_policy: VersionPolicy::Lenient }
    }
}

/// Request that was rejected because its request line is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct Rejection {
    /// Version for encoding the response.
    pub version: Version,
    /// The error to return.
    pub error: Error,
    /// Methods that the path supports, for the `Allow` header of a 405 response; `None` if the
    /// method is not the problem.
    pub allow: Option<&'static str>,
}

impl Route {
    /// Finds the route of a request.
    ///
    /// `/v1/…` is 0.3 unless the client declared 1.0, in which case `v1` is a tenant. A path of the
    /// legacy REST API selects that API unless the client declared 1.0. All other paths are 1.0.
    /// Paths without a tenant match first, then paths with the fewest tenant segments.
    ///
    /// # Errors
    /// Returns [`ErrorKind::MethodNotFound`] for an unknown path, and with [`Rejection::allow`] for
    /// an unsupported method of a known path. Returns [`ErrorKind::VersionNotSupported`] if the
    /// declared version has no such path, and [`ErrorKind::InvalidParams`] if the path or query
    /// cannot be decoded.
    pub fn find(request: &RouteRequest<'_>) -> Result<Self, Rejection> {
        let path = request.path.strip_prefix('/').unwrap_or_default();
        let segments: Vec<&str> = path.split('/').collect();
        let v1_0_match = RouteMatch::with_tenant(table::V1_0, request.method, &segments);
        if request.declared == Some(Version::V1_0) {
            return v1_0_match.into_route(request, Version::V1_0);
        }
        if segments[0] == "v1" {
            let v0_3_match = RouteMatch::new(table::V0_3, request.method, &segments);
            return v0_3_match.into_route(request, Version::V0_3);
        }
        let card_match = RouteMatch::new(table::CARD_0_2, request.method, &segments);
        if card_match.matches_path() {
            return card_match.into_route(request, Version::V0_3);
        }
        let legacy_match = RouteMatch::new(table::LEGACY, request.method, &segments);
        if !legacy_match.outranks(&v1_0_match) {
            return v1_0_match.into_route(request, Version::V1_0);
        }
        if request.declared.is_none()
            && request.version_policy == VersionPolicy::Lenient
            && request.method == Method::GET
        {
            let route = legacy_match.into_route(request, Version::V1_0)?;
            return Ok(Self { reply_format: ReplyFormat::SameAsTask, ..route });
        }
        // The legacy API has no versions, so a declared version does not refer to it.
        legacy_match.into_route(&RouteRequest { declared: None, ..*request }, Version::V0_1)
    }
}

/// Result of matching a path against a route table.
#[derive(Default)]
struct RouteMatch<'a> {
    /// The row that matches path and method, and its captures.
    row: Option<(&'static Row, Captures<'a>)>,
    /// Methods of the rows that match the path, if none matches the method.
    allow: Option<&'static str>,
    tenant: &'a [&'a str],
}

#[derive(Clone, Copy, Default)]
struct Captures<'a> {
    task: Option<&'a str>,
    config: Option<&'a str>,
}

impl<'a> RouteMatch<'a> {
    fn new(rows: &'static [Row], method: &Method, segments: &[&'a str]) -> Self {
        let mut other_methods = Vec::new();
        for row in rows {
            let Some(captures) = captures(row.path, segments) else { continue };
            if row.method == method {
                return Self { row: Some((row, captures)), ..Self::default() };
            }
            other_methods.push(&row.method);
        }
        Self { allow: allow_header(&other_methods), ..Self::default() }
    }

    /// Returns the match with the fewest tenant segments, of the path if not of the method.
    fn with_tenant(rows: &'static [Row], method: &Method, segments: &'a [&'a str]) -> Self {
        for depth in 0..segments.len().min(MAX_TENANT_SEGMENTS + 1) {
            let (tenant, remainder) = segments.split_at(depth);
            if tenant.last().is_some_and(|it| it.is_empty()) {
                break;
            }
            let matched = Self::new(rows, method, remainder);
            if matched.matches_path() {
                return Self { tenant, ..matched };
            }
        }
        Self::default()
    }

    /// Returns whether a row matches the path, regardless of the method.
    fn matches_path(&self) -> bool {
        self.row.is_some() || self.allow.is_some()
    }

    /// Returns whether a row matches, and `other` matches none or one with the same operation.
    fn outranks(&self, other: &Self) -> bool {
        let operation = |it: &Self| it.row.map(|(row, _)| row.operation);
        self.row.is_some() && (other.row.is_none() || operation(other) == operation(self))
    }

    fn into_route(self, request: &RouteRequest<'_>, version: Version) -> Result<Route, Rejection> {
        let reply_version = request.declared.unwrap_or(version);
        let reject = |error| Rejection { version: reply_version, error, allow: None };
        let Some((row, captures)) = self.row else {
            let allow = self.allow;
            return Err(Rejection {
                version: reply_version,
                error: unmatched_route_error(request, allow),
                allow,
            });
        };
        let alternative =
            row.operation.route(request.declared.unwrap_or(Version::V0_3)).map(|(_, path)| path);
        request
            .version_policy
            .check(version, request.declared, alternative.as_deref())
            .map_err(reject)?;
        let decode_param =
            |name: &'static str, text: Option<&str>| match text.map(decode).transpose() {
                Ok(text) => Ok(text),
                Err(problem) => Err(reject(InvalidField::new(name, problem).into())),
            };
        let (task_param, config_param) = param_names(row.operation);
        let tenant = (!self.tenant.is_empty()).then(|| self.tenant.join("/"));
        Ok(Route {
            tenant: decode_param("tenant", tenant.as_deref())?,
            task_id: decode_param(task_param, captures.task)?,
            config_id: decode_param(config_param, captures.config)?,
            query: query_pairs(request.query).map_err(|it| reject(it.into()))?,
            ..Route::new(row.operation, version)
        })
    }
}

/// Matches `segments` against `template` and returns the captured ids.
fn captures<'a>(template: &str, segments: &[&'a str]) -> Option<Captures<'a>> {
    let mut captures = Captures::default();
    let mut remaining = segments.iter();
    for part in template.split('/').skip(1) {
        let segment = *remaining.next()?;
        if let Some(suffix) = part.strip_prefix("{id}") {
            // Matches the suffix before decoding: in `x%3Acancel`, `:cancel` is part of the id.
            captures.task = Some(segment.strip_suffix(suffix).filter(|it| !it.is_empty())?);
        } else if part == "{config}" {
            captures.config = Some(Some(segment).filter(|it| !it.is_empty())?);
        } else if !part.split('|').any(|literal| is_literal(segment, literal)) {
            return None;
        }
    }
    remaining.next().is_none().then_some(captures)
}

fn allow_header(methods: &[&Method]) -> Option<&'static str> {
    let has = |method: Method| methods.contains(&&method);
    match (has(Method::GET), has(Method::POST), has(Method::DELETE)) {
        (false, false, false) => None,
        (true, false, false) => Some("GET"),
        (false, true, false) => Some("POST"),
        (false, false, true) => Some("DELETE"),
        (true, true, false) => Some("GET, POST"),
        (true, false, true) => Some("GET, DELETE"),
        (false, true, true) => Some("POST, DELETE"),
        (true, true, true) => Some("GET, POST, DELETE"),
    }
}

fn unmatched_route_error(request: &RouteRequest<'_>, allow: Option<&str>) -> Error {
    let path = truncate_for_display(request.path, MAX_DISPLAYED_CHARS);
    let message = match allow {
        Some(allow) => format!(
            "{path} supports {allow}, not {}",
            truncate_for_display(request.method.as_str(), MAX_DISPLAYED_CHARS)
        ),
        None => format!("unknown path {path}"),
    };
    Error::new(ErrorKind::MethodNotFound, message)
}

/// Decodes the query parameters, except the version.
fn query_pairs(query: &str) -> Result<Vec<(String, String)>, InvalidField> {
    let pairs = query.split('&').filter(|it| !it.is_empty());
    let pairs = pairs.map(|it| it.split_once('=').unwrap_or((it, "")));
    pairs
        .filter(|(name, _)| !encoding::is_version_parameter(name))
        .map(|(name, value)| {
            let name = decode_form(name).map_err(|it| InvalidField::new("query", it))?;
            let value = decode_form(value).map_err(|_| {
                InvalidField::new(
                    truncate_for_display(&name, MAX_DISPLAYED_CHARS),
                    MALFORMED_ENCODING,
                )
            })?;
            Ok((name, value))
        })
        .collect()
}
