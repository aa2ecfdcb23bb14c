//! Operator client that records every dead letter, replays some and deletes the others.

use std::sync::Arc;

use super::caller::{Caller, Reply};
use super::context::SoakContext;
use super::error::{ScenarioError, ScenarioResult};
use super::wire_format::Request;

/// Maximum number of dead letters to replay per call.
const MAX_REPLAYS: usize = 10;

/// Records all current dead letters with the receiver, replays up to `MAX_REPLAYS` and deletes
/// the rest. Failures become violations.
pub async fn process_dead_letters(context: &Arc<SoakContext>) {
    let mut operator = Caller::new(context, 1);
    operator.wait_until_up().await;
    if let Err(ScenarioError::Violation(message)) = drain_dead_letters(&mut operator).await {
        context.record_violation("dead letters", message);
    }
}

async fn drain_dead_letters(operator: &mut Caller) -> ScenarioResult {
    let list = operator.expect(&Request::without_body("GET", "/api/push/dead")).await?.0;
    let dead_letters =
        list["letters"].as_array().ok_or_else(|| format!("no list of dead letters: {list}"))?;
    for (index, dead_letter) in dead_letters.iter().enumerate() {
        let (Some(id), Some(task)) = (dead_letter["id"].as_str(), dead_letter["taskId"].as_str())
        else {
            return Err(ScenarioError::Violation(format!("malformed dead letter: {dead_letter}")));
        };
        operator.context.receiver.record_dead_letter(task.to_owned(), id.to_owned());
        let path = format!("/api/push/dead/{id}");
        if index < MAX_REPLAYS {
            let replay = Request::without_body("POST", &format!("{path}/replay"));
            match operator.call(&replay).await? {
                Reply::Success(view) if view.0["delivered"] == true => continue,
                // The delivery failed again, or the task was evicted.
                Reply::Success(_) | Reply::Error(404, _) => {}
                other => return Err(operator.classify(format!("replay failed: {other:?}"))),
            }
        }
        match operator.call(&Request::without_body("DELETE", &path)).await? {
            Reply::Success(_) | Reply::Error(404, _) => {}
            other => return Err(operator.classify(format!("deletion failed: {other:?}"))),
        }
    }
    Ok(())
}
