//! Load over gRPC, with one connection per worker.

use std::rc::Rc;
use std::time::{Duration, Instant};

use latimer_pb::v1::client::A2aServiceClient;
use latimer_pb::v1::{self, TaskState, send_message_response, stream_response};
use tonic::Request;
use tonic::transport::{Channel, Endpoint};

use super::request_template::contains_echo;
use super::{LoadState, Operation, Plan, RequestTemplate};
use crate::BenchError;

type Client = A2aServiceClient<Channel>;

/// Sends requests over one connection until the load ends. Reconnects after a failed connect.
pub(super) async fn run_worker(state: Rc<LoadState>) {
    let mut client = None;
    while let Some(number) = state.next_request() {
        if client.is_none() {
            match connect(&state.plan.address).await {
                Ok(connected) => client = Some(connected),
                Err(error) => state.record_failure(|| error.to_string()).await,
            }
        }
        let Some(connected) = &mut client else { continue };
        let start = Instant::now();
        match call(connected, &state, number).await {
            Ok(events) => state.record_success(start, 0, events),
            Err(error) => state.record_failure(|| error.to_string()).await,
        }
    }
}

async fn connect(address: &str) -> Result<Client, tonic::transport::Error> {
    let endpoint = Endpoint::from_shared(format!("http://{address}"))?.tcp_nodelay(true);
    Ok(A2aServiceClient::new(endpoint.connect().await?))
}

/// Makes one call and checks its result. Returns the number of events of a stream.
async fn call(client: &mut Client, state: &LoadState, number: u64) -> Result<usize, BenchError> {
    match state.plan.operation {
        Operation::Send => {
            let response =
                client.send_message(versioned(state.template.send_message_request(number))).await?;
            let task = into_task(response.into_inner()).ok_or("no task")?;
            check_completed(&task)?;
            Ok(0)
        }
        Operation::Get => {
            check_completed(
                &client.get_task(versioned(state.template.get_task_request())).await?.into_inner(),
            )?;
            Ok(0)
        }
        Operation::Stream => {
            let request = versioned(state.template.send_message_request(number));
            let mut stream = client.send_streaming_message(request).await?.into_inner();
            let (mut events, mut completed, mut echoed) = (0, false, false);
            while let Some(event) = stream.message().await? {
                events += 1;
                match event.payload {
                    Some(stream_response::Payload::StatusUpdate(update)) => {
                        completed |= update.status.is_some_and(|it| is_completed(&it));
                    }
                    Some(stream_response::Payload::ArtifactUpdate(update)) => {
                        echoed |= update.artifact.as_ref().is_some_and(contains_echo);
                    }
                    _ => {}
                }
            }
            if completed && echoed { Ok(events) } else { Err("the stream did not complete".into()) }
        }
    }
}

fn versioned<T>(message: T) -> Request<T> {
    let mut request = Request::new(message);
    let version = tonic::metadata::MetadataValue::from_static("1.0");
    request.metadata_mut().insert("a2a-version", version);
    request
}

fn into_task(response: v1::SendMessageResponse) -> Option<v1::Task> {
    match response.payload? {
        send_message_response::Payload::Task(task) => Some(task),
        send_message_response::Payload::Message(_) => None,
    }
}

fn check_completed(task: &v1::Task) -> Result<(), BenchError> {
    let completed = task.status.as_ref().is_some_and(is_completed);
    if completed && task.artifacts.iter().any(contains_echo) {
        return Ok(());
    }
    Err(format!("not completed: {task:?}").into())
}

fn is_completed(status: &v1::TaskStatus) -> bool {
    status.state == i32::from(TaskState::Completed)
}

/// Creates a completed task, and returns its id.
pub(super) async fn make_task(
    plan: &Plan,
    template: &RequestTemplate,
) -> Result<String, BenchError> {
    let mut client = connect(&plan.address).await?;
    let call = client.send_message(versioned(template.send_message_request(0)));
    let response = tokio::time::timeout(Duration::from_secs(5), call).await??;
    Ok(into_task(response.into_inner()).ok_or("no task")?.id)
}
