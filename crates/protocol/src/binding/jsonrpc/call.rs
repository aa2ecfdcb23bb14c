//! Complete calls and replies: envelope and payload together.
//!
//! The fast path decodes envelope and payload in one pass. It requires the usual order of members
//! and the most common shape of the payload. All other input is decoded in two steps, which also
//! produce the error messages.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{
    Id, Rejection, Request, Response, resolve_method, write_envelope_head, write_request_head,
};
use crate::binding::VersionPolicy;
use crate::dialect::{Dialect, INITIAL_BUFFER_BYTES, ParamsReader};
use crate::error::{Error, ErrorKind};
use crate::json::StrictObjects;
use crate::model::{MessageId, StreamResponse};
use crate::operation::Operation;
use crate::service::{self, Reply};
use crate::version::Version;

/// Call as received by a server.
///
/// ```
/// # use latimer_protocol::{Dialect, MessageId, Request, binding::{VersionPolicy, jsonrpc::Call}};
/// let body = br#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t1"}}"#;
/// let new_message_id = || MessageId::new("m1").expect("valid id");
/// let call = Call::read(body, None, VersionPolicy::Lenient, &new_message_id)?;
/// assert_eq!(call.dialect, Dialect::V1_0);
/// assert!(matches!(call.request, Request::GetTask(request) if request.id == "t1"));
/// # Ok::<(), latimer_protocol::binding::jsonrpc::Rejection>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Call<'a> {
    /// Id that the response repeats.
    pub id: Id<'a>,
    /// The decoded request.
    pub request: service::Request,
    /// Dialect of the request and of the reply.
    pub dialect: Dialect,
}

impl<'a> Call<'a> {
    /// Decodes a call of a client that declared the version `declared`. `new_id` creates the
    /// message id in dialects whose messages have none.
    ///
    /// # Errors
    /// Returns [`Rejection`] with the errors of [`Request::read`], [`resolve_method`] and
    /// [`Dialect::read_request`].
    pub fn read(
        body: &'a [u8],
        declared: Option<Version>,
        version_policy: VersionPolicy,
        new_id: &dyn Fn() -> MessageId,
    ) -> Result<Self, Rejection> {
        let single_pass = SinglePassCall { declared, version_policy, new_id };
        if let Ok(call) = read_single_pass(body, single_pass) {
            return Ok(call);
        }
        let Request { id, method, params } = Request::read(body)?;
        let parsed =
            resolve_method(&method, declared, version_policy).and_then(|(operation, version)| {
                let dialect = Dialect::over_jsonrpc(version);
                Ok((dialect.read_request(operation, params, new_id)?, dialect))
            });
        match parsed {
            Ok((request, dialect)) => Ok(Self { id, request, dialect }),
            Err(error) => Err(Rejection { id: id.into_owned(), error }),
        }
    }
}

/// Decodes the reply to a call of `operation` with the request id `id`. Events of a stream are
/// decoded one by one instead, see [`read_event`].
///
/// # Errors
/// Returns the error in the response, or [`ErrorKind::InvalidAgentResponse`] if the response is
/// invalid or belongs to another request.
pub fn read_reply(
    dialect: Dialect,
    id: &Id<'_>,
    operation: Operation,
    body: &[u8],
) -> Result<Reply, Error> {
    let envelope = EnvelopeReader { id: Some(id), seed: dialect.fast_reply_reader(operation) };
    if let Ok(Ok(reply)) = read_single_pass(body, envelope) {
        return Ok(reply);
    }
    let invalid = |problem: &dyn fmt::Display| {
        let message = format!("invalid response: {problem}");
        Error::new(ErrorKind::InvalidAgentResponse, message)
    };
    let response = Response::read(body).map_err(|error| invalid(&error))?;
    if !response.matches_request(id) {
        return Err(invalid(&"its id belongs to another request"));
    }
    let payload = response.result(dialect.version())?;
    dialect.read_reply(operation, payload).map_err(|error| invalid(&error))
}

/// Decodes a 1.0 event of a stream on the fast path: an envelope that contains only the event.
/// Returns `None` for any other input, which must be decoded by [`Response::read`] and
/// [`Dialect::read_event`].
#[must_use]
pub fn read_event(dialect: Dialect, data: &[u8]) -> Option<StreamResponse> {
    match dialect {
        Dialect::V1_0 => {
            read_single_pass(data, EnvelopeReader { id: None, seed: PhantomData::<StreamResponse> })
                .ok()
        }
        Dialect::V0_3 | Dialect::V0_3Proto | Dialect::V0_1 | Dialect::Legacy => None,
    }
}

/// Encodes a call with the request id `id`.
///
/// # Errors
/// Returns [`ErrorKind::UnsupportedOperation`] if the operation has no JSON-RPC method in the
/// dialect.
pub fn write_call(
    dialect: Dialect,
    id: &Id<'_>,
    request: &service::Request,
) -> Result<Vec<u8>, Error> {
    let operation = request.operation();
    let Some(method) = operation.method(dialect.version()) else {
        let message = format!("A2A {} has no method for this operation", dialect.version());
        return Err(Error::new(ErrorKind::UnsupportedOperation, message));
    };
    let mut out = Vec::with_capacity(INITIAL_BUFFER_BYTES);
    write_request_head(&mut out, id, method);
    dialect.write_request_to(&mut out, request)?;
    out.push(b'}');
    Ok(out)
}

