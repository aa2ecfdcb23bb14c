//! Transports that the caller of the client provides, and layers around those of the client.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::stream;
use latimer_client::transport::Transport;
use latimer_client::{CallOptions, Client, Error, RetryPolicy};
use latimer_protocol::{
    Call, CallResponse, ContextId, EventStream, Finality, ReplyKind, SendMessageResponse,
    SharedEvent, StreamEvent, StreamResponse, Task, TaskId, TaskState,
};
use serde_json::json;

use crate::support::{Stub, StubResponse};

/// Counts calls, and forwards them.
#[derive(Debug)]
struct CountingLayer {
    inner: Arc<dyn Transport>,
    count: Arc<AtomicUsize>,
}

#[async_trait::async_trait]
impl Transport for CountingLayer {
    async fn exchange(
        &self,
        call: &Call,
        options: &CallOptions,
    ) -> Result<CallResponse<Error>, Error> {
        self.count.fetch_add(1, Ordering::SeqCst);
        self.inner.exchange(call, options).await
    }
}

#[tokio::test]
async fn layer_sees_every_attempt() {
    let requests = AtomicUsize::new(0);
    let agent = Stub::start(move |_| match requests.fetch_add(1, Ordering::SeqCst) {
        0 | 1 => StubResponse::Close(String::new()),
        _ => {
            let task = json!({"id": "t1", "status": {"state": "TASK_STATE_COMPLETED"}});
            StubResponse::json(json!({"jsonrpc": "2.0", "id": "1", "result": task}))
        }
    })
    .await;
    let (inner_count, outer_count) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
    let layer = |count: &Arc<AtomicUsize>| {
        let count = Arc::clone(count);
        move |inner| -> Arc<dyn Transport> {
            Arc::new(CountingLayer { inner, count: Arc::clone(&count) })
        }
    };
    let backoff = Duration::from_millis(1);
    let client = Client::builder(agent.url())
        .retry(RetryPolicy { initial_backoff: backoff, ..RetryPolicy::default() })
        .layer(layer(&inner_count))
        .layer(layer(&outer_count))
        .build()
        .unwrap();
    client.get_task(TaskId::new("t1").unwrap()).await.unwrap();
    assert_eq!(inner_count.load(Ordering::SeqCst), 3);
    assert_eq!(outer_count.load(Ordering::SeqCst), 3);
}

/// Interrupts the first stream before its first event. The second one completes the task.
#[derive(Debug, Default)]
struct FirstStreamBreaks(AtomicUsize);

#[async_trait::async_trait]
impl Transport for FirstStreamBreaks {
    async fn exchange(&self, _: &Call, _: &CallOptions) -> Result<CallResponse<Error>, Error> {
        let (id, context) = (TaskId::new("t").unwrap(), ContextId::new("c").unwrap());
        let task = StreamResponse::Task(Task::new(id, context, TaskState::Completed));
        let item = match self.0.fetch_add(1, Ordering::SeqCst) {
            0 => Err(Error::StreamInterrupted { origin: "test".into() }),
            _ => {
                let event = SharedEvent::new(task);
                Ok(StreamEvent { revision: None, event, finality: Finality::Last })
            }
        };
        let events: EventStream<Error> = Box::pin(stream::iter([item]));
        Ok(ReplyKind::Stream(events).into())
    }
}

#[tokio::test]
async fn follow_task_continues_if_first_stream_breaks_early() {
    let client = Client::from_transport(Arc::new(FirstStreamBreaks::default()));
    let followed = client.follow_task(TaskId::new("t").unwrap()).result().await.unwrap();
    let SendMessageResponse::Task(task) = followed else { panic!("{followed:?}") };
    assert_eq!(task.status.state, TaskState::Completed);
}
