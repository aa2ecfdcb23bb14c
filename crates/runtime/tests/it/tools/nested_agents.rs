//! Tests of agents that use remote agents: by delegation, as tools, and as pipeline steps.

use std::net::SocketAddr;

use async_trait::async_trait;
use latimer_client::{Client, user_message};
use latimer_protocol::{Message, SendMessageResponse, Task, TaskState};
use latimer_runtime::RemoteAgent;
use latimer_runtime::tools::{NETWORK_FETCH, ToolContext, ToolError, ToolOutput, Toolbox};
use latimer_server::{Agent, AgentFailure, Executor, Policy, RunningServer, Server, Turn};
use serde_json::{Value, json};

use super::{VERSIONS, into_object, tool, toolbox};
use crate::remote::{
    BINDING_VERSIONS, BindingVersion, TEST_TIMEOUT, client_for, remote_agent, start_demo,
    start_server, wait_until,
};

/// Answers one question itself and delegates all other turns to a remote agent.
#[derive(Debug)]
struct DelegatingAgent(RemoteAgent);

#[async_trait]
impl Executor for DelegatingAgent {
    async fn execute(&self, turn: Turn) -> Result<(), AgentFailure> {
        match turn.text() == "who are you" {
            true => Ok(turn.direct_reply("the chief").await?),
            false => self.0.execute(turn).await,
        }
    }

    async fn recover(&self, turn: Turn) -> Result<(), AgentFailure> {
        self.0.recover(turn).await
    }

    fn default_policy(&self) -> Policy {
        self.0.default_policy()
    }

    async fn check(&self, turn: &Turn) -> Result<(), AgentFailure> {
        self.0.check(turn).await
    }

    async fn release(&self, task: &Task, note: Option<&str>) {
        self.0.release(task, note).await;
    }
}

/// Calls an agent tool and forwards its questions to the caller.
#[derive(Debug)]
struct ToolCallingAgent(Toolbox);

impl ToolCallingAgent {
    async fn call_demo(&self, turn: &Turn) -> Result<ToolOutput, ToolError> {
        let mut arguments = json!({"message": turn.text()});
        if let Some(context) = turn.note() {
            arguments["contextId"] = Value::from(context);
        }
        self.0.call("a2a_demo", into_object(arguments), &ToolContext::for_turn(turn)).await
    }
}

#[async_trait]
impl Executor for ToolCallingAgent {
    async fn execute(&self, turn: Turn) -> Result<(), AgentFailure> {
        turn.set_working().await?;
        let output = self.call_demo(&turn).await.map_err(|it| AgentFailure::new(it.message()))?;
        if !output.state.is_some_and(TaskState::is_interrupted) {
            return Ok(turn.reply(output.text).await?);
        }
        if let Some(context) = output.context_id {
            turn.set_note(context.as_str()).await?;
        }
        Ok(turn.request_input(output.text).await?)
    }
}

/// Calls one agent, and then another one with the output of the first.
#[derive(Debug)]
struct PipelineAgent(Toolbox);

#[async_trait]
impl Executor for PipelineAgent {
    async fn execute(&self, turn: Turn) -> Result<(), AgentFailure> {
        let mut text = turn.text();
        for step in ["a2a_shouter", "a2a_demo"] {
            turn.progress(format!("asking {step}")).await?;
            let arguments = into_object(json!({ "message": text }));
            let output = self.0.call(step, arguments, &ToolContext::for_turn(&turn)).await;
            text = output.map_err(|it| AgentFailure::new(it.message()))?.text;
        }
        Ok(turn.reply(text).await?)
    }
}

/// Serves an agent with a long cancel grace.
async fn start_agent(executor: impl Executor) -> (RunningServer, Client) {
    let agent = Agent::new("local", executor);
    let policy = Policy { cancel_grace: 2 * TEST_TIMEOUT, ..agent.policy().clone() };
    let agent = agent.with_policy(policy);
    let running = start_server(Server::new(agent)).await;
    let client = client_for(running.address(), &VERSIONS[0]);
    (running, client)
}

async fn send_for_task(client: &Client, message: Message) -> Task {
    let sent = client.send(message).await;
    let Ok(SendMessageResponse::Task(task)) = sent else { panic!("{sent:?}") };
    (*task).clone()
}

