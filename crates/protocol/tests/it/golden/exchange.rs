//! Recorded exchanges over JSON-RPC and HTTP+JSON: request with reply, events or error.

use http::Method;
use latimer_protocol::binding::rest::{HttpRequest, Route, RouteRequest};
use latimer_protocol::binding::{jsonrpc, parameters, sse};
use latimer_protocol::{Dialect, Error, EventWriter, MessageId, Request, Version};
use serde_json::{Value, json};

use super::difference::Findings;
use super::fixture::{Fixture, Response};
use crate::finality;

fn new_id() -> MessageId {
    MessageId::new("generated").expect("valid id")
}

pub(super) fn parse(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).expect("encoder writes JSON")
}

pub(super) fn jsonrpc(fixture: &Fixture, findings: &mut Findings) {
    let dialect = Dialect::over_jsonrpc(fixture.version);
    let Response { body, events, .. } = &fixture.response;
    if let Some(error) = body.as_ref().and_then(|it| it.get("error")) {
        jsonrpc_error(fixture, error, findings);
    }
    let Some(request) = jsonrpc_request(fixture, dialect, findings) else { return };
    if let Some(events) = events {
        let errors = events.iter().filter_map(|it| it.get("error"));
        errors.for_each(|error| jsonrpc_error(fixture, error, findings));
        let payloads: Vec<_> = frames(fixture)
            .into_iter()
            .filter_map(|text| {
                let response = jsonrpc::Response::read(&text).expect("response envelope");
                response.result(fixture.version).ok().map(str::to_owned)
            })
            .collect();
        stream(fixture, dialect, &request, &payloads, findings);
    } else if let Some(body) = body.as_ref().filter(|it| it.get("error").is_none()) {
        let text = body.to_string();
        let response = jsonrpc::Response::read(text.as_bytes()).expect("response envelope");
        let payload = response.result(fixture.version).expect("successful response");
        reply(fixture, dialect, &request, payload, findings);
    }
}

fn jsonrpc_request(
    fixture: &Fixture,
    dialect: Dialect,
    findings: &mut Findings,
) -> Option<Request> {
    let body = fixture.request.as_ref()?.body.as_ref()?;
    let operation = fixture.operation?;
    let text = body.to_string();
    let envelope = match jsonrpc::Request::read(text.as_bytes()) {
        Ok(envelope) => envelope,
        Err(rejection) => {
            findings.record_rejection(fixture, rejection.error);
            return None;
        }
    };
    let declared = fixture.declared_version();
    let resolved = declared.and_then(|declared| {
        jsonrpc::resolve_method(&envelope.method, declared, Default::default())
    });
    match resolved {
        Ok(resolved) if resolved == (operation, fixture.version) => {}
        Ok(other) => {
            findings.record_rejection(fixture, format!("{other:?}"));
            return None;
        }
        Err(error) => {
            findings.record_rejection(fixture, error);
            return None;
        }
    }
    match dialect.read_request(operation, envelope.params, &new_id) {
        Ok(request) => {
            let written = dialect.write_request(&request).expect("operation exists in the version");
            let params = body.get("params").cloned().unwrap_or(json!({}));
            findings.compare_request(fixture, &params, &parse(&written));
            Some(request)
        }
        Err(error) => {
            findings.record_rejection(fixture, error);
            None
        }
    }
}

fn jsonrpc_error(fixture: &Fixture, peer: &Value, findings: &mut Findings) {
    let read = Error::from_jsonrpc(peer, fixture.version);
    let latimer = read.to_jsonrpc(fixture.version);
    for member in ["code", "message"] {
        findings.compare(
            fixture,
            "error",
            &json!({ member: peer[member] }),
            &json!({ member: latimer[member] }),
        );
    }
}

pub(super) fn rest(fixture: &Fixture, findings: &mut Findings) {
    let Response { body, events, status, .. } = &fixture.response;
    if *status >= 400 {
        rest_error(fixture, body.as_ref(), findings);
    }
    let Some(request) = rest_request(fixture, findings) else { return };
    let dialect = Dialect::over_http(fixture.version);
    if events.is_some() {
        let frames =
            frames(fixture).into_iter().map(|it| String::from_utf8(it).expect("frame is UTF-8"));
        // Frames that are not events contain errors.
        let payloads: Vec<_> =
            frames.filter(|it| parse(it.as_bytes()).get("error").is_none()).collect();
        stream(fixture, dialect, &request, &payloads, findings);
    } else if let Some(body) = body.as_ref().filter(|_| *status < 300) {
        reply(fixture, dialect, &request, &body.to_string(), findings);
    }
}

