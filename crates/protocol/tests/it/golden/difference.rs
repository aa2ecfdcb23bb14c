//! Where we differ from a peer, and why we may.

use std::collections::BTreeSet;
use std::fmt::Display;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use latimer_protocol::{Operation, Timestamp, Version};
use serde_json::{Map, Value, json};

use super::fixture::Fixture;

/// A place where two values differ; what is missing is `None`.
#[derive(Debug)]
struct Difference<'a> {
    fixture: &'a Fixture,
    /// The half of the exchange, and the names that lead there, without numbers of list items.
    path: String,
    peer: Option<Value>,
    latimer: Option<Value>,
}

impl Difference<'_> {
    /// Whether one side alone has a line that begins so, in a printed card of 0.3.
    fn is_line_of_card(&self, start: &str) -> bool {
        let line = self.peer.as_ref().or(self.latimer.as_ref()).and_then(Value::as_str);
        self.fixture.operation == Some(Operation::GetExtendedAgentCard)
            && self.fixture.version == Version::V0_3
            && self.path == "reply/lines"
            && line.is_some_and(|it| it.starts_with(start))
    }
}

/// A kind of difference that is right.
struct DifferenceRule {
    reason: &'static str,
    applies: fn(&Difference<'_>) -> bool,
}

const DIFFERENCE_RULES: &[DifferenceRule] = &[
    DifferenceRule {
        reason: "times have milliseconds here, and always end in Z",
        applies: |it| match (&it.peer, &it.latimer) {
            (Some(Value::String(peer)), Some(Value::String(latimer))) => {
                peer.parse::<Timestamp>().is_ok_and(|time| time.to_string() == *latimer)
            }
            _ => false,
        },
    },
    DifferenceRule {
        reason: "what is null, empty or off is not written where it says nothing",
        applies: |it| {
            // What a part holds is content even when it is empty.
            let content = ["text", "raw", "url", "data"];
            let content = it.path.rsplit('/').next().is_some_and(|name| content.contains(&name));
            it.latimer.is_none() && !content && it.peer.as_ref().is_some_and(is_default)
        },
    },
    DifferenceRule {
        reason: "before 1.0 a list of authentication schemes: we keep the first",
        applies: |it| {
            let first = it.peer.as_ref().and_then(|it| it.get(0)).cloned().map(|it| json!([it]));
            it.path.ends_with("/authentication/schemes") && it.latimer == first
                || it.peer == Some(json!("\"Basic\","))
        },
    },
    DifferenceRule {
        reason: "the modes a caller accepts are required up to 0.2.5, and so always written",
        applies: |it| {
            it.path.ends_with("/acceptedOutputModes")
                && it.peer.is_none()
                && it.latimer == Some(json!([]))
        },
    },
    DifferenceRule {
        reason: "whether a caller of 0.3 waits is always written",
        applies: |it| {
            it.path.ends_with("/configuration/blocking") && it.peer.is_none()
                || it.peer.is_none() && it.latimer == Some(json!({ "blocking": true }))
                || it.peer == Some(json!("blocking: false,"))
                || it.latimer == Some(json!("blocking: true,"))
        },
    },
    DifferenceRule {
        reason: "a member nobody knows is dropped",
        applies: |it| it.path.ends_with("/surprise") && it.latimer.is_none(),
    },
    DifferenceRule {
        reason: "parameters that are left out are an empty object",
        applies: |it| it.path == "request" && it.latimer == Some(json!({})),
    },
    DifferenceRule {
        reason: "an empty message of 1.0 is {} over JSON-RPC too, where SDKs write null",
        applies: |it| {
            it.path == "reply" && it.peer == Some(Value::Null) && it.latimer == Some(json!({}))
        },
    },
    DifferenceRule {
        reason: "a subscription is sent by POST, and taken by GET as well",
        applies: |it| {
            let subscription = it.fixture.operation == Some(Operation::SubscribeToTask);
            subscription && it.path == "request/method" && it.latimer == Some(json!("POST"))
        },
    },
    DifferenceRule {
        reason: "Python 0.2 names the task of a webhook within its config, and not where it belongs",
        applies: |it| {
            it.fixture.name.contains("python-0.2.16/grpc/create_push_config-error")
                && it.path == "request/lines"
        },
    },
    DifferenceRule {
        reason: "a task that cannot be canceled is no missing method: another SDK can tell",
        applies: |it| {
            it.fixture.name.contains("python-0.3.26/grpc/cancel_task-error")
                && it.path == "error/code"
        },
    },
    DifferenceRule {
        reason: "the task of a cancellation stands in the path and in the body, as Python writes it",
        applies: |it| {
            let cancel = it.fixture.operation == Some(Operation::CancelTask);
            cancel && ["request/body/id", "request/body/name"].contains(&it.path.as_str())
        },
    },
    DifferenceRule {
        reason: "0.3 over HTTP+JSON: a new webhook is written as Python does; JavaScript posts the \
                 bare configuration",
        applies: |it| {
            let create = it.fixture.operation == Some(Operation::CreateTaskPushNotificationConfig);
            let body = ["parent", "configId", "config", "pushNotificationConfig", "name"];
            create
                && it.fixture.name.starts_with("0.3/js-")
                && body.iter().any(|name| it.path.starts_with(&format!("request/body/{name}")))
        },
    },
    DifferenceRule {
        reason: "0.3 over protobuf: a new webhook without an id has one that says None or undefined",
        applies: |it| {
            let text = |it: &Option<Value>| it.as_ref().map(Value::to_string).unwrap_or_default();
            let peer = text(&it.peer);
            let latimer = text(&it.latimer);
            it.fixture.operation == Some(Operation::CreateTaskPushNotificationConfig)
                && (peer.contains("None")
                    || peer.contains("undefined")
                    || latimer.contains("/pushNotificationConfigs/\\\",")
                    || latimer.contains("config_id: \\\"\\\""))
        },
    },
    DifferenceRule {
        reason: "0.3 over protobuf: the bytes of a file are base64 twice, but once in JavaScript",
        applies: |it| {
            let text = |it: &Option<Value>| it.as_ref().and_then(Value::as_str).map(str::to_owned);
            match (text(&it.peer), text(&it.latimer)) {
                (Some(peer), Some(latimer)) if it.path.ends_with("/fileWithBytes") => {
                    BASE64_STANDARD.encode(peer) == latimer
                }
                (Some(line), _) | (_, Some(line)) => {
                    it.fixture.name.starts_with("0.3/js-") && line.starts_with("b\"")
                }
                _ => false,
            }
        },
    },
    DifferenceRule {
        reason: "a card does not repeat its main address among the others",
        applies: |it| {
            let peer = it.peer.as_ref().and_then(Value::as_array).map(|it| &it[1..]);
            let latimer = it.latimer.as_ref().and_then(Value::as_array).map(Vec::as_slice);
            it.path.ends_with("/additionalInterfaces")
                && latimer.unwrap_or_default() == peer.unwrap_or_default()
                || it.is_line_of_card("transport: \"JSONRPC\",") && it.latimer.is_none()
        },
    },
    DifferenceRule {
        reason: "a card before 1.0 always says whether states are kept",
        applies: |it| it.path.ends_with("/stateTransitionHistory") && it.peer.is_none(),
    },
    DifferenceRule {
        reason: "0.2 is read and written as 0.3",
        applies: |it| {
            it.path.ends_with("/protocolVersion") && it.latimer == Some(json!("0.3.0"))
                || it.is_line_of_card("protocol_version: ")
        },
    },
    DifferenceRule {
        reason: "a card of 0.3 always says which transport it prefers",
        applies: |it| it.is_line_of_card("preferred_transport: "),
    },
    DifferenceRule {
        reason: "of several flows of one scheme the model of 1.0 keeps the best",
        applies: |it| it.path.contains("/securitySchemes/oauth/flows/") && it.latimer.is_none(),
    },
    DifferenceRule {
        reason: "a scheme keeps what 1.0 added to it in cards of every form",
        applies: |it| it.path.ends_with("/pkceRequired") && it.peer.is_none(),
    },
    DifferenceRule {
        reason: "the JavaScript SDK publishes its own way to hold one of several",
        applies: |it| {
            let scheme = it.path.contains("/securitySchemes/") && it.peer.is_none();
            let peer = it.peer.as_ref().map(Value::to_string).unwrap_or_default();
            it.fixture.name.contains("/js-1.3.0") && (scheme || peer.contains("$case"))
        },
    },
    DifferenceRule {
        reason: "a list of webhooks is written even when it is empty",
        applies: |it| it.path == "reply/configs" && it.latimer == Some(json!([])),
    },
    DifferenceRule {
        reason: "a signature covers the form it was made over, and is left out of others",
        applies: |it| {
            let lines = [
                "signatures: [",
                "AgentCardSignature {",
                "protected: ",
                "signature: ",
                "header: Some(",
                "\"note\": Value {",
                "\"unprotected\",",
            ];
            it.path.ends_with("/signatures")
                && it.latimer.is_none()
                && it.fixture.version == Version::V0_3
                || lines.iter().any(|line| it.is_line_of_card(line))
        },
    },
    DifferenceRule {
        reason: "0.3 over HTTP+JSON: some SDKs write a card's security as JSON schema, some as \
                 protobuf; we write schemes as both, and requirements as JSON schema",
        applies: |it| {
            let card = it.fixture.operation == Some(Operation::GetExtendedAgentCard);
            let schemes = it.path.starts_with("reply/securitySchemes/") && it.peer.is_none();
            let requirements = it.path.contains("/security/");
            card && it.fixture.binding == "rest" && (schemes || requirements)
        },
    },
    DifferenceRule {
        reason: "a card of 0.3 over gRPC goes without its signatures and its repeated address",
        applies: |it| {
            let card = it.fixture.operation == Some(Operation::GetExtendedAgentCard);
            let is_v0_3_reply = it.fixture.version == Version::V0_3 && it.path == "reply/lines";
            let line = it.peer.as_ref().and_then(Value::as_str).unwrap_or_default();
            let structure = !line.contains(": ") || line.ends_with(['(', '{', '[']);
            card && is_v0_3_reply
                && it.latimer.is_none()
                && (structure || line.starts_with("url: "))
        },
    },
    DifferenceRule {
        reason: "a bare id is taken for a name, and written as one",
        applies: |it| it.fixture.name.contains("get_task-error_bad_name"),
    },
    DifferenceRule {
        reason: "a verb that an address does not have is an unknown method",
        applies: |it| it.path == "error/status" && it.peer == Some(json!(405)),
    },
    DifferenceRule {
        reason: "0.3 says nothing about statuses; ours are those of Python 0.3",
        applies: |it| {
            if it.fixture.name.contains("/python-0.") {
                return false;
            }
            it.path == "error/status" && it.fixture.version == Version::V0_3
                || it.path == "error/code"
                    && it.fixture.binding == "grpc"
                    && it.fixture.version == Version::V0_3
        },
    },
    DifferenceRule {
        reason: "what a gRPC library calls unknown is internal",
        applies: |it| {
            it.path == "error/code" && it.peer == Some(json!(2)) && it.latimer == Some(json!(13))
        },
    },
];

/// Requests whose spelling we read and do not write, by the case's name.
const READ_ONLY_SPELLINGS: &[(&str, &str)] = &[
    ("-snake_case", "written in the spelling of the protobuf file, and with numbers for names"),
    ("send_message-no_kind", "parts and message without their tags"),
    ("send_message-error_kind_parts", "the shape of JSON-RPC over HTTP+JSON"),
    ("-error_unknown_role", "a role as another version spells it"),
    ("send_message-unknown_role", "the same, to a peer that takes it"),
];

/// Requests and replies that a peer took and we refuse, by the case's name.
const REJECTED_CASES: &[(&str, &str)] = &[
    ("-negative_history", "a length below zero"),
    ("-no_parts", "a message that says nothing"),
    ("-empty_part", "a part without content"),
    ("-two_contents", "a part with two contents"),
    ("-missing_role", "a message of nobody"),
    ("send_message-unknown_role", "a history in which a role is neither known nor unspecified"),
    ("-no_message", "a request to send nothing"),
    ("list_tasks-unknown_status", "a state that no version knows"),
    ("rest/get_task-no_id", "an address without an id"),
];

fn is_default(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => *members == Map::new(),
    }
}

