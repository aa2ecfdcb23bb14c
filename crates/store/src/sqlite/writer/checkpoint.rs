//! Moving what was committed from the write-ahead log into the database.
//!
//! A second thread does most of it beside the writer, which never waits for it. But under load
//! there is always something new when that thread is done, so the log would grow for ever: beyond a
//! limit the writer moves the little that is left itself, and begins the log anew.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use rusqlite::hooks::Wal;
use rusqlite::wal::CheckpointMode;
use rusqlite::{Connection, DEFAULT_NAME};

/// How many pages to commit before the thread is asked to move them.
const STEP: i32 = 1_024;

/// How many pages may be in the log before the writer helps.
const LIMIT: i32 = 4 * STEP;

/// Keeps the log short.
#[derive(Debug)]
pub(super) struct Checkpoints {
    /// How long the log is, as of the last commit.
    pages: Arc<AtomicI32>,
    seen: i32,
    ask_at: i32,
    help_at: i32,
    help_next: bool,
    ask: Option<SyncSender<()>>,
    busy: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Checkpoints {
    /// Watches the log of `writer`, and starts the thread, which works with `helper`.
    pub(super) fn start(writer: &mut Connection, helper: Connection) -> std::io::Result<Self> {
        let pages = Arc::new(AtomicI32::new(0));
        let count = pages.clone();
        let hook = move |_: &mut Wal, pages| {
            count.store(pages, Ordering::Relaxed);
            Ok(())
        };
        writer.wal_hook(Some(hook)).map_err(std::io::Error::other)?;
        let (ask, asked) = sync_channel(1);
        let busy = Arc::new(AtomicBool::new(false));
        let thread = thread::Builder::new().name("latimer-checkpoint".to_owned());
        let working = busy.clone();
        let thread = thread.spawn(move || serve(&helper, &asked, &working))?;
        Ok(Self {
            pages,
            seen: 0,
            ask_at: STEP,
            help_at: LIMIT,
            help_next: false,
            ask: Some(ask),
            busy,
            thread: Some(thread),
        })
    }

    /// Looks after the log when something was committed.
    pub(super) fn tend(&mut self, writer: &Connection) {
        let pages = self.pages.load(Ordering::Relaxed);
        if pages < self.seen {
            // It was begun anew.
            (self.ask_at, self.help_at, self.help_next) = (STEP, LIMIT, false);
        }
        self.seen = pages;
        if pages < self.ask_at.min(self.help_at) || self.busy.load(Ordering::Acquire) {
            return;
        }
        if self.help_next {
            // A reader may be in the way, or the disk: later again, and not at every commit.
            (self.help_at, self.help_next) = (pages + STEP, false);
            move_pages(writer);
            return;
        }
        // The thread has just been at it when the writer helps, so that little is left.
        self.help_next = pages >= self.help_at;
        self.ask_at = pages + STEP;
        self.busy.store(true, Ordering::Release);
        if let Some(ask) = &self.ask {
            // It is not busy, so there is room.
            let _ = ask.try_send(());
        }
    }
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        self.ask = None;
        if let Some(thread) = self.thread.take() {
            // A panic over there was reported over there; the log is whole without it.
            let _ = thread.join();
        }
    }
}

fn serve(helper: &Connection, asked: &Receiver<()>, busy: &AtomicBool) {
    while asked.recv().is_ok() {
        move_pages(helper);
        busy.store(false, Ordering::Release);
    }
}

/// Moves what nobody is in the way of.
fn move_pages(connection: &Connection) {
    // What could not be moved stays in the log, where it is as safe, and is moved the next time.
    let _ = connection.wal_checkpoint_v2(DEFAULT_NAME, CheckpointMode::PASSIVE);
}