fn rest_request(fixture: &Fixture, findings: &mut Findings) -> Option<Request> {
    let request = fixture.request.as_ref()?;
    let method: Method = request.method.parse().expect("valid HTTP method");
    let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
    let declared = match fixture.declared_version() {
        Ok(declared) => declared,
        Err(error) => {
            findings.record_rejection(fixture, error);
            return None;
        }
    };
    let route =
        match Route::find(&RouteRequest { query, declared, ..RouteRequest::new(&method, path) }) {
            Ok(route) => route,
            Err(rejection) => {
                findings.record_rejection(fixture, rejection.error);
                return None;
            }
        };
    let text = request.body.as_ref().map(ToString::to_string).unwrap_or_default();
    match route.read_request(text.as_bytes(), &new_id) {
        Ok(parsed) => {
            let latimer = HttpRequest::new(route.dialect(), &parsed)
                .expect("operation exists in the version");
            let request_json = |method: &Method, path: &str, body: &Option<Value>| {
                let empty = json!({});
                let body = body.as_ref().filter(|it| !it.is_null()).unwrap_or(&empty);
                json!({ "method": method.as_str(), "path": path, "body": body })
            };
            let body = latimer.body.as_deref().map(parse);
            let peer = request_json(&method, &request.path, &request.body);
            findings.compare_request(
                fixture,
                &peer,
                &request_json(&latimer.method, &latimer.path, &body),
            );
            Some(parsed)
        }
        Err(error) => {
            findings.record_rejection(fixture, error);
            None
        }
    }
}

fn rest_error(fixture: &Fixture, body: Option<&Value>, findings: &mut Findings) {
    let text = body.map(ToString::to_string).unwrap_or_default();
    let status = fixture.response.status;
    let read = Error::from_http(status, text.as_bytes(), fixture.version);
    let latimer = read.to_http(fixture.version);
    findings.compare(
        fixture,
        "error",
        &json!({ "status": status }),
        &json!({ "status": latimer.status }),
    );
}

/// Decodes the recorded stream in chunks of a few bytes and returns the data of each event.
fn frames(fixture: &Fixture) -> Vec<Vec<u8>> {
    let text = fixture.response.sse.as_deref().expect("recorded stream");
    let mut decoder = sse::Decoder::new();
    let mut frames = Vec::new();
    for mut chunk in text.as_bytes().chunks(7) {
        while let Some(frame) = decoder.read(&mut chunk).expect("events are below the limit") {
            frames.push(frame.data);
        }
    }
    frames.extend(std::iter::from_fn(|| decoder.finish()).map(|frame| frame.data));
    let recorded = fixture.response.events.as_ref().map_or(0, Vec::len);
    assert_eq!(frames.len(), recorded, "{}", fixture.name);
    frames
}

fn reply(
    fixture: &Fixture,
    dialect: Dialect,
    request: &Request,
    peer: &str,
    findings: &mut Findings,
) {
    match dialect.read_reply(request.operation(), peer) {
        Ok(reply) => {
            let written = dialect.write_reply(request, &reply);
            findings.compare(fixture, "reply", &parse(peer.as_bytes()), &parse(&written));
        }
        Err(error) => findings.record_rejection(fixture, error),
    }
}

fn stream(
    fixture: &Fixture,
    dialect: Dialect,
    request: &Request,
    payloads: &[String],
    findings: &mut Findings,
) {
    let mut writer = EventWriter::new(dialect, request, None);
    for peer in payloads {
        match dialect.read_event(peer) {
            Ok(event) => {
                let peer = parse(peer.as_bytes());
                let flags = [peer.get("final"), peer.pointer("/statusUpdate/final")];
                let is_last = flags.contains(&Some(&Value::Bool(true)));
                for latimer in writer.write(&event, finality(is_last)) {
                    findings.compare(fixture, "event", &peer, &parse(&latimer));
                }
            }
            Err(error) => findings.record_failure(fixture, "event", error),
        }
    }
}

impl Fixture {
    /// Returns the version that the request declares.
    fn declared_version(&self) -> Result<Option<Version>, Error> {
        let Some(request) = &self.request else { return Ok(None) };
        let query = request
            .path
            .split_once('?')
            .and_then(|(_, query)| parameters::version_from_query(query));
        let header = request.headers.get(parameters::VERSION).and_then(Value::as_str);
        Version::declared(header, query.as_deref())
    }
}
