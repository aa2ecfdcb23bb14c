//! What is logged, for tests that look at it.

use std::io;
use std::sync::{Arc, Mutex};

use tracing::subscriber::{DefaultGuard, set_default};

/// A log in memory. Cheap to clone; clones are one log.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// Has everything logged here that happens on this thread, as long as what is returned is kept.
    pub(crate) fn capture(&self) -> DefaultGuard {
        let log = self.clone();
        let subscriber =
            tracing_subscriber::fmt().with_ansi(false).with_writer(move || log.clone());
        set_default(subscriber.finish())
    }

    /// The lines with these words.
    pub(crate) fn lines_containing(&self, pattern: &str) -> Vec<String> {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        text.lines().filter(|it| it.contains(pattern)).map(String::from).collect()
    }

    /// Waits until something with these words is logged.
    pub(crate) async fn wait_for(&self, pattern: &str) {
        while self.lines_containing(pattern).is_empty() {
            tokio::task::yield_now().await;
        }
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
