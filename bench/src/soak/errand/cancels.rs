//! Cancels, also of tasks that are about to end.

use std::time::Duration;

use latimer_protocol::ErrorKind;
use tokio::time::sleep;

use super::sends::{id, in_state};
use super::want;
use crate::soak::caller::{Answer, Caller};
use crate::soak::speech::{About, Message};
use crate::soak::trouble::Run;

pub(super) async fn cancel(caller: &mut Caller) -> Run {
    // One listens when it is canceled, the other has to be cut off.
    let word = if caller.random.once_in(4) { "stubborn" } else { "wait" };
    let message = Message { at_once: true, ..caller.message(format!("{word} 60000")) };
    let sent = caller.expect(&caller.speech.send(&message)).await?;
    let canceled = caller.expect(&caller.speech.about(&id(&sent)?, About::Cancel)).await?;
    in_state(caller, &canceled, "canceled")
}

pub(super) async fn race(caller: &mut Caller) -> Run {
    let time = caller.random.within(1, 30);
    let message = Message { at_once: true, ..caller.message(format!("wait {time}")) };
    let sent = caller.expect(&caller.speech.send(&message)).await?;
    let task = id(&sent)?;
    sleep(Duration::from_millis(caller.random.below(30))).await;
    let request = caller.speech.about(&task, About::Cancel);
    let mut other = caller.twin();
    let (one, two) = tokio::join!(caller.ask(&request), other.ask(&request));
    let answers = [one?, two?];
    let seen = caller.expect(&caller.speech.about(&task, About::Get)).await?;
    let end = if seen.state().as_deref() == Some("canceled") { "canceled" } else { "completed" };
    in_state(caller, &seen, end)?;
    for answer in answers {
        let as_it_is = match &answer {
            Answer::Well(canceled) => end == "canceled" && canceled.state() == seen.state(),
            Answer::Refused(code, _) => {
                end == "completed" && *code == caller.speech.code(ErrorKind::TaskNotCancelable)
            }
        };
        want(as_it_is, || format!("{answer:?} of a task that is {end}"))?;
    }
    Ok(())
}
