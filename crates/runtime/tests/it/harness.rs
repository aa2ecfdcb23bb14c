//! Engine with one agent, and the calls that tests make.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::StreamExt;
use latimer_protocol::{
    Call, Caller, CancelTaskRequest, Error, GetTaskRequest, Message, MessageId, Part, Reply,
    ReplyKind, Request, SendMessageConfiguration, SendMessageRequest, SendMessageResponse, Service,
    StreamResponse, Task, TaskId, TaskState,
};
use latimer_server::{Agent, AgentRegistry, Engine, EngineLimits, Policy};
use latimer_store::{MemoryStore, TaskStore};

/// Engine with one agent.
pub(crate) struct EngineHarness {
    pub(crate) engine: Engine,
}

impl EngineHarness {
    pub(crate) fn new(agent: Agent) -> Self {
        Self::with_store(agent, Arc::new(MemoryStore::default()))
    }

    pub(crate) fn with_store(agent: Agent, store: Arc<dyn TaskStore>) -> Self {
        let policy = Policy { cancel_grace: Duration::from_secs(2), ..agent.policy().clone() };
        let registry = AgentRegistry::new([agent.with_policy(policy)]).unwrap();
        Self { engine: Engine::new(Arc::new(registry), store, EngineLimits::default()) }
    }

    async fn call(&self, request: Request) -> Result<ReplyKind, Error> {
        Ok(self.engine.call(Call::new(request)).await?.kind)
    }

    /// Sends a message and waits for the response.
    pub(crate) async fn send(&self, message: Message) -> Result<SendMessageResponse, Error> {
        match self.call(Request::SendMessage(SendMessageRequest::from(message))).await? {
            ReplyKind::Single(Reply::SendMessage(response)) => Ok(response),
            other => panic!("{other:?}"),
        }
    }

    /// Sends a message and returns the settled task.
    pub(crate) async fn send_for_task(&self, message: Message) -> Arc<Task> {
        match self.send(message).await {
            Ok(SendMessageResponse::Task(task)) => task,
            other => panic!("{other:?}"),
        }
    }

    /// Sends a message of a caller and returns the settled task.
    pub(crate) async fn send_as(&self, caller: &str, message: Message) -> Arc<Task> {
        let mut call = Call::new(Request::SendMessage(SendMessageRequest::from(message)));
        call.context.caller = Caller::new(caller);
        match self.engine.call(call).await.unwrap().kind {
            ReplyKind::Single(Reply::SendMessage(SendMessageResponse::Task(task))) => task,
            other => panic!("{other:?}"),
        }
    }

    /// Sends a message without waiting for the result.
    pub(crate) async fn start_task(&self, message: Message) -> Arc<Task> {
        let configuration =
            SendMessageConfiguration { return_immediately: true, ..Default::default() };
        let request = SendMessageRequest {
            configuration: Some(configuration),
            ..SendMessageRequest::from(message)
        };
        match self.call(Request::SendMessage(request)).await {
            Ok(ReplyKind::Single(Reply::SendMessage(SendMessageResponse::Task(task)))) => task,
            other => panic!("{other:?}"),
        }
    }

    /// Sends a message and collects all events of its stream.
    pub(crate) async fn collect_events(&self, message: Message) -> Vec<StreamResponse> {
        let request = Request::SendStreamingMessage(SendMessageRequest::from(message));
        let Ok(ReplyKind::Stream(stream)) = self.call(request).await else { panic!("no stream") };
        let events = stream.map(|it| it.expect("a valid event").event.event().clone());
        events.collect().await
    }

    pub(crate) async fn get(&self, id: &TaskId) -> Arc<Task> {
        match self.call(Request::GetTask(GetTaskRequest::from(id.clone()))).await {
            Ok(ReplyKind::Single(Reply::Task(task))) => task,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn cancel(&self, id: &TaskId) -> Result<Arc<Task>, Error> {
        match self.call(Request::CancelTask(CancelTaskRequest::from(id.clone()))).await? {
            ReplyKind::Single(Reply::Task(task)) => Ok(task),
            other => panic!("{other:?}"),
        }
    }

    /// Polls a task until the condition holds.
    pub(crate) async fn wait_until(&self, id: &TaskId, want: impl Fn(&Task) -> bool) -> Arc<Task> {
        for _ in 0..2_000 {
            let task = self.get(id).await;
            if want(&task) {
                return task;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("{:?}", self.get(id).await);
    }
}

/// Creates a message with a new id.
pub(crate) fn user_message(text: &str) -> Message {
    Message::user(new_id("m"), text)
}

/// Creates a message whose id has this prefix.
pub(crate) fn tck_message(prefix: &str) -> Message {
    Message::user(new_id(prefix), "hello")
}

fn new_id(prefix: &str) -> MessageId {
    static NEXT_ID: AtomicU64 = AtomicU64::new(0);
    MessageId::new(format!("{prefix}-{}", NEXT_ID.fetch_add(1, Ordering::Relaxed))).unwrap()
}

/// Returns the state and the status text of a task.
pub(crate) fn status(task: &Task) -> (TaskState, String) {
    let text = task.status.message.as_deref().map(Message::text);
    (task.status.state, text.unwrap_or_default())
}

/// Returns the parts of all artifacts.
pub(crate) fn parts(task: &Task) -> Vec<Part> {
    task.artifacts.iter().flat_map(|it| it.parts.clone()).collect()
}

/// Returns the concatenated text of all artifacts.
pub(crate) fn text(task: &Task) -> String {
    parts(task).iter().filter_map(Part::as_text).collect()
}
