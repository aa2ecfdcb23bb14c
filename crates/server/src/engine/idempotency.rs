//! Recognition of resent messages.
//!
//! A client that lost a reply sends the same message again and gets the original result. While the
//! first message is being processed, [`InFlightMessages`] recognizes the second; afterwards the
//! store does.

use std::sync::Arc;

use latimer_protocol::{Error, Message, Metadata, Revision, Timestamp};
use latimer_store::{IdempotencyKey, IdempotencyRecord, PriorOutcome, TaskKey};
use sha2::{Digest, Sha256};
use tokio::sync::Notify;

use super::accept::InboundMessage;
use super::live::LiveTaskRef;
use super::send::{Submission, SubmissionKind, attach};
use super::{Engine, ids, store_error};
use crate::sync::ShardedMap;

/// Result of the duplicate check of a message.
pub(super) enum DuplicateCheck {
    /// The agent or the dialect does not recognize duplicates.
    Exempt,
    /// The message is new. The record is stored with the first events.
    First(IdempotencyRecord, Arc<ClaimGuard>),
    /// The message was sent before.
    Duplicate(Submission),
}

/// Record to store for a message, and the claim that lasts until then. `None` for exempt messages.
pub(super) type IdempotencyClaim = Option<(IdempotencyRecord, Arc<ClaimGuard>)>;

/// Messages that are being processed by this process.
#[derive(Debug, Default)]
pub(super) struct InFlightMessages {
    /// Turn of each message; `None` until it is known.
    turns: ShardedMap<IdempotencyKey, Option<InFlightTurn>, SHARDS>,
    /// Notified when a turn becomes known or a claim ends. Selected by a byte of the key.
    changed: [Notify; SHARDS],
}

const SHARDS: usize = 16;

/// Task that a message runs in, and its revision before the message.
#[derive(Clone, Debug)]
pub(super) struct InFlightTurn {
    pub(super) live: LiveTaskRef,
    pub(super) after: Revision,
}

/// Result of a claim.
pub(super) enum Claim {
    /// No equal message is being processed.
    First(ClaimGuard),
    /// An equal message is being processed in this turn.
    InFlight(InFlightTurn),
}

impl InFlightMessages {
    /// Claims a key. Waits while an equal message is claimed and its turn is not known yet.
    pub(super) async fn claim(self: &Arc<Self>, key: IdempotencyKey) -> Claim {
        loop {
            let changed = self.changed(key).notified();
            if let Some(claim) = self.try_claim(key) {
                return claim;
            }
            changed.await;
        }
    }

    /// Claims a key, or returns the turn of an equal message. `None` while that message has no turn
    /// yet.
    fn try_claim(self: &Arc<Self>, key: IdempotencyKey) -> Option<Claim> {
        let mut entry = self.turns.entry(&key);
        match entry.get() {
            Some(turn) => turn.clone().map(Claim::InFlight),
            None => {
                entry.insert(key, None);
                Some(Claim::First(ClaimGuard { messages: Arc::clone(self), key }))
            }
        }
    }

    fn changed(&self, key: IdempotencyKey) -> &Notify {
        &self.changed[usize::from(key.0[0]) % SHARDS]
    }
}

/// Claim on an idempotency key. It is dropped when the store has the record or the message failed;
/// dropping it lets the next equal message proceed.
#[derive(Debug)]
pub(super) struct ClaimGuard {
    messages: Arc<InFlightMessages>,
    key: IdempotencyKey,
}

impl ClaimGuard {
    /// Publishes the turn of the message to waiting duplicates.
    pub(super) fn set_location(&self, turn: InFlightTurn) {
        self.messages.turns.entry(&self.key).insert(self.key, Some(turn));
        self.messages.changed(self.key).notify_waiters();
    }
}

impl Drop for ClaimGuard {
    fn drop(&mut self) {
        // Removed under the lock and dropped after it: dropping a `LiveTaskRef` takes another lock.
        let turn = self.messages.turns.entry(&self.key).remove();
        drop(turn);
        self.messages.changed(self.key).notify_waiters();
    }
}

