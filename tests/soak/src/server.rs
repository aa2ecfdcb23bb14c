//! The program, in a folder of its own: started, stopped, killed, and started again.

use std::fs::{self, OpenOptions};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::Plan;
use super::context::SoakContext;
use latimer_bench::BenchError;
use latimer_bench::http::Connection;
use latimer_bench::process::{Process, Signal, Starter, free_address};

/// The most tasks that are kept: little, so that it is soon as it stays.
pub const MAX_TASKS: u64 = 3_000;

/// The most bytes of a request.
pub const MAX_BODY_BYTES: usize = 1024 * 1024;

/// How long a request may take to arrive, and how long an attempt to tell a webhook may take.
pub const SERVER_TIMEOUT: Duration = Duration::from_secs(2);

/// How long it may take to come, and to go.
const LIFECYCLE_TIMEOUT: Duration = Duration::from_secs(30);

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopMode {
    /// It is told to, and goes when it is done.
    Terminate,
    /// It has no time for anything.
    Kill,
}

/// The program.
#[derive(Debug)]
pub struct Server {
    program: PathBuf,
    dir: PathBuf,
    address: String,
    starter: Starter,
    process: Option<Process>,
}

impl Server {
    /// Writes its configuration.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn configure(plan: &Plan) -> Result<Self, BenchError> {
        let address = free_address()?;
        let server = Self {
            program: plan.program.clone(),
            dir: plan.dir.clone(),
            starter: Starter { nice: plan.nice },
            address,
            process: None,
        };
        fs::write(server.path("latimer.toml"), server.configuration())?;
        Ok(server)
    }

    fn configuration(&self) -> String {
        let (address, timeout) = (&self.address, SERVER_TIMEOUT.as_secs());
        format!(
            "listen = \"{address}\"\n\n\
             [store]\npath = \"tasks.db\"\nmax_tasks = {MAX_TASKS}\nsweep_every = \"2s\"\n\
             durability = \"process\"\n\n\
             [limits]\nmax_body = {MAX_BODY_BYTES}\nheader_time = \"{timeout}s\"\nbody_time = \"{timeout}s\"\n\n\
             [push]\ntimeout = \"500ms\"\nattempts = 4\nfirst_pause = \"50ms\"\n\
             longest_pause = \"400ms\"\n\n\
             [log]\nfilter = \"warn\"\n\n\
             [server]\ndrain = \"{timeout}s\"\nkeep_alive = \"1s\"\n\n\
             [[agents]]\nname = \"demo\"\nkind = \"demo\"\ncancel_grace = \"200ms\"\n\
             repeat_window = \"1m\"\n\n\
             [[agents]]\nname = \"shout\"\nkind = \"command\"\ncommand = [\"tr\", \"a-z\", \"A-Z\"]\n\
             repeat_window = \"1m\"\n"
        )
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Its number, while it is there.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.process.as_ref().map_or(0, Process::id)
    }

    /// Where its database is.
    #[must_use]
    pub fn database(&self) -> PathBuf {
        self.path("tasks.db")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Starts it, and waits until it is ready.
    ///
    /// # Errors
    /// When it does not come.
    pub async fn start(&mut self) -> Result<(), BenchError> {
        let log = OpenOptions::new().create(true).append(true).open(self.path("log"))?;
        let config = self.path("latimer.toml").display().to_string();
        let arguments = ["serve".to_owned(), "--config".to_owned(), config];
        let process = self.starter.start_logged(&self.program, &arguments, log)?;
        let process = self.process.insert(process);
        let start = Instant::now();
        while !is_ready(&self.address).await {
            if let Some(status) = process.try_wait()? {
                return Err(format!("the server ended with {status}").into());
            }
            if start.elapsed() > LIFECYCLE_TIMEOUT {
                return Err("the server does not become ready".into());
            }
            sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// Ends it. One that is told to go and does not do so in peace is a fault.
    ///
    /// # Errors
    /// When it does not go.
    pub async fn stop(&mut self, mode: StopMode, context: &SoakContext) -> Result<(), BenchError> {
        let Some(mut process) = self.process.take() else { return Ok(()) };
        process.signal(match mode {
            StopMode::Terminate => Signal::TERM,
            StopMode::Kill => Signal::KILL,
        })?;
        let start = Instant::now();
        loop {
            if let Some(status) = process.try_wait()? {
                if mode == StopMode::Terminate && !status.success() {
                    context.record_violation(
                        "stop",
                        format!("told to go, the server ended with {status}"),
                    );
                }
                return Ok(());
            }
            if start.elapsed() > LIFECYCLE_TIMEOUT {
                return Err("the server does not end".into());
            }
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// What it wrote to its log: nothing that happens here is worth a warning.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn log_lines(&self) -> Result<Vec<String>, BenchError> {
        Ok(fs::read_to_string(self.path("log"))?.lines().map(str::to_owned).collect())
    }
}

async fn is_ready(address: &str) -> bool {
    let Ok(mut connection) = Connection::open(address, None).await else { return false };
    let request = format!("GET /ready HTTP/1.1\r\nHost: {address}\r\n\r\n");
    connection.exchange(request.as_bytes()).await.is_ok_and(|it| it.status == 200)
}
