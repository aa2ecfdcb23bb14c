//! Webhooks: registered, advanced, removed.

use latimer_protocol::{PushConfigId, Revision, Timestamp};
use rusqlite::{OptionalExtension, params};

use super::{Desk, Work};
use crate::sqlite::codec;
use crate::{Added, DeadLetter, Error, Key, Progress, Step, Webhook};

/// A webhook, spelled out on the thread of whoever registers it.
pub(in crate::sqlite) struct NewWebhook {
    pub(in crate::sqlite) webhook: Webhook,
    /// Sealed.
    pub(in crate::sqlite) config: Vec<u8>,
}

/// Registers a webhook with a task that is there.
pub(in crate::sqlite) struct AddWebhook {
    pub(in crate::sqlite) new: NewWebhook,
    pub(in crate::sqlite) limit: usize,
}

impl Work for AddWebhook {
    type Answer = Added;

    fn run(&mut self, desk: &mut Desk) -> rusqlite::Result<Result<Added, Error>> {
        let Webhook { task, id, .. } = &self.new.webhook;
        let Some(number) = desk.number_of(task)? else { return Ok(Ok(Added::NoTask)) };
        let others = "SELECT count(*) FROM webhooks WHERE task = ?1 AND id <> ?2";
        let others: i64 = desk
            .connection
            .prepare_cached(others)?
            .query_row(params![number, id.as_str()], |row| row.get(0))?;
        if usize::try_from(others).is_ok_and(|it| it >= self.limit) {
            return Ok(Ok(Added::TooMany));
        }
        desk.add_webhook(number, &self.new)?;
        Ok(Ok(Added::Yes))
    }
}

/// Removes a webhook; false when it is not there.
pub(in crate::sqlite) struct RemoveWebhook {
    pub(in crate::sqlite) task: Key,
    pub(in crate::sqlite) id: PushConfigId,
}

impl Work for RemoveWebhook {
    type Answer = bool;

    fn run(&mut self, desk: &mut Desk) -> rusqlite::Result<Result<bool, Error>> {
        let Some(task) = desk.number_of(&self.task)? else { return Ok(Ok(false)) };
        let connection = &desk.connection;
        let remove = "DELETE FROM webhooks WHERE task = ?1 AND id = ?2 RETURNING number";
        let removed: Option<i64> = connection
            .prepare_cached(remove)?
            .query_row(params![task, self.id.as_str()], |row| row.get(0))
            .optional()?;
        if let Some(webhook) = removed {
            let forget = "DELETE FROM dead_letters WHERE webhook = ?1";
            connection.prepare_cached(forget)?.execute([webhook])?;
        }
        Ok(Ok(removed.is_some()))
    }
}

/// Writes down how far a webhook got.
pub(in crate::sqlite) struct Advance(pub(in crate::sqlite) Step);

impl Work for Advance {
    type Answer = bool;

    fn run(&mut self, desk: &mut Desk) -> rusqlite::Result<Result<bool, Error>> {
        let Step { task, webhook, generation, from, to, dead } = &self.0;
        let Some(task) = desk.number_of(task)? else { return Ok(Ok(false)) };
        let connection = &desk.connection;
        let Progress { seen, attempts, failing_since, due } = to;
        let advance = "UPDATE webhooks SET seen = ?4, attempts = ?5, failing_since = ?6, due = ?7
             WHERE task = ?1 AND id = ?2 AND seen = ?3 AND generation = ?8 RETURNING number";
        let advanced: Option<i64> = connection
            .prepare_cached(advance)?
            .query_row(
                params![
                    task,
                    webhook.as_str(),
                    signed(*from),
                    signed(*seen),
                    attempts,
                    millis(*failing_since),
                    millis(*due),
                    i64::try_from(*generation).unwrap_or(i64::MAX)
                ],
                |row| row.get(0),
            )
            .optional()?;
        if let (Some(number), Some(dead)) = (advanced, dead) {
            let bury = "INSERT OR REPLACE INTO dead_letters
                 (webhook, id, revision, attempts, at, reason) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
            let DeadLetter { id, revision, attempts, at, reason, .. } = dead;
            let at = at.as_millis();
            let letter = params![number, id, signed(*revision), attempts, at, reason];
            connection.prepare_cached(bury)?.execute(letter)?;
        }
        Ok(Ok(advanced.is_some()))
    }
}

/// Forgets a dead letter; false when it is not there.
pub(in crate::sqlite) struct RemoveDead(pub(in crate::sqlite) String);

impl Work for RemoveDead {
    type Answer = bool;

    fn run(&mut self, desk: &mut Desk) -> rusqlite::Result<Result<bool, Error>> {
        let remove = "DELETE FROM dead_letters WHERE id = ?1";
        let removed = desk.connection.prepare_cached(remove)?.execute([&self.0])?;
        Ok(Ok(removed > 0))
    }
}

impl Desk {
    /// Registers a webhook with the task of this number. One of the same name goes on from where
    /// the other was.
    pub(super) fn add_webhook(&mut self, task: i64, new: &NewWebhook) -> rusqlite::Result<()> {
        self.has_webhooks = true;
        let NewWebhook { webhook: Webhook { id, dialect, progress, .. }, config } = new;
        let add = "INSERT INTO webhooks
             (task, id, dialect, seen, attempts, failing_since, due, format, config)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
             ON CONFLICT (task, id) DO UPDATE SET dialect = excluded.dialect,
                 generation = generation + 1, attempts = 0,
                 failing_since = NULL, due = NULL, format = excluded.format,
                 config = excluded.config";
        let dialect = codec::dialect_number(*dialect);
        let Progress { seen, attempts, failing_since, due } = progress;
        self.connection.prepare_cached(add)?.execute(params![
            task,
            id.as_str(),
            dialect,
            signed(*seen),
            attempts,
            millis(*failing_since),
            millis(*due),
            codec::PLAIN,
            config,
        ])?;
        Ok(())
    }

    /// Removes the webhooks of a task that goes, with what they gave up.
    pub(super) fn remove_webhooks(&self, task: i64) -> rusqlite::Result<()> {
        if !self.has_webhooks {
            return Ok(());
        }
        let forget = "DELETE FROM dead_letters
             WHERE webhook IN (SELECT number FROM webhooks WHERE task = ?1)";
        self.connection.prepare_cached(forget)?.execute([task])?;
        self.connection.prepare_cached("DELETE FROM webhooks WHERE task = ?1")?.execute([task])?;
        Ok(())
    }

    fn number_of(&self, task: &Key) -> rusqlite::Result<Option<i64>> {
        let Key { caller, agent, id } = task;
        let find = "SELECT number FROM tasks WHERE id = ?1 AND caller = ?2 AND agent = ?3";
        let mut find = self.connection.prepare_cached(find)?;
        find.query_row(params![id.as_str(), caller, agent], |row| row.get(0)).optional()
    }
}

fn millis(time: Option<Timestamp>) -> Option<i64> {
    time.map(Timestamp::as_millis)
}

fn signed(revision: Revision) -> i64 {
    i64::try_from(revision.get()).unwrap_or(i64::MAX)
}
