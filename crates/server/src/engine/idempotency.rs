//! Messages that are sent again.
//!
//! Somebody who did not get an answer sends the same message again. It is recognised while the first
//! is being worked on here, and afterwards by the store.

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

/// Whether a message was sent before.
pub(super) enum DuplicateCheck {
    /// Nobody asks.
    Exempt,
    /// It was not.
    First(IdempotencyRecord, Arc<ClaimGuard>),
    /// It was, and this came of it.
    Duplicate(Submission),
}

/// What to remember of a message, if it is to be recognised.
pub(super) type IdempotencyClaim = Option<(IdempotencyRecord, Arc<ClaimGuard>)>;

/// Messages that are being worked on.
#[derive(Debug, Default)]
pub(super) struct InFlightMessages {
    /// Where each is being worked on, as soon as that is known.
    turns: ShardedMap<IdempotencyKey, Option<InFlightTurn>, SHARDS>,
    /// Notified when a turn becomes known or a claim ends; selected by a byte of the key.
    changed: [Notify; SHARDS],
}

const SHARDS: usize = 16;

/// Where a message is being worked on, and the revision of its task before it.
#[derive(Clone, Debug)]
pub(super) struct InFlightTurn {
    pub(super) live: LiveTaskRef,
    pub(super) after: Revision,
}

/// What a message is.
pub(super) enum Claim {
    /// The first of its kind.
    First(ClaimGuard),
    /// Another one of what is being worked on.
    InFlight(InFlightTurn),
}

impl InFlightMessages {
    /// Enters a message. Waits while it is unknown where an equal one is worked on.
    pub(super) async fn claim(self: &Arc<Self>, key: IdempotencyKey) -> Claim {
        loop {
            let changed = self.changed(key).notified();
            if let Some(claim) = self.try_claim(key) {
                return claim;
            }
            changed.await;
        }
    }

    /// Claims a key, or returns the turn that an equal message started. None while the equal message
    /// has no turn yet.
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

/// The first message of its kind. Dropped when the store knows it, or nothing came of it.
#[derive(Debug)]
pub(super) struct ClaimGuard {
    messages: Arc<InFlightMessages>,
    key: IdempotencyKey,
}

impl ClaimGuard {
    /// Says where the message is worked on.
    pub(super) fn set_location(&self, turn: InFlightTurn) {
        self.messages.turns.entry(&self.key).insert(self.key, Some(turn));
        self.messages.changed(self.key).notify_waiters();
    }
}

impl Drop for ClaimGuard {
    fn drop(&mut self) {
        // The guard of a live task takes another lock when it goes.
        let turn = self.messages.turns.entry(&self.key).remove();
        drop(turn);
        self.messages.changed(self.key).notify_waiters();
    }
}

impl Engine {
    /// Finds out whether a message was sent before.
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
                let (prior_task, attached_turn) = (None, None);
                return Ok(DuplicateCheck::Duplicate(Submission {
                    attachment,
                    after,
                    prior_task,
                    task_dialect,
                    kind,
                    attached_turn,
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

    /// What came of a message that was sent before.
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
                live.sync_from_store(&stored);
                // The message is in the append that ends here, if not before.
                let after = Revision::new(revision.get() - 1);
                let attachment = attach(&live, inbound.reply_mode);
                Ok(Submission {
                    attachment,
                    after,
                    prior_task: None,
                    task_dialect,
                    kind: SubmissionKind::Duplicate,
                    attached_turn: None,
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
                })
            }
        }
    }
}

/// The digest by which a message is recognised: whose, for whom, in which task, and what.
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
    // What was read from JSON can be written as JSON, and a vector takes all of it.
    let serialized = serde_json::to_writer(&mut body, &(message, metadata));
    debug_assert!(serialized.is_ok());
    digest.update(&body);
    let digest = digest.finalize();
    let mut truncated = [0; 16];
    truncated.copy_from_slice(&digest[..16]);
    IdempotencyKey(truncated)
}
