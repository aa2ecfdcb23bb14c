//! Webhooks, and what they gave up.

use latimer_protocol::{PushConfigId, TaskId, TaskPushNotificationConfig, TaskState, Timestamp};
use rusqlite::{Connection, OptionalExtension, Params, Row};

use crate::sqlite::codec;
use crate::sqlite::failure::{Damage, unavailable};
use crate::sqlite::seal::Seal;
use crate::{DeadLetter, Error, Key, Progress, Webhook};

const OF_A_TASK: &str = "SELECT w.id, w.dialect, w.seen, w.attempts, w.failing_since, w.due,
         w.format, w.config, w.generation
     FROM tasks t JOIN webhooks w ON w.task = t.number
     WHERE t.id = ?1 AND t.caller = ?2 AND t.agent = ?3";

/// The webhooks of a task, in the order in which they were registered.
pub(in crate::sqlite) fn webhooks(
    db: &Connection,
    task: &Key,
    seal: &Seal,
) -> Result<Vec<Webhook>, Error> {
    let select = format!("{OF_A_TASK} ORDER BY w.number");
    let Key { caller, agent, id } = task;
    let read = |row: &Row<'_>| read_webhook(row, task, seal);
    collect(db, &select, (id.as_str(), caller, agent), read).map_err(|damage| damage.of(id))
}

/// One webhook of a task.
pub(in crate::sqlite) fn webhook(
    db: &Connection,
    task: &Key,
    name: &PushConfigId,
    seal: &Seal,
) -> Result<Option<Webhook>, Error> {
    let select = format!("{OF_A_TASK} AND w.id = ?4");
    let Key { caller, agent, id } = task;
    let which = (id.as_str(), caller, agent, name.as_str());
    let read = |row: &Row<'_>| read_webhook(row, task, seal);
    collect(db, &select, which, read).map(|it| it.into_iter().next()).map_err(|it| it.of(id))
}

/// Webhooks whose tasks go on, or have events that they have not seen.
pub(in crate::sqlite) fn active(db: &Connection) -> Result<Vec<(Key, PushConfigId)>, Error> {
    let select = "SELECT t.caller, t.agent, t.id, w.id, t.state, w.seen < t.revision
         FROM webhooks w JOIN tasks t ON t.number = w.task ORDER BY w.number";
    let read = |row: &Row<'_>| {
        let state: TaskState = codec::read_state(row.get(4)?)?;
        let active = !state.is_terminal() || row.get(5)?;
        Ok(active.then_some((read_key(row)?, read_id(row, 3)?)))
    };
    let passing = |row: &Row<'_>| match read(row) {
        // What cannot be read does not keep the others from going on.
        Err(Damage::Row(_)) => Ok(None),
        read => read,
    };
    let found = collect(db, select, [], passing).map_err(damaged)?;
    Ok(found.into_iter().flatten().collect())
}

const LETTER: &str = "SELECT t.caller, t.agent, t.id, w.id, d.id, d.revision, d.attempts, d.at,
         d.reason
     FROM dead_letters d JOIN webhooks w ON w.number = d.webhook JOIN tasks t ON t.number = w.task";

/// What was given up, the earliest first.
pub(in crate::sqlite) fn dead_letters(
    db: &Connection,
    limit: usize,
) -> Result<Vec<DeadLetter>, Error> {
    let select = format!("{LETTER} ORDER BY d.number LIMIT ?1");
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    collect(db, &select, [limit], read_letter).map_err(damaged)
}

/// One of them.
pub(in crate::sqlite) fn dead_letter(
    db: &Connection,
    id: &str,
) -> Result<Option<DeadLetter>, Error> {
    let select = format!("{LETTER} WHERE d.id = ?1");
    let found = db
        .prepare_cached(&select)
        .and_then(|mut it| it.query_row([id], |row| Ok(read_letter(row))).optional());
    found.map_err(unavailable)?.transpose().map_err(damaged)
}

fn collect<T>(
    db: &Connection,
    select: &str,
    which: impl Params,
    read: impl Fn(&Row<'_>) -> Result<T, Damage>,
) -> Result<Vec<T>, Damage> {
    let mut select = db.prepare_cached(select)?;
    let mut rows = select.query(which)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read(row)?);
    }
    Ok(found)
}

fn read_webhook(row: &Row<'_>, task: &Key, seal: &Seal) -> Result<Webhook, Damage> {
    let id = read_id(row, 0)?;
    let config = seal.unseal(row.get_ref(7)?.as_blob()?, &about(task, &id)).map_err(Damage::new)?;
    let config: TaskPushNotificationConfig = codec::read_config(row.get(6)?, &config)?;
    Ok(Webhook {
        task: task.clone(),
        id,
        config,
        dialect: codec::read_dialect(row.get(1)?)?,
        generation: row.get::<_, i64>(8)?.unsigned_abs(),
        progress: Progress {
            seen: codec::read_revision(row.get(2)?)?,
            attempts: row.get(3)?,
            failing_since: read_time(row.get(4)?)?,
            due: read_time(row.get(5)?)?,
        },
    })
}

fn read_letter(row: &Row<'_>) -> Result<DeadLetter, Damage> {
    Ok(DeadLetter {
        id: row.get(4)?,
        task: read_key(row)?,
        webhook: read_id(row, 3)?,
        revision: codec::read_revision(row.get(5)?)?,
        attempts: row.get(6)?,
        at: Timestamp::from_millis(row.get(7)?).map_err(Damage::new)?,
        reason: row.get(8)?,
    })
}

fn read_key(row: &Row<'_>) -> Result<Key, Damage> {
    let id = TaskId::new(row.get_ref(2)?.as_str()?).map_err(Damage::new)?;
    Ok(Key { caller: row.get(0)?, agent: row.get(1)?, id })
}

fn read_id(row: &Row<'_>, at: usize) -> Result<PushConfigId, Damage> {
    PushConfigId::new(row.get_ref(at)?.as_str()?).map_err(Damage::new)
}

fn read_time(millis: Option<i64>) -> Result<Option<Timestamp>, Damage> {
    millis.map(Timestamp::from_millis).transpose().map_err(Damage::new)
}

/// What the configuration of a webhook is about: it is of no use anywhere else.
pub(in crate::sqlite) fn about(task: &Key, id: &PushConfigId) -> String {
    let Key { caller, agent, id: task } = task;
    format!("webhook\n{caller}\n{agent}\n{}\n{}", task.as_str(), id.as_str())
}

fn damaged(damage: Damage) -> Error {
    match damage {
        Damage::Row(why) => unavailable(why),
        Damage::Database(error) => unavailable(error),
    }
}
