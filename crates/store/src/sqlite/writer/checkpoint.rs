//! Checkpoints: transfer of committed pages from the write-ahead log into the database.
//!
//! A background thread does most of the work concurrently with the writer. Under load the writer
//! has always added new pages when that thread is done, so the log would never restart. Above a
//! limit the writer therefore transfers the few remaining pages itself, which restarts the log.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use rusqlite::hooks::Wal;
use rusqlite::wal::CheckpointMode;
use rusqlite::{Connection, DEFAULT_NAME};

/// Number of logged pages after which the background thread runs a checkpoint.
const BACKGROUND_PAGES: i32 = 1_024;

/// Number of logged pages after which the writer runs a checkpoint.
const FOREGROUND_PAGES: i32 = 4 * BACKGROUND_PAGES;

/// Schedules checkpoints. Dropping it stops the background thread.
#[derive(Debug)]
pub(super) struct Checkpointer {
    /// Number of pages in the log after the last commit.
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
    /// Installs a hook that measures the log of `writer`, and starts the background thread.
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

    /// Runs or requests a checkpoint if the log is long enough. Called after each commit.
    pub(super) fn after_commit(&mut self, writer: &Connection) {
        let pages = self.pages.load(Ordering::Relaxed);
        if pages < self.last_pages {
            // The log was restarted.
            (self.background_at, self.foreground_at, self.foreground_next) =
                (BACKGROUND_PAGES, FOREGROUND_PAGES, false);
        }
        self.last_pages = pages;
        if pages < self.background_at.min(self.foreground_at) || self.busy.load(Ordering::Acquire) {
            return;
        }
        if self.foreground_next {
            // A reader or the disk may prevent the restart, so the next attempt is not at the next
            // commit.
            (self.foreground_at, self.foreground_next) = (pages + BACKGROUND_PAGES, false);
            checkpoint(writer);
            return;
        }
        // The writer runs its checkpoint after one of the thread, when few pages are left.
        self.foreground_next = pages >= self.foreground_at;
        self.background_at = pages + BACKGROUND_PAGES;
        self.busy.store(true, Ordering::Release);
        if let Some(request_sender) = &self.request_sender {
            // The channel has room because the thread is not busy.
            let _ = request_sender.try_send(());
        }
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.request_sender = None;
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been printed, and the log is intact without it.
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

/// Transfers all pages that no reader needs in the log.
fn checkpoint(connection: &Connection) {
    // Pages that could not be transferred stay in the log, which is equally durable.
    let _ = connection.wal_checkpoint_v2(DEFAULT_NAME, CheckpointMode::PASSIVE);
}
