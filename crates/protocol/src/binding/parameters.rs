//! HTTP headers and gRPC metadata of calls and replies.
//!
//! Names are in lower case, as gRPC and HTTP/2 require.

use crate::binding::rest;
use crate::display::truncate_for_display;
use crate::error::{Error, ErrorKind, MAX_DISPLAYED_CHARS};
use crate::json::InvalidField;
use crate::revision::{InvalidRevision, Revision};
use crate::version::Version;

/// Header with the protocol version of the client; also the name of a query parameter.
pub const VERSION: &str = "a2a-version";

/// Header with the requested extensions in a request, and with the active extensions in a response.
pub const EXTENSIONS: &str = "a2a-extensions";
/// Name of [`EXTENSIONS`] before 1.0.
pub const EXTENSIONS_BEFORE_1_0: &str = "x-a2a-extensions";
/// Header with the id of the last event that a stream reader received.
pub const LAST_EVENT_ID: &str = "last-event-id";
/// URI of the extension by which events carry their revision as metadata, for bindings without
/// event ids.
pub const CURSOR_EXTENSION: &str = "urn:latimer:cursor:v1";

/// Maximum number of extensions per request.
pub const MAX_EXTENSIONS: usize = 64;
/// Maximum length of an extension URI, in bytes.
pub const MAX_EXTENSION_BYTES: usize = 1024;

/// Parses the extensions in the values of all extension headers, in order.
///
/// Each value is a comma-separated list. Duplicates are removed.
///
/// ```
/// # use latimer_protocol::binding::parameters::parse_extensions;
/// let extensions = parse_extensions(["https://a.example/x, urn:y", "urn:y"])?;
/// assert_eq!(extensions, ["https://a.example/x", "urn:y"]);
/// # Ok::<(), latimer_protocol::Error>(())
/// ```
///
/// # Errors
/// Returns [`ErrorKind::InvalidRequest`] if there are more than [`MAX_EXTENSIONS`] extensions, or
/// one is longer than [`MAX_EXTENSION_BYTES`].
pub fn parse_extensions<'a>(
    values: impl IntoIterator<Item = &'a str>,
) -> Result<Vec<String>, Error> {
    let mut extensions: Vec<String> = Vec::new();
    let names = values.into_iter().flat_map(|it| it.split(',')).map(str::trim);
    for name in names.filter(|it| !it.is_empty()) {
        if name.len() > MAX_EXTENSION_BYTES {
            let message = format!(
                "the extension {:?}… is longer than {MAX_EXTENSION_BYTES} bytes",
                truncate_for_display(name, MAX_DISPLAYED_CHARS)
            );
            return Err(Error::new(ErrorKind::InvalidRequest, message));
        }
        if extensions.iter().any(|it| it == name) {
            continue;
        }
        if extensions.len() == MAX_EXTENSIONS {
            let message = format!("more than {MAX_EXTENSIONS} extensions are requested");
            return Err(Error::new(ErrorKind::InvalidRequest, message));
        }
        extensions.push(name.to_owned());
    }
    Ok(extensions)
}

/// Returns the header for the active extensions in a response in `version`.
#[must_use]
pub fn extensions_header(version: Version) -> &'static str {
    match version {
        Version::V1_0 => EXTENSIONS,
        Version::V0_3 | Version::V0_1 => EXTENSIONS_BEFORE_1_0,
    }
}

/// Parses the `last-event-id` header; `None` if it is missing or empty.
///
/// # Errors
/// Returns [`ErrorKind::InvalidParams`] if the value is not a revision. Starting from the beginning
/// instead would lose or repeat events.
pub fn parse_last_event_id(last_event_id: Option<&str>) -> Result<Option<Revision>, Error> {
    let id = last_event_id.map(str::trim).filter(|it| !it.is_empty());
    let invalid =
        |error: InvalidRevision| InvalidField::new(LAST_EVENT_ID, error.to_string()).into();
    id.map(|text| text.parse().map_err(invalid)).transpose()
}

/// Extracts the version from a query string, for [`Version::declared`].
///
/// ```
/// # use latimer_protocol::binding::parameters::version_from_query;
/// assert_eq!(version_from_query("a=b&a2a-version=1%2E0").as_deref(), Some("1.0"));
/// ```
#[must_use]
pub fn version_from_query(query: &str) -> Option<String> {
    let pairs = query.split('&').map(|it| it.split_once('=').unwrap_or((it, "")));
    let (_, value) = pairs.into_iter().find(|(name, _)| rest::is_version_parameter(name))?;
    // A value that cannot be decoded is not a known version, so its raw form is rejected later.
    Some(rest::decode_form(value).unwrap_or_else(|_| value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_are_trimmed_and_deduplicated_in_order() {
        for (values, want) in [
            (&[][..], &[][..]),
            (&["", " , ,"], &[]),
            (&["urn:a"], &["urn:a"]),
            (&["urn:b,urn:a", "\turn:a , urn:c"], &["urn:b", "urn:a", "urn:c"]),
            (&["urn:a", "URN:a"], &["urn:a", "URN:a"]),
        ] {
            assert_eq!(parse_extensions(values.iter().copied()).unwrap(), want, "{values:?}");
        }
    }

    #[test]
    fn too_many_or_too_long_extensions_are_rejected() {
        let many = |count: usize| (0..count).map(|it| format!("urn:{it},")).collect::<String>();
        assert_eq!(
            parse_extensions([many(MAX_EXTENSIONS).as_str()]).unwrap().len(),
            MAX_EXTENSIONS
        );
        let long = "x".repeat(MAX_EXTENSION_BYTES + 1);
        for values in [many(MAX_EXTENSIONS + 1), long] {
            let error = parse_extensions([values.as_str()]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidRequest, "{values}");
        }
    }

    #[test]
    fn last_event_id_must_be_a_revision() {
        for (header, want) in
            [(None, None), (Some(""), None), (Some(" 12 "), Some(Revision::new(12)))]
        {
            assert_eq!(parse_last_event_id(header), Ok(want), "{header:?}");
        }
        for header in ["-1", "7f8a2c1e-1b2c", "1,2"] {
            let error = parse_last_event_id(Some(header)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidParams, "{header}");
        }
    }

    #[test]
    fn version_query_parameter_is_case_insensitive() {
        for (query, want) in [
            ("", None),
            ("a=1.0", None),
            ("A2A-Version=1.0", Some("1.0")),
            ("x=y&A2A-VERSION=0.3&a2a-version=1.0", Some("0.3")),
            ("A2A%2DVersion=1.0", Some("1.0")),
            ("A2A-Version", Some("")),
            ("A2A-Version=%zz", Some("%zz")),
        ] {
            assert_eq!(version_from_query(query).as_deref(), want, "{query}");
        }
    }
}
