//! One way through an SDK, for every type of message.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use latimer_pb::{v0_3, v1};
use latimer_protocol::binding::rest::Outgoing;
use latimer_protocol::card::{AgentCard, Form, TransitionHistory};
use latimer_protocol::{
    Dialect, Error, ErrorKind, EventWriter, GetExtendedAgentCardRequest, MessageId, Operation,
    Reply, Request, StreamResponse, Then, Version, protobuf,
};
use serde_json::{Value, json};

use super::change::Change;
use super::{Ask, Sdk, samples};
use crate::arbitrary::Answer;
use crate::carried::Wire;
use crate::protobuf::{
    through, v0_3_answer, v0_3_event, v0_3_request, v1_0_answer, v1_0_event, v1_0_request,
};

/// One way through an SDK: what we write, and how we read what the SDK writes.
#[derive(Debug)]
pub(super) struct Leg<'a> {
    pub(super) sdk: &'a mut Sdk,
    /// What the SDK is told to read.
    pub(super) form: &'static str,
    /// What we write.
    pub(super) wire: Wire,
    /// Another wire in the SDK, where it turns one form into another while it reads.
    pub(super) inner: Option<Wire>,
    /// What comes back, where that is JSON.
    pub(super) back: Dialect,
    /// Whether requests go as an address and a body.
    pub(super) addressed: bool,
    /// The messages that the SDK has no type for, and why.
    pub(super) without: &'static [(Type, Operation, &'static str)],
    /// What samples must not have, because the SDK refuses it.
    pub(super) limits: &'static [Change],
    /// What the SDK loses.
    pub(super) losses: &'static [Change],
}

/// What an operation has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Request,
    Reply,
}

impl<'a> Leg<'a> {
    /// A way that nothing is lost on but what `wire` cannot carry.
    pub(super) fn new(sdk: &'a mut Sdk, form: &'static str, wire: Wire) -> Self {
        let back = match wire {
            Wire::Json(dialect) => dialect,
            Wire::V1_0Protobuf => Dialect::V1_0,
            Wire::V0_3Protobuf => Dialect::V0_3Proto,
        };
        let (without, limits, losses) = (&[], &[], &[]);
        Self { sdk, form, wire, inner: None, back, addressed: false, without, limits, losses }
    }

    /// Every request and reply of every operation that the version has.
    pub(super) fn check(&mut self) {
        for operation in Operation::ALL {
            // Outside the specification: no SDK has it.
            if operation == Operation::GetAgentCard {
                continue;
            }
            let Some(name) = self.name(operation) else { continue };
            if self.has(Type::Request, operation) {
                self.requests(operation, name);
            }
            if self.has(Type::Reply, operation) {
                self.replies(operation, name);
            }
        }
    }

    fn has(&self, kind: Type, operation: Operation) -> bool {
        !self.without.iter().any(|it| (it.0, it.1) == (kind, operation))
    }

    fn version(&self) -> Version {
        match self.wire {
            Wire::Json(dialect) => dialect.version(),
            Wire::V1_0Protobuf => Version::V1_0,
            Wire::V0_3Protobuf => Version::V0_3,
        }
    }

