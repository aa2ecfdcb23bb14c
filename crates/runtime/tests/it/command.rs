//! Tests of the command agent.
#![cfg(unix)]

use std::collections::HashSet;
use std::path::Path;
use std::time::{Duration, Instant};

use latimer_protocol::{ContextId, Message, MessageId, Part, StreamResponse, TaskState};
use latimer_runtime::{CommandAgent, InputFormat};
use rustix::process::{Pid, test_kill_process};

use crate::harness::{EngineHarness, parts, status, text, user_message};

fn shell_agent(line: &str) -> CommandAgent {
    CommandAgent::new(latimer_runtime::shell_command(line)).unwrap()
}

fn harness(command: CommandAgent) -> EngineHarness {
    EngineHarness::new(command.into_agent("run"))
}

#[tokio::test]
async fn message_is_stdin_and_stdout_is_artifact() {
    let harness = harness(CommandAgent::new(["tr", "a-z", "A-Z"]).unwrap());
    let task = harness.send_for_task(user_message("hello").with_part("two lines")).await;
    assert_eq!(task.status.state, TaskState::Completed);
    assert_eq!(text(&task), "HELLO\nTWO LINES\n");
}

#[tokio::test]
async fn json_input_contains_complete_message() {
    let harness = harness(CommandAgent::new(["cat"]).unwrap().input(InputFormat::Json));
    let message = user_message("hello").with_part(Part::data(1));
    let task = harness.send_for_task(message.clone()).await;
    let received: Message = serde_json::from_str(&text(&task)).unwrap();
    assert_eq!((received.message_id, received.parts), (message.message_id, message.parts));
}

#[tokio::test]
async fn output_is_streamed_as_written() {
    let harness = harness(shell_agent("echo one; sleep 0.2; echo two"));
    let events = harness.collect_events(user_message("go")).await;
    let chunks: Vec<_> = events
        .iter()
        .filter_map(|it| match it {
            StreamResponse::ArtifactUpdate(it) => Some(it.artifact.text()),
            _ => None,
        })
        .collect();
    assert_eq!(chunks, ["one\n", "two\n"]);
}

#[tokio::test]
async fn delimiter_ends_output_chunks() {
    let command = shell_agent("printf 'a,b'; sleep 0.1; printf 'c,d'").delimiter(",");
    let task = harness(command).send_for_task(user_message("go")).await;
    let want = ["a,", "bc,", "d"].map(Part::text);
    assert_eq!(parts(&task), want);
}

#[tokio::test]
async fn failure_reports_exit_status_but_not_stderr() {
    let command = || shell_agent("echo half; echo secret >&2; exit 3");
    let task = harness(command()).send_for_task(user_message("go")).await;
    assert_eq!(
        status(&task),
        (TaskState::Failed, "the agent's command exited with status 3".into())
    );
    assert_eq!(text(&task), "half\n");
    let task = harness(command().expose_stderr()).send_for_task(user_message("go")).await;
    assert_eq!(status(&task).1, "the agent's command exited with status 3: secret");
    let task = harness(shell_agent("kill -9 $$")).send_for_task(user_message("go")).await;
    assert_eq!(status(&task).1, "the agent's command was terminated by signal 9");
}

#[tokio::test]
async fn missing_program_fails_with_reason() {
    let task = harness(CommandAgent::new(["no-such-program-anywhere"]).unwrap())
        .send_for_task(user_message("go"))
        .await;
    let want = "the agent's command cannot be started: program not found";
    assert_eq!(status(&task), (TaskState::Failed, want.into()));
}

#[tokio::test]
async fn program_may_ignore_stdin_and_write_nothing() {
    let long = "x".repeat(1_000_000);
    let task = harness(shell_agent("exit 0")).send_for_task(user_message(&long)).await;
    assert_eq!((task.status.state, task.artifacts.len()), (TaskState::Completed, 0));
    let task =
        harness(CommandAgent::new(["cat"]).unwrap()).send_for_task(user_message(&long)).await;
    assert_eq!(text(&task), format!("{long}\n"));
}

