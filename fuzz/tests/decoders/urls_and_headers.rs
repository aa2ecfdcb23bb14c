//! Fuzz targets for URLs, event streams, headers and small inputs.

use std::hint::black_box;

use bolero::check;
use http::Method;
use latimer_protocol::binding::rest::{Route, RouteRequest};
use latimer_protocol::binding::{grpc, parameters, rest, sse};
use latimer_protocol::{ContextId, MessageId, TaskId, TaskState, Timestamp, Version};

use crate::corpus::{Mutation, TEXT_INPUTS, mutate};

fn new_id() -> MessageId {
    MessageId::new("generated").expect("valid id")
}

#[test]
fn mutated_urls_and_bodies_decode_without_panic() {
    let methods = [Method::GET, Method::POST, Method::DELETE, Method::PUT];
    check!().with_type::<(Mutation, Mutation)>().for_each(|(target, body)| {
        let (target, body) = (mutate(&TEXT_INPUTS, target), mutate(&TEXT_INPUTS, body));
        let target = String::from_utf8_lossy(&target);
        for prefix in ["", "/tasks/", "/v1/tasks/", "/message:send", "/tasks?"] {
            let target = format!("{prefix}{target}");
            let (path, query) = target.split_once('?').unwrap_or((&target, ""));
            for method in &methods {
                for declared in [None, Some(Version::V1_0), Some(Version::V0_3)] {
                    let route_request =
                        RouteRequest { query, declared, ..RouteRequest::new(method, path) };
                    let Ok(route) = Route::find(&route_request) else { continue };
                    drop(route.read_request(&body, &new_id));
                }
            }
        }
        black_box(rest::negotiate_media_type(Some(&target)));
        black_box(rest::is_json(&target));
    });
}

#[test]
fn event_streams_decode_alike_in_any_chunks() {
    check!().with_type::<(Mutation, u8)>().for_each(|(mutation, size)| {
        let bytes = mutate(&TEXT_INPUTS, mutation);
        let read = |size: usize| {
            let mut decoder = sse::Decoder::with_limit(4096);
            let mut frames = Vec::new();
            for mut chunk in bytes.chunks(size) {
                loop {
                    match decoder.read(&mut chunk) {
                        Ok(Some(frame)) => frames.push(frame),
                        Ok(None) => break,
                        Err(_) => return frames,
                    }
                }
            }
            frames.extend(std::iter::from_fn(|| decoder.finish()));
            frames
        };
        // Decoding does not depend on the chunk size.
        assert_eq!(read(usize::from(*size) + 1), read(bytes.len().max(1)));
    });
}

#[test]
fn mutated_headers_and_ids_decode_without_panic() {
    check!().with_type::<(Mutation, String)>().for_each(|(mutation, text)| {
        let bytes = mutate(&TEXT_INPUTS, mutation);
        for text in [&String::from_utf8_lossy(&bytes), text.as_str()] {
            drop(Version::declared(Some(text), Some(text)));
            drop(parameters::parse_extensions([text]));
            drop(parameters::parse_last_event_id(Some(text)));
            drop(parameters::version_from_query(text));
            black_box(grpc::parse_path(text));
            black_box(text.parse::<TaskState>().is_ok());
            drop(TaskId::new(text));
            drop(ContextId::new(text));
            if let Ok(time) = text.parse::<Timestamp>() {
                assert_eq!(time.to_string().parse(), Ok(time));
            }
        }
    });
}
