//! Fuzz targets for JSON: calls, requests, replies, events and errors.

use bolero::check;
use latimer_protocol::binding::VersionPolicy;
use latimer_protocol::binding::jsonrpc::{Call, Id, Request, Response, read_event, read_reply};
use latimer_protocol::{Dialect, Error, EventWriter, Finality, MessageId, Operation, Version};

use crate::corpus::{Mutation, TEXT_INPUTS, mutate};

fn new_id() -> MessageId {
    MessageId::new("generated").expect("valid id")
}

#[test]
fn mutated_calls_decode_without_panic() {
    check!().with_type::<Mutation>().for_each(|mutation| {
        let bytes = mutate(&TEXT_INPUTS, mutation);
        for declared in [None, Some(Version::V1_0), Some(Version::V0_3)] {
            match Call::read(&bytes, declared, VersionPolicy::Lenient, &new_id) {
                // A decoded call can be encoded and decoded again.
                Ok(call) => {
                    let written = call
                        .dialect
                        .write_request(&call.request)
                        .expect("decoded call is encodable");
                    let text = String::from_utf8(written).expect("encoder writes UTF-8");
                    let reread =
                        call.dialect.read_request(call.request.operation(), &text, &new_id);
                    assert!(reread.is_ok(), "{text}: {reread:?}");
                }
                Err(rejection) => drop(rejection.to_response(Version::V1_0)),
            }
        }
        drop(Request::read(&bytes));
    });
}

#[test]
fn mutated_requests_decode_without_panic() {
    check!().with_type::<Mutation>().for_each(|mutation| {
        let bytes = mutate(&TEXT_INPUTS, mutation);
        let Ok(text) = std::str::from_utf8(&bytes) else { return };
        for dialect in Dialect::ALL {
            for operation in Operation::ALL {
                drop(dialect.read_request(operation, text, &new_id));
            }
        }
    });
}

#[test]
fn mutated_replies_decode_without_panic() {
    check!().with_type::<Mutation>().for_each(|mutation| {
        let bytes = mutate(&TEXT_INPUTS, mutation);
        if let Ok(response) = Response::read(&bytes) {
            drop(response.result(Version::V0_3));
        }
        for dialect in Dialect::ALL {
            for operation in Operation::ALL {
                drop(read_reply(dialect, &Id::from(1), operation, &bytes));
                if let Ok(text) = std::str::from_utf8(&bytes) {
                    drop(dialect.read_reply(operation, text));
                }
            }
        }
    });
}

#[test]
fn mutated_events_decode_without_panic() {
    let request = Dialect::V1_0.read_request(Operation::GetTask, r#"{"id":"t"}"#, &new_id);
    let request = request.expect("valid request");
    check!().with_type::<Mutation>().for_each(|mutation| {
        let bytes = mutate(&TEXT_INPUTS, mutation);
        let Ok(text) = std::str::from_utf8(&bytes) else { return };
        for dialect in Dialect::ALL {
            let read = dialect.read_event(text);
            let enveloped = format!(r#"{{"id":1,"result":{text}}}"#);
            if let Some(fast) = read_event(dialect, enveloped.as_bytes()) {
                assert_eq!(read.as_ref(), Ok(&fast));
            }
            let Ok(event) = read else { continue };
            for dialect in Dialect::ALL {
                let mut writer = EventWriter::new(dialect, &request, None);
                drop(writer.write(&event, Finality::Last));
            }
        }
    });
}

#[test]
fn mutated_errors_decode_without_panic() {
    check!().with_type::<Mutation>().for_each(|mutation| {
        let bytes = mutate(&TEXT_INPUTS, mutation);
        for version in Version::ALL {
            let status = mutation.0;
            drop(Error::from_http(status, &bytes, version).to_http(version));
            if let Ok(value) = serde_json::from_slice(&bytes) {
                drop(Error::from_jsonrpc(&value, version).to_jsonrpc(version));
            }
        }
    });
}
