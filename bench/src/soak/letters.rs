//! An operator who looks after dead letters: notes each, tries some again, and drops the others.

use std::sync::Arc;

use super::caller::{Answer, Caller};
use super::speech::Request;
use super::trouble::{Run, Trouble};
use super::world::World;

/// How many are tried again at a time.
const AGAIN: usize = 10;

/// Notes what was given up, and tidies up.
pub async fn look_after(world: &Arc<World>) {
    let mut operator = Caller::new(world, 1);
    operator.until_up().await;
    if let Err(Trouble::Fault(what)) = tidy(&mut operator).await {
        world.fault("dead letters", what);
    }
}

async fn tidy(operator: &mut Caller) -> Run {
    let list = operator.expect(&Request::plain("GET", "/api/push/dead")).await?.0;
    let letters = list["letters"].as_array().ok_or_else(|| format!("no letters: {list}"))?;
    for (place, letter) in letters.iter().enumerate() {
        let (Some(id), Some(task)) = (letter["id"].as_str(), letter["taskId"].as_str()) else {
            return Err(Trouble::Fault(format!("not a letter: {letter}")));
        };
        operator.world.receiver.given_up(task.to_owned(), id.to_owned());
        let path = format!("/api/push/dead/{id}");
        if place < AGAIN {
            let again = Request::plain("POST", &format!("{path}/replay"));
            match operator.ask(&again).await? {
                Answer::Well(seen) if seen.0["delivered"] == true => continue,
                // Still not, or its task has made room for others.
                Answer::Well(_) | Answer::Refused(404, _) => {}
                other => return Err(operator.judge(format!("not tried again: {other:?}"))),
            }
        }
        match operator.ask(&Request::plain("DELETE", &path)).await? {
            Answer::Well(_) | Answer::Refused(404, _) => {}
            other => return Err(operator.judge(format!("not dropped: {other:?}"))),
        }
    }
    Ok(())
}
