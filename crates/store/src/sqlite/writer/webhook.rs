//! Write operations of webhooks and dead letters.

use latimer_protocol::{PushConfigId, Revision, Timestamp};
use rusqlite::{OptionalExtension, params};

use super::{WriteOp, WriterState};
use crate::sqlite::codec;
use crate::{
    AddWebhookOutcome, DeadLetter, DeliveryProgress, Error, ProgressUpdate, TaskKey, Webhook,
};

/// Webhook that was encoded and encrypted on the caller's thread.
pub(in crate::sqlite) struct PreparedWebhook {
    pub(in crate::sqlite) webhook: Webhook,
    /// Encrypted configuration.
    pub(in crate::sqlite) sealed_config: Vec<u8>,
}

/// Registers a webhook of an existing task.
pub(in crate::sqlite) struct AddWebhook {
    pub(in crate::sqlite) prepared: PreparedWebhook,
    pub(in crate::sqlite) limit: usize,
}

impl WriteOp for AddWebhook {
    type Output = AddWebhookOutcome;

    fn run(
        &mut self,
        writer: &mut WriterState,
    ) -> rusqlite::Result<Result<AddWebhookOutcome, Error>> {
        let Webhook { task, id, .. } = &self.prepared.webhook;
        let Some(number) = writer.find_task_number(task)? else {
            return Ok(Ok(AddWebhookOutcome::TaskNotFound));
        };
        let others = "SELECT count(*) FROM webhooks WHERE task = ?1 AND id <> ?2";
        let others: i64 = writer
            .connection
            .prepare_cached(others)?
            .query_row(params![number, id.as_str()], |row| row.get(0))?;
        if usize::try_from(others).is_ok_and(|it| it >= self.limit) {
            return Ok(Ok(AddWebhookOutcome::LimitReached));
        }
        writer.add_webhook(number, &self.prepared)?;
        Ok(Ok(AddWebhookOutcome::Added))
    }
}

/// Removes a webhook with its dead letters. Returns `false` if it does not exist.
pub(in crate::sqlite) struct RemoveWebhook {
    pub(in crate::sqlite) task: TaskKey,
    pub(in crate::sqlite) id: PushConfigId,
}

impl WriteOp for RemoveWebhook {
    type Output = bool;

    fn run(&mut self, writer: &mut WriterState) -> rusqlite::Result<Result<bool, Error>> {
        let Some(task_number) = writer.find_task_number(&self.task)? else { return Ok(Ok(false)) };
        let connection = &writer.connection;
        let remove = "DELETE FROM webhooks WHERE task = ?1 AND id = ?2 RETURNING number";
        let removed: Option<i64> = connection
            .prepare_cached(remove)?
            .query_row(params![task_number, self.id.as_str()], |row| row.get(0))
            .optional()?;
        if let Some(webhook) = removed {
            let delete = "DELETE FROM dead_letters WHERE webhook = ?1";
            connection.prepare_cached(delete)?.execute([webhook])?;
        }
        Ok(Ok(removed.is_some()))
    }
}

/// Updates the progress of a webhook and stores a dead letter. Returns `false` if the webhook has
/// changed.
pub(in crate::sqlite) struct AdvanceWebhook(pub(in crate::sqlite) ProgressUpdate);

impl WriteOp for AdvanceWebhook {
    type Output = bool;