impl Engine {
    /// Checks whether a message was sent before. Costs one read of the store for a new message.
    pub(super) async fn check_duplicate(
        &self,
        inbound: &InboundMessage,
        key: &TaskKey,
        names_task: bool,
    ) -> Result<DuplicateCheck, Error> {
        let window = inbound.agent.policy().idempotency_window;
        let exempt = window.is_zero()
            || !inbound.dialect.has_message_ids()
            || inbound.agent.executor().accepts_duplicate(&inbound.message);
        if exempt {
            return Ok(DuplicateCheck::Exempt);
        }
        let idempotency_key = idempotency_key(key, names_task, &inbound.message, &inbound.metadata);
        let claim = match self.0.in_flight_messages.claim(idempotency_key).await {
            Claim::First(claim) => claim,
            Claim::InFlight(InFlightTurn { live, after }) => {
                let attachment = attach(&live, inbound.reply_mode);
                let task_dialect = inbound.dialect;
                let kind = SubmissionKind::Duplicate;
                return Ok(DuplicateCheck::Duplicate(Submission {
                    attachment,
                    after,
                    prior_task: None,
                    task_dialect,
                    kind,
                    attached_turn: None,
                    turn_start: None,
                }));
            }
        };
        let now = ids::now();
        let prior =
            self.store().find_prior_outcome(&idempotency_key, now).await.map_err(store_error)?;
        Ok(match prior {
            Some(prior) => {
                DuplicateCheck::Duplicate(self.replay_prior_outcome(inbound, prior).await?)
            }
            None => {
                let window = i64::try_from(window.as_millis()).unwrap_or(i64::MAX);
                let expires = now.as_millis().saturating_add(window);
                let expires = Timestamp::from_millis(expires).unwrap_or(now);
                DuplicateCheck::First(
                    IdempotencyRecord { key: idempotency_key, expires_at: expires },
                    Arc::new(claim),
                )
            }
        })
    }

    /// Creates a submission that returns the original result of a message.
    async fn replay_prior_outcome(
        &self,
        inbound: &InboundMessage,
        prior: PriorOutcome,
    ) -> Result<Submission, Error> {
        let task_dialect = inbound.dialect;
        match prior {
            PriorOutcome::Task { key, revision } => {
                let live = self.0.live_tasks.get_or_create(&key);
                let stored = self.store().load(&key).await.map_err(store_error)?;
                let stored = stored.ok_or_else(|| Error::task_not_found(&key.id))?;
                let stored = self.ensure_recovered(stored).await?;
                live.sync_from_store(&stored);
                // The append that ends at `revision` contains the message or follows it.
                let after = Revision::new(revision.get() - 1);
                let attachment = attach(&live, inbound.reply_mode);
                Ok(Submission {
                    attachment,
                    after,
                    prior_task: None,
                    task_dialect,
                    kind: SubmissionKind::Duplicate,
                    attached_turn: None,
                    turn_start: None,
                })
            }
            PriorOutcome::DirectReply(message) => {
                let key = inbound.scope.new_task_key(inbound.agent.name(), ids::task())?;
                let live = self.0.live_tasks.create(key);
                live.lock().direct_reply = Some(message);
                let attachment = attach(&live, inbound.reply_mode);
                let after = Revision::START;
                Ok(Submission {
                    attachment,
                    after,
                    prior_task: None,
                    task_dialect,
                    kind: SubmissionKind::Duplicate,
                    attached_turn: None,
                    turn_start: None,
                })
            }
        }
    }
}

/// Computes the idempotency key of a message from caller, agent, named task, message and request
/// metadata.
pub(super) fn idempotency_key(
    key: &TaskKey,
    names_task: bool,
    message: &Message,
    metadata: &Metadata,
) -> IdempotencyKey {
    let mut digest = Sha256::new();
    let task_id = if names_task { key.id.as_str() } else { "" };
    for text in [&*key.owner, &*key.agent, task_id, message.message_id.as_str()] {
        digest.update((text.len() as u64).to_le_bytes());
        digest.update(text);
    }
    let mut body = Vec::with_capacity(512);
    // Serializing the model into a vector cannot fail.
    let serialized = serde_json::to_writer(&mut body, &(message, metadata));
    debug_assert!(serialized.is_ok());
    digest.update(&body);
    let digest = digest.finalize();
    let mut truncated = [0; 16];
    truncated.copy_from_slice(&digest[..16]);
    IdempotencyKey(truncated)
}
