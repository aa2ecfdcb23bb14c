//! What came of messages.

use latimer_protocol::{Revision, TaskId, Timestamp};
use rusqlite::{Connection, Row, params};

use crate::sqlite::codec;
use crate::sqlite::failure::{Damage, unavailable};
use crate::{Error, Key, Outcome, SentKey};

/// How many messages to look at in one go: as many as the writer may have to remove.
const MAX_LOOK: i64 = 1_000;

/// What came of a message, unless that was forgotten.
pub(in crate::sqlite) fn sent(
    db: &Connection,
    key: &SentKey,
    now: Timestamp,
) -> Result<Option<Outcome>, Error> {
    let find = || {
        let mut find = db.prepare_cached(
            "SELECT s.format, s.answer, s.revision, t.caller, t.agent, t.id
             FROM sent s LEFT JOIN tasks t ON t.number = s.task
             WHERE s.key = ?1 AND s.expires > ?2",
        )?;
        let mut rows = find.query(params![key.0, now.as_millis()])?;
        rows.next()?.map_or(Ok(None), read)
    };
    // An answer has no task to blame; whoever asks may send the message again.
    find().map_err(|damage| match damage {
        Damage::Row(why) => unavailable(why),
        Damage::Database(why) => unavailable(why),
    })
}

fn read(row: &Row<'_>) -> Result<Option<Outcome>, Damage> {
    if let Some(format) = row.get(0)? {
        let answer = codec::read_message(format, row.get_ref(1)?.as_blob()?)?;
        return Ok(Some(Outcome::Message(answer)));
    }
    // Forgotten with its task.
    let Some(caller) = row.get(3)? else { return Ok(None) };
    let id = TaskId::new(row.get_ref(5)?.as_str()?).map_err(Damage::new)?;
    let revision = row.get::<_, i64>(2)?.unsigned_abs();
    let key = Key { caller, agent: row.get(4)?, id };
    Ok(Some(Outcome::Task { key, revision: Revision::new(revision) }))
}

/// Some messages that have expired, of those behind `last`.
pub(in crate::sqlite) struct Expired {
    /// Which.
    pub(in crate::sqlite) keys: Vec<SentKey>,
    /// The last that was looked at, when there may be more.
    pub(in crate::sqlite) last: Option<SentKey>,
}

/// Looks for messages that have expired. There is no order of expiry to look in, which every append
/// would pay for: it looks at all of them, some at a time.
pub(in crate::sqlite) fn expired(
    db: &Connection,
    behind: Option<SentKey>,
    now: Timestamp,
) -> Result<Expired, Error> {
    let look = || -> rusqlite::Result<Expired> {
        let behind: &[u8] = behind.as_ref().map_or(&[], |it| &it.0);
        let select = "SELECT key, expires FROM sent WHERE key > ?1 ORDER BY key LIMIT ?2";
        let mut select = db.prepare_cached(select)?;
        let mut rows = select.query(params![behind, MAX_LOOK])?;
        let (mut keys, mut looked, mut last) = (Vec::new(), 0, None);
        while let Some(row) = rows.next()? {
            let key = SentKey(row.get(0)?);
            if row.get::<_, i64>(1)? <= now.as_millis() {
                keys.push(key);
            }
            looked += 1;
            last = Some(key);
        }
        Ok(Expired { keys, last: last.filter(|_| looked == MAX_LOOK) })
    };
    look().map_err(unavailable)
}
