//! Webhooks: whatever happens to the server and to the receiver, every event arrives or is given up.

use serde_json::json;
use tokio::time::{Duration, sleep};

use super::sends::{id, in_state};
use super::want;
use crate::soak::caller::{Answer, Caller};
use crate::soak::speech::{About, Message, Request};
use crate::soak::trouble::{Run, Trouble};

pub(super) async fn whole(caller: &mut Caller) -> Run {
    let pieces = caller.random.within(1, 8);
    let hook = caller.world.receiver.hook();
    let text = format!("chunks {pieces} {}", caller.random.below(30));
    let message = Message { webhook: Some(hook.url.clone()), ..caller.message(text) };
    let request = caller.speech.send(&message);
    // The same message again, if need be: it is the same task.
    let mut seen = caller.insist(&request).await?;
    let task = id(&seen)?;
    while !seen.is_over() {
        sleep(Duration::from_millis(50)).await;
        seen = caller.insist(&caller.speech.about(&task, About::Get)).await?;
    }
    in_state(caller, &seen, "completed")?;
    want(seen.pieces().into_iter().eq(1..=pieces), || format!("not {pieces} pieces: {seen:?}"))?;
    let events = log(caller, &task).await?;
    caller.world.receiver.owes(&hook, task, events);
    Ok(())
}

/// How many events a task has.
async fn log(caller: &mut Caller, task: &str) -> Run<usize> {
    let request = caller.speech.about(task, About::Subscribe(Some(0)));
    loop {
        let read = async {
            match caller.stream(&request).await? {
                Ok(mut events) => Ok(events.rest().await?.len()),
                Err(answer) => Err(caller.judge(format!("no stream: {answer:?}"))),
            }
        };
        match read.await {
            Err(Trouble::CutShort) => caller.until_up().await,
            other => return other,
        }
    }
}

pub(super) async fn register(caller: &mut Caller) -> Run {
    let message = Message { at_once: true, ..caller.message("wait 60000") };
    let sent = caller.expect(&caller.speech.send(&message)).await?;
    let task = id(&sent)?;
    let base = format!("/a2a/tasks/{task}/pushNotificationConfigs");
    let url = caller.world.receiver.hook().url;
    let config = json!({"id": "hook", "url": url});
    caller.ask(&Request::with_body("POST", &base, config)).await?;
    let one = format!("{base}/hook");
    let Answer::Well(found) = caller.ask(&Request::plain("GET", &one)).await? else {
        return Err(caller.judge("the webhook is not there".to_owned()));
    };
    want(found.0["url"] == url, || format!("another webhook: {found:?}"))?;
    let Answer::Well(list) = caller.ask(&Request::plain("GET", &base)).await? else {
        return Err(caller.judge("there is no list of webhooks".to_owned()));
    };
    want(list.0["configs"].as_array().is_some_and(|it| it.len() == 1), || format!("{list:?}"))?;
    caller.ask(&Request::plain("DELETE", &one)).await?;
    let gone = caller.ask(&Request::plain("GET", &one)).await?;
    want(matches!(gone, Answer::Refused(404, _)), || format!("still there: {gone:?}"))?;
    let canceled = caller.expect(&caller.speech.about(&task, About::Cancel)).await?;
    in_state(caller, &canceled, "canceled")
}
