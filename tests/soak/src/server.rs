//! The server process under test, with its own directory for configuration, database and log.

use std::fs::{self, OpenOptions};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::Plan;
use super::context::SoakContext;
use latimer_bench::BenchError;
use latimer_bench::http::Connection;
use latimer_bench::process::{Process, Signal, Starter, free_address};

/// Maximum number of stored tasks. Small, so that the server reaches a steady state early.
pub const MAX_TASKS: u64 = 3_000;

/// Maximum size of a request body in bytes.
pub const MAX_BODY_BYTES: usize = 1024 * 1024;

/// Configured time limit for reading a request, in headers and body alike, and for draining.
pub const SERVER_TIMEOUT: Duration = Duration::from_secs(2);

/// Maximum time for the server to become ready, or to exit.
const LIFECYCLE_TIMEOUT: Duration = Duration::from_secs(30);

/// Kind of server stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopMode {
    /// `SIGTERM`: the server drains and exits by itself.
    Terminate,
    /// `SIGKILL`: the server ends at once.
    Kill,
}

/// The server under test. Dropping it kills the process.
#[derive(Debug)]
pub struct Server {
    program: PathBuf,
    dir: PathBuf,
    address: String,
    starter: Starter,
    process: Option<Process>,
}

impl Server {
    /// Creates a server that is not running yet, and writes its configuration file.
    ///
    /// # Errors
    /// Fails if no port is free or the file cannot be written.
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

    /// Returns the socket address of the server, the same for all its processes.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns the process id, or 0 while no process runs.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.process.as_ref().map_or(0, Process::id)
    }

    /// Returns the path of the database.
    #[must_use]
    pub fn database(&self) -> PathBuf {
        self.path("tasks.db")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Starts the process, and waits until it is ready.
    ///
    /// # Errors
    /// Fails if the process cannot be started, exits, or is not ready within 30 seconds.
    pub async fn start(&mut self) -> Result<(), BenchError> {
        let log = OpenOptions::new().create(true).append(true).open(self.path("log"))?;
        let config = self.path("latimer.toml").display().to_string();
        let arguments = ["serve".to_owned(), "--config".to_owned(), config];
        let process = self.starter.start_logged(&self.program, &arguments, log)?;
        let process = self.process.insert(process);
        let start = Instant::now();
        while !is_ready(&self.address).await {
            if let Some(status) = process.try_wait()? {
                return Err(format!("the server exited with {status}").into());
            }
            if start.elapsed() > LIFECYCLE_TIMEOUT {
                return Err(format!("the server is not ready after {LIFECYCLE_TIMEOUT:?}").into());
            }
            sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// Stops the process, and waits for its exit. A failure status after `SIGTERM` is recorded as a
    /// violation. Returns at once if no process runs.
    ///
    /// # Errors
    /// Fails if the signal cannot be sent, or the process is still running after 30 seconds.
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
                        format!("the server exited with {status} after SIGTERM"),
                    );
                }
                return Ok(());
            }
            if start.elapsed() > LIFECYCLE_TIMEOUT {
                return Err(
                    format!("the server is still running after {LIFECYCLE_TIMEOUT:?}").into()
                );
            }
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Returns the lines that all processes logged. The log level is `warn`, and nothing in the test
    /// justifies a warning, so every line is a violation.
    ///
    /// # Errors
    /// Fails if the log file cannot be read.
    pub fn log_lines(&self) -> Result<Vec<String>, BenchError> {
        Ok(fs::read_to_string(self.path("log"))?.lines().map(str::to_owned).collect())
    }
}

async fn is_ready(address: &str) -> bool {
    let Ok(mut connection) = Connection::open(address, None).await else { return false };
    let request = format!("GET /ready HTTP/1.1\r\nHost: {address}\r\n\r\n");
    connection.exchange(request.as_bytes()).await.is_ok_and(|it| it.status == 200)
}