const SNAKE_CASE: &str = "the client of Python 1.x writes 0.3 over HTTP+JSON in snake_case";

/// A request in snake_case, in the spelling that we write.
fn camel_case(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| match name.as_str() {
                "metadata" | "data" => (name.clone(), value.clone()),
                "request" => ("message".to_owned(), camel_case(value)),
                name => (camel_name(name), camel_case(value)),
            });
            members.collect()
        }
        Value::Array(items) => items.iter().map(camel_case).collect(),
        other => other.clone(),
    }
}

fn camel_name(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| {
        let (head, tail) = word.split_at(usize::from(!word.is_empty()));
        name + &head.to_uppercase() + tail
    })
}

/// What was found in all fixtures, and which reasons were needed.
#[derive(Default)]
pub(super) struct Findings {
    failures: Vec<String>,
    used_reasons: BTreeSet<&'static str>,
}

impl Findings {
    /// Two JSON values that should be equal.
    pub(super) fn compare(&mut self, fixture: &Fixture, what: &str, peer: &Value, latimer: &Value) {
        let mut differences = Vec::new();
        compare(what.to_owned(), Some(peer), Some(latimer), &mut differences);
        for (path, peer, latimer) in differences {
            self.check(Difference { fixture, path, peer, latimer });
        }
    }

