//! Load over HTTP/1.1, with one connection per worker.

use std::rc::Rc;
use std::time::{Duration, Instant};

use super::request_template::ResponseCheck;
use super::{LoadState, Operation, Plan, RequestTemplate};
use crate::BenchError;
use crate::http::Connection;

/// Sends requests over one connection until the load ends. Reconnects after a failure.
pub(super) async fn run_worker(state: Rc<LoadState>) {
    let check = ResponseCheck::new(&state.template);
    let (mut body, mut request) = (Vec::new(), Vec::new());
    let mut connection = None;
    while let Some(number) = state.next_request() {
        state.template.write(number, &mut body, &mut request);
        if connection.is_none() {
            match Connection::open(&state.plan.address, None).await {
                Ok(connected) => connection = Some(connected),
                Err(error) => state.record_failure(|| error.to_string()).await,
            }
        }
        let Some(connected) = &mut connection else { continue };
        let start = Instant::now();
        let closes = match connected.exchange(&request).await {
            Ok(response) if response.status == 200 && check.passes(response.body) => {
                let events = match state.plan.operation {
                    Operation::Stream => check.count_events(response.body),
                    Operation::Send | Operation::Get => 0,
                };
                state.record_success(start, response.body.len(), events);
                response.closes_connection
            }
            Ok(response) => {
                let text = String::from_utf8_lossy(response.body);
                state.record_failure(|| format!("{}: {text}", response.status)).await;
                true
            }
            Err(error) => {
                state.record_failure(|| error.to_string()).await;
                true
            }
        };
        if closes {
            connection = None;
        }
    }
}

/// Creates a completed task, and returns its id.
pub(super) async fn make_task(
    plan: &Plan,
    template: &RequestTemplate,
) -> Result<String, BenchError> {
    let (mut body, mut request) = (Vec::new(), Vec::new());
    template.for_send().write(0, &mut body, &mut request);
    let mut connection = Connection::open(&plan.address, None).await?;
    let exchange = connection.exchange(&request);
    let response = tokio::time::timeout(Duration::from_secs(5), exchange).await??;
    let value: serde_json::Value = serde_json::from_slice(response.body)?;
    let ids = ["/result/task/id", "/task/id", "/result/id"];
    let id = ids.iter().find_map(|it| value.pointer(it)?.as_str());
    Ok(id.ok_or_else(|| format!("no task: {value}"))?.to_owned())
}
