//! Parser of webhook deliveries.

use memchr::memmem;
use serde_json::Value;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;

use crate::task_view::TaskView;

/// One webhook delivery.
#[derive(Debug)]
pub(super) struct Delivery {
    /// The path of the webhook.
    pub(super) hook: String,
    /// Value of `webhook-id`, the same for every attempt.
    pub(super) id: String,
    /// Number of the chunk, if the delivery contains a single one.
    pub(super) chunk: Option<u64>,
}

impl Delivery {
    /// Reads the next delivery; `None` when the connection ends or the request is malformed.
    /// `input` buffers bytes that follow it.
    pub(super) async fn read(socket: &mut TcpStream, input: &mut Vec<u8>) -> Option<Self> {
        let end = loop {
            if let Some(end) = memmem::find(input, b"\r\n\r\n") {
                break end + 4;
            }
            read_more(socket, input).await?;
        };
        let head = String::from_utf8(input[..end].to_vec()).ok()?;
        let hook = head.split(' ').nth(1)?.to_owned();
        let header = |name: &str| {
            let mut lines = head.lines().filter_map(|it| it.split_once(':'));
            lines.find(|(it, _)| it.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
        };
        let length: usize = header("content-length")?.parse().ok()?;
        let id = header("webhook-id")?.to_owned();
        while input.len() < end + length {
            read_more(socket, input).await?;
        }
        let body: Value = serde_json::from_slice(&input[end..end + length]).ok()?;
        input.drain(..end + length);
        // A pre-1.0 webhook receives the complete task with all its chunks.
        let view = TaskView(body);
        let chunk = if view.is_task() { None } else { view.chunk_numbers().first().copied() };
        Some(Self { hook, id, chunk })
    }
}

async fn read_more(socket: &mut TcpStream, input: &mut Vec<u8>) -> Option<usize> {
    socket.read_buf(input).await.ok().filter(|it| *it > 0)
}
