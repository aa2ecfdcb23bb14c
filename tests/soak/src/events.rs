//! Event streams, and decoding of response bodies.

use std::collections::VecDeque;

use latimer_protocol::binding::sse::{Decoder, Frame};
use serde_json::Value;

use super::error::{ScenarioResult, ServerEpoch};
use super::task_view::TaskView;
use latimer_bench::http::Connection;

/// Events of one stream. Dropping it closes the connection.
#[derive(Debug)]
pub struct Events {
    connection: Connection,
    epoch: ServerEpoch,
    decoder: Decoder,
    pending: VecDeque<Frame>,
    ended: bool,
}

impl Events {
    pub(super) fn new(connection: Connection, epoch: ServerEpoch) -> Self {
        Self { connection, epoch, decoder: Decoder::new(), pending: VecDeque::new(), ended: false }
    }

    /// Waits for the next event, and returns its id and payload; `None` at the end of the stream.
    ///
    /// # Errors
    /// Fails if the stream breaks, contains an error, or is silent for too long.
    pub async fn next(&mut self) -> ScenarioResult<Option<(u64, TaskView)>> {
        while self.pending.is_empty() {
            if self.ended {
                return Ok(None);
            }
            let mut body = Vec::new();
            self.ended = !self.epoch.with_timeout(self.connection.read_more(&mut body)).await?;
            let mut input = &body[..];
            while let Some(frame) = self.decoder.read(&mut input).map_err(|it| it.to_string())? {
                self.pending.push_back(frame);
            }
        }
        let Some(frame) = self.pending.pop_front() else { return Ok(None) };
        let value = read_json(&frame.data)?;
        if error_code(200, &value).is_some() {
            return Err(self.epoch.classify(format!("the stream failed: {value}")));
        }
        let id = frame.id.and_then(|it| it.parse().ok()).unwrap_or_default();
        Ok(Some((id, TaskView(without_envelope(value)))))
    }

    /// Reads all remaining events.
    ///
    /// # Errors
    /// Fails if [`Events::next`] fails.
    pub async fn read_to_end(&mut self) -> ScenarioResult<Vec<(u64, TaskView)>> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await? {
            events.push(event);
        }
        Ok(events)
    }
}

/// Parses a response body as JSON.
pub(super) fn read_json(body: &[u8]) -> ScenarioResult<Value> {
    let value = serde_json::from_slice(body);
    value.map_err(|it| {
        format!("{it}: {:?}", String::from_utf8_lossy(&body[..body.len().min(200)])).into()
    })
}

/// Returns the code of a JSON-RPC error or the status of an HTTP error; `None` on success.
pub(super) fn error_code(status: u16, value: &Value) -> Option<i32> {
    let error = value.get("error");
    match (status, error) {
        (200, None) => None,
        (200, Some(error)) => {
            Some(error["code"].as_i64().and_then(|it| it.try_into().ok()).unwrap_or(0))
        }
        (status, _) => Some(status.into()),
    }
}

/// Returns the `result` of a JSON-RPC response, or the response itself if it has none.
pub(super) fn without_envelope(mut value: Value) -> Value {
    value.get_mut("result").map(Value::take).unwrap_or(value)
}
