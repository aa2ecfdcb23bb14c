//! The agent of most tests.

use std::time::Duration;

use latimer_protocol::{Error, ErrorKind};

use crate::{AgentFailure, Turn};

/// Agent that carries out the instruction in the first word of a message.
pub(super) async fn scripted_agent(turn: Turn) -> Result<(), AgentFailure> {
    let text = turn.text();
    let (word, argument) = text.split_once(' ').unwrap_or((&text, ""));
    match word {
        "say" => turn.direct_reply(argument).await?,
        "who" => turn.direct_reply(turn.caller().id().to_string()).await?,
        "before" => {
            let earlier = turn.context_tasks(10).await?;
            let texts: Vec<_> = earlier.iter().map(|it| it.text()).collect();
            turn.reply(texts.join(",")).await?;
        }
        "late" => {
            tokio::task::yield_now().await;
            turn.direct_reply(argument).await?;
            tokio::task::yield_now().await;
        }
        "pause" => {
            let (delay, next) = argument.split_once(' ').unwrap_or((argument, ""));
            tokio::time::sleep(Duration::from_millis(delay.parse()?)).await;
            turn.progress(next).await?;
            tokio::time::sleep(Duration::from_secs(5)).await;
        }
        "ask-late" => {
            let (delay, question) = argument.split_once(' ').unwrap_or((argument, ""));
            tokio::time::sleep(Duration::from_millis(delay.parse()?)).await;
            turn.request_input(question).await?;
        }
        "mute" => {
            let (delay, text) = argument.split_once(' ').unwrap_or((argument, ""));
            tokio::time::sleep(Duration::from_millis(delay.parse()?)).await;
            turn.direct_reply(text).await?;
        }
        "refuse" => {
            let (delay, kind) = argument.split_once(' ').unwrap_or((argument, ""));
            if delay != "0" {
                tokio::time::sleep(Duration::from_millis(delay.parse()?)).await;
            }
            let kind = match kind {
                "busy" => ErrorKind::Unavailable,
                _ => ErrorKind::ContentTypeNotSupported,
            };
            return Err(AgentFailure::reject_message(Error::new(kind, "not this")));
        }
        "ask" if turn.task().is_none() => turn.request_input(argument).await?,
        "auth" if turn.task().is_none() => turn.request_authorization(argument).await?,
        "fail" => return Err(AgentFailure::new(argument)),
        "panic" => panic!("on request"),
        "fragile" => {
            turn.set_working().await?;
            turn.cancellation_token().cancelled().await;
            panic!("on cancellation");
        }
        "error" => return Err(std::io::Error::other("secret").into()),
        "reject" => turn.reject(argument).await?,
        "wait" => {
            turn.set_working().await?;
            tokio::select! {
                () = tokio::time::sleep(Duration::from_millis(argument.parse()?)) => {}
                () = turn.cancellation_token().cancelled() => return Ok(()),
            }
        }
        "silent" => tokio::time::sleep(Duration::from_millis(argument.parse()?)).await,
        "stubborn" => {
            turn.set_working().await?;
            tokio::time::sleep(Duration::from_millis(argument.parse()?)).await;
            turn.complete().await?;
        }
        "decline" => {
            turn.set_working().await?;
            turn.cancellation_token().cancelled().await;
            turn.decline_cancellation(Error::new(ErrorKind::TaskNotCancelable, "not now"));
            tokio::time::sleep(Duration::from_millis(argument.parse()?)).await;
        }
        "talk" => loop {
            turn.progress("more").await?;
        },
        "chunks" => {
            let mut out = turn.artifact("chunks");
            for number in 1..=argument.parse::<u32>()? {
                out.push(format!("{number}")).await?;
                tokio::task::yield_now().await;
            }
        }
        _ => turn.reply(text).await?,
    }
    Ok(())
}
