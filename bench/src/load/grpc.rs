//! Load over gRPC: a connection each, as over HTTP.

use std::rc::Rc;
use std::time::{Duration, Instant};

use latimer_pb::v1::client::A2aServiceClient;
use latimer_pb::v1::{self, TaskState, send_message_response, stream_response};
use tonic::Request;
use tonic::transport::{Channel, Endpoint};

use super::wording::echoes;
use super::{Operation, Plan, Wording, Work};
use crate::Failure;

type Client = A2aServiceClient<Channel>;

/// One connection's share.
pub(super) async fn work(work: Rc<Work>) {
    let mut client = None;
    while let Some(number) = work.next() {
        if client.is_none() {
            match connect(&work.plan.address).await {
                Ok(open) => client = Some(open),
                Err(error) => work.failed(|| error.to_string()).await,
            }
        }
        let Some(open) = &mut client else { continue };
        let begin = Instant::now();
        match call(open, &work, number).await {
            Ok(events) => work.done(begin, 0, events),
            Err(error) => work.failed(|| error.to_string()).await,
        }
    }
}

async fn connect(address: &str) -> Result<Client, tonic::transport::Error> {
    let endpoint = Endpoint::from_shared(format!("http://{address}"))?.tcp_nodelay(true);
    Ok(A2aServiceClient::new(endpoint.connect().await?))
}

/// Calls once; returns the number of events.
async fn call(client: &mut Client, work: &Work, number: u64) -> Result<usize, Failure> {
    match work.plan.operation {
        Operation::Send => {
            let response = client.send_message(versioned(work.wording.message(number))).await?;
            let task = sent(response.into_inner()).ok_or("no task")?;
            check(&task)?;
            Ok(0)
        }
        Operation::Get => {
            check(&client.get_task(versioned(work.wording.task())).await?.into_inner())?;
            Ok(0)
        }
        Operation::Stream => {
            let request = versioned(work.wording.message(number));
            let mut stream = client.send_streaming_message(request).await?.into_inner();
            let (mut events, mut completed, mut said) = (0, false, false);
            while let Some(event) = stream.message().await? {
                events += 1;
                match event.payload {
                    Some(stream_response::Payload::StatusUpdate(update)) => {
                        completed |= update.status.is_some_and(|it| is_completed(&it));
                    }
                    Some(stream_response::Payload::ArtifactUpdate(update)) => {
                        said |= update.artifact.as_ref().is_some_and(echoes);
                    }
                    _ => {}
                }
            }
            if completed && said { Ok(events) } else { Err("the stream did not complete".into()) }
        }
    }
}

fn versioned<T>(message: T) -> Request<T> {
    let mut request = Request::new(message);
    let version = tonic::metadata::MetadataValue::from_static("1.0");
    request.metadata_mut().insert("a2a-version", version);
    request
}

fn sent(response: v1::SendMessageResponse) -> Option<v1::Task> {
    match response.payload? {
        send_message_response::Payload::Task(task) => Some(task),
        send_message_response::Payload::Message(_) => None,
    }
}

fn check(task: &v1::Task) -> Result<(), Failure> {
    let completed = task.status.as_ref().is_some_and(is_completed);
    if completed && task.artifacts.iter().any(echoes) {
        return Ok(());
    }
    Err(format!("not completed: {task:?}").into())
}

fn is_completed(status: &v1::TaskStatus) -> bool {
    status.state == i32::from(TaskState::Completed)
}

/// Makes a task, and returns its id.
pub(super) async fn make_task(plan: &Plan, wording: &Wording) -> Result<String, Failure> {
    let mut client = connect(&plan.address).await?;
    let asked = client.send_message(versioned(wording.message(0)));
    let response = tokio::time::timeout(Duration::from_secs(5), asked).await??;
    Ok(sent(response.into_inner()).ok_or("no task")?.id)
}
