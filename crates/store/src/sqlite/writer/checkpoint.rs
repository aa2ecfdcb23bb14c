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
const BACKGROUND_PAGES: i32 = 1_024;

/// How many pages may be in the log before the writer helps.
const FOREGROUND_PAGES: i32 = 4 * BACKGROUND_PAGES;

/// Keeps the log short.
#[derive(Debug)]
pub(super) struct Checkpointer {
    /// How long the log is, as of the last commit.
    pages: Arc<AtomicI32>,
    last_pages: i32,
    background_at: i32,
    foreground_at: i32,
    foreground_next: bool,
    request_sender: Option<SyncSender<()>>,
    busy: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Checkpointer {
    /// Watches the log of `writer`, and starts the thread, which works with `helper`.
    pub(super) fn start(
        writer: &mut Connection,
        checkpoint_connection: Connection,
    ) -> std::io::Result<Self> {
        let pages = Arc::new(AtomicI32::new(0));
        let count = pages.clone();
        let hook = move |_: &mut Wal, pages| {
            count.store(pages, Ordering::Relaxed);
            Ok(())
        };
        writer.wal_hook(Some(hook)).map_err(std::io::Error::other)?;
        let (request_sender, request_receiver) = sync_channel(1);
        let busy = Arc::new(AtomicBool::new(false));
        let thread = thread::Builder::new().name("latimer-checkpoint".to_owned());
        let thread_busy = busy.clone();
        let thread = thread.spawn(move || {
            run_background(&checkpoint_connection, &request_receiver, &thread_busy)
        })?;
        Ok(Self {
            pages,
            last_pages: 0,
            background_at: BACKGROUND_PAGES,
            foreground_at: FOREGROUND_PAGES,
            foreground_next: false,
            request_sender: Some(request_sender),
            busy,
            thread: Some(thread),
        })
    }

    /// Looks after the log when something was committed.
    pub(super) fn after_commit(&mut self, writer: &Connection) {
        let pages = self.pages.load(Ordering::Relaxed);
        if pages < self.last_pages {
            // It was begun anew.
            (self.background_at, self.foreground_at, self.foreground_next) =
                (BACKGROUND_PAGES, FOREGROUND_PAGES, false);
        }
        self.last_pages = pages;
        if pages < self.background_at.min(self.foreground_at) || self.busy.load(Ordering::Acquire) {
            return;
        }
        if self.foreground_next {
            // A reader may be in the way, or the disk: later again, and not at every commit.
            (self.foreground_at, self.foreground_next) = (pages + BACKGROUND_PAGES, false);
            checkpoint(writer);
            return;
        }
        // The thread has just been at it when the writer helps, so that little is left.
        self.foreground_next = pages >= self.foreground_at;
        self.background_at = pages + BACKGROUND_PAGES;
        self.busy.store(true, Ordering::Release);
        if let Some(request_sender) = &self.request_sender {
            // It is not busy, so there is room.
            let _ = request_sender.try_send(());
        }
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.request_sender = None;
        if let Some(thread) = self.thread.take() {
            // A panic over there was reported over there; the log is whole without it.
            let _ = thread.join();
        }
    }
}

fn run_background(connection: &Connection, requests: &Receiver<()>, busy: &AtomicBool) {
    while requests.recv().is_ok() {
        checkpoint(connection);
        busy.store(false, Ordering::Release);
    }
}

/// Moves what nobody is in the way of.
fn checkpoint(connection: &Connection) {
    // What could not be moved stays in the log, where it is as safe, and is moved the next time.
    let _ = connection.wal_checkpoint_v2(DEFAULT_NAME, CheckpointMode::PASSIVE);
}
