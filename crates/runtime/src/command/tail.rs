//! The end of what a program complains about.

use tokio::io::{AsyncRead, AsyncReadExt};
use tracing::debug;

/// How much of it is kept, in bytes.
const KEPT: usize = 2 * 1024;

/// The last of what was written.
#[derive(Debug, Default)]
pub(super) struct Tail {
    kept: Vec<u8>,
}

impl Tail {
    /// Reads to the end, and writes what comes to the log.
    pub(super) async fn read(&mut self, agent: &str, mut pipe: impl AsyncRead + Unpin) {
        let mut buffer = vec![0; 4 * 1024];
        // A pipe that cannot be read is at its end, too.
        while let Ok(length @ 1..) = pipe.read(&mut buffer).await {
            let bytes = &buffer[..length];
            debug!(agent, stderr = %String::from_utf8_lossy(bytes).trim_end(), "command says");
            self.push(bytes);
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        self.kept.extend_from_slice(bytes);
        let surplus = self.kept.len().saturating_sub(KEPT);
        self.kept.drain(..surplus);
    }

    /// What was kept, as text.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.kept).trim().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_is_kept() {
        let mut tail = Tail::default();
        assert_eq!(tail.text(), "");
        tail.push(b" one\n");
        assert_eq!(tail.text(), "one");
        tail.push(&[b'x'; 3 * KEPT]);
        tail.push(b"end");
        assert_eq!(tail.text().len(), KEPT);
        assert!(tail.text().ends_with("xend"));
    }
}
