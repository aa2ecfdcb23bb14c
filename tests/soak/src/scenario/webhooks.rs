//! Scenarios of webhooks. Every event must be delivered or become a dead letter, whatever happens
//! to the server and the receiver.

use serde_json::json;
use tokio::time::{Duration, sleep};

use super::ensure;
use super::sends::{expect_state, task_id};
use crate::caller::{Caller, Reply};
use crate::error::{ScenarioError, ScenarioResult};
use crate::wire_format::{Message, Request, TaskOperation};

pub(super) async fn deliver(caller: &mut Caller) -> ScenarioResult {
    let count = caller.random.in_range(1, 8);
    let hook = caller.context.receiver.new_hook();
    let text = format!("chunks {count} {}", caller.random.below(30));
    let message = Message { webhook: Some(hook.url.clone()), ..caller.new_message(text) };
    let request = caller.wire_format.send_request(&message);
    // The message is resent after a restart; idempotency makes it the same task.
    let mut view = caller.expect_across_restarts(&request).await?;
    let task_id = task_id(&view)?;
    while !view.is_terminal() {
        sleep(Duration::from_millis(50)).await;
        view = caller
            .expect_across_restarts(&caller.wire_format.task_request(&task_id, TaskOperation::Get))
            .await?;
    }
    expect_state(caller, &view, "completed")?;
    ensure(view.chunk_numbers().into_iter().eq(1..=count), || {
        format!("expected {count} chunks: {view:?}")
    })?;
    let events = count_events(caller, &task_id).await?;
    caller.context.receiver.expect_events(&hook, task_id, events);
    Ok(())
}

/// Returns the number of events of a task, by streaming it from the beginning.
async fn count_events(caller: &mut Caller, task_id: &str) -> ScenarioResult<usize> {
    let request = caller.wire_format.task_request(task_id, TaskOperation::Subscribe(Some(0)));
    loop {
        let read = async {
            match caller.stream(&request).await? {
                Ok(mut events) => Ok(events.read_to_end().await?.len()),
                Err(reply) => Err(caller.classify(format!("no stream: {reply:?}"))),
            }
        };
        match read.await {
            Err(ScenarioError::ServerRestarted) => caller.wait_until_up().await,
            other => return other,
        }
    }
}

pub(super) async fn register(caller: &mut Caller) -> ScenarioResult {
    let message = Message { return_immediately: true, ..caller.new_message("wait 60000") };
    let sent = caller.expect(&caller.wire_format.send_request(&message)).await?;
    let task_id = task_id(&sent)?;
    let base = format!("/a2a/tasks/{task_id}/pushNotificationConfigs");
    let url = caller.context.receiver.new_hook().url;
    let config = json!({"id": "hook", "url": url});
    caller.call(&Request::with_body("POST", &base, config)).await?;
    let one = format!("{base}/hook");
    let Reply::Success(webhook) = caller.call(&Request::without_body("GET", &one)).await? else {
        return Err(caller.classify("the registered webhook is not found".to_owned()));
    };
    ensure(webhook.0["url"] == url, || format!("wrong webhook: {webhook:?}"))?;
    let Reply::Success(list) = caller.call(&Request::without_body("GET", &base)).await? else {
        return Err(caller.classify("the webhooks of the task cannot be listed".to_owned()));
    };
    ensure(list.0["configs"].as_array().is_some_and(|it| it.len() == 1), || format!("{list:?}"))?;
    caller.call(&Request::without_body("DELETE", &one)).await?;
    let removed = caller.call(&Request::without_body("GET", &one)).await?;
    ensure(matches!(removed, Reply::Error(404, _)), || {
        format!("the deleted webhook is still found: {removed:?}")
    })?;
    let canceled =
        caller.expect(&caller.wire_format.task_request(&task_id, TaskOperation::Cancel)).await?;
    expect_state(caller, &canceled, "canceled")
}
