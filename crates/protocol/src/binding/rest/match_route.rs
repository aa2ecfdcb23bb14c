//! Finds what an address asks for.

use http::Method;

use super::encoding::{self, MALFORMED_ENCODING, decode, decode_form, is_literal};
use super::{ReplyFormat, Route, param_names};
use crate::binding::VersionPolicy;
use crate::display::truncate_for_display;
use crate::error::{Error, ErrorKind, MAX_DISPLAYED_CHARS};
use crate::json::InvalidField;
use crate::operation::route::{self as table, Row};
use crate::version::Version;

/// How many segments a tenant may have.
const MAX_TENANT_SEGMENTS: usize = 8;

/// The line of a request, and what its caller says about its version.
#[derive(Clone, Copy, Debug)]
pub struct RouteRequest<'a> {
    /// The HTTP method.
    pub method: &'a Method,
    /// The path below the address of the interface, still percent-encoded.
    pub path: &'a str,
    /// What stands behind the `?`; empty when there is none.
    pub query: &'a str,
    /// The version that the caller said.
    pub declared: Option<Version>,
    /// What to make of a caller that said none.
    pub version_policy: VersionPolicy,
}

impl<'a> RouteRequest<'a> {
    /// A request without a query from a caller that says no version.
    #[must_use]
    pub fn new(method: &'a Method, path: &'a str) -> Self {
        Self { method, path, query: "", declared: None, version_policy: VersionPolicy::Lenient }
    }
}

/// A request whose address asks for nothing that can be done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct Rejection {
    /// The version to answer in.
    pub version: Version,
    /// What is wrong.
    pub error: Error,
    /// The methods that the path does take, as the `Allow` header of a 405 lists them; `None` when
    /// the method is not what is wrong.
    pub allow: Option<&'static str>,
}

impl Route {
    /// Finds the route of a request.
    ///
    /// `/v1/…` is 0.3, unless 1.x is said: then `v1` is a tenant. A path of the REST before 0.2 is
    /// just that, unless 1.x is said. Any other is of 1.0, whose callers should say so. Paths
    /// without a tenant go before paths with one, and short tenants before long ones.
    ///
    /// # Errors
    /// An unknown path ([`ErrorKind::MethodNotFound`]), a known one with another method (the same,
    /// with [`Rejection::allow`]), a version that has no such path
    /// ([`ErrorKind::VersionNotSupported`]), and a path or query that cannot be decoded
    /// ([`ErrorKind::InvalidParams`]).
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
        // Its callers know no versions: what they say cannot be about this.
        legacy_match.into_route(&RouteRequest { declared: None, ..*request }, Version::V0_1)
    }
}

/// What the rows of a table have for a path.
#[derive(Default)]
struct RouteMatch<'a> {
    /// The row for the method too, and what its placeholders stand for.
    row: Option<(&'static Row, Captures<'a>)>,
    /// The methods of the rows for the path, when none is for the method.
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

    /// The match with the shortest tenant, if only for the path.
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

    /// Whether the table has the path, if not for the method.
    fn matches_path(&self) -> bool {
        self.row.is_some() || self.allow.is_some()
    }

    /// Whether there is a row, and `other` has none that means something else.
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

/// What the placeholders of `template` stand for, if `segments` fit it.
fn captures<'a>(template: &str, segments: &[&'a str]) -> Option<Captures<'a>> {
    let mut captures = Captures::default();
    let mut remaining = segments.iter();
    for part in template.split('/').skip(1) {
        let segment = *remaining.next()?;
        if let Some(suffix) = part.strip_prefix("{id}") {
            // The suffix is looked for before anything is decoded: `%3Acancel` is part of an id.
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
            "{path} takes {allow} and not {}",
            truncate_for_display(request.method.as_str(), MAX_DISPLAYED_CHARS)
        ),
        None => format!("there is nothing at {path}"),
    };
    Error::new(ErrorKind::MethodNotFound, message)
}

/// The parameters of a query, without the version.
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