#[tokio::test]
async fn program_environment_is_isolated() {
    let line = "echo $HOME; echo $TMPDIR; [ -d $HOME ] && [ -w $TMPDIR ] && echo writable; \
                echo task $LATIMER_TASK_ID; echo context $LATIMER_CONTEXT_ID; env | sort";
    let task = harness(shell_agent(line).inherit_env(["CARGO_PKG_NAME"]))
        .send_for_task(user_message("go"))
        .await;
    let output = text(&task);
    let lines: Vec<_> = output.lines().collect();
    assert_eq!(lines[1], format!("{}/tmp", lines[0]));
    assert!(!Path::new(lines[0]).starts_with(std::env::var("HOME").unwrap_or("/root".into())));
    assert_eq!(lines[2], "writable");
    assert_eq!(lines[3], format!("task {}", task.id));
    assert!(lines[4].starts_with("context "), "{output}");
    let vars: Vec<_> = lines[5..].iter().filter_map(|it| it.split_once('=')).collect();
    let shell_vars = ["PWD", "OLDPWD", "SHLVL", "_"];
    let granted = ["CARGO_PKG_NAME", "HOME", "PATH", "TMPDIR"];
    for (name, _) in vars {
        let allowed =
            granted.contains(&name) || shell_vars.contains(&name) || name.starts_with("LATIMER_");
        assert!(allowed, "{name} leaked");
    }
    assert!(output.contains("CARGO_PKG_NAME=latimer-runtime"), "{output}");
}

#[tokio::test]
async fn program_gets_caller_and_its_derived_context() {
    let agent =
        |name| shell_agent("echo $LATIMER_CONTEXT_ID; echo $LATIMER_CALLER").into_agent(name);
    let (one, two) = (EngineHarness::new(agent("one")), EngineHarness::new(agent("two")));
    let mut derived_ids = HashSet::new();
    for (harness, caller, context) in [
        (&one, "key:alice", "../c"),
        (&one, "key:bob", "../c"),
        (&one, "key:alice", "d"),
        (&one, "", "../c"),
        (&two, "key:alice", "../c"),
    ] {
        let message =
            || Message { context_id: Some(ContextId::new(context).unwrap()), ..user_message("go") };
        let output = text(&*harness.send_as(caller, message()).await);
        let (derived_id, shown_caller) = output.split_once('\n').unwrap();
        assert_eq!(shown_caller.trim_end(), caller);
        let is_file_name = derived_id.chars().all(|it| it.is_ascii_alphanumeric() || it == '-');
        assert!(is_file_name && !derived_id.is_empty(), "{derived_id}");
        assert!(derived_ids.insert(derived_id.to_owned()), "{caller} {context}: {derived_id}");
        let repeated = text(&*harness.send_as(caller, message()).await);
        assert_eq!(repeated, output, "a context has one id");
    }
}

#[tokio::test]
async fn home_can_be_set_or_inherited() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("deep/home");
    let task =
        harness(shell_agent("printf %s $HOME").home(&home)).send_for_task(user_message("go")).await;
    assert_eq!(text(&task), home.to_str().unwrap());
    let task = harness(shell_agent("printf %s $HOME").inherit_home())
        .send_for_task(user_message("go"))
        .await;
    assert_eq!(text(&task), std::env::var("HOME").unwrap_or_default());
    let task =
        harness(shell_agent("pwd").current_dir(dir.path())).send_for_task(user_message("go")).await;
    assert_eq!(text(&task).trim(), dir.path().canonicalize().unwrap().to_str().unwrap());
}

