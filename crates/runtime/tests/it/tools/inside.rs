//! An agent elsewhere inside one of ours: as a sub-agent, as a tool, and as a step.

use std::net::SocketAddr;

use async_trait::async_trait;
use latimer_client::{Client, user_message};
use latimer_protocol::{Message, SendMessageResponse, Task, TaskState};
use latimer_runtime::Remote;
use latimer_runtime::tools::{NETWORK_FETCH, Occasion, Output, ToolError, Toolbox};
use latimer_server::{Agent, AgentFailure, Executor, Policy, RunningServer, Server, Turn};
use serde_json::{Value, json};

use super::{VERSIONS, members, tool, toolbox};
use crate::remote::{PAIRS, PATIENT, Pair, caller, demo, listen, remote, until};

/// Does some things by itself, and hands the rest to another agent.
#[derive(Debug)]
struct Chief(Remote);

#[async_trait]
impl Executor for Chief {
    async fn execute(&self, turn: Turn) -> Result<(), AgentFailure> {
        match turn.text() == "who are you" {
            true => Ok(turn.direct_reply("the chief").await?),
            false => self.0.execute(turn).await,
        }
    }

    async fn recover(&self, turn: Turn) -> Result<(), AgentFailure> {
        self.0.recover(turn).await
    }

    async fn release(&self, task: &Task, note: Option<&str>) {
        self.0.release(task, note).await;
    }
}

/// Asks an agent by a tool, and hands its questions on.
#[derive(Debug)]
struct Asker(Toolbox);

impl Asker {
    async fn ask(&self, turn: &Turn) -> Result<Output, ToolError> {
        let mut arguments = json!({"message": turn.text()});
        if let Some(context) = turn.note() {
            arguments["contextId"] = Value::from(context);
        }
        self.0.call("a2a_demo", members(arguments), &Occasion::of(turn)).await
    }
}

#[async_trait]
impl Executor for Asker {
    async fn execute(&self, turn: Turn) -> Result<(), AgentFailure> {
        turn.set_working().await?;
        let output = self.ask(&turn).await.map_err(|it| AgentFailure::new(it.message()))?;
        if !output.state.is_some_and(TaskState::is_interrupted) {
            return Ok(turn.reply(output.text).await?);
        }
        if let Some(context) = output.context_id {
            turn.set_note(context.as_str()).await?;
        }
        Ok(turn.request_input(output.text).await?)
    }
}

/// Asks one agent, and then another one about what that said.
#[derive(Debug)]
struct Steps(Toolbox);

#[async_trait]
impl Executor for Steps {
    async fn execute(&self, turn: Turn) -> Result<(), AgentFailure> {
        let mut text = turn.text();
        for step in ["a2a_shouter", "a2a_demo"] {
            turn.progress(format!("asking {step}")).await?;
            let arguments = members(json!({ "message": text }));
            let said = self.0.call(step, arguments, &Occasion::of(&turn)).await;
            text = said.map_err(|it| AgentFailure::new(it.message()))?.text;
        }
        Ok(turn.reply(text).await?)
    }
}

/// Serves an agent that is given all the time to stop by itself.
async fn serve(executor: impl Executor) -> (RunningServer, Client) {
    let policy = Policy { cancel_grace: 2 * PATIENT, ..Policy::default() };
    let agent = Agent::new("ours", executor).with_policy(policy);
    let running = listen(Server::new(agent)).await;
    let client = caller(running.address(), &VERSIONS[0]);
    (running, client)
}

async fn task(client: &Client, message: Message) -> Task {
    let sent = client.send(message).await;
    let Ok(SendMessageResponse::Task(task)) = sent else { panic!("{sent:?}") };
    (*task).clone()
}

/// Has a question asked and answered, and a long task canceled, through an agent of ours.
async fn question_and_cancel(client: &Client, behind: SocketAddr, pair: &Pair) {
    let asked = task(client, user_message("ask Which city?")).await;
    assert_eq!(asked.status.state, TaskState::InputRequired, "{pair:?}: {asked:?}");
    assert_eq!(asked.status.message.as_ref().unwrap().text(), "Which city?", "{pair:?}");
    let answered = task(client, user_message("Oslo").with_task(asked.id)).await;
    assert_eq!((answered.status.state, &*answered.text()), (TaskState::Completed, "Oslo"));

    let mut following = client.follow(user_message("wait 600000"));
    following.next().await.unwrap();
    let ours = following.task().unwrap().id.clone();
    let behind = caller(behind, &VERSIONS[0]);
    let theirs = super::cancel::at_work(&behind).await;
    let canceled = client.cancel_task(ours).await.unwrap();
    assert_eq!(canceled.status.state, TaskState::Canceled, "{pair:?}");
    until(&behind, &theirs, |it| it.status.state == TaskState::Canceled).await;
}

#[tokio::test]
async fn a_turn_is_handed_to_an_agent_elsewhere() {
    for pair in VERSIONS {
        let demo = demo().await;
        let (_ours, client) = serve(Chief(remote(demo.address(), &pair))).await;
        let sent = client.send(user_message("who are you")).await.unwrap();
        assert!(matches!(sent, SendMessageResponse::Message(it) if it.text() == "the chief"));
        let made = task(&client, user_message("chunks 3 1")).await;
        assert_eq!(made.artifacts[0].parts.len(), 3, "{pair:?}: piece by piece");
        question_and_cancel(&client, demo.address(), &pair).await;
    }
}

#[tokio::test]
async fn an_agent_elsewhere_is_a_tool() {
    for pair in VERSIONS {
        let demo = demo().await;
        let (_ours, client) = serve(Asker(toolbox(tool("demo", demo.address(), &pair)))).await;
        let said = task(&client, user_message("echo hello")).await;
        assert_eq!((said.status.state, &*said.text()), (TaskState::Completed, "hello"));
        question_and_cancel(&client, demo.address(), &pair).await;
    }
}

#[tokio::test]
async fn agents_elsewhere_are_steps() {
    let shouter = Agent::from_fn("shouter", |turn: Turn| async move {
        turn.reply(turn.text().replace("whisper", "echo").to_uppercase().replace("ECHO", "echo"))
            .await
    });
    let (shouter, demo) = (listen(Server::new(shouter)).await, demo().await);
    for (first, second) in PAIRS.into_iter().zip(PAIRS.into_iter().rev()) {
        let tools = Toolbox::new().granting(NETWORK_FETCH);
        let tools = tools.with(tool("shouter", shouter.address(), &first)).unwrap();
        let tools = tools.with(tool("demo", demo.address(), &second)).unwrap();
        let (_ours, client) = serve(Steps(tools)).await;
        let done = task(&client, user_message("whisper hello")).await;
        let want = (TaskState::Completed, "HELLO");
        assert_eq!((done.status.state, &*done.text()), want, "{first:?} {second:?}");
    }
}

#[tokio::test]
async fn a_step_that_fails_is_the_last() {
    let demo = demo().await;
    let tools = Toolbox::new().granting(NETWORK_FETCH);
    let tools = tools.with(tool("shouter", demo.address(), &VERSIONS[0])).unwrap();
    let tools = tools.with(tool("demo", demo.address(), &VERSIONS[0])).unwrap();
    let (_ours, client) = serve(Steps(tools)).await;
    let failed = task(&client, user_message("fail no voice")).await;
    assert_eq!(failed.status.state, TaskState::Failed);
    assert_eq!(failed.status.message.unwrap().text(), "the agent failed: no voice");
    let theirs = caller(demo.address(), &VERSIONS[0]).list_tasks(Default::default()).await;
    assert_eq!(theirs.unwrap().tasks.len(), 1);
}
