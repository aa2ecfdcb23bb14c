//! Streams: read to the end, cut, resumed, and read slowly.

use std::time::Duration;

use latimer_protocol::ErrorKind;
use tokio::time::sleep;

use super::sends::id;
use super::want;
use crate::soak::caller::{Answer, Caller};
use crate::soak::events::Events;
use crate::soak::seen::Seen;
use crate::soak::speech::{About, Message, Request};
use crate::soak::trouble::{Run, Trouble};

/// The system keeps little for a slow reader, which rests this long whenever it has read something.
const UNREAD: u32 = 4 * 1024;
const REST: Duration = Duration::from_millis(50);

/// Asks for a stream that must be had.
async fn open(caller: &mut Caller, request: &Request) -> Run<Events> {
    match caller.stream(request).await? {
        Ok(events) => Ok(events),
        Err(answer) => Err(caller.judge(format!("no stream: {answer:?}"))),
    }
}

/// The pieces of a whole log, with a completed task at its end.
#[derive(Debug, Default)]
struct Log {
    /// The number of the last event.
    at: u64,
    pieces: Vec<u64>,
    completed: bool,
}

impl Log {
    fn take(&mut self, (id, seen): (u64, Seen)) -> Run {
        want(id > self.at, || format!("event {id} behind event {}", self.at))?;
        self.at = id;
        if seen.is_task() {
            // Everything up to here.
            self.pieces.clear();
        }
        self.pieces.extend(seen.pieces());
        self.completed = seen.state().as_deref() == Some("completed");
        Ok(())
    }

    async fn take_rest(&mut self, events: &mut Events) -> Run {
        while let Some(event) = events.next().await? {
            self.take(event)?;
        }
        Ok(())
    }

    fn check(&self, caller: &Caller, pieces: u64) -> Run {
        match self.completed && self.pieces.iter().copied().eq(1..=pieces) {
            true => Ok(()),
            false => Err(caller.judge(format!("not the {pieces} pieces and the end: {self:?}"))),
        }
    }
}

pub(super) async fn whole(caller: &mut Caller) -> Run {
    let pieces = caller.random.within(1, 30);
    let text = format!("chunks {pieces} {}", caller.random.below(10));
    let message = caller.message(text);
    let mut events = open(caller, &caller.speech.stream(&message)).await?;
    let mut log = Log::default();
    log.take_rest(&mut events).await?;
    log.check(caller, pieces)
}

pub(super) async fn resume(caller: &mut Caller) -> Run {
    let pieces = caller.random.within(5, 30);
    let text = format!("chunks {pieces} {}", caller.random.below(20));
    let message = caller.message(text);
    let mut events = open(caller, &caller.speech.stream(&message)).await?;
    let mut log = Log::default();
    let mut task = None;
    for _ in 0..caller.random.within(1, pieces) {
        let Some(event) = events.next().await? else { break };
        task.get_or_insert(id(&event.1)?);
        log.take(event)?;
    }
    drop(events);
    let task = task.ok_or_else(|| "a stream without events".to_owned())?;
    // Whether it is over or not: what is left of it is there.
    for _ in 0..2 {
        if log.completed {
            break;
        }
        let request = caller.speech.about(&task, About::Subscribe(Some(log.at)));
        let mut events = open(caller, &request).await?;
        if let Some(event) = events.next().await? {
            log.take(event)?;
        }
    }
    if !log.completed {
        let request = caller.speech.about(&task, About::Subscribe(Some(log.at)));
        log.take_rest(&mut open(caller, &request).await?).await?;
    }
    log.check(caller, pieces)
}

pub(super) async fn subscribe(caller: &mut Caller) -> Run {
    let pieces = caller.random.within(5, 20);
    let text = format!("chunks {pieces} {}", caller.random.below(20));
    let message = Message { at_once: true, ..caller.message(text) };
    let sent = caller.expect(&caller.speech.send(&message)).await?;
    let mut readers = Vec::new();
    for _ in 0..caller.random.within(1, 4) {
        let request = caller.speech.about(&id(&sent)?, About::Subscribe(None));
        match caller.stream(&request).await? {
            Ok(events) => readers.push(events),
            Err(Answer::Refused(code, _))
                if code == caller.speech.code(ErrorKind::UnsupportedOperation) => {}
            Err(other) => return Err(caller.judge(format!("no stream: {other:?}"))),
        }
    }
    for mut events in readers {
        let mut log = Log::default();
        log.take_rest(&mut events).await?;
        log.check(caller, pieces)?;
    }
    Ok(())
}

pub(super) async fn slow(caller: &mut Caller) -> Run {
    const COUNT: u64 = 800;
    let message = caller.message(format!("burst {COUNT}"));
    let connection = caller.connect(Some(UNREAD)).await?;
    let request = caller.speech.stream(&message);
    let mut events = match caller.stream_on(connection, &request).await? {
        Ok(events) => events,
        Err(answer) => return Err(caller.judge(format!("no stream: {answer:?}"))),
    };
    let leaves = caller.random.once_in(2);
    let mut next = 1;
    let mut rests = 20;
    while let Some((_, seen)) = events.next().await? {
        if let Some(text) = seen.status_text() {
            want(text == format!("{next} of {COUNT}"), || format!("{text} in place of {next}"))?;
            next += 1;
        }
        if next % 20 == 0 && rests > 0 {
            rests -= 1;
            sleep(REST).await;
        }
        if leaves && rests == 0 {
            return Ok(());
        }
    }
    match next == COUNT + 1 {
        true => Ok(()),
        false => Err(Trouble::Fault(format!("the stream ended before {next}"))),
    }
}
