//! Following a task to its end, whatever happens to the connection.

mod asking;
mod meaning;
mod reading;
mod stage;
mod telling;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use latimer_protocol::{
    ApplyError, Error as AgentError, Event, Message, Phase, Request, Revision, SendMessageRequest,
    SendMessageResponse, StreamResponse, Task, TaskId,
};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::Client;
use super::finding::Trial;
use crate::error::Error;
use asking::ask;
use meaning::{begun, cannot_stream, violation};
use stage::{Called, First, Stage, look, open, send, subscribe};

/// How long a task that is under way may be out of reach before it is given up.
const PATIENCE: Duration = Duration::from_secs(120);

/// A task that is followed until it is over or asks for something.
///
/// Its events come over a stream. When that breaks, another one goes on behind the last event that was
/// seen, where the server can do that; elsewhere it begins with the task as it stands, or with whatever
/// happens next, and then the task is looked at in the end. Where a server cannot stream, the task is
/// looked at again and again. That a stream has ended never means that the task has: a follower ends
/// with a task that is over or asks, with a direct answer, or with an error.
///
/// Dropping it stops nothing but the following: an agent that is asked for an answer is no longer
/// listened to.
pub struct Following {
    client: Client,
    stage: Stage,
    task: Option<Task>,
    answer: Option<Message>,
    cursor: Option<Revision>,
    /// Whether something may have happened that nobody told.
    gap: bool,
    /// The end that was told behind a gap.
    end: Option<StreamResponse>,
    /// When the last stream began, and whether it has told nothing but how the task stands.
    begun: (Instant, bool),
    /// How many streams in a row ended soon.
    short: u32,
    /// Since when the task is out of reach, and how often it was tried to reach it since.
    lost: Option<(Instant, u32)>,
    /// The error that a stream ended with, and how many more looks at the task it is doubted for.
    refused: Option<(AgentError, u32)>,
    /// Where the task may not be known for a while: tells that somebody has to know.
    hurry: Option<Arc<Notify>>,
    /// The task, as it was found by its conversation.
    found: Option<TaskId>,
    /// Trying out whether the task is found by its conversation, in the end.
    trial: Option<Trial>,
}

impl Following {
    pub(super) fn message(client: Client, request: SendMessageRequest) -> Self {
        let stage = open(&client, request);
        Self::new(client, stage)
    }

    pub(super) fn asking(client: Client, request: SendMessageRequest) -> Self {
        let Message { task_id: None, context_id: Some(context), .. } = &request.message else {
            return Self::message(client, request);
        };
        if !client.may_stream() || !client.finds_tasks() {
            let trial = Trial::new(&client, context).filter(|_| client.may_stream());
            return Self { trial, ..Self::message(client, request) };
        }
        let context = context.clone();
        let hurry = Arc::new(Notify::new());
        let stage = ask(&client, request, context, Arc::clone(&hurry));
        Self { hurry: Some(hurry), ..Self::new(client, stage) }
    }

    pub(super) fn task(client: Client, id: TaskId) -> Self {
        let stage = subscribe(&client, id, None, Duration::ZERO);
        Self::new(client, stage)
    }

    fn new(client: Client, stage: Stage) -> Self {
        Self {
            client,
            stage,
            task: None,
            answer: None,
            cursor: None,
            gap: false,
            end: None,
            begun: (Instant::now(), true),
            short: 0,
            lost: None,
            refused: None,
            hurry: None,
            found: None,
            trial: None,
        }
    }

    /// Finds out soon which task it is, for somebody who wants to do something with it.
    pub fn hurry(&self) {
        if let Some(hurry) = &self.hurry {
            hurry.notify_one();
        }
    }

    /// The task as it is known so far.
    #[must_use]
    pub fn known(&self) -> Option<&Task> {
        self.task.as_ref()
    }

    /// The last event that was seen, by which somebody else could go on. None where no card says that
    /// events are numbered: numbers of others may mean anything.
    #[must_use]
    pub fn cursor(&self) -> Option<Revision> {
        self.cursor
    }

    /// The next event; none when there will be no more. A task as a whole may come at any time, after
    /// a connection was lost.
    ///
    /// Whoever drops the future loses nothing: the next one goes on where it was.
    ///
    /// # Errors
    /// Whatever does not pass, or has not passed for two minutes. Asking again after an error that
    /// [may pass](Error::is_passing) goes on, if there is a task to go on with.
    pub async fn next(&mut self) -> Result<Option<StreamResponse>, Error> {
        loop {
            let event = match &mut self.stage {
                Stage::Over => return Ok(None),
                Stage::Calling(call) => {
                    let called = call.await;
                    self.stage = Stage::Over;
                    self.called(called)?
                }
                Stage::Streaming { events, first } => {
                    let next = events.next().await;
                    let first = first.take();
                    self.told(next, first)?
                }
            };
            if event.is_some() {
                return Ok(event);
            }
        }
    }

