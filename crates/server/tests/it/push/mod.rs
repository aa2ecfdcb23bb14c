//! Webhook deliveries, registration and forbidden URLs.

mod dead_letters;
mod failures;
mod payloads;
mod receiver;
mod registration;
mod signatures;
mod targets;

pub(crate) use receiver::Receiver;

use std::time::Duration;

use latimer_protocol::Caller;
use latimer_server::{Agent, PushSettings, Server, Settings, Turn, WebhookDispatcher};

use crate::support::{TestServer, message, start_server, wait_until};

/// Agent that emits one artifact per word. `ask` requests input, `say` replies directly, `awaited`
/// returns whether only the result is read, and `wait` runs until it is canceled.
fn chatty_agent() -> Agent {
    Agent::from_fn("talker", |turn: Turn| async move {
        match turn.text().as_str() {
            "ask" => turn.request_input("which one?").await,
            "say" => turn.direct_reply("just so").await,
            "say later" => {
                tokio::time::sleep(Duration::from_millis(300)).await;
                turn.direct_reply("just so").await
            }
            "work later" => {
                tokio::time::sleep(Duration::from_millis(300)).await;
                turn.reply("done").await
            }
            "awaited" => turn.complete_with(turn.is_result_only().to_string()).await,
            "wait" => {
                turn.set_working().await?;
                turn.cancellation_token().cancelled().await;
                Ok(())
            }
            text => {
                turn.set_working().await?;
                for word in text.split(' ') {
                    turn.artifact(word).push_last(word).await?;
                    turn.flush().await?;
                }
                turn.complete().await
            }
        }
    })
    .with_direct_replies()
}

/// Returns settings with short backoffs.
fn short_timeouts() -> PushSettings {
    PushSettings {
        initial_backoff: Duration::from_millis(2),
        max_backoff: Duration::from_millis(20),
        timeout: Duration::from_secs(10),
        ..PushSettings::default()
    }
}

fn webhook_server(push: PushSettings) -> Server {
    Server::new(chatty_agent()).settings(Settings { push, ..Settings::default() })
}

async fn start_chatty_server(push: PushSettings) -> TestServer {
    start_server(webhook_server(push)).await
}

/// Makes all requests those of one caller: anonymous callers of other machines have no webhooks.
fn identified(server: Server) -> Server {
    server.authenticate_with(|_| Some(Caller::new("alice")))
}

/// Returns a JSON-RPC 1.0 request that sends a message with a webhook.
fn send_with_webhook(text: &str, webhook: &str, immediately: bool) -> String {
    let message = message(text);
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{{"message":{message},
            "configuration":{{"returnImmediately":{immediately},
                "taskPushNotificationConfig":{webhook}}}}}}}"#
    )
}

/// Returns a 1.0 webhook configuration.
fn webhook_at(url: &str) -> String {
    format!(r#"{{"url":"{url}"}}"#)
}

/// Waits until there are `count` dead letters.
async fn wait_for_dead_letters(dispatcher: &WebhookDispatcher, count: usize) {
    wait_until("deliveries are given up", async || {
        dispatcher.dead_letters(100).await.unwrap().len() >= count
    })
    .await;
}

/// Returns the task id in a JSON-RPC 1.0 response.
fn task_id(response: &crate::support::TestResponse) -> String {
    response.json()["result"]["task"]["id"]
        .as_str()
        .unwrap_or_else(|| panic!("{response:?}"))
        .to_owned()
}
