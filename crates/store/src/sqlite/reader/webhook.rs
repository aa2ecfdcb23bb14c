//! Queries for webhooks and dead letters.

use latimer_protocol::{PushConfigId, TaskId, TaskPushNotificationConfig, TaskState, Timestamp};
use rusqlite::{Connection, OptionalExtension, Params, Row};

use crate::sqlite::codec;
use crate::sqlite::error::{RowError, unavailable};
use crate::sqlite::seal::Seal;
use crate::{DeadLetter, DeliveryProgress, Error, TaskKey, Webhook};

const SELECT_WEBHOOKS: &str = "SELECT w.id, w.dialect, w.seen, w.attempts, w.failing_since, w.due,
         w.format, w.config, w.generation
     FROM tasks t JOIN webhooks w ON w.task = t.number
     WHERE t.id = ?1 AND t.caller = ?2 AND t.agent = ?3";

/// Returns the webhooks of a task in registration order.
pub(in crate::sqlite) fn webhooks(
    db: &Connection,
    task: &TaskKey,
    seal: &Seal,
) -> Result<Vec<Webhook>, Error> {
    let select = format!("{SELECT_WEBHOOKS} ORDER BY w.number");
    let TaskKey { owner, agent, id } = task;
    let read = |row: &Row<'_>| read_webhook(row, task, seal);
    collect(db, &select, (id.as_str(), owner, agent), read)
        .map_err(|error| error.into_store_error(id))
}

/// Returns a webhook of a task.
pub(in crate::sqlite) fn webhook(
    db: &Connection,
    task: &TaskKey,
    config_id: &PushConfigId,
    seal: &Seal,
) -> Result<Option<Webhook>, Error> {
    let select = format!("{SELECT_WEBHOOKS} AND w.id = ?4");
    let TaskKey { owner, agent, id } = task;
    let params = (id.as_str(), owner, agent, config_id.as_str());
    let read = |row: &Row<'_>| read_webhook(row, task, seal);
    collect(db, &select, params, read)
        .map(|it| it.into_iter().next())
        .map_err(|it| it.into_store_error(id))
}

/// Returns the webhooks whose task is not terminal or has events after the cursor. Those of held
/// tasks are not active.
pub(in crate::sqlite) fn active_webhooks(
    db: &Connection,
) -> Result<Vec<(TaskKey, PushConfigId)>, Error> {
    let select = "SELECT t.caller, t.agent, t.id, w.id, t.state, w.seen < t.revision
         FROM webhooks w JOIN tasks t ON t.number = w.task
         WHERE t.state >= 0 ORDER BY w.number";
    let read = |row: &Row<'_>| {
        let state: TaskState = codec::read_state(row.get(4)?)?;
        let active = !state.is_terminal() || row.get(5)?;
        Ok(active.then_some((read_key(row)?, read_id(row, 3)?)))
    };
    let skip_corrupt = |row: &Row<'_>| match read(row) {
        // A corrupt row must not stop deliveries to other webhooks.
        Err(RowError::Corrupt(_)) => Ok(None),
        read => read,
    };
    let active = collect(db, select, [], skip_corrupt).map_err(into_unavailable)?;
    Ok(active.into_iter().flatten().collect())
}

const SELECT_DEAD_LETTERS: &str =
    "SELECT t.caller, t.agent, t.id, w.id, d.id, d.revision, d.attempts, d.at,
         d.reason
     FROM dead_letters d JOIN webhooks w ON w.number = d.webhook JOIN tasks t ON t.number = w.task";

/// Returns dead letters, the oldest first.
pub(in crate::sqlite) fn dead_letters(
    db: &Connection,
    limit: usize,
) -> Result<Vec<DeadLetter>, Error> {
    let select = format!("{SELECT_DEAD_LETTERS} ORDER BY d.number LIMIT ?1");
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    collect(db, &select, [limit], read_dead_letter).map_err(into_unavailable)
}

/// Returns a dead letter by its id.
pub(in crate::sqlite) fn dead_letter(
    db: &Connection,
    id: &str,
) -> Result<Option<DeadLetter>, Error> {
    let select = format!("{SELECT_DEAD_LETTERS} WHERE d.id = ?1");
    let row = db
        .prepare_cached(&select)
        .and_then(|mut it| it.query_row([id], |row| Ok(read_dead_letter(row))).optional());
    row.map_err(unavailable)?.transpose().map_err(into_unavailable)
}

fn collect<T>(
    db: &Connection,
    select: &str,
    params: impl Params,
    read: impl Fn(&Row<'_>) -> Result<T, RowError>,
) -> Result<Vec<T>, RowError> {
    let mut select = db.prepare_cached(select)?;
    let mut rows = select.query(params)?;
    let mut values = Vec::new();
    while let Some(row) = rows.next()? {
        values.push(read(row)?);
    }
    Ok(values)
}

fn read_webhook(row: &Row<'_>, task: &TaskKey, seal: &Seal) -> Result<Webhook, RowError> {
    let id = read_id(row, 0)?;
    let config = seal
        .unseal(row.get_ref(7)?.as_blob()?, &webhook_associated_data(task, &id))
        .map_err(RowError::corrupt)?;
    let config: TaskPushNotificationConfig = codec::read_config(row.get(6)?, &config)?;
    Ok(Webhook {
        task: task.clone(),
        id,
        config,
        dialect: codec::read_dialect(row.get(1)?)?,
        generation: row.get::<_, i64>(8)?.unsigned_abs(),
        progress: DeliveryProgress {
            cursor: codec::read_revision(row.get(2)?)?,
            attempts: row.get(3)?,
            failing_since: read_time(row.get(4)?)?,
            next_attempt_at: read_time(row.get(5)?)?,
        },
    })
}

fn read_dead_letter(row: &Row<'_>) -> Result<DeadLetter, RowError> {
    Ok(DeadLetter {
        id: row.get(4)?,
        task: read_key(row)?,
        webhook: read_id(row, 3)?,
        revision: codec::read_revision(row.get(5)?)?,
        attempts: row.get(6)?,
        abandoned_at: Timestamp::from_millis(row.get(7)?).map_err(RowError::corrupt)?,
        reason: row.get(8)?,
    })
}

fn read_key(row: &Row<'_>) -> Result<TaskKey, RowError> {
    let id = TaskId::new(row.get_ref(2)?.as_str()?).map_err(RowError::corrupt)?;
    Ok(TaskKey { owner: row.get(0)?, agent: row.get(1)?, id })
}

fn read_id(row: &Row<'_>, column: usize) -> Result<PushConfigId, RowError> {
    PushConfigId::new(row.get_ref(column)?.as_str()?).map_err(RowError::corrupt)
}

fn read_time(millis: Option<i64>) -> Result<Option<Timestamp>, RowError> {
    millis.map(Timestamp::from_millis).transpose().map_err(RowError::corrupt)
}

/// Returns the associated data of a sealed webhook configuration. It binds the configuration to its
/// webhook.
pub(in crate::sqlite) fn webhook_associated_data(task: &TaskKey, id: &PushConfigId) -> String {
    let TaskKey { owner: caller, agent, id: task } = task;
    format!("webhook\n{caller}\n{agent}\n{}\n{}", task.as_str(), id.as_str())
}

fn into_unavailable(error: RowError) -> Error {
    match error {
        RowError::Corrupt(source) => unavailable(source),
        RowError::Database(error) => unavailable(error),
    }
}