/// Checks that a question is answered and a long task canceled through the local agent.
async fn check_question_and_cancel(
    client: &Client,
    upstream_address: SocketAddr,
    pair: &BindingVersion,
) {
    let interrupted = send_for_task(client, user_message("ask Which city?")).await;
    assert_eq!(interrupted.status.state, TaskState::InputRequired, "{pair:?}: {interrupted:?}");
    assert_eq!(interrupted.status.message.as_ref().unwrap().text(), "Which city?", "{pair:?}");
    let answered = send_for_task(client, user_message("Oslo").with_task(interrupted.id)).await;
    assert_eq!((answered.status.state, &*answered.text()), (TaskState::Completed, "Oslo"));

    let mut follower = client.follow(user_message("wait 600000"));
    follower.next().await.unwrap();
    let local_id = follower.task().unwrap().id.clone();
    let upstream = client_for(upstream_address, &VERSIONS[0]);
    let upstream_id = super::cancel::wait_until_working(&upstream).await;
    let canceled = client.cancel_task(local_id).await.unwrap();
    assert_eq!(canceled.status.state, TaskState::Canceled, "{pair:?}");
    wait_until(&upstream, &upstream_id, |it| it.status.state == TaskState::Canceled).await;
}

#[tokio::test]
async fn turn_is_delegated_to_remote_agent() {
    for pair in VERSIONS {
        let demo = start_demo().await;
        let (_server, client) =
            start_agent(DelegatingAgent(remote_agent(demo.address(), &pair))).await;
        let sent = client.send(user_message("who are you")).await.unwrap();
        assert!(matches!(sent, SendMessageResponse::Message(it) if it.text() == "the chief"));
        let streamed = send_for_task(&client, user_message("chunks 3 1")).await;
        assert_eq!(streamed.artifacts[0].parts.len(), 3, "{pair:?}: relayed as chunks");
        check_question_and_cancel(&client, demo.address(), &pair).await;
    }
}

#[tokio::test]
async fn remote_agent_works_as_tool() {
    for pair in VERSIONS {
        let demo = start_demo().await;
        let (_server, client) =
            start_agent(ToolCallingAgent(toolbox(tool("demo", demo.address(), &pair)))).await;
        let echoed = send_for_task(&client, user_message("echo hello")).await;
        assert_eq!((echoed.status.state, &*echoed.text()), (TaskState::Completed, "hello"));
        check_question_and_cancel(&client, demo.address(), &pair).await;
    }
}

#[tokio::test]
async fn remote_agents_work_as_pipeline_steps() {
    let shouter = Agent::from_fn("shouter", |turn: Turn| async move {
        turn.reply(turn.text().replace("whisper", "echo").to_uppercase().replace("ECHO", "echo"))
            .await
    });
    let (shouter, demo) = (start_server(Server::new(shouter)).await, start_demo().await);
    for (first, second) in BINDING_VERSIONS.into_iter().zip(BINDING_VERSIONS.into_iter().rev()) {
        let tools = Toolbox::new().grant(NETWORK_FETCH);
        let tools = tools.with_tool(tool("shouter", shouter.address(), &first)).unwrap();
        let tools = tools.with_tool(tool("demo", demo.address(), &second)).unwrap();
        let (_server, client) = start_agent(PipelineAgent(tools)).await;
        let done = send_for_task(&client, user_message("whisper hello")).await;
        let want = (TaskState::Completed, "HELLO");
        assert_eq!((done.status.state, &*done.text()), want, "{first:?} {second:?}");
    }
}

#[tokio::test]
async fn failed_step_ends_pipeline() {
    let demo = start_demo().await;
    let tools = Toolbox::new().grant(NETWORK_FETCH);
    let tools = tools.with_tool(tool("shouter", demo.address(), &VERSIONS[0])).unwrap();
    let tools = tools.with_tool(tool("demo", demo.address(), &VERSIONS[0])).unwrap();
    let (_server, client) = start_agent(PipelineAgent(tools)).await;
    let failed = send_for_task(&client, user_message("fail no voice")).await;
    assert_eq!(failed.status.state, TaskState::Failed);
    assert_eq!(failed.status.message.unwrap().text(), "the agent failed: no voice");
    let upstream_tasks =
        client_for(demo.address(), &VERSIONS[0]).list_tasks(Default::default()).await;
    assert_eq!(upstream_tasks.unwrap().tasks.len(), 1);
}