    fn check(&mut self, difference: Difference<'_>) {
        if let Some(rule) = DIFFERENCE_RULES.iter().find(|rule| (rule.applies)(&difference)) {
            self.used_reasons.insert(rule.reason);
            return;
        }
        let Difference { fixture, path, peer, latimer } = difference;
        let [peer, latimer] = [peer, latimer].map(|it| display_or_absent(it.as_ref()));
        let difference = format!("{path}\n    theirs: {peer}\n    ours:   {latimer}");
        self.failures.push(format!("{} {difference}", fixture.name));
    }

    /// Two requests that should be equal, unless the peer's is in a spelling we only read.
    pub(super) fn compare_request(&mut self, fixture: &Fixture, peer: &Value, latimer: &Value) {
        if let Some((case, _)) =
            READ_ONLY_SPELLINGS.iter().find(|(case, _)| fixture.name.contains(case))
        {
            self.used_reasons.insert(case);
            return;
        }
        if fixture.name.contains("python-1.3.0-compat/rest/") {
            self.used_reasons.insert(SNAKE_CASE);
            return self.compare(fixture, "request", &camel_case(peer), latimer);
        }
        self.compare(fixture, "request", peer, latimer);
    }

    /// Two printed messages that should be equal.
    pub(super) fn compare_lines(
        &mut self,
        fixture: &Fixture,
        what: &str,
        peer: &[String],
        latimer: &[String],
    ) {
        // Each line as often as it is in one and not in the other.
        let lines_only_in = |left: &[String], right: &[String]| {
            let mut unmatched = right.to_vec();
            let extra =
                left.iter().filter(|line| match unmatched.iter().position(|it| it == *line) {
                    Some(index) => {
                        unmatched.remove(index);
                        false
                    }
                    None => true,
                });
            extra.map(|line| Some(Value::from(line.as_str()))).collect::<Vec<_>>()
        };
        let (peer_only, latimer_only) =
            (lines_only_in(peer, latimer), lines_only_in(latimer, peer));
        if peer_only.is_empty() && latimer_only.is_empty() && peer != latimer {
            self.record_failure(fixture, what, "the same lines in another order");
        }
        let path = format!("{what}/lines");
        for peer in peer_only {
            self.check(Difference { fixture, path: path.clone(), peer, latimer: None });
        }
        for latimer in latimer_only {
            self.check(Difference { fixture, path: path.clone(), peer: None, latimer });
        }
    }