#[tokio::test]
async fn exceeded_limits_fail_with_reason() {
    let slow = shell_agent("sleep 60").timeout(Duration::from_millis(100));
    let task = harness(slow).send_for_task(user_message("go")).await;
    assert_eq!(status(&task).1, "the agent's command took longer than 100ms and was terminated");
    let verbose = shell_agent("yes").max_output_bytes(100_000);
    let task = harness(verbose).send_for_task(user_message("go")).await;
    assert_eq!(
        status(&task).1,
        "the agent's command wrote more than 100000 bytes and was terminated"
    );
}

/// Starts a child process, prints its process id and waits for it.
const SPAWN_CHILD_SCRIPT: &str = "sleep 300 & echo $!; wait";

async fn child_of(harness: &EngineHarness, id: &latimer_protocol::TaskId) -> Pid {
    let task = harness.wait_until(id, |it| text(it).ends_with('\n')).await;
    Pid::from_raw(text(&task).trim().parse().unwrap()).unwrap()
}

async fn has_exited(pid: Pid) -> bool {
    for _ in 0..400 {
        // A zombie counts as exited: in a container, orphans may never be reaped.
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
        let zombie = stat.is_ok_and(|it| it.contains(") Z "));
        if test_kill_process(pid).is_err() || zombie {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    false
}

#[tokio::test]
async fn cancel_kills_child_processes() {
    let harness = harness(shell_agent(SPAWN_CHILD_SCRIPT));
    let started = harness.start_task(user_message("go")).await;
    let child = child_of(&harness, &started.id).await;
    let since = Instant::now();
    let task = harness.cancel(&started.id).await.unwrap();
    assert_eq!(task.status.state, TaskState::Canceled);
    assert!(has_exited(child).await);
    assert!(since.elapsed() < Duration::from_secs(2), "{:?}", since.elapsed());
}

#[tokio::test]
async fn program_ignoring_sigterm_is_killed() {
    let harness = harness(
        shell_agent(&format!("trap '' TERM; {SPAWN_CHILD_SCRIPT}; {SPAWN_CHILD_SCRIPT}"))
            .kill_grace(Duration::from_millis(200)),
    );
    let started = harness.start_task(user_message("go")).await;
    let child = child_of(&harness, &started.id).await;
    let task = harness.cancel(&started.id).await.unwrap();
    assert_eq!(task.status.state, TaskState::Canceled);
    assert!(has_exited(child).await);
}

#[tokio::test]
async fn dropped_turn_kills_child_processes() {
    let harness = harness(shell_agent(&format!("trap '' TERM; {SPAWN_CHILD_SCRIPT}")));
    let started = harness.start_task(user_message("go")).await;
    let child = child_of(&harness, &started.id).await;
    harness.engine.drain(Duration::ZERO).await;
    assert!(has_exited(child).await);
}

#[tokio::test]
async fn leftover_child_is_killed_and_task_completes() {
    let since = Instant::now();
    let harness = harness(shell_agent("sleep 300 & echo $!"));
    let task = harness.send_for_task(user_message("go")).await;
    assert_eq!(task.status.state, TaskState::Completed);
    let child = Pid::from_raw(text(&task).trim().parse().unwrap()).unwrap();
    assert!(has_exited(child).await);
    assert!(since.elapsed() < Duration::from_secs(5), "{:?}", since.elapsed());
}

#[tokio::test]
async fn child_outside_process_group_does_not_block_task() {
    let since = Instant::now();
    let task =
        harness(shell_agent("setsid sleep 10 & echo done")).send_for_task(user_message("go")).await;
    assert_eq!((task.status.state, text(&task)), (TaskState::Completed, "done\n".into()));
    assert!(since.elapsed() < Duration::from_secs(5), "{:?}", since.elapsed());
}

#[tokio::test]
async fn message_is_never_part_of_command_line() {
    let id = MessageId::new("$(touch /tmp/oops)").unwrap();
    let injection = "$(echo pwned) `echo pwned`; echo pwned";
    let task = harness(shell_agent("cat")).send_for_task(Message::user(id, injection)).await;
    assert_eq!(text(&task), format!("{injection}\n"));
}
