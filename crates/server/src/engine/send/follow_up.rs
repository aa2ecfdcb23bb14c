//! Follow-ups: messages to existing tasks, one turn each, in order of arrival.

use std::sync::Arc;
use std::task::Poll;

use latimer_protocol::{Error, ErrorKind, InvalidField, Message, Revision, Task};
use latimer_store::StoredTask;
use tokio::sync::oneshot;

use super::{Submission, SubmissionKind, attach, poll_once, shutting_down_error};
use crate::engine::accept::{InboundMessage, ReplyMode};
use crate::engine::idempotency::{IdempotencyClaim, InFlightTurn};
use crate::engine::live::{LiveTaskRef, WriterPermit};
use crate::engine::turn_queue::TurnPlace;
use crate::engine::turn_runner::{ExecutorCall, TurnPermits, TurnRunner};
use crate::engine::{Engine, store_error};
use crate::turn::OutboxEntry;

/// Revision and task that the turn of a follow-up starts from.
type TurnStart = Result<(Revision, Arc<Task>), Error>;
type StartSender = oneshot::Sender<TurnStart>;
/// Receives the start of a turn, or an error if it does not start.
pub(in crate::engine) type StartReceiver = oneshot::Receiver<TurnStart>;

impl Engine {
    /// Starts a follow-up in the background. Returns when its turn starts, or when the message has
    /// been stored while an earlier turn runs. A stream then waits for the start of the turn.
    pub(super) async fn continue_task(
        &self,
        mut inbound: InboundMessage,
        stored: StoredTask,
        idempotency: IdempotencyClaim,
    ) -> Result<Submission, Error> {
        let stored = self.ensure_recovered(stored).await?;
        let context = &stored.header.context;
        if inbound.message.context_id.as_ref().is_some_and(|it| it != context) {
            let problem = "is not the context of the task; omit it or send the context of the task";
            return Err(InvalidField::new("message.contextId", problem).into());
        }
        if stored.header.state.is_terminal() {
            return Err(task_finished(&stored));
        }
        let place = self.0.turn_queues.reserve(&stored.key.agent, &stored.key.owner)?;
        inbound.assign_ids(&stored.key.id, context);
        if let Some(webhook) =
            self.inline_webhook(&mut inbound, &stored.key, stored.revision).await?
        {
            let dispatcher = self.dispatcher(&inbound.agent)?;
            self.register_webhook(dispatcher, webhook).await?;
        }
        let live = self.0.live_tasks.get_or_create(&stored.key);
        let (reply_mode, message) = (inbound.reply_mode, inbound.message.clone());
        let max_wait = inbound.agent.policy().max_wait;
        let queued = Submission {
            attachment: attach(&live, reply_mode),
            after: stored.revision,
            prior_task: None,
            task_dialect: stored.header.created_in,
            kind: SubmissionKind::Queued,
            attached_turn: None,
            turn_start: None,
        };
        let permit = WriterPermit::try_acquire(&live);
        let must_wait = permit.is_none();
        let claim = idempotency.as_ref().map(|(_, claim)| Arc::clone(claim));
        let (start_sender, mut start_receiver) = oneshot::channel();
        self.spawn_detached(self.clone().run_follow_up(
            inbound,
            live.clone(),
            permit,
            idempotency,
            place,
            start_sender,
        ));
        let record_message = async || {
            let recorded = store_follow_up(&live, &message).await;
            if let (true, Some(claim)) = (recorded, &claim) {
                claim.set_location(InFlightTurn { live: live.clone(), after: queued.after });
            }
            recorded
        };
        if must_wait && reply_mode == ReplyMode::Immediate && record_message().await {
            return Ok(queued);
        }
        if must_wait && reply_mode == ReplyMode::Streaming {
            // A message that is not stored is lost if the process ends before its turn.
            record_message().await;
            let (kind, turn_start) = (SubmissionKind::New, Some(start_receiver));
            return Ok(Submission { kind, turn_start, ..queued });
        }
        if must_wait && reply_mode == ReplyMode::Blocking {
            tokio::select! {
                start = &mut start_receiver => return self.started_submission(start, reply_mode, queued),
                () = tokio::time::sleep(max_wait) => {}
            }
            if record_message().await {
                return Ok(queued);
            }
        }
        self.started_submission(start_receiver.await, reply_mode, queued)
    }

