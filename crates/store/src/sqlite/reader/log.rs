//! The events of a task.

use latimer_protocol::{ContextId, Revision};
use rusqlite::{Connection, params};

use crate::sqlite::codec;
use crate::sqlite::failure::Damage;
use crate::sqlite::place;
use crate::sqlite::short::Names;
use crate::{Error, Key, Logged};

/// The events of a task behind a revision, at most `limit` of them.
pub(in crate::sqlite) fn events(
    db: &Connection,
    key: &Key,
    after: Revision,
    limit: usize,
) -> Result<Vec<Logged>, Error> {
    let read = || {
        let find = "SELECT number, revision, format, body, context FROM tasks
             WHERE caller = ?1 AND id = ?2 AND agent = ?3";
        let mut find = db.prepare_cached(find)?;
        let mut rows = find.query(params![key.caller, key.id.as_str(), key.agent])?;
        let Some(row) = rows.next()? else { return Ok(Vec::new()) };
        let Some(format) = row.get(2)? else {
            // A task that goes in between has no events any more, which is as good an answer.
            return collect(db, row.get(0)?, after, limit);
        };
        let context = ContextId::new(row.get_ref(4)?.as_str()?).map_err(Damage::new)?;
        let names = Names { task: &key.id, context: &context };
        let events = codec::read_row(format, row.get(1)?, row.get_ref(3)?.as_blob()?, names)?;
        let numbers = (1..).map(Revision::new);
        let logged = numbers.zip(events).map(|(revision, event)| Logged { revision, event });
        Ok(logged.filter(|it| it.revision > after).take(limit).collect())
    };
    read().map_err(|damage: Damage| damage.of(&key.id))
}

fn collect(
    db: &Connection,
    task: i64,
    after: Revision,
    limit: usize,
) -> Result<Vec<Logged>, Damage> {
    // The row in which the first of them is may begin before it.
    let mut select = db.prepare_cached(
        "SELECT place, format, count, body FROM events
         WHERE place >= coalesce(
                 (SELECT max(place) FROM events WHERE place > ?1 AND place <= ?2), ?1)
             AND place < ?3
         ORDER BY place",
    )?;
    let before = place::of(task, Revision::START);
    let first = place::of(task, after.next());
    let mut rows = select.query([before, first, place::end(task)])?;
    let mut found = Vec::new();
    while found.len() < limit {
        let Some(row) = rows.next()? else { break };
        let mut revision = place::revision(row.get(0)?);
        for event in codec::read_events(row.get(1)?, row.get(2)?, row.get_ref(3)?.as_blob()?)? {
            if revision > after && found.len() < limit {
                found.push(Logged { revision, event });
            }
            revision = revision.next();
        }
    }
    Ok(found)
}
