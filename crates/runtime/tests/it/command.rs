//! A program per turn.
#![cfg(unix)]

use std::path::Path;
use std::time::{Duration, Instant};

use latimer_protocol::{Message, MessageId, Part, StreamResponse, TaskState};
use latimer_runtime::{Command, Input};
use rustix::process::{Pid, test_kill_process};

use crate::house::{House, parts, says, status, text};

fn shell(line: &str) -> Command {
    Command::new(latimer_runtime::shell(line)).unwrap()
}

fn house(command: Command) -> House {
    House::new(command.agent("run"))
}

#[tokio::test]
async fn the_message_is_the_input_and_the_output_the_answer() {
    let house = house(Command::new(["tr", "a-z", "A-Z"]).unwrap());
    let task = house.task(says("hello").with_part("two lines")).await;
    assert_eq!(task.status.state, TaskState::Completed);
    assert_eq!(text(&task), "HELLO\nTWO LINES");
}

#[tokio::test]
async fn a_program_can_read_the_whole_message() {
    let house = house(Command::new(["cat"]).unwrap().input(Input::Json));
    let said = says("hello").with_part(Part::data(1));
    let task = house.task(said.clone()).await;
    let read: Message = serde_json::from_str(&text(&task)).unwrap();
    assert_eq!((read.message_id, read.parts), (said.message_id, said.parts));
}

#[tokio::test]
async fn the_answer_is_streamed_as_it_comes() {
    let house = house(shell("echo one; sleep 0.2; echo two"));
    let told = house.stream(says("go")).await;
    let pieces: Vec<_> = told
        .iter()
        .filter_map(|it| match it {
            StreamResponse::ArtifactUpdate(it) => Some(it.artifact.text()),
            _ => None,
        })
        .collect();
    assert_eq!(pieces, ["one\n", "two\n"]);
}

#[tokio::test]
async fn pieces_can_end_at_a_delimiter() {
    let command = shell("printf 'a,b'; sleep 0.1; printf 'c,d'").delimiter(",");
    let task = house(command).task(says("go")).await;
    let want = ["a,", "bc,", "d"].map(Part::text);
    assert_eq!(parts(&task), want);
}

#[tokio::test]
async fn the_caller_reads_the_status_and_not_the_complaint() {
    let command = || shell("echo half; echo secret >&2; exit 3");
    let task = house(command()).task(says("go")).await;
    assert_eq!(
        status(&task),
        (TaskState::Failed, "the agent's command ended with status 3".into())
    );
    assert_eq!(text(&task), "half\n");
    let task = house(command().show_errors()).task(says("go")).await;
    assert_eq!(status(&task).1, "the agent's command ended with status 3: secret");
    let task = house(shell("kill -9 $$")).task(says("go")).await;
    assert_eq!(status(&task).1, "the agent's command was ended by signal 9");
}

#[tokio::test]
async fn a_program_that_does_not_exist_is_a_clear_failure() {
    let task = house(Command::new(["no-such-program-anywhere"]).unwrap()).task(says("go")).await;
    let want = "the agent's command cannot be started: it was not found";
    assert_eq!(status(&task), (TaskState::Failed, want.into()));
}

#[tokio::test]
async fn a_program_need_not_read_its_input_and_may_say_nothing() {
    let long = "x".repeat(1_000_000);
    let task = house(shell("exit 0")).task(says(&long)).await;
    assert_eq!((task.status.state, task.artifacts.len()), (TaskState::Completed, 0));
    let task = house(Command::new(["cat"]).unwrap()).task(says(&long)).await;
    assert_eq!(text(&task), long);
}

#[tokio::test]
async fn its_surroundings_are_its_own() {
    let line = "echo $HOME; echo $TMPDIR; [ -d $HOME ] && [ -w $TMPDIR ] && echo there; \
                echo task $LATIMER_TASK_ID; echo context $LATIMER_CONTEXT_ID; env | sort";
    let task = house(shell(line).variables(["CARGO_PKG_NAME"])).task(says("go")).await;
    let said = text(&task);
    let lines: Vec<_> = said.lines().collect();
    assert_eq!(lines[1], format!("{}/tmp", lines[0]));
    assert!(!Path::new(lines[0]).starts_with(std::env::var("HOME").unwrap_or("/root".into())));
    assert_eq!(lines[2], "there");
    assert_eq!(lines[3], format!("task {}", task.id));
    assert_eq!(lines[4], format!("context {}", task.context_id.clone().unwrap()));
    let names: Vec<_> = lines[5..].iter().filter_map(|it| it.split_once('=')).collect();
    let own = ["PWD", "OLDPWD", "SHLVL", "_"];
    let granted = ["CARGO_PKG_NAME", "HOME", "PATH", "TMPDIR"];
    for (name, _) in names {
        let known = granted.contains(&name) || own.contains(&name) || name.starts_with("LATIMER_");
        assert!(known, "{name} leaked");
    }
    assert!(said.contains("CARGO_PKG_NAME=latimer-runtime"), "{said}");
}

