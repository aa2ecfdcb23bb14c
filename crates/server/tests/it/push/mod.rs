//! Webhooks: what arrives, when, and where nothing is sent to.

mod failing;
mod forms;
mod operator;
mod receiver;
mod registered;
mod signed;
mod targets;

pub(crate) use receiver::Receiver;

use std::time::Duration;

use latimer_server::{Agent, PushSettings, Server, Settings, Turn};

use crate::support::{Site, message, site};

/// An agent that says so many things, or asks, or waits, or says what it knows of its caller.
fn talker() -> Agent {
    Agent::from_fn("talker", |turn: Turn| async move {
        match turn.text().as_str() {
            "ask" => turn.ask("which one?").await,
            "say" => turn.say("just so").await,
            "awaited" => turn.complete_with(turn.is_awaited().to_string()).await,
            "wait" => {
                turn.working().await?;
                turn.cancelled().cancelled().await;
                Ok(())
            }
            text => {
                turn.working().await?;
                for word in text.split(' ') {
                    turn.artifact(word).push_last(word).await?;
                    turn.flush().await?;
                }
                turn.complete().await
            }
        }
    })
}

/// Deliveries that do not wait long.
fn hasty() -> PushSettings {
    PushSettings {
        first_pause: Duration::from_millis(2),
        longest_pause: Duration::from_millis(20),
        timeout: Duration::from_secs(10),
        ..PushSettings::default()
    }
}

fn server(push: PushSettings) -> Server {
    Server::new(talker()).settings(Settings { push, ..Settings::default() })
}

async fn talking(push: PushSettings) -> Site {
    site(server(push)).await
}

/// A message in JSON-RPC of 1.0, with a webhook.
fn send(text: &str, webhook: &str, immediately: bool) -> String {
    let message = message(text);
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{{"message":{message},
            "configuration":{{"returnImmediately":{immediately},
                "taskPushNotificationConfig":{webhook}}}}}}}"#
    )
}

/// A webhook of 1.0 at an address.
fn at(url: &str) -> String {
    format!(r#"{{"url":"{url}"}}"#)
}

/// The id of the task that was answered.
fn id(answer: &crate::support::Answer) -> String {
    answer.json()["result"]["task"]["id"]
        .as_str()
        .unwrap_or_else(|| panic!("{answer:?}"))
        .to_owned()
}
