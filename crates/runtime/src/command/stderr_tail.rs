//! Last bytes of a program's standard error.

use tokio::io::{AsyncRead, AsyncReadExt};
use tracing::debug;

/// Maximum number of bytes to store.
const MAX_TAIL_BYTES: usize = 2 * 1024;

/// Buffer with the last bytes that were written.
#[derive(Debug, Default)]
pub(super) struct StderrTail {
    last_bytes: Vec<u8>,
}

impl StderrTail {
    /// Reads the pipe to its end, logs its content and stores the last bytes.
    pub(super) async fn read(&mut self, agent: &str, mut pipe: impl AsyncRead + Unpin) {
        let mut buffer = vec![0; 4 * 1024];
        // A read error ends the output, too.
        while let Ok(length @ 1..) = pipe.read(&mut buffer).await {
            let bytes = &buffer[..length];
            debug!(agent, stderr = %String::from_utf8_lossy(bytes).trim_end(), "command wrote to standard error");
            self.push(bytes);
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        self.last_bytes.extend_from_slice(bytes);
        let surplus = self.last_bytes.len().saturating_sub(MAX_TAIL_BYTES);
        self.last_bytes.drain(..surplus);
    }

    /// Returns the stored bytes as trimmed text.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.last_bytes).trim().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tail_stores_only_the_last_bytes() {
        let mut tail = StderrTail::default();
        assert_eq!(tail.text(), "");
        tail.push(b" one\n");
        assert_eq!(tail.text(), "one");
        tail.push(&[b'x'; 3 * MAX_TAIL_BYTES]);
        tail.push(b"end");
        assert_eq!(tail.text().len(), MAX_TAIL_BYTES);
        assert!(tail.text().ends_with("xend"));
    }
}
