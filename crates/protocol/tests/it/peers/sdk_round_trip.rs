//! Round trips of every message type through an SDK.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use latimer_pb::{v0_3, v1};
use latimer_protocol::binding::rest::HttpRequest;
use latimer_protocol::card::{AgentCard, CardFormat, TransitionHistory};
use latimer_protocol::{
    Dialect, Error, ErrorKind, EventWriter, Finality, GetExtendedAgentCardRequest, MessageId,
    Operation, Reply, Request, StreamResponse, Version, protobuf,
};
use serde_json::{Value, json};

use super::change::ModelChange;
use super::{Sdk, SdkRequest, samples};
use crate::arbitrary::ComparableReply;
use crate::field_coverage::Wire;
use crate::protobuf::{
    round_trip_model, v0_3_event, v0_3_reply, v0_3_request, v1_0_event, v1_0_reply, v1_0_request,
};

/// Round trip through an SDK: Latimer encodes, the SDK decodes and encodes, Latimer decodes.
#[derive(Debug)]
pub(super) struct SdkRoundTrip<'a> {
    pub(super) sdk: &'a mut Sdk,
    /// Format that the SDK reads.
    pub(super) format: &'static str,
    /// Encoding that Latimer writes.
    pub(super) wire: Wire,
    /// Encoding to which the SDK converts internally, if any.
    pub(super) inner_wire: Option<Wire>,
    /// Dialect of the SDK's output, where that is JSON.
    pub(super) reply_dialect: Dialect,
    /// Whether requests are sent as URL and body.
    pub(super) over_http: bool,
    /// Messages for which the SDK has no type, with the reason.
    pub(super) unsupported: &'static [(MessageKind, Operation, &'static str)],
    /// Changes applied to samples, because the SDK rejects the original.
    pub(super) limits: &'static [ModelChange],
    /// Changes that the SDK applies.
    pub(super) losses: &'static [ModelChange],
}

/// Messages of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MessageKind {
    Request,
    Reply,
}

impl<'a> SdkRoundTrip<'a> {
    /// Creates a round trip without SDK limits and losses.
    pub(super) fn new(sdk: &'a mut Sdk, format: &'static str, wire: Wire) -> Self {
        let reply_dialect = match wire {
            Wire::Json(dialect) => dialect,
            Wire::V1_0Protobuf => Dialect::V1_0,
            Wire::V0_3Protobuf => Dialect::V0_3Proto,
        };
        let (unsupported, limits, losses) = (&[], &[], &[]);
        Self {
            sdk,
            format,
            wire,
            inner_wire: None,
            reply_dialect,
            over_http: false,
            unsupported,
            limits,
            losses,
        }
    }

    /// Checks all requests and replies of all operations of the version.
    pub(super) fn check(&mut self) {
        for operation in Operation::ALL {
            // Not part of the specification, so no SDK has it.
            if operation == Operation::GetAgentCard {
                continue;
            }
            let Some(name) = self.sdk_name(operation) else { continue };
            if self.supports(MessageKind::Request, operation) {
                self.check_requests(operation, name);
            }
            if self.supports(MessageKind::Reply, operation) {
                self.check_replies(operation, name);
            }
        }
    }

    fn supports(&self, kind: MessageKind, operation: Operation) -> bool {
        !self.unsupported.iter().any(|it| (it.0, it.1) == (kind, operation))
    }

    fn version(&self) -> Version {
        match self.wire {
            Wire::Json(dialect) => dialect.version(),
            Wire::V1_0Protobuf => Version::V1_0,
            Wire::V0_3Protobuf => Version::V0_3,
        }
    }

