//! One run of a webhook: delivers the events after its cursor.

use std::sync::Arc;
use std::time::Duration;

use latimer_outbound::RequestLimits;
use latimer_protocol::{Dialect, Event, Finality, Notification, PushConfigId, Revision, Task};
use latimer_store::{
    DeadLetter, DeliveryProgress, Error as StoreError, LoggedEvent, ProgressUpdate, TaskKey,
    Webhook,
};
use tokio::sync::Notify;
use tracing::{debug, info, warn};

use super::delivery::{self, DeliveryError};
use super::retry::{self, RetryDecision};
use super::{Inner, V0_3Body};
use crate::engine::ids;
use crate::metrics::DeliveryOutcome;

/// Maximum number of events per read of the store.
const EVENT_BATCH: usize = 32;

/// Maximum number of response bytes that are read. The content is ignored, but reading it lets the
/// connection be reused.
const MAX_RESPONSE_BYTES: usize = 64 * 1024;

/// Reason for the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunEnd {
    /// All events are delivered; the task may have more later.
    UpToDate,
    /// No delivery can follow: the task is terminal, or the task or the webhook was deleted.
    Finished,
    /// The store failed; the run has to be retried.
    StoreUnavailable,
}

/// Delivers events until the webhook is up to date. Waits for retries that are due later.
pub(super) async fn run(
    dispatcher: &Inner,
    task: &TaskKey,
    id: &PushConfigId,
    changed: &Notify,
) -> Result<RunEnd, StoreError> {
    let mut replay = LogReplay::default();
    let mut failing = false;
    loop {
        let webhook = match dispatcher.store.webhooks().get(task, id).await {
            Ok(Some(webhook)) => webhook,
            Ok(None) => {
                if failing && dispatcher.store.load(task).await?.is_none() {
                    record_removed_task(dispatcher, task);
                }
                return Ok(RunEnd::Finished);
            }
            Err(error @ StoreError::Unreadable { .. }) => {
                warn!(task = %task.id, %error, "stored webhook is corrupt; deliveries stopped");
                return Ok(RunEnd::Finished);
            }
            Err(error) => return Err(error),
        };
        tokio::select! {
            () = wait_until_due(webhook.progress, dispatcher.settings.max_backoff) => {}
            () = changed.notified() => continue,
        }
        let DeliveryProgress { cursor, attempts, .. } = webhook.progress;
        failing |= attempts > 0;
        let events = dispatcher.store.events(task, cursor, EVENT_BATCH).await?;
        if events.is_empty() {
            let Some(stored) = dispatcher.store.load(task).await? else {
                if failing {
                    record_removed_task(dispatcher, task);
                }
                return Ok(RunEnd::Finished);
            };
            let finished = stored.header.state.is_terminal() && stored.revision <= cursor;
            return Ok(if finished { RunEnd::Finished } else { RunEnd::UpToDate });
        }
        failing = !deliver(dispatcher, webhook, events, &mut replay).await?;
    }
}

/// Records that a task was removed before all its events were delivered.
fn record_removed_task(dispatcher: &Inner, task: &TaskKey) {
    dispatcher.record(DeliveryOutcome::Abandoned);
    warn!(task = %task.id, "task removed before all webhook deliveries");
}

/// Waits until the next attempt is due, at most `max_wait`, in case the clock was set back.
async fn wait_until_due(progress: DeliveryProgress, max_wait: Duration) {
    let Some(due) = progress.next_attempt_at else { return };
    let remaining = due.as_millis().saturating_sub(ids::now().as_millis());
    if let Ok(remaining) = u64::try_from(remaining) {
        tokio::time::sleep(Duration::from_millis(remaining).min(max_wait)).await;
    }
}

