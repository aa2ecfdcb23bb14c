//! Recorded cards and webhook notifications.

use latimer_protocol::card::{AgentCard, CardFormat, TransitionHistory};
use latimer_protocol::{Dialect, EventWriter, GetTaskRequest, Request, TaskId};
use serde_json::Value;

use super::difference::Findings;
use super::exchange::parse;
use super::fixture::Fixture;
use crate::finality;

/// Checks that a card of any format is read, and written in the format in which it was recorded.
pub(super) fn card(fixture: &Fixture, findings: &mut Findings) {
    let Some(body) = fixture.response.body.as_ref().filter(|_| fixture.response.status == 200)
    else {
        return;
    };
    match AgentCard::read(body.to_string().as_bytes()) {
        Ok(card) => {
            let history = match body.pointer("/capabilities/stateTransitionHistory") {
                Some(Value::Bool(true)) => TransitionHistory::Recorded,
                _ => TransitionHistory::NotRecorded,
            };
            let members = [body.get("supportedInterfaces"), body.get("url")].map(|it| it.is_some());
            let format = match members {
                [true, false] => CardFormat::V1_0,
                [true, true] => CardFormat::Superset(history),
                [false, _] => CardFormat::V0_3(history),
            };
            findings.compare(fixture, "card", body, &card.to_json(format));
        }
        Err(error) => findings.record_failure(fixture, "card", error),
    }
}

/// Checks that a notification contains an event as in HTTP+JSON, or before 1.0 a task as in
/// JSON-RPC.
pub(super) fn push(fixture: &Fixture, findings: &mut Findings) {
    let body = fixture.request.as_ref().and_then(|it| it.body.as_ref()).expect("recorded body");
    // The Python SDK sends 1.0 notifications to all webhooks, regardless of the version.
    let is_v1_0 =
        ["task", "statusUpdate", "artifactUpdate"].iter().any(|it| body.get(it).is_some());
    let dialect = if is_v1_0 { Dialect::V1_0 } else { Dialect::over_jsonrpc(fixture.version) };
    match dialect.read_event(&body.to_string()) {
        Ok(event) => {
            let request =
                Request::GetTask(GetTaskRequest::from(TaskId::new("t").expect("valid id")));
            let mut writer = EventWriter::new(dialect, &request, None);
            let is_last = body.get("final") == Some(&Value::Bool(true));
            let written = writer.write(&event, finality(is_last));
            findings.compare(fixture, "push", body, &parse(&written[0]));
        }
        Err(error) => findings.record_failure(fixture, "push", error),
    }
}