#[tokio::test]
async fn a_home_can_be_chosen_or_inherited() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("deep/home");
    let task = house(shell("printf %s $HOME").home(&home)).task(says("go")).await;
    assert_eq!(text(&task), home.to_str().unwrap());
    let task = house(shell("printf %s $HOME").inherit_home()).task(says("go")).await;
    assert_eq!(text(&task), std::env::var("HOME").unwrap_or_default());
    let task = house(shell("pwd").folder(folder.path())).task(says("go")).await;
    assert_eq!(text(&task).trim(), folder.path().canonicalize().unwrap().to_str().unwrap());
}

#[tokio::test]
async fn limits_end_it_with_a_clear_failure() {
    let slow = shell("sleep 60").time_limit(Duration::from_millis(100));
    let task = house(slow).task(says("go")).await;
    assert_eq!(status(&task).1, "the agent's command took longer than 100ms and was ended");
    let much = shell("yes").output_limit(100_000);
    let task = house(much).task(says("go")).await;
    assert_eq!(status(&task).1, "the agent's command wrote more than 100000 bytes and was ended");
}

/// A program that starts another, tells its number, and waits.
const PARENT: &str = "sleep 300 & echo $!; wait";

async fn child_of(house: &House, id: &latimer_protocol::TaskId) -> Pid {
    let task = house.until(id, |it| text(it).ends_with('\n')).await;
    Pid::from_raw(text(&task).trim().parse().unwrap()).unwrap()
}

async fn gone(pid: Pid) -> bool {
    for _ in 0..400 {
        // A zombie that nobody reaps in here counts as gone.
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
async fn cancel_ends_everything_it_started() {
    let house = house(shell(PARENT));
    let begun = house.begin(says("go")).await;
    let child = child_of(&house, &begun.id).await;
    let since = Instant::now();
    let task = house.cancel(&begun.id).await.unwrap();
    assert_eq!(task.status.state, TaskState::Canceled);
    assert!(gone(child).await);
    assert!(since.elapsed() < Duration::from_secs(2), "{:?}", since.elapsed());
}

#[tokio::test]
async fn what_ignores_the_request_to_end_is_killed() {
    let house = house(
        shell(&format!("trap '' TERM; {PARENT}; {PARENT}")).grace(Duration::from_millis(200)),
    );
    let begun = house.begin(says("go")).await;
    let child = child_of(&house, &begun.id).await;
    let task = house.cancel(&begun.id).await.unwrap();
    assert_eq!(task.status.state, TaskState::Canceled);
    assert!(gone(child).await);
}

#[tokio::test]
async fn dropping_the_turn_ends_everything_it_started() {
    let house = house(shell(&format!("trap '' TERM; {PARENT}")));
    let begun = house.begin(says("go")).await;
    let child = child_of(&house, &begun.id).await;
    house.engine.drain(Duration::ZERO).await;
    assert!(gone(child).await);
}

#[tokio::test]
async fn what_a_program_leaves_behind_does_not_keep_its_task_open() {
    let since = Instant::now();
    let house = house(shell("sleep 300 & echo $!"));
    let task = house.task(says("go")).await;
    assert_eq!(task.status.state, TaskState::Completed);
    let child = Pid::from_raw(text(&task).trim().parse().unwrap()).unwrap();
    assert!(gone(child).await);
    assert!(since.elapsed() < Duration::from_secs(5), "{:?}", since.elapsed());
}

#[tokio::test]
async fn what_left_its_group_does_not_keep_its_task_open_either() {
    let since = Instant::now();
    let task = house(shell("setsid sleep 10 & echo done")).task(says("go")).await;
    assert_eq!((task.status.state, text(&task)), (TaskState::Completed, "done\n".into()));
    assert!(since.elapsed() < Duration::from_secs(5), "{:?}", since.elapsed());
}

#[tokio::test]
async fn a_message_is_never_part_of_the_command_line() {
    let id = MessageId::new("$(touch /tmp/oops)").unwrap();
    let nasty = "$(echo pwned) `echo pwned`; echo pwned";
    let task = house(shell("cat")).task(Message::user(id, nasty)).await;
    assert_eq!(text(&task), nasty);
}
