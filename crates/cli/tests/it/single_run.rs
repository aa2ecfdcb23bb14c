//! A resent message never runs an agent with outside effects twice, at whatever moment the server is
//! killed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt as _;
use latimer_client::outbound::Rules;
use latimer_client::{Client, RetryPolicy};
use latimer_protocol::card::ProtocolBinding;
use latimer_protocol::{
    Message, MessageId, SendMessageConfiguration, SendMessageRequest, SendMessageResponse, Task,
    TaskState,
};
use latimer_server::{Agent, AgentFailure, RunningServer, Server, Turn};
use rustix::process::Signal;

use crate::program::{ServerProcess, TestDir};

static BINDINGS: [ProtocolBinding; 3] =
    [ProtocolBinding::JsonRpc, ProtocolBinding::HttpJson, ProtocolBinding::Grpc];

/// How the message is sent before the server is killed.
const MODES: [Mode; 3] = [Mode::Blocking, Mode::Immediate, Mode::Stream];

#[derive(Clone, Copy, Debug)]
enum Mode {
    Blocking,
    Immediate,
    Stream,
}

const SERVE: [&str; 3] = ["serve", "--listen", "127.0.0.1:0"];

async fn connect(server: &ServerProcess, binding: &ProtocolBinding) -> Client {
    let builder = Client::builder(format!("http://{}", server.address()))
        .bindings([binding.clone()])
        .guard_rules(Rules { allow_loopback: true, ..Rules::default() })
        .retry(RetryPolicy { max_attempts: 1, ..RetryPolicy::default() });
    builder.connect().await.unwrap()
}

/// Sends a message, kills the server after a delay, restarts it and sends the message again. Returns
/// the final task, or `None` if the agent answered with an error or a message.
async fn kill_and_resend(
    dir: &TestDir,
    server: &mut ServerProcess,
    binding: &ProtocolBinding,
    mode: Mode,
    request: SendMessageRequest,
    delay: Duration,
) -> Option<Arc<Task>> {
    let client = connect(server, binding).await;
    let first = tokio::spawn({
        let mut request = request.clone();
        async move {
            // The server is killed meanwhile, so any result is possible.
            match mode {
                Mode::Stream => {
                    if let Ok(mut events) = client.stream(request).await {
                        while let Some(Ok(_)) = events.next().await {}
                    }
                }
                Mode::Blocking => drop(client.send(request).await),
                Mode::Immediate => {
                    let configuration = request.configuration.get_or_insert_default();
                    configuration.return_immediately = true;
                    drop(client.send(request).await);
                }
            }
        }
    });
    tokio::time::sleep(delay).await;
    server.signal(Signal::KILL);
    server.wait_for_exit();
    first.abort();
    *server = dir.serve(&SERVE);
    let client = connect(server, binding).await;
    match client.send(request).await {
        Ok(SendMessageResponse::Task(task)) => Some(task),
        Ok(SendMessageResponse::Message(_)) | Err(_) => None,
    }
}

fn user_request(text: &str) -> SendMessageRequest {
    let message = Message::user(MessageId::new(text.replace(' ', "-")).unwrap(), text);
    let configuration = Some(SendMessageConfiguration::default());
    SendMessageRequest { configuration, ..SendMessageRequest::from(message) }
}

/// One message that is sent before and after a kill.
struct Round {
    number: usize,
    binding: &'static ProtocolBinding,
    mode: Mode,
    text: String,
}

/// Returns every mode over every binding.
fn rounds() -> impl Iterator<Item = Round> {
    let modes = MODES.into_iter().flat_map(|mode| BINDINGS.iter().map(move |it| (mode, it)));
    modes.enumerate().map(|(number, (mode, binding))| Round {
        number,
        binding,
        mode,
        text: format!("message {number}"),
    })
}

