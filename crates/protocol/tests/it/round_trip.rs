//! A model that goes through a wire keeps all that the wire can carry.

use latimer_protocol::binding::VersionRule;
use latimer_protocol::binding::jsonrpc::{Call, Id, read_reply, write_call, write_reply};
use latimer_protocol::binding::rest::{Ask, Outgoing, Route};
use latimer_protocol::{
    Content, Dialect, ErrorKind, EventWriter, GetTaskRequest, MessageId, Operation, Reply, Request,
    StreamResponse, Task, TaskId, Then, Version,
};
use proptest::prelude::{ProptestConfig, any, prop_assert, prop_assert_eq, proptest};
use serde_json::{Map, Value};

use crate::arbitrary::{Answer, event, exchange, request};
use crate::carried::Wire;
use crate::protobuf::{
    v0_3_answer, v0_3_event, v0_3_request, v1_0_answer, v1_0_event, v1_0_request,
};

fn text(written: &[u8]) -> &str {
    std::str::from_utf8(written).expect("we write UTF-8")
}

fn made_here() -> MessageId {
    MessageId::new("made-here").expect("a valid id")
}

/// Our own bytes, as they are.
fn unchanged() -> impl FnMut(Vec<u8>) -> Vec<u8> {
    |bytes| bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn requests_as_json(request in request()) {
        for dialect in [Dialect::V1_0, Dialect::V0_3] {
            let written = dialect.write_request(&request).unwrap();
            let read = dialect.read_request(request.operation(), text(&written), &made_here);
            prop_assert_eq!(read, Ok(Wire::Json(dialect).request(request.clone())));
        }
    }

    #[test]
    fn requests_of_0_1(request in request()) {
        let wire = Wire::Json(Dialect::V0_1);
        // What 0.1 has no word for, or no task's name in, is refused before it is written.
        let written = match Dialect::V0_1.write_request(&request) {
            Ok(written) => written,
            Err(error) => {
                let unknown = request.operation().method(Version::V0_1).is_none();
                let unnamed = error.kind() == ErrorKind::InvalidParams;
                prop_assert!(unknown || unnamed, "{error}");
                return Ok(());
            }
        };
        let read = Dialect::V0_1.read_request(request.operation(), text(&written), &made_here);
        prop_assert_eq!(read, Ok(wire.request(request)));
    }

    #[test]
    fn bodies_of_0_3(request in request()) {
        let dialect = Dialect::V0_3Proto;
        if !matches!(
            request,
            Request::SendMessage(_)
                | Request::SendStreamingMessage(_)
                | Request::CreateTaskPushNotificationConfig(_)
        ) {
            // The others travel in the path and query: see the tests of that grammar.
            return Ok(());
        }
        let written = dialect.write_request(&request).unwrap();
        let read = dialect.read_request(request.operation(), text(&written), &made_here);
        prop_assert_eq!(read, Ok(Wire::Json(dialect).request(request)));
    }

    /// Through an address and a body: ids and page tokens of any letters survive the way.
    #[test]
    fn requests_over_http(request in request()) {
        for dialect in [Dialect::V1_0, Dialect::V0_3Proto] {
            let sent = match Outgoing::new(dialect, &request) {
                Ok(sent) => sent,
                Err(error) => {
                    // A dot or two in place of an id, or nothing between slashes, is no address.
                    prop_assert_eq!(error.kind(), ErrorKind::InvalidParams, "{}", error);
                    continue;
                }
            };
            let (path, query) = sent.path.split_once('?').unwrap_or((&sent.path, ""));
            let said = Some(dialect.version());
            let ask = Ask { query, said, ..Ask::new(&sent.method, path) };
            let route = Route::find(&ask).unwrap();
            let body = sent.body.unwrap_or_default();
            let read = route.read_request(&body, &made_here);
            prop_assert_eq!(read, Ok(Wire::Json(dialect).over_http(request.clone())), "{}", sent.path);
        }
    }

    /// The one pass over an envelope and the two steps come to the same.
    #[test]
    fn calls_over_jsonrpc(request in request(), id in any::<u64>()) {
        let id = Id::from(id);
        for dialect in [Dialect::V1_0, Dialect::V0_3] {
            let sent = match write_call(dialect, &id, &request) {
                Ok(sent) => sent,
                Err(error) => {
                    let unknown = request.operation().method(dialect.version()).is_none();
                    prop_assert!(unknown, "{error}");
                    continue;
                }
            };
            let Value::Object(members) = serde_json::from_slice(&sent).unwrap() else { panic!("an object") };
            // The parameters before the method: there is no one pass over that.
            let backwards: Map<_, _> = members.into_iter().rev().collect();
            let backwards = serde_json::to_vec(&backwards).unwrap();
            for body in [&sent, &backwards] {
                let said = Some(dialect.version());
                let call = Call::read(body, said, VersionRule::Strict, &made_here).unwrap();
                prop_assert_eq!(&call.request, &Wire::Json(dialect).request(request.clone()));
                prop_assert_eq!((&call.id, call.dialect), (&id, dialect));
            }
        }
    }

    #[test]
    fn answers_over_jsonrpc((request, answer) in exchange(), id in any::<u64>()) {
        let id = Id::from(id);
        for dialect in [Dialect::V1_0, Dialect::V0_3] {
            let sent = write_reply(dialect, &id, &request, &answer.reply()).unwrap();
            let read = read_reply(dialect, &id, operation_of(&answer), &sent).unwrap();
            prop_assert_eq!(Answer::from_reply(read), Wire::Json(dialect).answer(answer.clone()));
            let other = read_reply(dialect, &Id::from("other"), operation_of(&answer), &sent);
            prop_assert_eq!(other.unwrap_err().kind(), ErrorKind::InvalidAgentResponse);
        }
    }

    #[test]
    fn replies_as_json((request, answer) in exchange()) {
        for dialect in [Dialect::V1_0, Dialect::V0_3, Dialect::V0_3Proto, Dialect::V0_1] {
            if dialect == Dialect::V0_1 && !matches!(answer, Answer::Task(_) | Answer::PushConfig(_)) {
                continue;
            }
            let written = dialect.write_reply(&request, &answer.reply()).unwrap();
            let read = dialect.read_reply(operation_of(&answer), text(&written)).unwrap();
            let want = Wire::Json(dialect).answer(answer.clone());
            prop_assert_eq!(Answer::from_reply(read), want, "{:?}", dialect);
        }
    }

    #[test]
    fn events_as_json(event in event()) {
        for dialect in [Dialect::V1_0, Dialect::V0_3, Dialect::V0_3Proto] {
            let mut writer = EventWriter::new(dialect, &any_request(), None);
            let written = writer.write(&event, Then::Continues).unwrap();
            let read = dialect.read_event(text(&written[0])).unwrap();
            prop_assert_eq!(read, Wire::Json(dialect).event(event.clone()), "{:?}", dialect);
        }
    }

    #[test]
    fn events_of_0_1(event in event()) {
        if matches!(event, StreamResponse::Task(_) | StreamResponse::Message(_)) {
            return Ok(());
        }
        let mut writer = EventWriter::new(Dialect::V0_1, &any_request(), None);
        let written = writer.write(&event, Then::Continues).unwrap();
        let read = Dialect::V0_1.read_event(text(&written[0])).unwrap();
        prop_assert_eq!(read, Wire::Json(Dialect::V0_1).event(event));
    }

    #[test]
    fn events_as_protobuf(event in event()) {
        let read = v1_0_event(&event, &mut unchanged());
        prop_assert_eq!(read, Wire::V1_0Protobuf.event(event.clone()));
        let read = v0_3_event(&event, Then::Closes, &mut unchanged());
        prop_assert_eq!(read, Wire::V0_3Protobuf.event(event));
    }

    #[test]
    fn requests_as_protobuf(request in request()) {
        let read = v1_0_request(&request, &mut unchanged());
        prop_assert_eq!(read, Wire::V1_0Protobuf.request(request.clone()));
        let read = v0_3_request(&request, &mut unchanged());
        prop_assert_eq!(read, Wire::V0_3Protobuf.request(request));
    }

    #[test]
    fn replies_as_protobuf((_, answer) in exchange()) {
        let read = v1_0_answer(&answer, &mut unchanged());
        prop_assert_eq!(read, Wire::V1_0Protobuf.answer(answer.clone()));
        let read = v0_3_answer(&answer, &mut unchanged());
        prop_assert_eq!(read, Wire::V0_3Protobuf.answer(answer));
    }

    /// The oldest carries texts, files, data, roles, states and names; that much must come back.
    #[test]
    fn tasks_of_the_oldest((request, answer) in exchange()) {
        let Answer::Task(task) = answer else { return Ok(()) };
        let written = Dialect::Oldest.write_reply(&request, &Reply::Task(task.clone().into())).unwrap();
        let read = Dialect::Oldest.read_reply(Operation::GetTask, text(&written));
        let Ok(Reply::Task(read)) = read else { panic!("{read:?}") };
        prop_assert_eq!(&read.id, &task.id);
        prop_assert_eq!(&read.context_id, &task.context_id);
        let said = task.history.len() + usize::from(task.status.message.is_some());
        // An answer that is only an artifact is told as a message too.
        prop_assert!(read.history.len() >= said);
        prop_assert!(texts(&read).starts_with(&texts(&task)));
    }
}

/// The texts of what was said. Addresses become texts on this wire, so they count as such.
fn texts(task: &Task) -> Vec<&str> {
    let parts = task.history.iter().chain(&task.status.message).flat_map(|it| &it.parts);
    parts
        .filter_map(|part| match &part.content {
            Content::Text(text) | Content::Url(text) => Some(text.as_str()),
            Content::Raw(_) | Content::Data(_) => None,
        })
        .collect()
}

/// Some request, where the writer needs one and does not look at it.
fn any_request() -> Request {
    Request::GetTask(GetTaskRequest::from("t".parse::<TaskId>().expect("an id")))
}

/// An operation that has such an answer.
fn operation_of(answer: &Answer) -> Operation {
    match answer {
        Answer::Sent(_) => Operation::SendMessage,
        Answer::Task(_) => Operation::GetTask,
        Answer::Tasks(_) => Operation::ListTasks,
        Answer::PushConfig(_) => Operation::GetTaskPushNotificationConfig,
        Answer::PushConfigs(_) => Operation::ListTaskPushNotificationConfigs,
    }
}
