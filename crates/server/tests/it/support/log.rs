//! Capture of log messages.

use std::io;
use std::sync::{Arc, LazyLock, Mutex};

use tracing::Dispatch;
use tracing::subscriber::{DefaultGuard, NoSubscriber, set_default};

use super::wait_until;

/// A second dispatcher. With a single one, tracing asks only the thread that reaches an event first,
/// which may run another test, and caches its result for all threads.
static OTHER_DISPATCHER: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(NoSubscriber::new()));

/// In-memory log. Cheap to clone; clones share one log.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// Captures messages of the current thread until the returned guard is dropped.
    pub(crate) fn capture(&self) -> DefaultGuard {
        LazyLock::force(&OTHER_DISPATCHER);
        let log = self.clone();
        let subscriber =
            tracing_subscriber::fmt().with_ansi(false).with_writer(move || log.clone());
        set_default(subscriber.finish())
    }

    /// Returns the lines that contain `pattern`.
    pub(crate) fn lines_containing(&self, pattern: &str) -> Vec<String> {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        text.lines().filter(|it| it.contains(pattern)).map(String::from).collect()
    }

    /// Waits until a line contains `pattern`.
    pub(crate) async fn wait_for(&self, pattern: &str) {
        wait_until(&format!("{pattern:?} is logged"), async || {
            !self.lines_containing(pattern).is_empty()
        })
        .await;
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