/// Delays before the kill, from before the first write to after the agent has finished.
fn delay(round: usize) -> Duration {
    Duration::from_millis([2, 10, 30, 70, 120, 200, 300, 450, 600][round % 9])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_server_runs_command_once_per_message() {
    let dir = TestDir::new();
    let runs = dir.path("runs.txt");
    let config = format!(
        "[store]\npath = \"tasks.db\"\n\n[[agents]]\nname = \"worker\"\nkind = \"command\"\n\
         command = [\"sh\", \"-c\", 'text=$(cat); echo \"$text\" >> {}; sleep 0.2; echo done']\n",
        runs.display()
    );
    let dir = dir.with_file("latimer.toml", &config);
    let mut server = dir.serve(&SERVE);
    let mut finished = 0;
    for Round { number, binding, mode, text } in rounds() {
        let what = format!("{text}, {binding:?}, {mode:?}");
        let request = user_request(&text);
        let task = kill_and_resend(&dir, &mut server, binding, mode, request, delay(number)).await;
        let task = task.unwrap_or_else(|| panic!("{what}: no task"));
        assert!(task.status.state.is_terminal(), "{what}: {task:?}");
        let lines = std::fs::read_to_string(&runs).unwrap_or_default();
        let count = lines.lines().filter(|it| *it == text).count();
        assert!(count <= 1, "{what}: {count} runs");
        if task.status.state == TaskState::Completed {
            assert_eq!(count, 1, "{what}: completed without a run");
            finished += 1;
        } else {
            let reason = task.status.message.as_ref().map(|it| it.text()).unwrap_or_default();
            assert!(reason.contains("restarted"), "{what}: {task:?}");
        }
    }
    assert!(finished > 0, "no message was completed");
}

/// Counts how often each message reached the upstream agent.
type Runs = Arc<Mutex<HashMap<String, usize>>>;

async fn start_upstream(runs: &Runs) -> RunningServer {
    let runs = Arc::clone(runs);
    let agent = Agent::from_fn("upstream", move |turn: Turn| {
        let runs = Arc::clone(&runs);
        async move {
            let text = turn.text();
            if turn.task().is_none() && text.starts_with("ask") {
                turn.request_input("What?").await?;
                return Ok::<_, AgentFailure>(());
            }
            *runs.lock().unwrap().entry(text).or_default() += 1;
            tokio::time::sleep(Duration::from_millis(200)).await;
            turn.reply("done").await?;
            Ok(())
        }
    });
    Server::new(agent).bind("127.0.0.1:0").listen().await.unwrap()
}

/// Runs rounds against a gateway; with `follow_up`, the message answers a question.
async fn check_gateway(follow_up: bool) {
    let runs = Runs::default();
    let upstream = start_upstream(&runs).await;
    let config = format!(
        "[store]\npath = \"tasks.db\"\n\n[[agents]]\nname = \"gateway\"\nkind = \"a2a\"\n\
         url = \"http://{}\"\n",
        upstream.address()
    );
    let dir = TestDir::new().with_file("latimer.toml", &config);
    let mut server = dir.serve(&SERVE);
    let mut finished = 0;
    for Round { number, binding, mode, text } in rounds() {
        let what = format!("{text}, {binding:?}, {mode:?}");
        let mut request = user_request(&text);
        if follow_up {
            let client = connect(&server, binding).await;
            let asked = client.send(user_request(&format!("ask {number}"))).await.unwrap();
            let SendMessageResponse::Task(asked) = asked else { panic!("{what}: {asked:?}") };
            assert_eq!(asked.status.state, TaskState::InputRequired, "{what}");
            request.message = request.message.with_task(asked.id.clone());
        }
        let task = kill_and_resend(&dir, &mut server, binding, mode, request, delay(number)).await;
        let count = runs.lock().unwrap().get(&text).copied().unwrap_or_default();
        assert!(count <= 1, "{what}: {count} runs");
        if task.is_some_and(|it| it.status.state == TaskState::Completed) {
            assert_eq!(count, 1, "{what}: completed without a run");
            finished += 1;
        }
    }
    assert!(finished > 0, "no message was completed");
    upstream.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_gateway_forwards_each_message_once() {
    check_gateway(false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_gateway_forwards_each_follow_up_once() {
    check_gateway(true).await;
}
