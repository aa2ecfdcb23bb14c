//! What was acknowledged is there after `kill -9`.

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

/// Where the child finds its store, and how durable it is.
const DIRECTORY_VAR: &str = "LATIMER_TEST_FOLDER";
const DURABILITY_VAR: &str = "LATIMER_TEST_DURABILITY";

/// How many tasks the child writes at the same time.
const CONCURRENT_TASKS: usize = 8;

#[tokio::test]
async fn acknowledged_appends_survive_kill_9() {
    for durability in [Durability::Process, Durability::Full] {
        let directory = TempDir::new().expect("a folder");
        let mut acknowledged = HashMap::new();
        for round in 0..10 {
            let mut child = spawn_child(directory.path(), durability);
            let stdout = child.stdout.take().expect("its output");
            let mut lines = BufReader::new(stdout).lines().map(|line| line.expect("a line"));
            let mut line_count = 0;
            // At another moment each time.
            while line_count < 60 + 37 * round {
                line_count +=
                    parse_line(&lines.next().expect("the child goes on"), &mut acknowledged);
            }
            assert_locked(directory.path(), child.id());
            child.kill().expect("it is killed");
            child.wait().expect("it is dead");
            // What it said before it died counts as well. The last line may be torn.
            lines.for_each(|line| {
                parse_line(&line, &mut acknowledged);
            });
            assert_stored(&open(directory.path(), durability), &acknowledged).await;
        }
    }
}

/// While the child lives, nobody else opens its store.
fn assert_locked(directory: &Path, child: u32) {
    match SqliteStore::open(directory.join("tasks.db"), SqliteConfig::default()) {
        Err(OpenError::Locked { holder, .. }) => {
            assert_eq!((holder.pid, holder.name.as_str()), (Some(child), "the child"));
        }
        other => panic!("a store that is in use: {other:?}"),
    }
}

/// Reads a line such as `t3 17.`, and returns how many it was.
fn parse_line(line: &str, acknowledged: &mut HashMap<String, u64>) -> u64 {
    let parts = line.strip_suffix('.').and_then(|line| line.split_once(' '));
    let Some((id, revision)) = parts else { return 0 };
    let Ok(revision) = revision.parse() else { return 0 };
    acknowledged.insert(id.to_owned(), revision);
    1
}

async fn assert_stored(store: &SqliteStore, acknowledged: &HashMap<String, u64>) {
    for (id, revision) in acknowledged {
        let stored = store.load(&key(id)).await.expect("loads").expect("it is there");
        assert!(stored.revision.get() >= *revision, "{id} is at {}", stored.revision);
        let events = store.events(&key(id), Revision::START, usize::MAX).await.expect("reads");
        assert_eq!(events.len() as u64, stored.revision.get(), "the events of {id}");
        for logged in events.iter().skip(1) {
            let Event::Artifact(update) = &logged.event else { panic!("{logged:?}") };
            assert_eq!(update.artifact.text(), logged.revision.to_string(), "{id}");
        }
    }
}

fn spawn_child(directory: &Path, durability: Durability) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", "crash::child", "--ignored", "--nocapture"]);
    command.env(DIRECTORY_VAR, directory).env(DURABILITY_VAR, format!("{durability:?}"));
    command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts")
}

/// Appends until it is killed, and says what was acknowledged.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "is started by another test"]
async fn child() {
    let Some(directory) = std::env::var_os(DIRECTORY_VAR) else { return };
    let durability = match std::env::var(DURABILITY_VAR).as_deref() {
        Ok("Full") => Durability::Full,
        _ => Durability::Process,
    };
    let holder = "the child".to_owned();
    let config = SqliteConfig { durability, holder, ..SqliteConfig::default() };
    let path = Path::new(&directory).join("tasks.db");
    let store = Arc::new(SqliteStore::open(path, config).expect("it opens"));
    let mut running = JoinSet::new();
    for number in 0..CONCURRENT_TASKS {
        let store = store.clone();
        running.spawn(async move { append_until_killed(&*store, &format!("t{number}")).await });
    }
    running.join_all().await;
}

async fn append_until_killed(store: &dyn TaskStore, id: &str) {
    let existing = store.load(&key(id)).await.expect("loads");
    let mut revision = match existing {
        Some(stored) => stored.revision,
        None => store.append(create_append(id)).await.expect("appends"),
    };
    loop {
        print_acknowledged(id, revision);
        let next = chunk_append(id, revision, &revision.next().to_string());
        revision = store.append(next).await.expect("appends");
    }
}

fn print_acknowledged(id: &str, revision: Revision) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{id} {revision}.").and_then(|()| out.flush()).expect("it is said");
}
