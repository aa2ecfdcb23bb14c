//! A server on a real socket, and a caller that sees every byte of what it answers.

mod client;
mod log;
mod script;

pub(crate) use client::{Answer, Caller, h2};
pub(crate) use log::Log;
pub(crate) use script::Script;

use latimer_server::{Agent, Running, Server, Settings, Turn};

/// A server that runs, and a way to call it.
pub(crate) struct Site {
    pub(crate) running: Running,
    pub(crate) caller: Caller,
}

impl std::ops::Deref for Site {
    type Target = Caller;

    fn deref(&self) -> &Caller {
        &self.caller
    }
}

/// Runs a server at any free port.
pub(crate) async fn site(server: Server) -> Site {
    let running = server.bind("127.0.0.1:0").listen().await.expect("the server runs");
    let caller = Caller::new(running.address());
    Site { running, caller }
}

/// An agent that answers in capitals, asks when it is told `ask`, and never ends when told `wait`.
pub(crate) fn agent(name: &str) -> Agent {
    Agent::from_fn(name, |turn: Turn| async move {
        match turn.text().as_str() {
            "ask" => turn.ask("which one?").await,
            "say" => turn.say("just so").await,
            "wait" => {
                turn.working().await?;
                turn.cancelled().cancelled().await;
                Ok(())
            }
            text => {
                turn.status("thinking").await?;
                turn.reply(text.to_uppercase()).await
            }
        }
    })
    .description("Shouts")
}

/// A server of the agent, set up as given.
pub(crate) fn shouter(settings: Settings) -> Server {
    Server::new(agent("shouter")).settings(settings)
}

/// A call of `SendMessage` or the like, in JSON-RPC of 1.0.
pub(crate) fn send(method: &str, text: &str) -> String {
    let message = message(text);
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{"message":{message}}}}}"#)
}

/// A message of 1.0.
pub(crate) fn message(text: &str) -> String {
    format!(r#"{{"messageId":"{}","role":"ROLE_USER","parts":[{{"text":"{text}"}}]}}"#, fresh())
}

/// A message of 0.3.
pub(crate) fn older_message(text: &str) -> String {
    let id = fresh();
    format!(
        r#"{{"kind":"message","messageId":"{id}","role":"user","parts":[{{"kind":"text","text":"{text}"}}]}}"#
    )
}

fn fresh() -> usize {
    static NEXT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
}
