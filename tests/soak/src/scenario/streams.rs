//! Scenarios of event streams.

use std::time::Duration;

use latimer_protocol::ErrorKind;
use tokio::time::sleep;

use super::ensure;
use super::sends::task_id;
use crate::caller::{Caller, Reply};
use crate::error::{ScenarioError, ScenarioResult};
use crate::events::Events;
use crate::task_view::TaskView;
use crate::wire_format::{Message, Request, TaskOperation};

/// Receive buffer of a slow reader, in bytes.
const RECV_BUFFER_BYTES: u32 = 4 * 1024;
/// Pause of a slow reader after every 20 events.
const READ_PAUSE: Duration = Duration::from_millis(50);

/// Requests a stream, which the server must open.
async fn open_stream(caller: &mut Caller, request: &Request) -> ScenarioResult<Events> {
    match caller.stream(request).await? {
        Ok(events) => Ok(events),
        Err(reply) => Err(caller.classify(format!("no stream: {reply:?}"))),
    }
}

/// Chunks and final state of one task, collected from one or more streams.
#[derive(Debug, Default)]
struct Log {
    /// Id of the last event.
    last_event_id: u64,
    chunks: Vec<u64>,
    completed: bool,
}

impl Log {
    fn apply(&mut self, (id, view): (u64, TaskView)) -> ScenarioResult {
        ensure(id > self.last_event_id, || {
            format!("event {id} after event {}", self.last_event_id)
        })?;
        self.last_event_id = id;
        if view.is_task() {
            // A snapshot contains all earlier chunks.
            self.chunks.clear();
        }
        self.chunks.extend(view.chunk_numbers());
        self.completed = view.state().as_deref() == Some("completed");
        Ok(())
    }

    async fn apply_remaining(&mut self, events: &mut Events) -> ScenarioResult {
        while let Some(event) = events.next().await? {
            self.apply(event)?;
        }
        Ok(())
    }

    fn check(&self, caller: &Caller, count: u64) -> ScenarioResult {
        match self.completed && self.chunks.iter().copied().eq(1..=count) {
            true => Ok(()),
            false => {
                Err(caller
                    .classify(format!("expected {count} chunks and a completed task: {self:?}")))
            }
        }
    }
}

pub(super) async fn read_to_end(caller: &mut Caller) -> ScenarioResult {
    let count = caller.random.in_range(1, 30);
    let text = format!("chunks {count} {}", caller.random.below(10));
    let message = caller.new_message(text);
    let mut events = open_stream(caller, &caller.wire_format.stream_request(&message)).await?;
    let mut log = Log::default();
    log.apply_remaining(&mut events).await?;
    log.check(caller, count)
}

pub(super) async fn resume(caller: &mut Caller) -> ScenarioResult {
    let count = caller.random.in_range(5, 30);
    let text = format!("chunks {count} {}", caller.random.below(20));
    let message = caller.new_message(text);
    let mut events = open_stream(caller, &caller.wire_format.stream_request(&message)).await?;
    let mut log = Log::default();
    let mut task = None;
    for _ in 0..caller.random.in_range(1, count) {
        let Some(event) = events.next().await? else { break };
        task.get_or_insert(task_id(&event.1)?);
        log.apply(event)?;
    }
    drop(events);
    let task = task.ok_or_else(|| "a stream without events".to_owned())?;
    // The remaining events are available whether or not the task has finished.
    for _ in 0..2 {
        if log.completed {
            break;
        }
        let request = caller
            .wire_format
            .task_request(&task, TaskOperation::Subscribe(Some(log.last_event_id)));
        let mut events = open_stream(caller, &request).await?;
        if let Some(event) = events.next().await? {
            log.apply(event)?;
        }
    }
    if !log.completed {
        let request = caller
            .wire_format
            .task_request(&task, TaskOperation::Subscribe(Some(log.last_event_id)));
        log.apply_remaining(&mut open_stream(caller, &request).await?).await?;
    }
    log.check(caller, count)
}

pub(super) async fn subscribe(caller: &mut Caller) -> ScenarioResult {
    let count = caller.random.in_range(5, 20);
    let text = format!("chunks {count} {}", caller.random.below(20));
    let message = Message { return_immediately: true, ..caller.new_message(text) };
    let sent = caller.expect(&caller.wire_format.send_request(&message)).await?;
    let mut readers = Vec::new();
    for _ in 0..caller.random.in_range(1, 4) {
        let request =
            caller.wire_format.task_request(&task_id(&sent)?, TaskOperation::Subscribe(None));
        match caller.stream(&request).await? {
            Ok(events) => readers.push(events),
            Err(Reply::Error(code, _))
                if code == caller.wire_format.error_code(ErrorKind::UnsupportedOperation) => {}
            Err(other) => return Err(caller.classify(format!("no stream: {other:?}"))),
        }
    }
    for mut events in readers {
        let mut log = Log::default();
        log.apply_remaining(&mut events).await?;
        log.check(caller, count)?;
    }
    Ok(())
}

pub(super) async fn slow(caller: &mut Caller) -> ScenarioResult {
    const COUNT: u64 = 800;
    let message = caller.new_message(format!("burst {COUNT}"));
    let connection = caller.connect(Some(RECV_BUFFER_BYTES)).await?;
    let request = caller.wire_format.stream_request(&message);
    let mut events = match caller.stream_on(connection, &request).await? {
        Ok(events) => events,
        Err(reply) => return Err(caller.classify(format!("no stream: {reply:?}"))),
    };
    let leaves_early = caller.random.one_in(2);
    let mut next = 1;
    let mut pauses_left = 20;
    while let Some((_, view)) = events.next().await? {
        if let Some(text) = view.status_text() {
            ensure(text == format!("{next} of {COUNT}"), || {
                format!("expected event {next}, got {text}")
            })?;
            next += 1;
        }
        if next % 20 == 0 && pauses_left > 0 {
            pauses_left -= 1;
            sleep(READ_PAUSE).await;
        }
        if leaves_early && pauses_left == 0 {
            return Ok(());
        }
    }
    match next == COUNT + 1 {
        true => Ok(()),
        false => Err(ScenarioError::Violation(format!("the stream ended before {next}"))),
    }
}
