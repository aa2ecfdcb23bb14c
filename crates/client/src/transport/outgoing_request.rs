//! Requests before credentials are added, and the headers of calls.

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri};
use latimer_protocol::binding::parameters;
use latimer_protocol::{CallContext, Version};

use crate::credentials::RequestCredentials;
use crate::error::Error;

/// Initial capacity of header maps.
const TYPICAL_HEADER_COUNT: usize = 8;

/// A request without credentials.
#[derive(Clone, Debug)]
pub(crate) struct OutgoingRequest {
    pub(super) method: Method,
    pub(super) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(super) body: Option<Bytes>,
}

impl OutgoingRequest {
    pub(crate) fn new(method: Method, uri: Uri, body: Option<Vec<u8>>) -> Self {
        let headers = HeaderMap::with_capacity(TYPICAL_HEADER_COUNT);
        Self { method, uri, headers, body: body.map(Bytes::from) }
    }

    pub(crate) fn with_accept(mut self, accept: &'static str) -> Self {
        self.headers.insert(ACCEPT, HeaderValue::from_static(accept));
        self
    }

    /// Adds the headers of a call: version, extensions and cursor.
    pub(super) fn with_call_headers(
        mut self,
        context: &CallContext,
        version: Version,
    ) -> Result<Self, Error> {
        insert_call_headers(&mut self.headers, context, version)?;
        Ok(self)
    }

    /// Adds credentials and completes the request.
    pub(super) fn into_http(
        self,
        credentials: &RequestCredentials,
    ) -> Result<Request<Bytes>, Error> {
        let Self { method, uri, mut headers, body } = self;
        if body.is_some() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        credentials.apply_to_headers(&mut headers);
        let mut request = Request::new(body.unwrap_or_default());
        *request.method_mut() = method;
        *request.uri_mut() = credentials.apply_to_query(uri)?;
        *request.headers_mut() = headers;
        Ok(request)
    }
}

/// Parses the URI of a request.
pub(crate) fn to_uri(url: &str) -> Result<Uri, Error> {
    url.parse().map_err(|error| Error::InvalidSetup(format!("invalid URI: {error}")))
}

/// Adds version, extensions and cursor to HTTP headers or gRPC metadata.
pub(super) fn insert_call_headers(
    headers: &mut HeaderMap,
    context: &CallContext,
    version: Version,
) -> Result<(), Error> {
    let version_name = HeaderValue::from_static(version.as_str());
    headers.insert(HeaderName::from_static(parameters::VERSION), version_name);
    if !context.extensions.is_empty() {
        let list = context.extensions.join(",");
        let list = HeaderValue::try_from(list).map_err(|_| {
            Error::InvalidSetup(
                "the URI of an extension contains characters that are invalid in headers".into(),
            )
        })?;
        headers.insert(HeaderName::from_static(parameters::EXTENSIONS), list.clone());
        // Servers before 1.0 know the header under its former name.
        if version != Version::V1_0 {
            headers.insert(HeaderName::from_static(parameters::EXTENSIONS_BEFORE_1_0), list);
        }
    }
    if let Some(resume_after) = context.resume_after {
        let resume_after = HeaderValue::from(resume_after.get());
        headers.insert(HeaderName::from_static(parameters::LAST_EVENT_ID), resume_after);
    }
    Ok(())
}

/// Returns the extensions that a response declares as active.
pub(super) fn active_extensions(headers: &HeaderMap) -> Vec<String> {
    let names = [parameters::EXTENSIONS, parameters::EXTENSIONS_BEFORE_1_0];
    let values = names.iter().flat_map(|name| headers.get_all(*name));
    // A list over the limit is ignored.
    parameters::parse_extensions(values.filter_map(|it| it.to_str().ok())).unwrap_or_default()
}