    /// Returns the name of an operation in the SDK.
    fn sdk_name(&self, operation: Operation) -> Option<&'static str> {
        match self.wire {
            Wire::Json(Dialect::V0_3Proto) | Wire::V1_0Protobuf | Wire::V0_3Protobuf => {
                operation.rpc(self.version())
            }
            Wire::Json(_) => operation.method(self.version()),
        }
    }

    /// Returns all encodings on the way.
    fn wires(&self) -> impl Iterator<Item = Wire> + use<> {
        [self.wire].into_iter().chain(self.inner_wire)
    }

    fn check_requests(&mut self, operation: Operation, name: &str) {
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
            let Some(read) = self.round_trip_request(&request, name) else { continue };
            assert_eq!(read, want, "{name} from {request:?}");
        }
    }

    /// Returns the request as decoded from the SDK's output; `None` if it has no URL.
    fn round_trip_request(&mut self, request: &Request, name: &str) -> Option<Request> {
        let dialect = match self.wire {
            Wire::Json(dialect) => dialect,
            Wire::V1_0Protobuf => {
                return Some(v1_0_request(request, &mut |it| {
                    self.round_trip_bytes("request", name, &it)
                }));
            }
            Wire::V0_3Protobuf => {
                return Some(v0_3_request(request, &mut |it| {
                    self.round_trip_bytes("request", name, &it)
                }));
            }
        };
        let written = match self.over_http {
            true => http_request_json(request, dialect)?,
            false => utf8(dialect.write_request(request).expect("operation exists in the version")),
        };
        let written = self.round_trip_text("request", name, &written);
        let read = self.reply_dialect.read_request(request.operation(), &written, &new_id);
        Some(read.unwrap_or_else(|error| panic!("{name}: {error:?} in {written}")))
    }

    fn check_replies(&mut self, operation: Operation, name: &str) {
        if operation.is_streaming() {
            return self.check_events(name);
        }
        if operation == Operation::GetExtendedAgentCard {
            return self.check_card_replies(name);
        }
        if operation == Operation::DeleteTaskPushNotificationConfig {
            return self.check_empty_reply(name);
        }
        for (request, mut reply) in samples::replies(operation).expect("operation has a reply") {
            self.limits.iter().for_each(|it| it.reply(&mut reply));
            let mut want = self.wires().fold(reply.clone(), |it, wire| wire.reply(it));
            self.losses.iter().for_each(|it| it.reply(&mut want));
            let read = match self.wire {
                Wire::Json(dialect) => {
                    let written = dialect.write_reply(&request, &reply.to_reply());
                    let written = self.round_trip_text("reply", name, &utf8(written));
                    let read = self.reply_dialect.read_reply(operation, &written);
                    ComparableReply::from_reply(
                        read.unwrap_or_else(|it| panic!("{name}: {it} {written}")),
                    )
                }
                Wire::V1_0Protobuf => {
                    v1_0_reply(&reply, &mut |it| self.round_trip_bytes("reply", name, &it))
                }
                Wire::V0_3Protobuf => {
                    v0_3_reply(&reply, &mut |it| self.round_trip_bytes("reply", name, &it))
                }
            };
            assert_eq!(read, want, "{name} from {reply:?}");
        }
    }

    fn check_events(&mut self, name: &str) {
        let finalities = [Finality::More, Finality::Last].into_iter().cycle();
        for (mut event, finality) in samples::events().into_iter().zip(finalities) {
            self.limits.iter().for_each(|it| it.event(&mut event));
            let mut want = self.wires().fold(event.clone(), |it, wire| wire.event(it));
            self.losses.iter().for_each(|it| it.event(&mut want));
            let read = match self.wire {
                Wire::Json(dialect) => self.json_event(name, &event, dialect, finality),
                Wire::V1_0Protobuf => {
                    v1_0_event(&event, &mut |it| self.round_trip_bytes("reply", name, &it))
                }
                Wire::V0_3Protobuf => v0_3_event(&event, finality, &mut |it| {
                    self.round_trip_bytes("reply", name, &it)
                }),
            };
            assert_eq!(read, want, "{name} from {event:?}");
        }
    }

    fn json_event(
        &mut self,
        name: &str,
        event: &StreamResponse,
        dialect: Dialect,
        finality: Finality,
    ) -> StreamResponse {
        let mut writer = EventWriter::new(dialect, &Request::GetAgentCard, None);
        let written = writer.write(event, finality);
        let written = self.round_trip_text("reply", name, &utf8(written.concat()));
        let read = self.reply_dialect.read_event(&written);
        read.unwrap_or_else(|error| panic!("{name}: {error} in {written}"))
    }

    /// Checks the reply to a deletion.
    fn check_empty_reply(&mut self, name: &str) {
        let Wire::Json(dialect) = self.wire else {
            assert_eq!(self.round_trip_bytes("reply", name, b""), b"");
            return;
        };
        let operation = Operation::DeleteTaskPushNotificationConfig;
        let request = samples::requests(operation).remove(0);
        let written = dialect.write_reply(&request, &Reply::PushConfigsDeleted(1));
        let written = self.round_trip_text("reply", name, &utf8(written));
        let read = self.reply_dialect.read_reply(operation, &written);
        assert!(matches!(read, Ok(Reply::PushConfigsDeleted(_))), "{name}: {read:?}");
    }

    /// Checks the card for authenticated callers.
    pub(super) fn check_card_replies(&mut self, name: &str) {
        let request = Request::GetExtendedAgentCard(GetExtendedAgentCardRequest::default());
        for (card, want) in self.cards() {
            let read = match self.wire {
                Wire::Json(dialect) => {
                    let reply = Reply::Card(Box::new(card.clone()));
                    let written = dialect.write_reply(&request, &reply);
                    let written = self.round_trip_text("reply", name, &utf8(written));
                    AgentCard::read(written.as_bytes()).unwrap()
                }
                Wire::V1_0Protobuf => round_trip_model(&v1::AgentCard::from(&card), &mut |it| {
                    self.round_trip_bytes("reply", name, &it)
                }),
                Wire::V0_3Protobuf => {
                    let message = protobuf::v0_3_card(&card, TransitionHistory::Recorded);
                    round_trip_model::<v0_3::AgentCard, _>(&message, &mut |it| {
                        self.round_trip_bytes("reply", name, &it)
                    })
                }
            };
            assert_eq!(read, want, "{name} from {card:?}");
        }
    }

    /// Checks published cards in one format.
    pub(super) fn check_published_cards(&mut self, format: CardFormat) {
        for (card, want) in self.cards() {
            let written = self.round_trip_text("card", "", &card.to_json(format).to_string());
            let read = AgentCard::read(written.as_bytes()).unwrap();
            assert_eq!(read, want, "{format:?} from {card:?}");
        }
    }

    /// Returns cards with the expected results.
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

    /// Checks JSON-RPC error objects with the codes of A2A and JSON-RPC.
    pub(super) fn check_errors(&mut self) {
        let version = self.version();
        for kind in ErrorKind::ALL {
            let code = kind.codes(version).jsonrpc;
            if code > -32000 {
                continue;
            }
            let error = Error::new(*kind, "that failed").with_metadata("taskId", "t");
            let written = self.round_trip_text("error", "", &error.to_jsonrpc(version).to_string());
            let read: Value = serde_json::from_str(&written).unwrap();
            assert_eq!(read["code"], code, "{kind:?}");
            assert_eq!(read["message"], "that failed", "{kind:?}");
        }
    }

    fn round_trip_text(&mut self, r#type: &str, method: &str, wire: &str) -> String {
        let mut written =
            serde_json::from_str(&self.round_trip(r#type, method, wire)).expect("SDK writes JSON");
        integral_floats_to_integers(&mut written);
        written.to_string()
    }

    fn round_trip_bytes(&mut self, r#type: &str, method: &str, wire: &[u8]) -> Vec<u8> {
        STANDARD
            .decode(self.round_trip(r#type, method, &STANDARD.encode(wire)))
            .expect("SDK writes base64")
    }

    fn round_trip(&mut self, r#type: &str, method: &str, wire: &str) -> String {
        let request = SdkRequest { form: self.format, r#type, method, wire };
        self.sdk.round_trip(&request).unwrap_or_else(|error| panic!("{error}\nfor {request:?}"))
    }
}

/// Converts integral floats to integers: protobuf JSON has no integers, so some SDKs write 1.0 for
/// 1.
fn integral_floats_to_integers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            let float = number.as_f64().filter(|it| number.is_f64() && it.fract() == 0.0);
            if let Some(float) = float {
                *value = serde_json::from_str(&format!("{float:.0}")).expect("integral float");
            }
        }
        Value::Array(items) => items.iter_mut().for_each(integral_floats_to_integers),
        Value::Object(members) => members.values_mut().for_each(integral_floats_to_integers),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// Encodes a request as URL and body; `None` if an id is `.` or `..`, which has no URL.
fn http_request_json(request: &Request, dialect: Dialect) -> Option<String> {
    let http_request = HttpRequest::new(dialect, request).ok()?;
    let body = http_request.body.map(utf8);
    Some(
        json!({ "verb": http_request.method.as_str(), "path": http_request.path, "body": body })
            .to_string(),
    )
}

fn utf8(written: Vec<u8>) -> String {
    String::from_utf8(written).expect("encoder writes UTF-8")
}

fn new_id() -> MessageId {
    MessageId::new("generated").expect("valid id")
}
