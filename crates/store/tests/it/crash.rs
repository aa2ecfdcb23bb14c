//! Tests that acknowledged appends survive `kill -9`.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use latimer_protocol::{Event, Revision};
use latimer_store::{Durability, OpenError, SqliteConfig, SqliteStore, TaskStore};
use tempfile::TempDir;
use tokio::task::JoinSet;

use crate::fixtures::{chunk_append, create_append, key, open};

/// Environment variable with the directory of the child's store.
const DIRECTORY_VAR: &str = "LATIMER_TEST_DIRECTORY";
/// Environment variable with the durability of the child's store.
const DURABILITY_VAR: &str = "LATIMER_TEST_DURABILITY";

/// Number of tasks that the child writes concurrently.
const CONCURRENT_TASKS: usize = 8;

#[tokio::test]
async fn acknowledged_appends_survive_kill_9() {
    for durability in [Durability::Process, Durability::Full] {
        let directory = TempDir::new().expect("a temporary directory");
        let mut acknowledged = HashMap::new();
        for round in 0..10 {
            let mut child = spawn_child(directory.path(), durability);
            let stdout = child.stdout.take().expect("piped output");
            let mut lines = BufReader::new(stdout).lines().map(|line| line.expect("a line"));
            let mut line_count = 0;
            // Kills the child at a different time in each round.
            while line_count < 60 + 37 * round {
                line_count +=
                    parse_line(&lines.next().expect("the child is running"), &mut acknowledged);
            }
            assert_locked(directory.path(), child.id());
            child.kill().expect("the signal is sent");
            child.wait().expect("the child has exited");
            // Lines written before the kill count as well. The last line may be truncated.
            lines.for_each(|line| {
                parse_line(&line, &mut acknowledged);
            });
            assert_stored(&open(directory.path(), durability), &acknowledged).await;
        }
    }
}

/// Panics unless the store is locked by the child.
fn assert_locked(directory: &Path, child: u32) {
    match SqliteStore::open(directory.join("tasks.db"), SqliteConfig::default()) {
        Err(OpenError::Locked { holder, .. }) => {
            assert_eq!((holder.pid, holder.name.as_str()), (Some(child), "child process"));
        }
        other => panic!("the store is not locked: {other:?}"),
    }
}

/// Parses a line such as `t3 17.`, and returns the number of parsed lines.
fn parse_line(line: &str, acknowledged: &mut HashMap<String, u64>) -> u64 {
    let parts = line.strip_suffix('.').and_then(|line| line.split_once(' '));
    let Some((id, revision)) = parts else { return 0 };
    let Ok(revision) = revision.parse() else { return 0 };
    acknowledged.insert(id.to_owned(), revision);
    1
}

async fn assert_stored(store: &SqliteStore, acknowledged: &HashMap<String, u64>) {
    for (id, revision) in acknowledged {
        let stored = store.load(&key(id)).await.expect("load succeeds").expect("the task exists");
        assert!(stored.revision.get() >= *revision, "{id} is at {}", stored.revision);
        let events =
            store.events(&key(id), Revision::START, usize::MAX).await.expect("read succeeds");
        assert_eq!(events.len() as u64, stored.revision.get(), "the events of {id}");
        for logged in events.iter().skip(1) {
            let Event::Artifact(update) = &logged.event else { panic!("{logged:?}") };
            assert_eq!(update.artifact.text(), logged.revision.to_string(), "{id}");
        }
    }
}

fn spawn_child(directory: &Path, durability: Durability) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("the path of this program"));
    command.args(["--exact", "crash::child", "--ignored", "--nocapture"]);
    command.env(DIRECTORY_VAR, directory).env(DURABILITY_VAR, format!("{durability:?}"));
    command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the child starts")
}

/// Appends until it is killed, and prints each acknowledged append.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "started by another test"]
async fn child() {
    let Some(directory) = std::env::var_os(DIRECTORY_VAR) else { return };
    let durability = match std::env::var(DURABILITY_VAR).as_deref() {
        Ok("Full") => Durability::Full,
        _ => Durability::Process,
    };
    let holder = "child process".to_owned();
    let config = SqliteConfig { durability, holder, ..SqliteConfig::default() };
    let path = Path::new(&directory).join("tasks.db");
    let store = Arc::new(SqliteStore::open(path, config).expect("the store opens"));
    let mut running = JoinSet::new();
    for number in 0..CONCURRENT_TASKS {
        let store = store.clone();
        running.spawn(async move { append_until_killed(&*store, &format!("t{number}")).await });
    }
    running.join_all().await;
}

async fn append_until_killed(store: &dyn TaskStore, id: &str) {
    let existing = store.load(&key(id)).await.expect("load succeeds");
    let mut revision = match existing {
        Some(stored) => stored.revision,
        None => store.append(create_append(id)).await.expect("append succeeds"),
    };
    loop {
        print_acknowledged(id, revision);
        let next = chunk_append(id, revision, &revision.next().to_string());
        revision = store.append(next).await.expect("append succeeds");
    }
}

fn print_acknowledged(id: &str, revision: Revision) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{id} {revision}.").and_then(|()| out.flush()).expect("the line is written");
}
