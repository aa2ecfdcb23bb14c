//! No acknowledged task is lost by `kill -9` or a cut connection.

mod client;
mod workload;

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use client::Client;
use workload::{Random, Workload};

use crate::cutting_proxy::CuttingProxy;

const TASK_COUNT: usize = 200;
const KILL_COUNT: usize = 20;
const CUT_COUNT: usize = 50;

/// A server with the demo agent and a SQLite store, restarted at the same address.
struct Server {
    address: SocketAddr,
    config: std::path::PathBuf,
    child: Child,
}

impl Server {
    fn start(directory: &Path) -> Self {
        // Reserves a port: the listener is dropped and the server binds the same port.
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let config = directory.join("latimer.toml");
        let store = directory.join("tasks.db");
        let text = format!(
            "listen = \"{address}\"\n\n[store]\npath = {store:?}\n\n\
             [[agents]]\nname = \"demo\"\nkind = \"demo\"\n"
        );
        std::fs::write(&config, text).unwrap();
        let child = Self::spawn(&config);
        Self { address, config, child }
    }

    fn spawn(config: &Path) -> Child {
        Command::new(env!("CARGO_BIN_EXE_latimer"))
            .arg("serve")
            .arg("--config")
            .arg(config)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    /// Kills the server with SIGKILL and starts it again.
    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.child = Self::spawn(&self.config);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Fails if the server has exited, which the test reports.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[expect(
    clippy::print_stdout,
    reason = "printed when the test fails, so that the run can be repeated"
)]
fn seed() -> u64 {
    let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let seed = std::env::var("LATIMER_TEST_SEED").ok().and_then(|it| it.parse().ok());
    let seed = seed.unwrap_or(u64::try_from(time.as_nanos() % u128::from(u64::MAX)).unwrap());
    println!("LATIMER_TEST_SEED={seed}");
    seed
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_kill_9_loses_no_acknowledged_task() {
    let directory = tempfile::tempdir().unwrap();
    let mut random = Random(seed());
    let mut server = Server::start(directory.path());
    let client = Client::new(server.address);
    client.wait_until_ready().await;
    let workload = Workload::start(&client, TASK_COUNT, random.next());
    let kills = Arc::new(AtomicUsize::new(0));
    let killer = {
        let kills = Arc::clone(&kills);
        let mut random = Random(random.next());
        tokio::task::spawn_blocking(move || {
            for _ in 0..KILL_COUNT {
                std::thread::sleep(Duration::from_millis(50 + random.below(400)));
                server.kill();
                kills.fetch_add(1, Ordering::Relaxed);
            }
            server
        })
    };
    let done = workload.join().await;
    let kills_during_work = kills.load(Ordering::Relaxed);
    println!("{kills_during_work} of {KILL_COUNT} kills came while callers were waiting");
    assert!(
        kills_during_work >= KILL_COUNT / 2,
        "the workload ended after too few kills: {kills_during_work}"
    );
    let _server = killer.await.unwrap();
    client.wait_until_ready().await;
    done.check(&client).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cut_connections_lose_no_acknowledged_task() {
    let directory = tempfile::tempdir().unwrap();
    let mut random = Random(seed());
    let server = Server::start(directory.path());
    Client::new(server.address).wait_until_ready().await;
    let proxy = CuttingProxy::start(server.address).await;
    let workload = Workload::start(&Client::new(proxy.address()), TASK_COUNT, random.next());
    for _ in 0..CUT_COUNT {
        tokio::time::sleep(Duration::from_millis(20 + random.below(180))).await;
        proxy.cut();
    }
    let done = workload.join().await;
    println!("{} connections were cut", proxy.connections_cut());
    assert!(proxy.connections_cut() >= CUT_COUNT, "{} were cut", proxy.connections_cut());
    done.check(&Client::new(server.address)).await;
}
