//! Idempotency records: storage, expiry and limit.

use std::collections::BTreeMap;
use std::mem;
use std::sync::Arc;

use latimer_protocol::{Message, Revision};
use rusqlite::{Connection, OptionalExtension, params};

use super::{WriteOp, WriterState};
use crate::sqlite::codec::{self, IdempotencyEntry};
use crate::sqlite::error::unavailable;
use crate::sqlite::event_rowid;
use crate::sqlite::idempotency_cache::{CachedRecord, IdempotencyCache};
use crate::{Error, IdempotencyRecord, Retention};

/// Minimum for the maximum number of records, which otherwise equals the maximum number of tasks.
const MIN_ENTRY_LIMIT: u64 = 10_000;

/// Rows of idempotency records and their expiry, as known to the writer.
#[derive(Debug)]
pub(super) struct IdempotencyLedger {
    cache: Arc<IdempotencyCache>,
    /// Number of records per row, by expiry of the last record and row id.
    rows: BTreeMap<(i64, i64), u64>,
    entry_count: u64,
    max_entries: u64,
    next_rowid: i64,
    /// Records of the current transaction that are not written yet.
    pending: Vec<IdempotencyEntry>,
    /// Rows that the current transaction has written.
    written: Vec<(i64, Vec<IdempotencyEntry>)>,
    /// Rows that the current transaction has removed, with their records.
    removed: Vec<((i64, i64), Vec<IdempotencyEntry>)>,
}

impl IdempotencyLedger {
    /// Loads all records from the database into the cache.
    pub(super) fn load(
        connection: &Connection,
        retention: &Retention,
        cache: Arc<IdempotencyCache>,
    ) -> rusqlite::Result<Self> {
        let mut ledger = Self {
            cache,
            rows: BTreeMap::new(),
            entry_count: 0,
            max_entries: retention.max_tasks.max(MIN_ENTRY_LIMIT),
            next_rowid: 1,
            pending: Vec::new(),
            written: Vec::new(),
            removed: Vec::new(),
        };
        let mut select = connection.prepare("SELECT place, messages FROM sent ORDER BY place")?;
        let mut rows = select.query([])?;
        while let Some(row) = rows.next()? {
            let rowid = row.get(0)?;
            let entries: Vec<_> =
                codec::read_idempotency_entries(row.get_ref(1)?.as_blob()?).collect();
            ledger.publish(rowid, &entries);
            ledger.next_rowid = rowid + 1;
        }
        Ok(ledger)
    }

    /// Updates the cache after a commit.
    pub(super) fn commit(&mut self) {
        for (rowid, entries) in mem::take(&mut self.written) {
            self.publish(rowid, &entries);
        }
        for ((_, rowid), entries) in self.removed.drain(..) {
            for entry in entries {
                self.cache.remove(&entry.key, rowid);
            }
        }
    }

    /// Discards the changes of a transaction that was rolled back.
    pub(super) fn roll_back(&mut self) {
        self.pending.clear();
        self.written.clear();
        for (row, entries) in self.removed.drain(..) {
            self.entry_count += entries.len() as u64;
            self.rows.insert(row, entries.len() as u64);
        }
    }

    /// Returns whether the records, including those written in this transaction, exceed the limit.
    fn is_over_limit(&self) -> bool {
        let written: usize = self.written.iter().map(|(_, entries)| entries.len()).sum();
        !self.rows.is_empty() && self.entry_count + written as u64 > self.max_entries
    }

    fn publish(&mut self, rowid: i64, entries: &[IdempotencyEntry]) {
        for entry in entries {
            self.cache.insert(CachedRecord { rowid, entry: *entry });
        }
        let expires_at = entries.iter().map(|it| it.expires_at).max().unwrap_or(i64::MIN);
        self.entry_count += entries.len() as u64;
        self.rows.insert((expires_at, rowid), entries.len() as u64);
    }
}

impl WriterState {
    /// Records that a message led to a task at a revision. Written at the end of the transaction.
    pub(super) fn record_idempotency(
        &mut self,
        record: IdempotencyRecord,
        task_number: i64,
        revision: Revision,
    ) {
        let (key, expires_at) = (record.key, record.expires_at.as_millis());
        self.ledger.pending.push(IdempotencyEntry {
            key,
            expires_at,
            event_rowid: event_rowid::encode(task_number, revision),
        });
    }

    /// Writes the pending records of the transaction as one row, and removes rows above the limit.
    pub(super) fn write_pending_entries(&mut self) -> rusqlite::Result<()> {
        if !self.ledger.pending.is_empty() {
            let entries = mem::take(&mut self.ledger.pending);
            self.write_entry_row(entries, None)?;
        }
        while self.ledger.is_over_limit() {
            self.remove_earliest_row()?;
        }
        Ok(())
    }

    fn write_entry_row(
        &mut self,
        entries: Vec<IdempotencyEntry>,
        reply: Option<&[u8]>,
    ) -> rusqlite::Result<()> {
        let rowid = self.ledger.next_rowid;
        self.ledger.next_rowid += 1;
        let insert = "INSERT INTO sent (place, messages, format, answer) VALUES (?1, ?2, ?3, ?4)";
        let mut insert = self.connection.prepare_cached(insert)?;
        let format = reply.map(|_| codec::FORMAT_JSON);
        insert.execute(params![
            rowid,
            codec::write_idempotency_entries(&entries),
            format,
            reply
        ])?;
        self.ledger.written.push((rowid, entries));
        Ok(())
    }

    /// Removes a row whose records have all expired at `now`. Returns whether there was one.
    pub(super) fn remove_expired_row(&mut self, now: i64) -> rusqlite::Result<bool> {
        let expired = self.ledger.rows.first_key_value().is_some_and(|((at, _), _)| *at <= now);
        if expired {
            self.remove_earliest_row()?;
        }
        Ok(expired)
    }

    /// Removes the row that expires first.
    fn remove_earliest_row(&mut self) -> rusqlite::Result<()> {
        let Self { connection, ledger, .. } = self;
        let Some((row, count)) = ledger.rows.pop_first() else { return Ok(()) };
        ledger.entry_count -= count;
        let (_, rowid) = row;
        let mut select = connection.prepare_cached("SELECT messages FROM sent WHERE place = ?1")?;
        let encoded_entries =
            select.query_row([rowid], |row| row.get::<_, Vec<u8>>(0)).optional()?;
        ledger.removed.push((
            row,
            codec::read_idempotency_entries(&encoded_entries.unwrap_or_default()).collect(),
        ));
        connection.prepare_cached("DELETE FROM sent WHERE place = ?1")?.execute([rowid])?;
        Ok(())
    }
}

/// Direct reply that was encoded on the caller's thread, with its record.
pub(in crate::sqlite) struct PreparedReply {
    record: IdempotencyRecord,
    reply: Vec<u8>,
}

impl PreparedReply {
    /// Encodes a direct reply.
    pub(in crate::sqlite) fn new(
        record: IdempotencyRecord,
        reply: &Message,
    ) -> Result<Self, Error> {
        let reply = codec::write_message(reply).map_err(unavailable)?;
        Ok(Self { record, reply })
    }
}

impl WriteOp for PreparedReply {
    type Output = ();

    fn run(&mut self, writer: &mut WriterState) -> rusqlite::Result<Result<(), Error>> {
        let (key, expires_at) = (self.record.key, self.record.expires_at.as_millis());
        let entry = IdempotencyEntry { key, expires_at, event_rowid: 0 };
        writer.write_entry_row(vec![entry], Some(&self.reply)).map(Ok)
    }
}
