//! A model that goes through a wire keeps all that the wire can carry.

use latimer_pb::{v0_3, v1};
use latimer_protocol::binding::VersionRule;
use latimer_protocol::binding::jsonrpc::{Call, Id, read_reply, write_call, write_result};
use latimer_protocol::binding::rest::{Ask, Outgoing, Route};
use latimer_protocol::{
    Content, Dialect, ErrorKind, EventWriter, GetTaskRequest, Invalid, MessageId, Operation, Reply,
    Request, StreamResponse, Task, TaskId, protobuf,
};
use proptest::prelude::{ProptestConfig, any, prop_assert_eq, proptest};
use prost::Message;
use serde_json::{Map, Value};

use crate::arbitrary::{Answer, event, exchange, request};
use crate::carried::Wire;

fn text(written: &[u8]) -> &str {
    std::str::from_utf8(written).expect("we write UTF-8")
}

fn made_here() -> MessageId {
    MessageId::new("made-here").expect("a valid id")
}

/// Encodes a message, decodes the bytes as the same message, and converts it.
fn through<M, T>(message: &M) -> T
where
    M: Message + Default,
    T: TryFrom<M, Error = Invalid>,
{
    let decoded = M::decode(message.encode_to_vec().as_slice()).expect("our own bytes");
    T::try_from(decoded).expect("our own message")
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
        let Ok(written) = Dialect::V0_1.write_request(&request) else { return Ok(()) };
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
            let Ok(sent) = Outgoing::new(&request, dialect) else {
                // A dot or two in place of an id is no address.
                continue;
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
            let Ok(sent) = write_call(&id, &request, dialect) else { continue };
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
            let sent = write_result(&id, &request, &answer.reply(), dialect).unwrap();
            let read = read_reply(&sent, &id, dialect, operation_of(&answer)).unwrap();
            prop_assert_eq!(Answer::from_reply(read), Wire::Json(dialect).answer(answer.clone()));
            let other = read_reply(&sent, &Id::from("other"), dialect, operation_of(&answer));
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
            let mut writer = EventWriter::new(dialect, any_request(), None);
            let written = writer.write(&event, false).unwrap();
            let read = dialect.read_event(text(&written[0])).unwrap();
            prop_assert_eq!(read, Wire::Json(dialect).event(event.clone()), "{:?}", dialect);
        }
    }

    #[test]
    fn events_of_0_1(event in event()) {
        if matches!(event, StreamResponse::Task(_) | StreamResponse::Message(_)) {
            return Ok(());
        }
        let mut writer = EventWriter::new(Dialect::V0_1, any_request(), None);
        let written = writer.write(&event, false).unwrap();
        let read = Dialect::V0_1.read_event(text(&written[0])).unwrap();
        prop_assert_eq!(read, Wire::Json(Dialect::V0_1).event(event));
    }

    #[test]
    fn events_as_protobuf(event in event()) {
        let read: StreamResponse = through(&v1::StreamResponse::from(&event));
        prop_assert_eq!(read, Wire::V1_0Protobuf.event(event.clone()));
        let read: StreamResponse = through(&protobuf::v0_3_stream_response(&event, true));
        prop_assert_eq!(read, Wire::V0_3Protobuf.event(event));
    }

    #[test]
    fn requests_as_protobuf_of_1_0(request in request()) {
        let want = Wire::V1_0Protobuf.request(request.clone());
        prop_assert_eq!(v1_0_protobuf(&request), want);
    }

    #[test]
    fn requests_as_protobuf_of_0_3(request in request()) {
        let want = Wire::V0_3Protobuf.request(request.clone());
        prop_assert_eq!(v0_3_protobuf(&request), want);
    }

    #[test]
    fn replies_as_protobuf((_, answer) in exchange()) {
        let want = Wire::V1_0Protobuf.answer(answer.clone());
        let read = match &answer {
            Answer::Sent(it) => Answer::Sent(through(&v1::SendMessageResponse::from(it))),
            Answer::Task(it) => Answer::Task(through(&v1::Task::from(it))),
            Answer::Tasks(it) => Answer::Tasks(through(&v1::ListTasksResponse::from(it))),
            Answer::PushConfig(it) => {
                Answer::PushConfig(through(&v1::TaskPushNotificationConfig::from(it)))
            }
            Answer::PushConfigs(it) => {
                Answer::PushConfigs(through(&v1::ListTaskPushNotificationConfigsResponse::from(it)))
            }
        };
        prop_assert_eq!(read, want);

        let want = Wire::V0_3Protobuf.answer(answer.clone());
        let read = match &answer {
            Answer::Sent(it) => Answer::Sent(through(&v0_3::SendMessageResponse::from(it))),
            Answer::Task(it) => Answer::Task(through(&v0_3::Task::from(it))),
            Answer::Tasks(it) => Answer::Tasks(through(&v0_3::ListTasksResponse::from(it))),
            Answer::PushConfig(it) => {
                Answer::PushConfig(through(&v0_3::TaskPushNotificationConfig::from(it)))
            }
            Answer::PushConfigs(it) => {
                Answer::PushConfigs(through(&v0_3::ListTaskPushNotificationConfigResponse::from(it)))
            }
        };
        prop_assert_eq!(read, want);
    }

    /// The oldest carries texts, files, data, roles, states and names; that much must come back.
    #[test]
    fn tasks_of_the_oldest((request, answer) in exchange()) {
        let Answer::Task(task) = answer else { return Ok(()) };
        let written = Dialect::Oldest.write_reply(&request, &Reply::Task(task.clone())).unwrap();
        let read = Dialect::Oldest.read_reply(Operation::GetTask, text(&written));
        let Ok(Reply::Task(read)) = read else { panic!("{read:?}") };
        prop_assert_eq!(&read.id, &task.id);
        prop_assert_eq!(&read.context_id, &task.context_id);
        let said = task.history.len() + usize::from(task.status.message.is_some());
        prop_assert_eq!(read.history.len(), said);
        prop_assert_eq!(texts(&read), texts(&task));
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

fn v1_0_protobuf(request: &Request) -> Request {
    match request {
        Request::SendMessage(it) => {
            Request::SendMessage(through(&v1::SendMessageRequest::from(it)))
        }
        Request::SendStreamingMessage(it) => {
            Request::SendStreamingMessage(through(&v1::SendMessageRequest::from(it)))
        }
        Request::GetTask(it) => Request::GetTask(through(&v1::GetTaskRequest::from(it))),
        Request::ListTasks(it) => Request::ListTasks(through(&v1::ListTasksRequest::from(it))),
        Request::CancelTask(it) => Request::CancelTask(through(&v1::CancelTaskRequest::from(it))),
        Request::SubscribeToTask(it) => {
            Request::SubscribeToTask(through(&v1::SubscribeToTaskRequest::from(it)))
        }
        Request::CreateTaskPushNotificationConfig(it) => {
            let message = v1::TaskPushNotificationConfig::from(it);
            Request::CreateTaskPushNotificationConfig(through(&message))
        }
        Request::GetTaskPushNotificationConfig(it) => {
            let message = v1::GetTaskPushNotificationConfigRequest::from(it);
            Request::GetTaskPushNotificationConfig(through(&message))
        }
        Request::ListTaskPushNotificationConfigs(it) => {
            let message = v1::ListTaskPushNotificationConfigsRequest::from(it);
            Request::ListTaskPushNotificationConfigs(through(&message))
        }
        Request::DeleteTaskPushNotificationConfig(it) => {
            let message = v1::DeleteTaskPushNotificationConfigRequest::from(it);
            Request::DeleteTaskPushNotificationConfig(through(&message))
        }
        Request::GetExtendedAgentCard(_) | Request::GetAgentCard => request.clone(),
    }
}

fn v0_3_protobuf(request: &Request) -> Request {
    match request {
        Request::SendMessage(it) => {
            Request::SendMessage(through(&v0_3::SendMessageRequest::from(it)))
        }
        Request::SendStreamingMessage(it) => {
            Request::SendStreamingMessage(through(&v0_3::SendMessageRequest::from(it)))
        }
        Request::GetTask(it) => Request::GetTask(through(&v0_3::GetTaskRequest::from(it))),
        Request::ListTasks(it) => Request::ListTasks(through(&v0_3::ListTasksRequest::from(it))),
        Request::CancelTask(it) => Request::CancelTask(through(&v0_3::CancelTaskRequest::from(it))),
        Request::SubscribeToTask(it) => {
            Request::SubscribeToTask(through(&v0_3::TaskSubscriptionRequest::from(it)))
        }
        Request::CreateTaskPushNotificationConfig(it) => {
            let message = v0_3::CreateTaskPushNotificationConfigRequest::from(it);
            Request::CreateTaskPushNotificationConfig(through(&message))
        }
        Request::GetTaskPushNotificationConfig(it) => {
            let message = v0_3::GetTaskPushNotificationConfigRequest::from(it);
            Request::GetTaskPushNotificationConfig(through(&message))
        }
        Request::ListTaskPushNotificationConfigs(it) => {
            let message = v0_3::ListTaskPushNotificationConfigRequest::from(it);
            Request::ListTaskPushNotificationConfigs(through(&message))
        }
        Request::DeleteTaskPushNotificationConfig(it) => {
            let message = v0_3::DeleteTaskPushNotificationConfigRequest::from(it);
            Request::DeleteTaskPushNotificationConfig(through(&message))
        }
        Request::GetExtendedAgentCard(_) | Request::GetAgentCard => request.clone(),
    }
}
