//! Load over HTTP/1.1.

use std::rc::Rc;
use std::time::{Duration, Instant};

use super::wording::Check;
use super::{Operation, Plan, Wording, Work};
use crate::Failure;
use crate::http::Connection;

/// One connection's share.
pub(super) async fn work(work: Rc<Work>) {
    let check = Check::new(&work.wording);
    let (mut body, mut request) = (Vec::new(), Vec::new());
    let mut connection = None;
    while let Some(number) = work.next() {
        work.wording.write(number, &mut body, &mut request);
        if connection.is_none() {
            match Connection::open(&work.plan.address, None).await {
                Ok(open) => connection = Some(open),
                Err(error) => work.failed(|| error.to_string()).await,
            }
        }
        let Some(open) = &mut connection else { continue };
        let begin = Instant::now();
        let closes = match open.exchange(&request).await {
            Ok(answer) if answer.status == 200 && check.passes(answer.body) => {
                let events = match work.plan.operation {
                    Operation::Stream => check.events(answer.body),
                    Operation::Send | Operation::Get => 0,
                };
                work.done(begin, answer.body.len(), events);
                answer.closes
            }
            Ok(answer) => {
                let said = String::from_utf8_lossy(answer.body);
                work.failed(|| format!("{}: {said}", answer.status)).await;
                true
            }
            Err(error) => {
                work.failed(|| error.to_string()).await;
                true
            }
        };
        if closes {
            connection = None;
        }
    }
}

/// Makes a task, and returns its id.
pub(super) async fn make_task(plan: &Plan, wording: &Wording) -> Result<String, Failure> {
    let (mut body, mut request) = (Vec::new(), Vec::new());
    wording.to_send().write(0, &mut body, &mut request);
    let mut connection = Connection::open(&plan.address, None).await?;
    let asked = connection.exchange(&request);
    let answer = tokio::time::timeout(Duration::from_secs(5), asked).await??;
    let value: serde_json::Value = serde_json::from_slice(answer.body)?;
    let ids = ["/result/task/id", "/task/id", "/result/id"];
    let id = ids.iter().find_map(|it| value.pointer(it)?.as_str());
    Ok(id.ok_or_else(|| format!("no task: {value}"))?.to_owned())
}
