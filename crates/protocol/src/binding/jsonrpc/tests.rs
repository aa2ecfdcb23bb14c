use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::dialect::Dialect;
use crate::error::ErrorKind;

#[test]
fn request_id_is_echoed_byte_for_byte() {
    let texts =
        ["1", "\"1\"", "1.0", "-0", "1e400", "123456789012345678901", "\"\\u0041\\/\"", "\"✓\""];
    for text in texts.into_iter().chain(["null", "\"\""]) {
        let body = format!(r#" {{"jsonrpc":"2.0", "id" : {text} ,"method":"GetTask"}} "#);
        let request = Request::read(body.as_bytes()).unwrap();
        assert_eq!(request.id.as_json(), text);
        let response =
            String::from_utf8(Envelope::new(&request.id).wrap(b"null").concat()).unwrap();
        assert_eq!(response, format!(r#"{{"jsonrpc":"2.0","id":{text},"result":null}}"#));
    }
}

#[test]
fn request_members_are_read_in_any_order() {
    for (body, id, method, params) in [
        (r#"{"jsonrpc":"2.0","method":"M"}"#, "null", "M", "{}"),
        (r#"{"jsonrpc":"2.0","method":"M","params":null,"id":1}"#, "1", "M", "{}"),
        (r#"{"params":{ "a":[1] },"method":"M","jsonrpc":"2.0"}"#, "null", "M", r#"{ "a":[1] }"#),
        (r#"{"\u006asonrpc":"2\u002e0","method":"\u004d\/x"}"#, "null", "M/x", "{}"),
        (r#"{"x":{"jsonrpc":1},"x":2,"jsonrpc":"2.0","method":"M"}"#, "null", "M", "{}"),
    ] {
        let request = Request::read(body.as_bytes()).unwrap_or_else(|it| panic!("{body}: {it}"));
        assert_eq!(request.id.as_json(), id, "{body}");
        assert_eq!((&*request.method, request.params), (method, params), "{body}");
    }
}

#[test]
fn invalid_request_is_rejected_with_its_readable_id() {
    use ErrorKind::{InvalidParams, InvalidRequest, Parse};
    let long = format!(r#"{{"jsonrpc":"2.0","id":"{}","method":"M"}}"#, "x".repeat(2000));
    for (body, id, kind) in [
        ("", "null", Parse),
        ("{", "null", Parse),
        (r#"{"jsonrpc":"2.0","id":1,"method":"M"} x"#, "null", Parse),
        (r#"{"jsonrpc":"2.0","id":1,"method":"M""#, "null", Parse),
        ("[{", "null", Parse),
        ("\u{feff}{}", "null", Parse),
        ("[]", "null", InvalidRequest),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"M"}]"#, "null", InvalidRequest),
        (r#""hello""#, "null", InvalidRequest),
        ("null", "null", InvalidRequest),
        ("{}", "null", InvalidRequest),
        (r#"{"id":1,"method":"M"}"#, "1", InvalidRequest),
        (r#"{"jsonrpc":"1.0","id":1,"method":"M"}"#, "1", InvalidRequest),
        (r#"{"jsonrpc":2.0,"id":1,"method":"M"}"#, "1", InvalidRequest),
        (r#"{"jsonrpc":"2.0","id":"a"}"#, "\"a\"", InvalidRequest),
        (r#"{"jsonrpc":"2.0","id":"a","method":""}"#, "\"a\"", InvalidRequest),
        (r#"{"jsonrpc":"2.0","id":"a","method":5}"#, "\"a\"", InvalidRequest),
        (r#"{"jsonrpc":"2.0","id":"a","method":"\ud800"}"#, "\"a\"", InvalidRequest),
        (r#"{"jsonrpc":"2.0","id":{},"method":"M"}"#, "null", InvalidRequest),
        (r#"{"jsonrpc":"2.0","id":[1],"method":"M"}"#, "null", InvalidRequest),
        (r#"{"jsonrpc":"2.0","id":true,"method":"M"}"#, "null", InvalidRequest),
        (&long, "null", InvalidRequest),
        (r#"{"jsonrpc":"2.0","id":1,"id":1,"method":"M"}"#, "null", InvalidRequest),
        (r#"{"jsonrpc":"2.0","id":1,"method":"M","method":"M"}"#, "1", InvalidRequest),
        (r#"{"jsonrpc":"2.0","params":{},"method":"M","id":1,"params":{}}"#, "1", InvalidRequest),
        (r#"{"jsonrpc":"2.0","id":1,"method":"M","params":[1]}"#, "1", InvalidParams),
        (r#"{"jsonrpc":"2.0","id":1,"method":"M","params":"x"}"#, "1", InvalidParams),
    ] {
        let rejection = Request::read(body.as_bytes()).expect_err(body);
        assert_eq!((rejection.id.as_json(), rejection.error.kind()), (id, kind), "{body}");
    }
}

#[test]
fn rejection_is_written_as_an_error_response() {
    let rejection = Request::read(b"[]").unwrap_err();
    let response: Value = serde_json::from_slice(&rejection.to_response(Version::V1_0)).unwrap();
    assert_eq!(response["id"], Value::Null);
    assert_eq!(response["error"]["code"], -32600);
    assert_eq!(
        response["error"]["message"],
        "invalid request: batches are not supported: send one request at a time"
    );
}

#[test]
fn deeply_nested_params_are_not_parsed() {
    let deep = format!(r#"{{"a":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"M","params":{deep},"x":{deep}}}"#);
    assert_eq!(Request::read(body.as_bytes()).unwrap().params, deep);
}

#[test]
fn every_form_of_response_is_read() {
    use ResponsePayload::{Bare, Error, Result};
    for (body, id, payload) in [
        (r#"{"jsonrpc":"2.0","id":1,"result":{"a":1}}"#, Some("1"), Result(r#"{"a":1}"#)),
        (r#"{"jsonrpc":"2.0","id":1,"result":null}"#, Some("1"), Result("null")),
        (r#"{"jsonrpc":"2.0","id":1}"#, Some("1"), Result("null")),
        (r#"{"id":"x","result":[],"more":{}}"#, Some("\"x\""), Result("[]")),
        (r#"{"jsonrpc":"2.0","id":null,"error":{"code":1}}"#, Some("null"), Error(r#"{"code":1}"#)),
        (r#"{"result":1,"error":{"code":1}}"#, None, Error(r#"{"code":1}"#)),
        (r#"{"result":1,"error":null}"#, None, Result("1")),
        (r#"{"id":1,"error":null}"#, Some("1"), Result("null")),
        (r#"{"jsonrpc":"2.0","id":{},"result":1}"#, None, Result("1")),
        (
            r#" {"id":"t1","status":"completed"} "#,
            None,
            Bare(r#"{"id":"t1","status":"completed"}"#),
        ),
        (r#"{"type":"TaskStatusUpdateEvent"}"#, None, Bare(r#"{"type":"TaskStatusUpdateEvent"}"#)),
        ("{}", None, Bare("{}")),
        ("[1]", None, Bare("[1]")),
    ] {
        let response = Response::read(body.as_bytes()).unwrap_or_else(|it| panic!("{body}: {it}"));
        assert_eq!(response.id.as_ref().map(Id::as_json), id, "{body}");
        assert_eq!(response.payload, payload, "{body}");
    }
    for body in ["", "[DONE]", "<html>", r#"{"result":1"#] {
        assert!(Response::read(body.as_bytes()).is_err(), "{body}");
    }
}

#[test]
fn error_response_is_read_with_the_codes_of_its_version() {
    let body = br#"{"id":1,"error":{"code":-32006,"message":"no"}}"#;
    let response = Response::read(body).unwrap();
    for (version, want) in [
        (Version::V1_0, ErrorKind::InvalidAgentResponse),
        (Version::V0_1, ErrorKind::StreamingNotSupported),
    ] {
        let error = response.result(version).unwrap_err();
        assert_eq!((error.kind(), error.message()), (want, "no"));
    }
    let odd = Response::read(br#"{"id":1,"error":"oops"}"#).unwrap();
    assert_eq!(odd.result(Version::V1_0).unwrap_err().kind(), ErrorKind::Internal);
}

#[test]
fn ids_are_compared_by_json_value() {
    for (one, two, want) in [
        ("1", "1", true),
        ("1", "1.0", true),
        ("1", "\"1\"", false),
        ("1", "2", false),
        (r#""a""#, r#""\u0061""#, true),
        (r#""a""#, r#""b""#, false),
    ] {
        let id = |text| Id::from_json(text).unwrap();
        assert_eq!(id(one).matches(&id(two)), want, "{one} {two}");
    }
    let null = Response::read(br#"{"id":null,"error":{}}"#).unwrap();
    assert!(null.matches_request(&Id::from(1)));
    let other = Response::read(br#"{"id":2,"result":{}}"#).unwrap();
    assert!(!other.matches_request(&Id::from(1)));
}

#[test]
fn enveloped_event_is_read_in_a_single_pass() {
    let event = r#"{"statusUpdate":{"taskId":"t","status":{"state":"TASK_STATE_WORKING"}}}"#;
    let error = r#"{"code":-32001,"message":"no"}"#;
    for (data, want) in [
        (format!(r#"{{"jsonrpc":"2.0","id":"1","result":{event}}}"#), true),
        (format!(r#" {{"result":{event},"id":2}} "#), true),
        (format!(r#"{{"result":{event},"result":{event}}}"#), false),
        (format!(r#"{{"jsonrpc":"2.0","id":1,"error":{error}}}"#), false),
        (format!(r#"{{"jsonrpc":"2.0","id":1,"result":{event},"error":{error}}}"#), false),
        (r#"{"jsonrpc":"2.0","id":1,"result":{"kind":"status-update"}}"#.to_owned(), false),
        (r#"{"jsonrpc":"2.0","id":1}"#.to_owned(), false),
        (event.to_owned(), false),
        ("[DONE]".to_owned(), false),
    ] {
        let parsed = read_event(Dialect::V1_0, data.as_bytes());
        assert_eq!(parsed.is_some(), want, "{data}");
        if let Some(parsed) = parsed {
            let response = Response::read(data.as_bytes()).unwrap();
            let payload = response.result(Version::V1_0).unwrap();
            assert_eq!(Dialect::V1_0.read_event(payload).unwrap(), parsed);
        }
        assert_eq!(read_event(Dialect::V0_3, data.as_bytes()), None);
    }
}

#[test]
fn write_error_produces_an_error_response() {
    let out = write_error(Version::V1_0, &Id::from("r"), &ErrorKind::TaskNotFound.into());
    let response: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!((&response["id"], &response["error"]["code"]), (&json!("r"), &json!(-32001)));
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic_the_envelope_readers(bytes: Vec<u8>) {
        let _ = Request::read(&bytes);
        let _ = Response::read(&bytes);
    }

    #[test]
    fn request_method_and_params_round_trip(id: String, method in ".+", text: String) {
        let params = json!({ "text": text });
        let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string();
        match Request::read(body.as_bytes()) {
            Ok(request) => {
                prop_assert_eq!((&*request.method, request.params), (&*method, &*params.to_string()));
            }
            Err(rejection) => prop_assert!(id.len() > 100, "{}", rejection),
        }
    }
}
