//! A run of one webhook: what has happened since, event by event.

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

use super::budget::{self, Verdict};
use super::delivery::{self, Undelivered};
use super::{Inner, OlderBody};
use crate::engine::ids;
use crate::metrics::Delivery;

/// How many events are read at a time.
const BATCH: usize = 32;

/// The most of an answer that is read, to have the connection again: nobody is interested in it.
const ANSWER: usize = 64 * 1024;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// There is nothing to do until something happens.
    Quiet,
    /// There is nothing to do any more.
    Over,
    /// The store has to be asked again.
    Later,
}

/// Delivers what a webhook has not seen, until there is nothing left.
pub(super) async fn run(
    courier: &Inner,
    task: &TaskKey,
    id: &PushConfigId,
    changed: &Notify,
) -> Result<End, StoreError> {
    let mut replay = Replay::default();
    let mut behind = false;
    loop {
        let webhook = match courier.store.webhooks().get(task, id).await {
            Ok(Some(webhook)) => webhook,
            Ok(None) => {
                if behind && courier.store.load(task).await?.is_none() {
                    lost(courier, task);
                }
                return Ok(End::Over);
            }
            Err(error @ StoreError::Unreadable { .. }) => {
                warn!(task = %task.id, %error, "webhook cannot be read, and is told nothing more");
                return Ok(End::Over);
            }
            Err(error) => return Err(error),
        };
        tokio::select! {
            () = wait(webhook.progress, courier.settings.longest_pause) => {}
            () = changed.notified() => continue,
        }
        let DeliveryProgress { cursor: seen, attempts, .. } = webhook.progress;
        behind |= attempts > 0;
        let events = courier.store.events(task, seen, BATCH).await?;
        if events.is_empty() {
            let Some(stored) = courier.store.load(task).await? else {
                if behind {
                    lost(courier, task);
                }
                return Ok(End::Over);
            };
            let over = stored.header.state.is_terminal() && stored.revision <= seen;
            return Ok(if over { End::Over } else { End::Quiet });
        }
        behind = !deliver(courier, webhook, events, &mut replay).await?;
    }
}

/// Takes note that a task went before its webhook was told everything.
fn lost(courier: &Inner, task: &TaskKey) {
    courier.count(Delivery::GivenUp);
    warn!(task = %task.id, "task was removed before its webhook was told everything");
}

/// Waits until the next attempt is due; not for ever when somebody has set the clock back.
async fn wait(progress: DeliveryProgress, longest: Duration) {
    let Some(due) = progress.next_attempt_at else { return };
    let left = due.as_millis().saturating_sub(ids::now().as_millis());
    if let Ok(left) = u64::try_from(left) {
        tokio::time::sleep(Duration::from_millis(left).min(longest)).await;
    }
}

/// Delivers events one after the other, up to the first that fails; false when one did.
async fn deliver(
    courier: &Inner,
    mut webhook: Webhook,
    events: Vec<LoggedEvent>,
    replay: &mut Replay,
) -> Result<bool, StoreError> {
    for LoggedEvent { revision, event } in events {
        let notification = notification(courier, &webhook, revision, event, replay).await?;
        let outcome = attempt(courier, &webhook, revision, notification).await;
        let from = webhook.progress.cursor;
        let (to, dead) = match outcome {
            Ok(()) => (budget::done(webhook.progress, true), None),
            Err(undelivered) => failed(courier, &webhook, revision, undelivered),
        };
        let goes_on = to.cursor == revision;
        let Webhook { task, id, generation, .. } = &webhook;
        let (task, id, generation) = (task.clone(), id.clone(), *generation);
        let step = ProgressUpdate { task, webhook: id, generation, from, to, dead_letter: dead };
        if !courier.store.webhooks().advance(step).await? || !goes_on {
            return Ok(false);
        }
        webhook.progress = to;
    }
    Ok(true)
}

/// What a webhook is to be sent about an event.
pub(super) enum About {
    /// This.
    This(Notification),
    /// Nothing: the event shows in the history alone.
    Nothing,
    /// What its version has no words for.
    Unspeakable,
}