    /// Goes on from what a call came to.
    fn called(&mut self, called: Called) -> Result<Option<StreamResponse>, Error> {
        match called {
            Called::Opened { events: Ok(events), request } => {
                let answers = matches!(
                    &request,
                    Request::SendStreamingMessage(it) if it.message.task_id.is_some()
                );
                let first = if answers { First::Old } else { First::New };
                self.read(events, first);
                Ok(None)
            }
            Called::Opened {
                events: Err(Error::Agent(error)),
                request: Request::SendStreamingMessage(request),
            } if cannot_stream(&error) => {
                self.stage = send(&self.client, request);
                Ok(None)
            }
            Called::Opened { events: Err(error), .. } => Err(error),
            Called::Sent(Ok(SendMessageResponse::Message(message))) => {
                self.note(StreamResponse::Message(message), None)
            }
            Called::Sent(Ok(SendMessageResponse::Task(task))) => {
                match self.client.may_stream() && task.status.state.phase() == Phase::Active {
                    true => {
                        self.stage = subscribe(&self.client, task.id.clone(), None, Duration::ZERO);
                    }
                    false => self.go_on(&task),
                }
                self.note(StreamResponse::Task(Arc::unwrap_or_clone(task)), None)
            }
            Called::Sent(Err(error)) => Err(error),
            Called::Found(id) => {
                self.found = Some(id.clone());
                self.stage = subscribe(&self.client, id, None, Duration::ZERO);
                Ok(None)
            }
            Called::Subscribed { events: Ok(events), .. } => {
                self.read(events, First::Again);
                Ok(None)
            }
            Called::Subscribed { events: Err(error), id } => self.cut(id, error),
            Called::Looked { task: Ok(task), .. } => {
                (self.lost, self.gap, self.end) = (None, false, None);
                self.go_on(&task);
                let news = self.task.as_ref() != Some(&*task);
                if !news && let Some(error) = self.refused_for_good(&task) {
                    self.stage = Stage::Over;
                    return Err(error);
                }
                self.task = Some(task.as_ref().clone());
                Ok(news.then(|| StreamResponse::Task(task.as_ref().clone())))
            }
            Called::Looked { task: Err(error), id } => {
                let pause = self.pause(&error);
                // Whatever else there is to know, this is.
                if let Some(end) = self.end.take_if(|_| pause.is_none()) {
                    return self.note(end, None);
                }
                self.stage = look(&self.client, id, pause.unwrap_or_default());
                pause.map_or(Err(error), |_| Ok(None))
            }
        }
    }

    /// The error that a stream ended with, once it is clear that the task goes on no more: some agents
    /// say what went wrong, and leave the task as it is.
    fn refused_for_good(&mut self, task: &Task) -> Option<Error> {
        let (error, looks) = self.refused.as_mut()?;
        if task.status.state.phase() != Phase::Active {
            return None;
        }
        *looks = looks.saturating_sub(1);
        (*looks == 0).then(|| error.clone().into())
    }

    /// Looks at a task again later on, if there is something to wait for.
    fn go_on(&mut self, task: &Task) {
        if task.status.state.phase() == Phase::Active {
            self.stage = look(&self.client, task.id.clone(), self.client.0.polling.interval);
        }
    }

    /// How long to wait before another try; none when it is time to give up.
    fn pause(&mut self, error: &Error) -> Option<Duration> {
        let (since, tries) = self.lost.get_or_insert_with(|| (Instant::now(), 0));
        if !error.is_passing() || since.elapsed() > PATIENCE {
            self.lost = None;
            return None;
        }
        *tries += 1;
        // The first try is at once: most connections that break are as good as new.
        Some(match *tries - 1 {
            0 => Duration::ZERO,
            tries => self.client.0.retry.pause(tries, error),
        })
    }

    /// Takes an event in.
    fn note(
        &mut self,
        event: StreamResponse,
        revision: Option<Revision>,
    ) -> Result<Option<StreamResponse>, Error> {
        self.lost = None;
        self.cursor = revision.or(self.cursor);
        if let StreamResponse::Message(message) = &event {
            self.answer = Some(message.clone());
            return Ok(Some(event));
        }
        let Some(task) = &mut self.task else {
            self.task = Some(begun(&event)?);
            return Ok(Some(event));
        };
        let Some(change) = Event::from_stream_response(event.clone()) else {
            return Ok(Some(event));
        };
        match task.apply(change) {
            Ok(()) => Ok(Some(event)),
            // Whatever comes late comes too late.
            Err(ApplyError::Finished { .. }) => Ok(None),
            Err(refused) => Err(violation(&refused.to_string())),
        }
    }
}

impl fmt::Debug for Following {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stage = match &self.stage {
            Stage::Calling(_) => "calling",
            Stage::Streaming { .. } => "streaming",
            Stage::Over => "over",
        };
        let task = self.task.as_ref().map(|it| &it.id);
        out.debug_struct("Following").field("stage", &stage).field("task", &task).finish()
    }
}
