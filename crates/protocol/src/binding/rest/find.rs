//! Finds what an address asks for.

use http::Method;

use super::encoding::{self, MALFORMED, decode, decode_form, is_literal};
use super::{Route, Shape, names};
use crate::binding::VersionRule;
use crate::error::{Error, ErrorKind, shown};
use crate::json::Invalid;
use crate::operation::route::{self as table, Row};
use crate::version::Version;

/// How many segments a tenant may have.
const MAX_TENANT_SEGMENTS: usize = 8;

/// The line of a request, and what its caller says about its version.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// The HTTP method.
    pub method: &'a Method,
    /// The path below the address of the interface, still percent-encoded.
    pub path: &'a str,
    /// What stands behind the `?`; empty when there is none.
    pub query: &'a str,
    /// The version that the caller said.
    pub said: Option<Version>,
    /// What to make of a caller that said none.
    pub rule: VersionRule,
}

impl<'a> Ask<'a> {
    /// A request without a query from a caller that says no version.
    #[must_use]
    pub fn new(method: &'a Method, path: &'a str) -> Self {
        Self { method, path, query: "", said: None, rule: VersionRule::Lenient }
    }
}

/// A request whose address asks for nothing that can be done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct Refused {
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
    /// with [`Refused::allow`]), a version that has no such path
    /// ([`ErrorKind::VersionNotSupported`]), and a path or query that cannot be decoded
    /// ([`ErrorKind::InvalidParams`]).
    pub fn find(ask: &Ask<'_>) -> Result<Self, Refused> {
        let path = ask.path.strip_prefix('/').unwrap_or_default();
        let segments: Vec<&str> = path.split('/').collect();
        let newest = Match::with_tenant(table::V1_0, ask.method, &segments);
        if ask.said == Some(Version::V1_0) {
            return newest.route(ask, Version::V1_0);
        }
        if segments[0] == "v1" {
            let found = Match::new(table::V0_3, ask.method, &segments);
            return found.route(ask, Version::V0_3);
        }
        let card = Match::new(table::CARD_0_2, ask.method, &segments);
        if card.is_of_path() {
            return card.route(ask, Version::V0_3);
        }
        let oldest = Match::new(table::OLDEST, ask.method, &segments);
        if !oldest.stands_for(&newest) {
            return newest.route(ask, Version::V1_0);
        }
        if ask.said.is_none() && ask.rule == VersionRule::Lenient && ask.method == Method::GET {
            let route = oldest.route(ask, Version::V1_0)?;
            return Ok(Self { shape: Shape::AsMade, ..route });
        }
        // Its callers know no versions: what they say cannot be about this.
        oldest.route(&Ask { said: None, ..*ask }, Version::V0_1)
    }
}

/// What the rows of a table have for a path.
#[derive(Default)]
struct Match<'a> {
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

impl<'a> Match<'a> {
    fn new(rows: &'static [Row], method: &Method, segments: &[&'a str]) -> Self {
        let mut others = Vec::new();
        for row in rows {
            let Some(captures) = captures(row.path, segments) else { continue };
            if row.method == method {
                return Self { row: Some((row, captures)), ..Self::default() };
            }
            others.push(&row.method);
        }
        Self { allow: allow(&others), ..Self::default() }
    }

    /// The match with the shortest tenant, if only for the path.
    fn with_tenant(rows: &'static [Row], method: &Method, segments: &'a [&'a str]) -> Self {
        for depth in 0..segments.len().min(MAX_TENANT_SEGMENTS + 1) {
            let (tenant, rest) = segments.split_at(depth);
            if tenant.last().is_some_and(|it| it.is_empty()) {
                break;
            }
            let found = Self::new(rows, method, rest);
            if found.is_of_path() {
                return Self { tenant, ..found };
            }
        }
        Self::default()
    }

    /// Whether the table has the path, if not for the method.
    fn is_of_path(&self) -> bool {
        self.row.is_some() || self.allow.is_some()
    }

    /// Whether there is a row, and `other` has none that means something else.
    fn stands_for(&self, other: &Self) -> bool {
        let operation = |it: &Self| it.row.map(|(row, _)| row.operation);
        self.row.is_some() && (other.row.is_none() || operation(other) == operation(self))
    }

    fn route(self, ask: &Ask<'_>, version: Version) -> Result<Route, Refused> {
        let answer = ask.said.unwrap_or(version);
        let refused = |error| Refused { version: answer, error, allow: None };
        let Some((row, captures)) = self.row else {
            let allow = self.allow;
            return Err(Refused { version: answer, error: unmatched(ask, allow), allow });
        };
        let instead = row.operation.route(ask.said.unwrap_or(Version::V0_3)).map(|(_, path)| path);
        ask.rule.check(version, ask.said, instead.as_deref()).map_err(refused)?;
        let read = |name: &'static str, text: Option<&str>| match text.map(decode).transpose() {
            Ok(text) => Ok(text),
            Err(problem) => Err(refused(Invalid::new(name, problem).into())),
        };
        let (task, config) = names(row.operation);
        let tenant = (!self.tenant.is_empty()).then(|| self.tenant.join("/"));
        Ok(Route {
            tenant: read("tenant", tenant.as_deref())?,
            task_id: read(task, captures.task)?,
            config_id: read(config, captures.config)?,
            query: pairs(ask.query).map_err(|it| refused(it.into()))?,
            ..Route::new(row.operation, version)
        })
    }
}

/// What the placeholders of `template` stand for, if `segments` fit it.
fn captures<'a>(template: &str, segments: &[&'a str]) -> Option<Captures<'a>> {
    let mut captures = Captures::default();
    let mut rest = segments.iter();
    for part in template.split('/').skip(1) {
        let segment = *rest.next()?;
        if let Some(suffix) = part.strip_prefix("{id}") {
            // The suffix is looked for before anything is decoded: `%3Acancel` is part of an id.
            captures.task = Some(segment.strip_suffix(suffix).filter(|it| !it.is_empty())?);
        } else if part == "{config}" {
            captures.config = Some(Some(segment).filter(|it| !it.is_empty())?);
        } else if !part.split('|').any(|literal| is_literal(segment, literal)) {
            return None;
        }
    }
    rest.next().is_none().then_some(captures)
}

fn allow(methods: &[&Method]) -> Option<&'static str> {
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

fn unmatched(ask: &Ask<'_>, allow: Option<&str>) -> Error {
    let path = shown(ask.path);
    let message = match allow {
        Some(allow) => format!("{path} takes {allow} and not {}", shown(ask.method.as_str())),
        None => format!("there is nothing at {path}"),
    };
    Error::new(ErrorKind::MethodNotFound, message)
}

/// The parameters of a query, without the version.
fn pairs(query: &str) -> Result<Vec<(String, String)>, Invalid> {
    let pairs = query.split('&').filter(|it| !it.is_empty());
    let pairs = pairs.map(|it| it.split_once('=').unwrap_or((it, "")));
    pairs
        .filter(|(name, _)| !encoding::is_version(name))
        .map(|(name, value)| {
            let name = decode_form(name).map_err(|it| Invalid::new("query", it))?;
            let value = decode_form(value).map_err(|_| Invalid::new(shown(&name), MALFORMED))?;
            Ok((name, value))
        })
        .collect()
}