/// Tries once to deliver an event.
pub(super) async fn attempt(
    courier: &Inner,
    webhook: &Webhook,
    revision: Revision,
    about: About,
) -> Result<(), Undelivered> {
    let refused = |reason: String| Undelivered { reason, retry_after: None };
    let notification = match about {
        About::This(notification) => notification,
        About::Nothing => return Ok(()),
        About::Unspeakable => return Err(refused("the version has no words for it".to_owned())),
    };
    let target = courier.guard.check_without_dns(&webhook.config.url);
    let target = target.map_err(|it| refused(format!("the URL {it}")))?;
    let (caller, receiver) = (webhook.task.owner.clone(), target.origin());
    // In this order: whoever waits for a slow receiver is in nobody's way.
    let _receiver = courier.receivers.enter(&(caller.clone(), receiver.clone())).await;
    let _caller = courier.callers.enter(&caller).await;
    let id = delivery::id(webhook, revision);
    let request = delivery::request(webhook, notification, &id, courier.signer.get());
    let request = request.map_err(|it| refused(it.to_owned()))?;
    let limits = RequestLimits {
        timeout: courier.settings.timeout,
        max_body_bytes: ANSWER,
        ..RequestLimits::default()
    };
    let outcome = delivery::judge(courier.client.send_discarding_body(request, &limits).await);
    match &outcome {
        Ok(()) => {
            courier.count(Delivery::Delivered);
            debug!(task = %webhook.task.id, %revision, %receiver, "delivered");
        }
        Err(Undelivered { reason, .. }) => {
            courier.count(Delivery::Failed);
            debug!(task = %webhook.task.id, %revision, %receiver, %reason, "not delivered");
        }
    }
    outcome
}

/// How far a webhook is after a failure, and what it gives up.
fn failed(
    courier: &Inner,
    webhook: &Webhook,
    revision: Revision,
    undelivered: Undelivered,
) -> (DeliveryProgress, Option<DeadLetter>) {
    let now = ids::now();
    let progress = webhook.progress;
    let failing_since = progress.failing_since.unwrap_or(now);
    let attempts = progress.attempts.saturating_add(1);
    let Undelivered { reason, retry_after } = undelivered;
    let chance = delivery::chance();
    match courier.settings.judge(attempts, failing_since, now, retry_after, chance) {
        Verdict::Again(due) => {
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
        Verdict::Enough => {
            courier.count(Delivery::GivenUp);
            info!(task = %webhook.task.id, %revision, %reason, attempts, "delivery given up");
            let dead = DeadLetter {
                id: delivery::id(webhook, revision),
                task: webhook.task.clone(),
                webhook: webhook.id.clone(),
                revision,
                attempts,
                abandoned_at: now,
                reason,
            };
            let progress = DeliveryProgress { failing_since: Some(failing_since), ..progress };
            (budget::done(progress, false), Some(dead))
        }
    }
}

/// What a webhook is sent about an event.
pub(super) async fn notification(
    courier: &Inner,
    webhook: &Webhook,
    revision: Revision,
    event: Event,
    replay: &mut Replay,
) -> Result<About, StoreError> {
    let dialect = webhook.dialect;
    let is_0_3 = matches!(dialect, Dialect::V0_3 | Dialect::V0_3Proto);
    let in_envelope = is_0_3 && courier.settings.older_body == OlderBody::Envelope;
    let written = if dialect.sends_whole_task() && !in_envelope {
        if matches!(event, Event::Message(_)) {
            return Ok(About::Nothing);
        }
        let Some(task) = replay.task(courier, &webhook.task, revision).await? else {
            return Ok(About::Unspeakable);
        };
        dialect.write_task_notification(&task)
    } else {
        let Some(event) = event.into_stream_response() else { return Ok(About::Nothing) };
        match in_envelope {
            true => Dialect::V0_3.write_enveloped_notification(&event, then(&event)),
            false => dialect.write_event_notification(&event),
        }
    };
    Ok(written.map_or(About::Unspeakable, About::This))
}

/// Whether a stream would end behind an event.
fn then(event: &latimer_protocol::StreamResponse) -> Finality {
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

/// A task as it was at one event after the other.
#[derive(Default)]
pub(super) struct Replay {
    task: Option<Arc<Task>>,
    at: Revision,
}

impl Replay {
    /// The task as it was behind this event; none when that cannot be told any more.
    async fn task(
        &mut self,
        courier: &Inner,
        key: &TaskKey,
        revision: Revision,
    ) -> Result<Option<Arc<Task>>, StoreError> {
        if self.task.is_none()
            && let Some(stored) = courier.store.load(key).await?
            && stored.revision == revision
        {
            // Whoever keeps up need not read the log.
            return Ok(Some(stored.task));
        }
        while self.at < revision {
            let left = revision.get() - self.at.get();
            let limit = usize::try_from(left).unwrap_or(BATCH).min(BATCH);
            let events = courier.store.events(key, self.at, limit).await?;
            if events.is_empty() {
                return Ok(None);
            }
            for LoggedEvent { revision, event } in events {
                self.at = revision;
                match (&mut self.task, event) {
                    (none @ None, Event::Created(task)) => *none = Some(Arc::new(task)),
                    (None, _) => return Ok(None),
                    // The log was written by the same fold.
                    (Some(task), event) => drop(Arc::make_mut(task).apply(event)),
                }
            }
        }
        Ok(self.task.clone().filter(|_| self.at == revision))
    }
}