    /// Something that we refuse to read: right when the peer refused it, or when it is listed.
    pub(super) fn record_rejection(&mut self, fixture: &Fixture, error: impl Display) {
        if fixture.failed() {
            return;
        }
        let listed = REJECTED_CASES.iter().find(|(case, _)| fixture.name.contains(case));
        match listed {
            Some((case, _)) => {
                self.used_reasons.insert(case);
            }
            None => self.record_failure(fixture, "refused", error),
        }
    }

    pub(super) fn record_failure(&mut self, fixture: &Fixture, what: &str, error: impl Display) {
        self.failures.push(format!("{} {what}: {error}", fixture.name));
    }

    pub(super) fn assert_empty(mut self) {
        let cases = REJECTED_CASES.iter().chain(READ_ONLY_SPELLINGS).map(|(case, _)| *case);
        let listed = DIFFERENCE_RULES.iter().map(|it| it.reason).chain(cases).chain([SNAKE_CASE]);
        for reason in listed.filter(|it| !self.used_reasons.contains(it)) {
            self.failures.push(format!("listed, but seen nowhere: {reason}"));
        }
        let count = self.failures.len();
        assert!(count == 0, "{count} findings\n{}", self.failures.join("\n"));
    }
}

fn display_or_absent(value: Option<&Value>) -> String {
    value.map_or("absent".to_owned(), Value::to_string)
}

type RawDifference = (String, Option<Value>, Option<Value>);

fn compare(
    path: String,
    peer: Option<&Value>,
    latimer: Option<&Value>,
    differences: &mut Vec<RawDifference>,
) {
    match (peer, latimer) {
        (Some(Value::Object(peer)), Some(Value::Object(latimer))) => {
            let names: BTreeSet<_> = peer.keys().chain(latimer.keys()).collect();
            for name in names {
                compare(format!("{path}/{name}"), peer.get(name), latimer.get(name), differences);
            }
        }
        (Some(Value::Array(peer)), Some(Value::Array(latimer))) if peer.len() == latimer.len() => {
            for (peer, latimer) in peer.iter().zip(latimer) {
                compare(path.clone(), Some(peer), Some(latimer), differences);
            }
        }
        (peer, latimer) if peer == latimer => {}
        (peer, latimer) => differences.push((path, peer.cloned(), latimer.cloned())),
    }
}

impl Fixture {
    /// Whether the peer answered with an error.
    fn failed(&self) -> bool {
        let response = &self.response;
        let error = |it: &Value| it.get("error").is_some();
        let body = response.body.as_ref().is_some_and(error);
        let events = response.events.iter().flatten().any(error);
        body || events || response.aborted || response.status >= 400 || response.code != 0
    }
}
