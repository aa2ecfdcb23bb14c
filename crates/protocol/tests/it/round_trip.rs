//! Round trips of arbitrary models: everything that a dialect can represent is preserved.

use latimer_protocol::binding::VersionPolicy;
use latimer_protocol::binding::jsonrpc::{Call, Id, read_reply, write_call, write_reply};
use latimer_protocol::binding::rest::{HttpRequest, Route, RouteRequest};
use latimer_protocol::{
    Content, Dialect, ErrorKind, EventWriter, Finality, GetTaskRequest, MessageId, Operation,
    Reply, Request, StreamResponse, Task, TaskId, Version,
};
use proptest::prelude::{ProptestConfig, any, prop_assert, prop_assert_eq, proptest};
use serde_json::{Map, Value};

use crate::arbitrary::{ComparableReply, event, exchange, request};
use crate::field_coverage::Wire;
use crate::protobuf::{v0_3_event, v0_3_reply, v0_3_request, v1_0_event, v1_0_reply, v1_0_request};

fn utf8(written: &[u8]) -> &str {
    std::str::from_utf8(written).expect("encoder writes UTF-8")
}

fn new_id() -> MessageId {
    MessageId::new("generated").expect("valid id")
}

/// Returns a transport that does not change the bytes.
fn unchanged() -> impl FnMut(Vec<u8>) -> Vec<u8> {
    |bytes| bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn requests_round_trip_as_json(request in request()) {
        for dialect in [Dialect::V1_0, Dialect::V0_3] {
            let written = dialect.write_request(&request).unwrap();
            let read = dialect.read_request(request.operation(), utf8(&written), &new_id);
            prop_assert_eq!(read, Ok(Wire::Json(dialect).request(request.clone())));
        }
    }

    #[test]
    fn v0_1_requests_round_trip(request in request()) {
        let wire = Wire::Json(Dialect::V0_1);
        // Operations that 0.1 lacks, and messages without a task id, are rejected by the encoder.
        let written = match Dialect::V0_1.write_request(&request) {
            Ok(written) => written,
            Err(error) => {
                let unknown = request.operation().method(Version::V0_1).is_none();
                let lacks_task_id = error.kind() == ErrorKind::InvalidParams;
                prop_assert!(unknown || lacks_task_id, "{error}");
                return Ok(());
            }
        };
        let read = Dialect::V0_1.read_request(request.operation(), utf8(&written), &new_id);
        prop_assert_eq!(read, Ok(wire.request(request)));
    }

    #[test]
    fn v0_3_http_bodies_round_trip(request in request()) {
        let dialect = Dialect::V0_3Proto;
        if !matches!(
            request,
            Request::SendMessage(_)
                | Request::SendStreamingMessage(_)
                | Request::CreateTaskPushNotificationConfig(_)
        ) {
            // Other requests are encoded in the path and query, which are tested with the router.
            return Ok(());
        }
        let written = dialect.write_request(&request).unwrap();
        let read = dialect.read_request(request.operation(), utf8(&written), &new_id);
        prop_assert_eq!(read, Ok(Wire::Json(dialect).request(request)));
    }

    /// Ids and page tokens with any characters survive a round trip through URL and body.
    #[test]
    fn requests_round_trip_over_http(request in request()) {
        for dialect in [Dialect::V1_0, Dialect::V0_3Proto] {
            let http_request = match HttpRequest::new(dialect, &request) {
                Ok(http_request) => http_request,
                Err(error) => {
                    // `.` and `..` as ids, and empty path segments, are not representable.
                    prop_assert_eq!(error.kind(), ErrorKind::InvalidParams, "{}", error);
                    continue;
                }
            };
            let (path, query) = http_request.path.split_once('?').unwrap_or((&http_request.path, ""));
            let declared = Some(dialect.version());
            let route_request = RouteRequest { query, declared, ..RouteRequest::new(&http_request.method, path) };
            let route = Route::find(&route_request).unwrap();
            let body = http_request.body.unwrap_or_default();
            let read = route.read_request(&body, &new_id);
            prop_assert_eq!(read, Ok(Wire::Json(dialect).over_http(request.clone())), "{}", http_request.path);
        }
    }

    /// The fast path and the two-step path decode the same call.
    #[test]
    fn calls_round_trip_over_jsonrpc(request in request(), id in any::<u64>()) {
        let id = Id::from(id);
        for dialect in [Dialect::V1_0, Dialect::V0_3] {
            let encoded = match write_call(dialect, &id, &request) {
                Ok(encoded) => encoded,
                Err(error) => {
                    let unknown = request.operation().method(dialect.version()).is_none();
                    prop_assert!(unknown, "{error}");
                    continue;
                }
            };
            let Value::Object(members) = serde_json::from_slice(&encoded).unwrap() else { panic!("expected an object") };
            // With the parameters before the method, the fast path does not apply.
            let reversed: Map<_, _> = members.into_iter().rev().collect();
            let reversed = serde_json::to_vec(&reversed).unwrap();
            for body in [&encoded, &reversed] {
                let declared = Some(dialect.version());
                let call = Call::read(body, declared, VersionPolicy::Strict, &new_id).unwrap();
                prop_assert_eq!(&call.request, &Wire::Json(dialect).request(request.clone()));
                prop_assert_eq!((&call.id, call.dialect), (&id, dialect));
            }
        }
    }

    #[test]
    fn replies_round_trip_over_jsonrpc((request, reply) in exchange(), id in any::<u64>()) {
        let id = Id::from(id);
        for dialect in [Dialect::V1_0, Dialect::V0_3] {
            let encoded = write_reply(dialect, &id, &request, &reply.to_reply());
            let read = read_reply(dialect, &id, operation_for(&reply), &encoded).unwrap();
            prop_assert_eq!(ComparableReply::from_reply(read), Wire::Json(dialect).reply(reply.clone()));
            let other = read_reply(dialect, &Id::from("other"), operation_for(&reply), &encoded);
            prop_assert_eq!(other.unwrap_err().kind(), ErrorKind::InvalidAgentResponse);
        }
    }

    #[test]
    fn replies_round_trip_as_json((request, reply) in exchange()) {
        for dialect in [Dialect::V1_0, Dialect::V0_3, Dialect::V0_3Proto, Dialect::V0_1] {
            if dialect == Dialect::V0_1 && !matches!(reply, ComparableReply::Task(_) | ComparableReply::PushConfig(_)) {
                continue;
            }
            let written = dialect.write_reply(&request, &reply.to_reply());
            let read = dialect.read_reply(operation_for(&reply), utf8(&written)).unwrap();
            let want = Wire::Json(dialect).reply(reply.clone());
            prop_assert_eq!(ComparableReply::from_reply(read), want, "{:?}", dialect);
        }
    }

    #[test]
    fn events_round_trip_as_json(event in event()) {
        for dialect in [Dialect::V1_0, Dialect::V0_3, Dialect::V0_3Proto] {
            let mut writer = EventWriter::new(dialect, &any_request(), None);
            let written = writer.write(&event, Finality::More);
            let read = dialect.read_event(utf8(&written[0])).unwrap();
            prop_assert_eq!(read, Wire::Json(dialect).event(event.clone()), "{:?}", dialect);
        }
    }

    #[test]
    fn v0_1_events_round_trip(event in event()) {
        if matches!(event, StreamResponse::Task(_) | StreamResponse::Message(_)) {
            return Ok(());
        }
        let mut writer = EventWriter::new(Dialect::V0_1, &any_request(), None);
        let written = writer.write(&event, Finality::More);
        let read = Dialect::V0_1.read_event(utf8(&written[0])).unwrap();
        prop_assert_eq!(read, Wire::Json(Dialect::V0_1).event(event));
    }

    #[test]
    fn events_round_trip_as_protobuf(event in event()) {
        let read = v1_0_event(&event, &mut unchanged());
        prop_assert_eq!(read, Wire::V1_0Protobuf.event(event.clone()));
        let read = v0_3_event(&event, Finality::Last, &mut unchanged());
        prop_assert_eq!(read, Wire::V0_3Protobuf.event(event));
    }

    #[test]
    fn requests_round_trip_as_protobuf(request in request()) {
        let read = v1_0_request(&request, &mut unchanged());
        prop_assert_eq!(read, Wire::V1_0Protobuf.request(request.clone()));
        let read = v0_3_request(&request, &mut unchanged());
        prop_assert_eq!(read, Wire::V0_3Protobuf.request(request));
    }

    #[test]
    fn replies_round_trip_as_protobuf((_, reply) in exchange()) {
        let read = v1_0_reply(&reply, &mut unchanged());
        prop_assert_eq!(read, Wire::V1_0Protobuf.reply(reply.clone()));
        let read = v0_3_reply(&reply, &mut unchanged());
        prop_assert_eq!(read, Wire::V0_3Protobuf.reply(reply));
    }

    /// The legacy API preserves texts, files, data, roles, states and names.
    #[test]
    fn legacy_tasks_round_trip((request, reply) in exchange()) {
        let ComparableReply::Task(task) = reply else { return Ok(()) };
        let written = Dialect::Legacy.write_reply(&request, &Reply::Task(task.clone().into()));
        let read = Dialect::Legacy.read_reply(Operation::GetTask, utf8(&written));
        let Ok(Reply::Task(read)) = read else { panic!("{read:?}") };
        prop_assert_eq!(&read.id, &task.id);
        prop_assert_eq!(&read.context_id, &task.context_id);
        let source_messages = task.history.len() + usize::from(task.status.message.is_some());
        // An output that is only an artifact is repeated as a message.
        prop_assert!(read.history.len() >= source_messages);
        prop_assert!(message_texts(&read).starts_with(&message_texts(&task)));
    }
}

/// Returns the texts of the messages. URLs become text in the legacy API.
fn message_texts(task: &Task) -> Vec<&str> {
    let parts = task.history.iter().chain(&task.status.message).flat_map(|it| &it.parts);
    parts
        .filter_map(|part| match &part.content {
            Content::Text(text) | Content::Url(text) => Some(text.as_str()),
            Content::Raw(_) | Content::Data(_) => None,
        })
        .collect()
}

/// Returns a request for encoders that do not depend on it.
fn any_request() -> Request {
    Request::GetTask(GetTaskRequest::from("t".parse::<TaskId>().expect("valid id")))
}

/// Returns an operation with this kind of reply.
fn operation_for(reply: &ComparableReply) -> Operation {
    match reply {
        ComparableReply::SendMessage(_) => Operation::SendMessage,
        ComparableReply::Task(_) => Operation::GetTask,
        ComparableReply::TaskList(_) => Operation::ListTasks,
        ComparableReply::PushConfig(_) => Operation::GetTaskPushNotificationConfig,
        ComparableReply::PushConfigList(_) => Operation::ListTaskPushNotificationConfigs,
    }
}