/// Encodes the response with a reply to the call `id`. For streams use [`super::Envelope`].
#[must_use]
pub fn write_reply(
    dialect: Dialect,
    id: &Id<'_>,
    request: &service::Request,
    reply: &Reply,
) -> Vec<u8> {
    let mut out = Vec::with_capacity(INITIAL_BUFFER_BYTES);
    write_envelope_head(&mut out, id);
    out.extend_from_slice(br#""result":"#);
    dialect.write_reply_to(&mut out, request, reply);
    out.push(b'}');
    out
}

fn read_single_pass<'de, S: DeserializeSeed<'de>>(
    body: &'de [u8],
    seed: S,
) -> Result<S::Value, serde_json::Error> {
    // Validates UTF-8 once instead of per string.
    let text = std::str::from_utf8(body).map_err(|_| fall_back::<serde_json::Error>())?;
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = StrictObjects(seed).deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

/// Creates the error that abandons the fast path. It is never reported.
fn fall_back<E: de::Error>() -> E {
    E::custom("not on the fast path")
}

/// Member of an envelope.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Member {
    JsonRpc,
    Id,
    Method,
    Params,
    Result,
    Other,
}

impl<'de> de::Deserialize<'de> for Member {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        struct MemberVisitor;

        impl Visitor<'_> for MemberVisitor {
            type Value = Member;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a name")
            }

            fn visit_str<E>(self, name: &str) -> Result<Member, E> {
                Ok(match name {
                    "jsonrpc" => Member::JsonRpc,
                    "id" => Member::Id,
                    "method" => Member::Method,
                    "params" => Member::Params,
                    "result" => Member::Result,
                    _ => Member::Other,
                })
            }
        }

        reader.deserialize_identifier(MemberVisitor)
    }
}

/// Decodes a call whose `method` precedes its `params`.
#[derive(Clone, Copy)]
struct SinglePassCall<'f> {
    declared: Option<Version>,
    version_policy: VersionPolicy,
    new_id: &'f dyn Fn() -> MessageId,
}

impl<'de> DeserializeSeed<'de> for SinglePassCall<'_> {
    type Value = Call<'de>;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Self::Value, D::Error> {
        reader.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for SinglePassCall<'_> {
    type Value = Call<'de>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a request")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let (mut jsonrpc, mut id, mut resolved, mut request) = (None, None, None, None);
        while let Some(member) = members.next_key::<Member>()? {
            match member {
                Member::JsonRpc if jsonrpc.is_none() => {
                    jsonrpc = Some(members.next_value::<&str>()?)
                }
                Member::Id if id.is_none() => {
                    let json: &RawValue = members.next_value()?;
                    id = Some(Id::from_json(json.get()).map_err(|_| fall_back())?);
                }
                Member::Method if resolved.is_none() => {
                    let resolution =
                        resolve_method(members.next_value()?, self.declared, self.version_policy);
                    resolved = Some(resolution.map_err(|_| fall_back())?);
                }
                Member::Params if request.is_none() => {
                    let Some((operation, version)) = resolved else { return Err(fall_back()) };
                    let dialect = Dialect::over_jsonrpc(version);
                    let params = ParamsReader { dialect, operation, new_id: self.new_id };
                    let parsed = members.next_value_seed(params)?;
                    request = Some((parsed.map_err(|_| fall_back())?, dialect));
                }
                Member::Other | Member::Result => drop(members.next_value::<IgnoredAny>()?),
                _ => return Err(fall_back()),
            }
        }
        match (jsonrpc, request) {
            (Some("2.0"), Some((request, dialect))) => {
                Ok(Call { id: id.unwrap_or(Id::NULL), request, dialect })
            }
            _ => Err(fall_back()),
        }
    }
}

/// Decodes a response in its most common form, to the request `id` if it is set.
#[derive(Clone, Copy)]
struct EnvelopeReader<'f, S> {
    id: Option<&'f Id<'f>>,
    seed: S,
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for EnvelopeReader<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Self::Value, D::Error> {
        reader.deserialize_map(self)
    }
}

impl<'de, S: DeserializeSeed<'de>> Visitor<'de> for EnvelopeReader<'_, S> {
    type Value = S::Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a response")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let (mut id_matches, mut seed, mut result) = (self.id.is_none(), Some(self.seed), None);
        while let Some(member) = members.next_key::<Member>()? {
            match member {
                Member::JsonRpc => drop(members.next_value::<IgnoredAny>()?),
                Member::Id => {
                    let json: &RawValue = members.next_value()?;
                    let matches_id =
                        |id: Id<'_>| self.id.is_none_or(|expected| id.matches(expected));
                    id_matches = Id::from_json(json.get()).is_ok_and(matches_id);
                }
                Member::Result => {
                    let seed = seed.take().ok_or_else(fall_back)?;
                    result = Some(members.next_value_seed(seed)?);
                }
                _ => return Err(fall_back()),
            }
        }
        result.filter(|_| id_matches).ok_or_else(fall_back)
    }
}