    /// What the SDK calls an operation.
    fn name(&self, operation: Operation) -> Option<&'static str> {
        match self.wire {
            Wire::Json(Dialect::V0_3Proto) | Wire::V1_0Protobuf | Wire::V0_3Protobuf => {
                operation.rpc(self.version())
            }
            Wire::Json(_) => operation.method(self.version()),
        }
    }

    /// Every kind of wire on the way.
    fn wires(&self) -> impl Iterator<Item = Wire> + use<> {
        [self.wire].into_iter().chain(self.inner)
    }

    fn requests(&mut self, operation: Operation, name: &str) {
        for mut request in samples::requests(operation) {
            self.limits.iter().for_each(|it| it.request(&mut request));
            let want = self.wires().fold(request.clone(), |it, wire| match self.wire {
                Wire::Json(Dialect::V0_3Proto) => wire.over_http(it),
                _ => wire.request(it),
            });
            let want = self.losses.iter().fold(want, |mut it, loss| {
                loss.request(&mut it);
                it
            });
            let Some(read) = self.request(&request, name) else { continue };
            assert_eq!(read, want, "{name} from {request:?}");
        }
    }

    /// The request as the SDK understood it; none where it has no address.
    fn request(&mut self, request: &Request, name: &str) -> Option<Request> {
        let dialect = match self.wire {
            Wire::Json(dialect) => dialect,
            Wire::V1_0Protobuf => {
                return Some(v1_0_request(request, &mut |it| self.bytes("request", name, &it)));
            }
            Wire::V0_3Protobuf => {
                return Some(v0_3_request(request, &mut |it| self.bytes("request", name, &it)));
            }
        };
        let written = match self.addressed {
            true => addressed(request, dialect)?,
            false => text(dialect.write_request(request).expect("the version has it")),
        };
        let written = self.text("request", name, &written);
        let read = self.back.read_request(request.operation(), &written, &made_here);
        Some(read.unwrap_or_else(|error| panic!("{name}: {error:?} in {written}")))
    }

    fn replies(&mut self, operation: Operation, name: &str) {
        if operation.is_streaming() {
            return self.events(name);
        }
        if operation == Operation::GetExtendedAgentCard {
            return self.card_replies(name);
        }
        if operation == Operation::DeleteTaskPushNotificationConfig {
            return self.nothing(name);
        }
        for (request, mut answer) in samples::answers(operation).expect("none of the above") {
            self.limits.iter().for_each(|it| it.answer(&mut answer));
            let mut want = self.wires().fold(answer.clone(), |it, wire| wire.answer(it));
            self.losses.iter().for_each(|it| it.answer(&mut want));
            let read = match self.wire {
                Wire::Json(dialect) => {
                    let written = dialect.write_reply(&request, &answer.reply()).unwrap();
                    let written = self.text("reply", name, &text(written));
                    let read = self.back.read_reply(operation, &written);
                    Answer::from_reply(read.unwrap_or_else(|it| panic!("{name}: {it} {written}")))
                }
                Wire::V1_0Protobuf => {
                    v1_0_answer(&answer, &mut |it| self.bytes("reply", name, &it))
                }
                Wire::V0_3Protobuf => {
                    v0_3_answer(&answer, &mut |it| self.bytes("reply", name, &it))
                }
            };
            assert_eq!(read, want, "{name} from {answer:?}");
        }
    }

    fn events(&mut self, name: &str) {
        let thens = [Then::Continues, Then::Closes].into_iter().cycle();
        for (mut event, then) in samples::events().into_iter().zip(thens) {
            self.limits.iter().for_each(|it| it.event(&mut event));
            let mut want = self.wires().fold(event.clone(), |it, wire| wire.event(it));
            self.losses.iter().for_each(|it| it.event(&mut want));
            let read = match self.wire {
                Wire::Json(dialect) => self.json_event(name, &event, dialect, then),
                Wire::V1_0Protobuf => v1_0_event(&event, &mut |it| self.bytes("reply", name, &it)),
                Wire::V0_3Protobuf => {
                    v0_3_event(&event, then, &mut |it| self.bytes("reply", name, &it))
                }
            };
            assert_eq!(read, want, "{name} from {event:?}");
        }
    }

    fn json_event(
        &mut self,
        name: &str,
        event: &StreamResponse,
        dialect: Dialect,
        then: Then,
    ) -> StreamResponse {
        let mut writer = EventWriter::new(dialect, &Request::GetAgentCard, None);
        let written = writer.write(event, then).unwrap();
        let written = self.text("reply", name, &text(written.concat()));
        let read = self.back.read_event(&written);
        read.unwrap_or_else(|error| panic!("{name}: {error} in {written}"))
    }

    /// The answer to a deletion.
    fn nothing(&mut self, name: &str) {
        let Wire::Json(dialect) = self.wire else {
            assert_eq!(self.bytes("reply", name, b""), b"");
            return;
        };
        let operation = Operation::DeleteTaskPushNotificationConfig;
        let request = samples::requests(operation).remove(0);
        let written = dialect.write_reply(&request, &Reply::Removed(1)).unwrap();
        let written = self.text("reply", name, &text(written));
        let read = self.back.read_reply(operation, &written);
        assert!(matches!(read, Ok(Reply::Removed(_))), "{name}: {read:?}");
    }

    /// The card for authenticated callers.
    pub(super) fn card_replies(&mut self, name: &str) {
        let request = Request::GetExtendedAgentCard(GetExtendedAgentCardRequest::default());
        for (card, want) in self.cards() {
            let read = match self.wire {
                Wire::Json(dialect) => {
                    let reply = Reply::Card(Box::new(card.clone()));
                    let written = dialect.write_reply(&request, &reply).unwrap();
                    let written = self.text("reply", name, &text(written));
                    AgentCard::read(written.as_bytes()).unwrap()
                }
                Wire::V1_0Protobuf => {
                    through(&v1::AgentCard::from(&card), &mut |it| self.bytes("reply", name, &it))
                }
                Wire::V0_3Protobuf => {
                    let message = protobuf::v0_3_card(&card, TransitionHistory::Kept);
                    through::<v0_3::AgentCard, _>(&message, &mut |it| {
                        self.bytes("reply", name, &it)
                    })
                }
            };
            assert_eq!(read, want, "{name} from {card:?}");
        }
    }

    /// Cards as they are published, in one form.
    pub(super) fn published(&mut self, form: Form) {
        for (card, want) in self.cards() {
            let written = self.text("card", "", &card.to_json(form).to_string());
            let read = AgentCard::read(written.as_bytes()).unwrap();
            assert_eq!(read, want, "{form:?} from {card:?}");
        }
    }

    /// Cards, and how they come back.
    fn cards(&self) -> Vec<(AgentCard, AgentCard)> {
        let mut cards = samples::cards();
        let cards = cards.drain(..).map(|mut card| {
            self.limits.iter().for_each(|it| it.card(&mut card));
            let mut want = self.wires().fold(card.clone(), |it, wire| wire.card(it));
            self.losses.iter().for_each(|it| it.card(&mut want));
            (card, want)
        });
        cards.collect()
    }

    /// JSON-RPC error objects, of the codes that A2A and JSON-RPC define.
    pub(super) fn errors(&mut self) {
        let version = self.version();
        for kind in ErrorKind::ALL {
            let code = kind.code(version).jsonrpc;
            if code > -32000 {
                continue;
            }
            let error = Error::new(*kind, "that failed").with("taskId", "t");
            let written = self.text("error", "", &error.to_jsonrpc(version).to_string());
            let read: Value = serde_json::from_str(&written).unwrap();
            assert_eq!(read["code"], code, "{kind:?}");
            assert_eq!(read["message"], "that failed", "{kind:?}");
        }
    }

    fn text(&mut self, r#type: &str, method: &str, wire: &str) -> String {
        let mut written = serde_json::from_str(&self.pass(r#type, method, wire)).expect("JSON");
        whole_numbers(&mut written);
        written.to_string()
    }

    fn bytes(&mut self, r#type: &str, method: &str, wire: &[u8]) -> Vec<u8> {
        STANDARD.decode(self.pass(r#type, method, &STANDARD.encode(wire))).expect("base64")
    }

    fn pass(&mut self, r#type: &str, method: &str, wire: &str) -> String {
        let ask = Ask { form: self.form, r#type, method, wire };
        self.sdk.pass(&ask).unwrap_or_else(|error| panic!("{error}\nfor {ask:?}"))
    }
}

/// Protobuf has no integers in its JSON, so that some SDKs write 1.0 where we wrote 1.
fn whole_numbers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            let float = number.as_f64().filter(|it| number.is_f64() && it.fract() == 0.0);
            if let Some(float) = float {
                *value = serde_json::from_str(&format!("{float:.0}")).expect("an integer");
            }
        }
        Value::Array(items) => items.iter_mut().for_each(whole_numbers),
        Value::Object(members) => members.values_mut().for_each(whole_numbers),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// A request as an address and a body. A dot or two in place of an id is no address.
fn addressed(request: &Request, dialect: Dialect) -> Option<String> {
    let sent = Outgoing::new(dialect, request).ok()?;
    let body = sent.body.map(text);
    Some(json!({ "verb": sent.method.as_str(), "path": sent.path, "body": body }).to_string())
}

fn text(written: Vec<u8>) -> String {
    String::from_utf8(written).expect("we write UTF-8")
}

fn made_here() -> MessageId {
    MessageId::new("made-here").expect("a valid id")
}