    fn run(&mut self, writer: &mut WriterState) -> rusqlite::Result<Result<bool, Error>> {
        let ProgressUpdate { task, webhook, generation, from, to, dead_letter } = &self.0;
        let Some(task_number) = writer.find_task_number(task)? else { return Ok(Ok(false)) };
        let connection = &writer.connection;
        let DeliveryProgress { cursor, attempts, failing_since, next_attempt_at } = to;
        let advance = "UPDATE webhooks SET seen = ?4, attempts = ?5, failing_since = ?6, due = ?7
             WHERE task = ?1 AND id = ?2 AND seen = ?3 AND generation = ?8 RETURNING number";
        let advanced: Option<i64> = connection
            .prepare_cached(advance)?
            .query_row(
                params![
                    task_number,
                    webhook.as_str(),
                    sql_revision(*from),
                    sql_revision(*cursor),
                    attempts,
                    millis(*failing_since),
                    millis(*next_attempt_at),
                    i64::try_from(*generation).unwrap_or(i64::MAX)
                ],
                |row| row.get(0),
            )
            .optional()?;
        if let (Some(number), Some(dead_letter)) = (advanced, dead_letter) {
            let insert = "INSERT OR REPLACE INTO dead_letters
                 (webhook, id, revision, attempts, at, reason) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
            let DeadLetter { id, revision, attempts, abandoned_at, reason, .. } = dead_letter;
            let abandoned_at = abandoned_at.as_millis();
            let values =
                params![number, id, sql_revision(*revision), attempts, abandoned_at, reason];
            connection.prepare_cached(insert)?.execute(values)?;
        }
        Ok(Ok(advanced.is_some()))
    }
}

/// Removes a dead letter. Returns `false` if it does not exist.
pub(in crate::sqlite) struct RemoveDeadLetter(pub(in crate::sqlite) String);

impl WriteOp for RemoveDeadLetter {
    type Output = bool;

    fn run(&mut self, writer: &mut WriterState) -> rusqlite::Result<Result<bool, Error>> {
        let remove = "DELETE FROM dead_letters WHERE id = ?1";
        let removed = writer.connection.prepare_cached(remove)?.execute([&self.0])?;
        Ok(Ok(removed > 0))
    }
}

impl WriterState {
    /// Registers a webhook of a task. Replaces one with the same id and keeps its cursor.
    pub(super) fn add_webhook(
        &mut self,
        task_number: i64,
        prepared: &PreparedWebhook,
    ) -> rusqlite::Result<()> {
        self.has_webhooks = true;
        let PreparedWebhook { webhook: Webhook { id, dialect, progress, .. }, sealed_config } =
            prepared;
        let add = "INSERT INTO webhooks
             (task, id, dialect, seen, attempts, failing_since, due, format, config)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
             ON CONFLICT (task, id) DO UPDATE SET dialect = excluded.dialect,
                 generation = generation + 1, attempts = 0,
                 failing_since = NULL, due = NULL, format = excluded.format,
                 config = excluded.config";
        let dialect = codec::dialect_number(*dialect);
        let DeliveryProgress { cursor, attempts, failing_since, next_attempt_at } = progress;
        self.connection.prepare_cached(add)?.execute(params![
            task_number,
            id.as_str(),
            dialect,
            sql_revision(*cursor),
            attempts,
            millis(*failing_since),
            millis(*next_attempt_at),
            codec::FORMAT_JSON,
            sealed_config,
        ])?;
        Ok(())
    }

    /// Removes the webhooks and dead letters of a task.
    pub(super) fn remove_webhooks(&self, task_number: i64) -> rusqlite::Result<()> {
        if !self.has_webhooks {
            return Ok(());
        }
        let delete = "DELETE FROM dead_letters
             WHERE webhook IN (SELECT number FROM webhooks WHERE task = ?1)";
        self.connection.prepare_cached(delete)?.execute([task_number])?;
        self.connection
            .prepare_cached("DELETE FROM webhooks WHERE task = ?1")?
            .execute([task_number])?;
        Ok(())
    }

    fn find_task_number(&self, task: &TaskKey) -> rusqlite::Result<Option<i64>> {
        let TaskKey { owner, agent, id } = task;
        let find = "SELECT number FROM tasks WHERE id = ?1 AND caller = ?2 AND agent = ?3";
        let mut find = self.connection.prepare_cached(find)?;
        find.query_row(params![id.as_str(), owner, agent], |row| row.get(0)).optional()
    }
}

fn millis(time: Option<Timestamp>) -> Option<i64> {
    time.map(Timestamp::as_millis)
}

fn sql_revision(revision: Revision) -> i64 {
    i64::try_from(revision.get()).unwrap_or(i64::MAX)
}