    /// Converts the start of a follow-up into its submission.
    fn started_submission(
        &self,
        start: Result<TurnStart, oneshot::error::RecvError>,
        reply_mode: ReplyMode,
        queued: Submission,
    ) -> Result<Submission, Error> {
        let (after, task) = start.unwrap_or_else(|_| Err(shutting_down_error()))?;
        let prior_task =
            (reply_mode == ReplyMode::Streaming).then(|| Box::new(Arc::unwrap_or_clone(task)));
        Ok(Submission { after, prior_task, kind: SubmissionKind::New, ..queued })
    }

    /// Waits for the writer permit and runs the turn of a follow-up.
    pub(in crate::engine) async fn run_follow_up(
        self,
        inbound: InboundMessage,
        live: LiveTaskRef,
        permit: Option<WriterPermit>,
        idempotency: IdempotencyClaim,
        place: Option<TurnPlace>,
        start_sender: StartSender,
    ) {
        let permit = match permit {
            Some(permit) => Some(permit),
            None => WriterPermit::acquire(&live, self.shutdown()).await,
        };
        let reply_mode = inbound.reply_mode;
        // Sends fail if the caller disconnected.
        match self.prepare_follow_up(inbound, live, permit, idempotency).await {
            Ok((mut runner, start)) => {
                let _ = start_sender.send(Ok(start));
                let Some(permits) = acquire_place(&mut runner, place).await else { return };
                let create_task_first = reply_mode == ReplyMode::Immediate;
                runner.run(ExecutorCall::Execute, create_task_first, permits).await;
            }
            Err(error) => {
                let _ = start_sender.send(Err(error));
            }
        }
    }

    /// Loads the task of a follow-up and creates its turn.
    ///
    /// # Errors
    /// Fails if the task has ended meanwhile, there is no permit, or the engine has stopped.
    async fn prepare_follow_up(
        &self,
        inbound: InboundMessage,
        live: LiveTaskRef,
        permit: Option<WriterPermit>,
        idempotency: IdempotencyClaim,
    ) -> Result<(TurnRunner, (Revision, Arc<Task>)), Error> {
        let stored = self.store().load(live.key()).await.map_err(store_error)?;
        let stored = stored.ok_or_else(|| Error::task_not_found(&live.key().id))?;
        live.sync_from_store(&stored);
        let permit = match permit {
            _ if stored.header.state.is_terminal() => return Err(task_finished(&stored)),
            None => return Err(shutting_down_error()),
            Some(_) if self.shutdown().is_stopped() => return Err(shutting_down_error()),
            Some(permit) => permit,
        };
        let start = (stored.revision, Arc::clone(&stored.task));
        let referenced_tasks = self.referenced_tasks(&inbound).await?;
        let agent = inbound.agent.clone();
        let already_recorded = live.lock().take_queued(&inbound.message.message_id);
        let message = (!already_recorded).then(|| inbound.message.clone());
        let (id, context) = (stored.key.id.clone(), stored.header.context.clone());
        let turn = self.new_turn(inbound, id, context, Some(&stored), referenced_tasks);
        if let Some((_, claim)) = &idempotency {
            claim.set_location(InFlightTurn { live, after: stored.revision });
        }
        let mut runner =
            TurnRunner::for_existing_task(self.clone(), agent, permit, turn, stored, message);
        if let Some((record, claim)) = idempotency {
            runner.set_idempotency(record, claim);
        }
        Ok((runner, start))
    }
}

/// Waits for the permit of a turn, if its agent has a limit. Returns `None` if the task ended or the
/// engine stopped first.
async fn acquire_place(runner: &mut TurnRunner, place: Option<TurnPlace>) -> Option<TurnPermits> {
    let Some(place) = place else { return Some(TurnPermits::default()) };
    let waiting = place.acquire();
    tokio::pin!(waiting);
    let place = match poll_once(waiting.as_mut()).await {
        Poll::Ready(place) => place,
        Poll::Pending => runner.wait_before_start(waiting).await?,
    };
    Some(TurnPermits { context: None, place: Some(place) })
}

/// Stores a message through the running turn, so that the caller gets an acknowledgment before the
/// message has its own turn. False if no turn is running or the message was not stored.
async fn store_follow_up(live: &LiveTaskRef, message: &Arc<Message>) -> bool {
    let Some(turn) = live.lock().turn.clone() else { return false };
    let outbox = turn.outbox();
    outbox.emit(OutboxEntry::FollowUp(Arc::clone(message))).await.is_ok()
        && outbox.flush().await.is_ok()
}

fn task_finished(stored: &StoredTask) -> Error {
    let message = format!("task {} has already ended ({})", stored.key.id, stored.header.state);
    Error::new(ErrorKind::TaskFinished, message)
}
