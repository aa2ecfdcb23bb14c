//! What travels beside a payload, in HTTP headers and gRPC metadata alike.
//!
//! Names are in lower case, as gRPC and HTTP/2 want them; HTTP/1.1 does not care.

use crate::binding::rest;
use crate::display::truncate_for_display;
use crate::error::{Error, ErrorKind, MAX_DISPLAYED_CHARS};
use crate::json::InvalidField;
use crate::revision::{InvalidRevision, Revision};
use crate::version::Version;

/// The version that a caller speaks; the name of a query parameter too.
pub const VERSION: &str = "a2a-version";

/// The extensions that a caller asks for, and that an answer says are active.
pub const EXTENSIONS: &str = "a2a-extensions";
/// The same before 1.0.
pub const EXTENSIONS_BEFORE_1_0: &str = "x-a2a-extensions";
/// The last event that a reader of a stream has seen.
pub const LAST_EVENT_ID: &str = "last-event-id";
/// The extension by which events carry their revision in their metadata, for bindings without event
/// ids.
pub const CURSOR_EXTENSION: &str = "urn:latimer:cursor:v1";
/// What the receiver of a webhook recognises the sender by. Peers read one or the other: send both.
pub const NOTIFICATION_TOKENS: [&str; 2] = ["x-a2a-notification-token", "a2a-notification-token"];
/// The trailer with the details of a failed gRPC call.
pub const GRPC_STATUS_DETAILS: &str = "grpc-status-details-bin";

/// How many extensions a caller may ask for at once.
pub const MAX_EXTENSIONS: usize = 64;
/// The longest name of an extension, in bytes.
pub const MAX_EXTENSION_BYTES: usize = 1024;

/// The extensions named in `values`: those of all headers of either spelling, in their order.
///
/// Each value is a list with commas. An extension that is named twice counts once.
///
/// ```
/// # use latimer_protocol::binding::parameters::parse_extensions;
/// let extensions = parse_extensions(["https://a.example/x, urn:y", "urn:y"])?;
/// assert_eq!(extensions, ["https://a.example/x", "urn:y"]);
/// # Ok::<(), latimer_protocol::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::InvalidRequest`] when there are more than [`MAX_EXTENSIONS`], or one is longer than
/// [`MAX_EXTENSION_BYTES`].
pub fn parse_extensions<'a>(
    values: impl IntoIterator<Item = &'a str>,
) -> Result<Vec<String>, Error> {
    let mut extensions: Vec<String> = Vec::new();
    let names = values.into_iter().flat_map(|it| it.split(',')).map(str::trim);
    for name in names.filter(|it| !it.is_empty()) {
        if name.len() > MAX_EXTENSION_BYTES {
            let message = format!(
                "the extension {:?}… has too long a name",
                truncate_for_display(name, MAX_DISPLAYED_CHARS)
            );
            return Err(Error::new(ErrorKind::InvalidRequest, message));
        }
        if extensions.iter().any(|it| it == name) {
            continue;
        }
        if extensions.len() == MAX_EXTENSIONS {
            let message = format!("more than {MAX_EXTENSIONS} extensions are asked for");
            return Err(Error::new(ErrorKind::InvalidRequest, message));
        }
        extensions.push(name.to_owned());
    }
    Ok(extensions)
}

/// The header in which an answer in `version` names the active extensions.
#[must_use]
pub fn extensions_header(version: Version) -> &'static str {
    match version {
        Version::V1_0 => EXTENSIONS,
        Version::V0_3 | Version::V0_1 => EXTENSIONS_BEFORE_1_0,
    }
}

/// The revision to resume after, as `last-event-id` says; `None` when it says nothing.
///
/// # Errors
/// [`ErrorKind::InvalidParams`] when it is not an id that we gave: to begin anew in silence would
/// lose or repeat events.
pub fn parse_last_event_id(last_event_id: Option<&str>) -> Result<Option<Revision>, Error> {
    let id = last_event_id.map(str::trim).filter(|it| !it.is_empty());
    let invalid =
        |error: InvalidRevision| InvalidField::new(LAST_EVENT_ID, error.to_string()).into();
    id.map(|text| text.parse().map_err(invalid)).transpose()
}

/// What the query of an address says about the version, for [`Version::declared`].
///
/// ```
/// # use latimer_protocol::binding::parameters::version_from_query;
/// assert_eq!(version_from_query("a=b&a2a-version=1%2E0").as_deref(), Some("1.0"));
/// ```
#[must_use]
pub fn version_from_query(query: &str) -> Option<String> {
    let pairs = query.split('&').map(|it| it.split_once('=').unwrap_or((it, "")));
    let (_, value) = pairs.into_iter().find(|(name, _)| rest::is_version_parameter(name))?;
    // What cannot be decoded is no version that we know, and is refused as it stands.
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