/// Delivers events in order and stores the progress after each. Returns false if one failed or the
/// webhook was replaced.
async fn deliver(
    dispatcher: &Inner,
    mut webhook: Webhook,
    events: Vec<LoggedEvent>,
    replay: &mut LogReplay,
) -> Result<bool, StoreError> {
    for LoggedEvent { revision, event } in events {
        let payload = build_payload(dispatcher, &webhook, revision, event, replay).await?;
        let outcome = attempt(dispatcher, &webhook, revision, payload).await;
        let from = webhook.progress.cursor;
        let (to, dead_letter) = match outcome {
            Ok(()) => (retry::advance(webhook.progress, true), None),
            Err(error) => progress_after_failure(dispatcher, &webhook, revision, error),
        };
        let advanced = to.cursor == revision;
        let Webhook { task, id, generation, .. } = &webhook;
        let (task, id, generation) = (task.clone(), id.clone(), *generation);
        let step = ProgressUpdate { task, webhook: id, generation, from, to, dead_letter };
        if !dispatcher.store.webhooks().advance(step).await? || !advanced {
            return Ok(false);
        }
        webhook.progress = to;
    }
    Ok(true)
}

/// Content of a delivery.
pub(super) enum Payload {
    /// Send this notification.
    Notify(Notification),
    /// Send nothing: only the history contains the event.
    Skip,
    /// The protocol version of the webhook cannot represent the event.
    Unsupported,
}

/// Attempts to deliver an event.
///
/// # Errors
/// Fails with the reason; the caller decides on a retry.
pub(super) async fn attempt(
    dispatcher: &Inner,
    webhook: &Webhook,
    revision: Revision,
    payload: Payload,
) -> Result<(), DeliveryError> {
    let delivery_error = |reason: String| DeliveryError { reason, retry_after: None };
    let notification = match payload {
        Payload::Notify(notification) => notification,
        Payload::Skip => return Ok(()),
        Payload::Unsupported => {
            return Err(delivery_error(
                "the protocol version cannot represent the event".to_owned(),
            ));
        }
    };
    let target = dispatcher.guard.check_without_dns(&webhook.config.url);
    let target = target.map_err(|it| delivery_error(format!("the URL {it}")))?;
    let (caller, receiver) = (&webhook.task.owner, target.origin());
    // In this order, so that deliveries that wait for a slow receiver hold no permit of the caller.
    let receiver_slot = dispatcher.receiver_permits.slot((caller.clone(), receiver.clone()));
    let _receiver_permit = receiver_slot.acquire().await;
    let _caller_permit = dispatcher.caller_permits.slot(caller.clone()).acquire().await;
    let id = delivery::delivery_id(webhook, revision);
    let request = delivery::request(webhook, notification, &id, &dispatcher.signer);
    let request = request.map_err(|it| delivery_error(it.to_owned()))?;
    let limits = RequestLimits {
        timeout: dispatcher.settings.timeout,
        max_body_bytes: MAX_RESPONSE_BYTES,
        ..RequestLimits::default()
    };
    let outcome =
        delivery::check_response(dispatcher.client.send_discarding_body(request, &limits).await);
    match &outcome {
        Ok(()) => {
            dispatcher.record(DeliveryOutcome::Delivered);
            debug!(task = %webhook.task.id, %revision, %receiver, "webhook delivered");
        }
        Err(DeliveryError { reason, .. }) => {
            dispatcher.record(DeliveryOutcome::Failed);
            let task = &webhook.task.id;
            debug!(%task, %revision, %receiver, %reason, "webhook delivery failed");
        }
    }
    outcome
}

/// Returns the progress after a failed attempt, and the dead letter if the delivery is abandoned.
fn progress_after_failure(
    dispatcher: &Inner,
    webhook: &Webhook,
    revision: Revision,
    error: DeliveryError,
) -> (DeliveryProgress, Option<DeadLetter>) {
    let now = ids::now();
    let progress = webhook.progress;
    let failing_since = progress.failing_since.unwrap_or(now);
    let attempts = progress.attempts.saturating_add(1);
    let DeliveryError { reason, retry_after } = error;
    match dispatcher.settings.next_retry(attempts, failing_since, now, retry_after) {
        RetryDecision::RetryAt(due) => {
            let failing_since = Some(failing_since);
            (
                DeliveryProgress {
                    attempts,
                    failing_since,
                    next_attempt_at: Some(due),
                    ..progress
                },
                None,
            )
        }
        RetryDecision::GiveUp => {
            dispatcher.record(DeliveryOutcome::Abandoned);
            let task = &webhook.task.id;
            info!(%task, %revision, %reason, attempts, "webhook delivery abandoned");
            let dead_letter = DeadLetter {
                id: delivery::delivery_id(webhook, revision),
                task: webhook.task.clone(),
                webhook: webhook.id.clone(),
                revision,
                attempts,
                abandoned_at: now,
                reason,
            };
            let progress = DeliveryProgress { failing_since: Some(failing_since), ..progress };
            (retry::advance(progress, false), Some(dead_letter))
        }
    }
}

