//! Accepted differences between Latimer and other implementations, with reasons.

use std::collections::BTreeSet;
use std::fmt::Display;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use latimer_protocol::{Operation, Timestamp, Version};
use serde_json::{Map, Value, json};

use super::fixture::Fixture;

/// Difference between two values; a missing value is `None`.
#[derive(Debug)]
struct Difference<'a> {
    fixture: &'a Fixture,
    /// Part of the exchange and member names, without indices of list items.
    path: String,
    peer: Option<Value>,
    latimer: Option<Value>,
}

impl Difference<'_> {
    /// Returns whether the difference is a line in a printed 0.3 card that starts with `start`.
    fn is_line_of_card(&self, start: &str) -> bool {
        let line = self.peer.as_ref().or(self.latimer.as_ref()).and_then(Value::as_str);
        self.fixture.operation == Some(Operation::GetExtendedAgentCard)
            && self.fixture.version == Version::V0_3
            && self.path == "reply/lines"
            && line.is_some_and(|it| it.starts_with(start))
    }
}

/// Accepted kind of difference.
struct DifferenceRule {
    reason: &'static str,
    applies: fn(&Difference<'_>) -> bool,
}

const DIFFERENCE_RULES: &[DifferenceRule] = &[
    DifferenceRule {
        reason: "timestamps are written with milliseconds and in UTC",
        applies: |it| match (&it.peer, &it.latimer) {
            (Some(Value::String(peer)), Some(Value::String(latimer))) => {
                peer.parse::<Timestamp>().is_ok_and(|time| time.to_string() == *latimer)
            }
            _ => false,
        },
    },
    DifferenceRule {
        reason: "null, empty and false values are omitted where they equal absence",
        applies: |it| {
            // The content of a part is significant even if empty.
            let content = ["text", "raw", "url", "data"];
            let content = it.path.rsplit('/').next().is_some_and(|name| content.contains(&name));
            it.latimer.is_none() && !content && it.peer.as_ref().is_some_and(is_default)
        },
    },
    DifferenceRule {
        reason: "before 1.0 a webhook has a list of authentication schemes, of which the first is kept",
        applies: |it| {
            let first = it.peer.as_ref().and_then(|it| it.get(0)).cloned().map(|it| json!([it]));
            it.path.ends_with("/authentication/schemes") && it.latimer == first
                || it.peer == Some(json!("\"Basic\","))
        },
    },
    DifferenceRule {
        reason: "accepted output modes are required up to 0.2.5, so they are always written",
        applies: |it| {
            it.path.ends_with("/acceptedOutputModes")
                && it.peer.is_none()
                && it.latimer == Some(json!([]))
        },
    },
    DifferenceRule {
        reason: "`blocking` is always written in 0.3",
        applies: |it| {
            it.path.ends_with("/configuration/blocking") && it.peer.is_none()
                || it.peer.is_none() && it.latimer == Some(json!({ "blocking": true }))
                || it.peer == Some(json!("blocking: false,"))
                || it.latimer == Some(json!("blocking: true,"))
        },
    },
    DifferenceRule {
        reason: "unknown members are dropped",
        applies: |it| it.path.ends_with("/surprise") && it.latimer.is_none(),
    },
    DifferenceRule {
        reason: "missing parameters equal an empty object",
        applies: |it| it.path == "request" && it.latimer == Some(json!({})),
    },
    DifferenceRule {
        reason: "an empty 1.0 message is {} over JSON-RPC, where SDKs write null",
        applies: |it| {
            it.path == "reply" && it.peer == Some(Value::Null) && it.latimer == Some(json!({}))
        },
    },
    DifferenceRule {
        reason: "subscriptions are sent by POST and accepted by GET as well",
        applies: |it| {
            let subscription = it.fixture.operation == Some(Operation::SubscribeToTask);
            subscription && it.path == "request/method" && it.latimer == Some(json!("POST"))
        },
    },
    DifferenceRule {
        reason: "Python 0.2 sends the task id of a webhook inside the configuration",
        applies: |it| {
            it.fixture.name.contains("python-0.2.16/grpc/create_push_config-error")
                && it.path == "request/lines"
        },
    },
    DifferenceRule {
        reason: "a task that cannot be canceled is reported as such, not as an unknown method",
        applies: |it| {
            it.fixture.name.contains("python-0.3.26/grpc/cancel_task-error")
                && it.path == "error/code"
        },
    },
    DifferenceRule {
        reason: "the task id of a cancellation is in the path and in the body, as in Python",
        applies: |it| {
            let cancel = it.fixture.operation == Some(Operation::CancelTask);
            cancel && ["request/body/id", "request/body/name"].contains(&it.path.as_str())
        },
    },
    DifferenceRule {
        reason: "0.3 over HTTP+JSON: a new webhook is written as in Python; JavaScript sends the \
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
        reason: "0.3 protobuf: SDKs write None or undefined as the id of a new webhook without one",
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
        reason: "0.3 protobuf: file bytes are base64-encoded twice, but once in JavaScript",
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
        reason: "a card does not repeat its main URL among the additional interfaces",
        applies: |it| {
            let peer = it.peer.as_ref().and_then(Value::as_array).map(|it| &it[1..]);
            let latimer = it.latimer.as_ref().and_then(Value::as_array).map(Vec::as_slice);
            it.path.ends_with("/additionalInterfaces")
                && latimer.unwrap_or_default() == peer.unwrap_or_default()
                || it.is_line_of_card("transport: \"JSONRPC\",") && it.latimer.is_none()
        },
    },
    DifferenceRule {
        reason: "`stateTransitionHistory` is always written before 1.0",
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
        reason: "`preferredTransport` is always written in 0.3",
        applies: |it| it.is_line_of_card("preferred_transport: "),
    },
    DifferenceRule {
        reason: "the 1.0 model keeps the preferred one of several OAuth flows",
        applies: |it| it.path.contains("/securitySchemes/oauth/flows/") && it.latimer.is_none(),
    },
    DifferenceRule {
        reason: "members that 1.0 added to schemes are written in all card formats",
        applies: |it| it.path.ends_with("/pkceRequired") && it.peer.is_none(),
    },
    DifferenceRule {
        reason: "the JavaScript SDK publishes its internal encoding of oneof fields",
        applies: |it| {
            let scheme = it.path.contains("/securitySchemes/") && it.peer.is_none();
            let peer = it.peer.as_ref().map(Value::to_string).unwrap_or_default();
            it.fixture.name.contains("/js-1.3.0") && (scheme || peer.contains("$case"))
        },
    },
    DifferenceRule {
        reason: "an empty list of webhooks is written",
        applies: |it| it.path == "reply/configs" && it.latimer == Some(json!([])),
    },
    DifferenceRule {
        reason: "signatures cover one card format and are omitted from others",
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
                 protobuf; Latimer writes schemes as both, and requirements as JSON schema",
        applies: |it| {
            let card = it.fixture.operation == Some(Operation::GetExtendedAgentCard);
            let schemes = it.path.starts_with("reply/securitySchemes/") && it.peer.is_none();
            let requirements = it.path.contains("/security/");
            card && it.fixture.binding == "rest" && (schemes || requirements)
        },
    },
    DifferenceRule {
        reason: "a 0.3 card over gRPC has no signatures and no repeated URL",
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
        reason: "a bare id is accepted as a resource name and written as one",
        applies: |it| it.fixture.name.contains("get_task-error_bad_name"),
    },
    DifferenceRule {
        reason: "an unsupported HTTP method is reported as an unknown method",
        applies: |it| it.path == "error/status" && it.peer == Some(json!(405)),
    },
    DifferenceRule {
        reason: "0.3 does not define statuses; those of Python 0.3 are used",
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
        reason: "the gRPC status `unknown` is written as `internal`",
        applies: |it| {
            it.path == "error/code" && it.peer == Some(json!(2)) && it.latimer == Some(json!(13))
        },
    },
];

/// Requests in an encoding that is read but not written, by case name.
const READ_ONLY_SPELLINGS: &[(&str, &str)] = &[
    ("-snake_case", "snake_case members and numeric enum values"),
    ("send_message-no_kind", "parts and message without `kind`"),
    ("send_message-error_kind_parts", "JSON-RPC format over HTTP+JSON"),
    ("-error_unknown_role", "a role in the spelling of another version"),
    (
        "send_message-unknown_role",
        "a role in the spelling of another version, accepted by the peer",
    ),
];

/// Requests and replies that the peer accepted and Latimer rejects, by case name.
const REJECTED_CASES: &[(&str, &str)] = &[
    ("-negative_history", "a negative history length"),
    ("-no_parts", "a message without parts"),
    ("-empty_part", "a part without content"),
    ("-two_contents", "a part with two contents"),
    ("-missing_role", "a message without a role"),
    ("send_message-unknown_role", "an unknown role in the history"),
    ("-no_message", "a request without a message"),
    ("list_tasks-unknown_status", "an unknown state"),
    ("rest/get_task-no_id", "a URL without an id"),
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

const SNAKE_CASE: &str = "the Python 1.x client writes 0.3 over HTTP+JSON in snake_case";

/// Converts a snake_case request to the encoding that Latimer writes.
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

/// Differences found in all fixtures, and the rules that applied.
#[derive(Default)]
pub(super) struct Findings {
    failures: Vec<String>,
    used_reasons: BTreeSet<&'static str>,
}

impl Findings {
    /// Compares two JSON values.
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
        let difference = format!("{path}\n    peer:    {peer}\n    latimer: {latimer}");
        self.failures.push(format!("{} {difference}", fixture.name));
    }

    /// Compares two requests, unless the peer's encoding is only read.
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

    /// Compares two printed messages.
    pub(super) fn compare_lines(
        &mut self,
        fixture: &Fixture,
        what: &str,
        peer: &[String],
        latimer: &[String],
    ) {
        // Returns the lines of one side that the other lacks, with multiplicity.
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
            self.record_failure(fixture, what, "the lines are in a different order");
        }
        let path = format!("{what}/lines");
        for peer in peer_only {
            self.check(Difference { fixture, path: path.clone(), peer, latimer: None });
        }
        for latimer in latimer_only {
            self.check(Difference { fixture, path: path.clone(), peer: None, latimer });
        }
    }

    /// Records a rejection, which is correct if the peer rejected the input too or the case is
    /// listed.
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
            self.failures.push(format!("unused rule: {reason}"));
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
    /// Returns whether the peer returned an error.
    fn failed(&self) -> bool {
        let response = &self.response;
        let error = |it: &Value| it.get("error").is_some();
        let body = response.body.as_ref().is_some_and(error);
        let events = response.events.iter().flatten().any(error);
        body || events || response.aborted || response.status >= 400 || response.code != 0
    }
}
