//! Scenarios of cancellation.

use std::time::Duration;

use latimer_protocol::ErrorKind;
use tokio::time::sleep;

use super::ensure;
use super::sends::{expect_state, task_id};
use crate::caller::{Caller, Reply};
use crate::error::ScenarioResult;
use crate::wire_format::{Message, TaskOperation};

pub(super) async fn cancel(caller: &mut Caller) -> ScenarioResult {
    // `wait` stops when it is canceled; `stubborn` ignores the cancellation until it is aborted.
    let instruction = if caller.random.one_in(4) { "stubborn" } else { "wait" };
    let message =
        Message { return_immediately: true, ..caller.new_message(format!("{instruction} 60000")) };
    let sent = caller.expect(&caller.wire_format.send_request(&message)).await?;
    let canceled = caller
        .expect(&caller.wire_format.task_request(&task_id(&sent)?, TaskOperation::Cancel))
        .await?;
    expect_state(caller, &canceled, "canceled")
}

pub(super) async fn race(caller: &mut Caller) -> ScenarioResult {
    let time = caller.random.in_range(1, 30);
    let message =
        Message { return_immediately: true, ..caller.new_message(format!("wait {time}")) };
    let sent = caller.expect(&caller.wire_format.send_request(&message)).await?;
    let task_id = task_id(&sent)?;
    sleep(Duration::from_millis(caller.random.below(30))).await;
    let request = caller.wire_format.task_request(&task_id, TaskOperation::Cancel);
    let mut other = caller.fork();
    let (one, two) = tokio::join!(caller.call(&request), other.call(&request));
    let replies = [one?, two?];
    let view =
        caller.expect(&caller.wire_format.task_request(&task_id, TaskOperation::Get)).await?;
    let final_state =
        if view.state().as_deref() == Some("canceled") { "canceled" } else { "completed" };
    expect_state(caller, &view, final_state)?;
    for reply in replies {
        let is_consistent = match &reply {
            Reply::Success(canceled) => {
                final_state == "canceled" && canceled.state() == view.state()
            }
            Reply::Error(code, _) => {
                final_state == "completed"
                    && *code == caller.wire_format.error_code(ErrorKind::TaskNotCancelable)
            }
        };
        ensure(is_consistent, || format!("{reply:?} for a task that is {final_state}"))?;
    }
    Ok(())
}