/// Creates the content of a delivery in the version and form that the webhook was registered for.
pub(super) async fn build_payload(
    dispatcher: &Inner,
    webhook: &Webhook,
    revision: Revision,
    event: Event,
    replay: &mut LogReplay,
) -> Result<Payload, StoreError> {
    let dialect = webhook.dialect;
    let is_0_3 = matches!(dialect, Dialect::V0_3 | Dialect::V0_3Proto);
    let in_envelope = is_0_3 && dispatcher.settings.v0_3_body == V0_3Body::Envelope;
    let encoded = if dialect.sends_whole_task() && !in_envelope {
        if matches!(event, Event::Message(_)) {
            return Ok(Payload::Skip);
        }
        let Some(task) = replay.task_at(dispatcher, &webhook.task, revision).await? else {
            return Ok(Payload::Unsupported);
        };
        Ok(dialect.write_task_notification(&task))
    } else {
        let Some(event) = event.into_stream_response() else { return Ok(Payload::Skip) };
        match in_envelope {
            true => Dialect::V0_3.write_enveloped_notification(&event, finality(&event)),
            false => dialect.write_event_notification(&event),
        }
    };
    Ok(encoded.map_or(Payload::Unsupported, Payload::Notify))
}

/// Returns whether the stream of a message ends after an event.
fn finality(event: &latimer_protocol::StreamResponse) -> Finality {
    use latimer_protocol::StreamResponse as S;
    let state = match event {
        S::Task(task) => task.status.state,
        S::StatusUpdate(update) => update.status.state,
        S::Message(_) => return Finality::Last,
        S::ArtifactUpdate(_) => return Finality::More,
    };
    let settled = state.is_terminal() || state.is_interrupted();
    if settled { Finality::Last } else { Finality::More }
}

/// Replays the log of a task for webhooks that receive whole tasks.
#[derive(Default)]
pub(super) struct LogReplay {
    task: Option<Arc<Task>>,
    revision: Revision,
}

impl LogReplay {
    /// Returns the task after the event with this revision. `None` if the log no longer contains
    /// the events. Events must be requested in order.
    async fn task_at(
        &mut self,
        dispatcher: &Inner,
        key: &TaskKey,
        revision: Revision,
    ) -> Result<Option<Arc<Task>>, StoreError> {
        if self.task.is_none()
            && let Some(stored) = dispatcher.store.load(key).await?
            && stored.revision == revision
        {
            // Webhooks that are up to date need no replay.
            return Ok(Some(stored.task));
        }
        while self.revision < revision {
            let remaining = revision.get() - self.revision.get();
            let limit = usize::try_from(remaining).unwrap_or(EVENT_BATCH).min(EVENT_BATCH);
            let events = dispatcher.store.events(key, self.revision, limit).await?;
            if events.is_empty() {
                return Ok(None);
            }
            for LoggedEvent { revision, event } in events {
                self.revision = revision;
                match (&mut self.task, event) {
                    (none @ None, Event::Created(task)) => *none = Some(Arc::new(task)),
                    (None, _) => return Ok(None),
                    // The fold accepts every event of a log.
                    (Some(task), event) => drop(Arc::make_mut(task).apply(event)),
                }
            }
        }
        Ok(self.task.clone().filter(|_| self.revision == revision))
    }
}
