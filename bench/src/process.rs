//! Processes, each on a core of its own, and what the system says of them. Everything that knows
//! that this is Linux is here.

use std::fs::{self, File};
use std::io;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

pub use rustix::process::Signal;
use rustix::process::{Pid, kill_process};

use crate::BenchError;
use crate::role::Role;

/// The core that servers have for themselves.
pub const SERVER_CORE: usize = 0;
/// The core that load has for itself.
pub const LOAD_CORE: usize = 1;

/// USER_HZ is 100 on every architecture we run on.
const TICKS_PER_SECOND: f64 = 100.0;

/// A process that ends when this is dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
}

/// How processes are started.
#[derive(Clone, Copy, Debug, Default)]
pub struct Starter {
    /// How nice they are to others; less than zero needs a privileged user.
    pub nice: i32,
}

impl Starter {
    /// Starts this program again in another role.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(self, core: usize, role: &Role) -> Result<Process, BenchError> {
        let mut command = self.pinned_command(core, &std::env::current_exe()?);
        role.add_to_command(&mut command)?;
        Ok(Process { child: command.spawn()? })
    }

    /// Starts another program, and says nothing of what it says.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start_program(
        self,
        core: usize,
        program: &Path,
        arguments: &[String],
    ) -> Result<Process, BenchError> {
        let mut command = self.pinned_command(core, program);
        command.args(arguments).env("RUST_LOG", "off").stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Process { child: command.spawn()? })
    }

    /// Starts another program on any core, with its errors in a log.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start_logged(
        self,
        program: &Path,
        arguments: &[String],
        log: File,
    ) -> Result<Process, BenchError> {
        let mut command = Command::new("nice");
        command.args(["-n", &self.nice.to_string()]).arg(program).args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        Ok(Process { child: command.spawn()? })
    }

    fn pinned_command(self, core: usize, program: &Path) -> Command {
        let mut command = Command::new("nice");
        command.args(["-n", &self.nice.to_string(), "taskset", "-c", &core.to_string()]);
        command.arg(program).stdin(Stdio::piped()).stdout(Stdio::piped());
        command
    }
}

impl Process {
    /// Its number.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until somebody listens at `address`.
    ///
    /// # Errors
    /// When the process ends, or nobody listens for ten seconds.
    pub fn wait_until_listening(&mut self, address: &str) -> Result<(), BenchError> {
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(10) {
            if TcpStream::connect(address).is_ok() {
                return Ok(());
            }
            if let Some(status) = self.child.try_wait()? {
                return Err(format!("the server ended with {status}").into());
            }
            thread::sleep(Duration::from_millis(10));
        }
        Err(format!("nobody listens at {address}").into())
    }

    /// Sends it a signal.
    ///
    /// # Errors
    /// When it cannot be sent.
    pub fn signal(&self, signal: Signal) -> Result<(), BenchError> {
        let id = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        Ok(kill_process(id.ok_or("no such process")?, signal)?)
    }

    /// How it ended, if it has.
    ///
    /// # Errors
    /// When the system does not say.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// Its input; closing it tells a role to end.
    #[must_use]
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    /// What it says.
    #[must_use]
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An address of this machine where nobody listens.
///
/// # Errors
/// When there is none.
pub fn free_address() -> io::Result<String> {
    let socket = std::net::TcpListener::bind("127.0.0.1:0")?;
    Ok(socket.local_addr()?.to_string())
}

/// The time a process has computed for, in seconds, to a hundredth.
#[must_use]
pub fn cpu_seconds(pid: u32) -> f64 {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return 0.0 };
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: u64 = fields.skip(11).take(2).filter_map(|it| it.parse::<u64>().ok()).sum();
    ticks as f64 / TICKS_PER_SECOND
}

/// The time that the cores of servers and load were busy for, with whatever, in seconds. What the
/// host took away counts too.
#[must_use]
pub fn cores_busy_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let busy_ticks = |core: usize| -> u64 {
        let name = format!("cpu{core} ");
        let line = stat.lines().find_map(|it| it.strip_prefix(&*name)).unwrap_or_default();
        let fields = line.split_whitespace().filter_map(|it| it.parse::<u64>().ok());
        // The fourth and fifth are idle; those behind the eighth are in others already.
        fields.take(8).enumerate().filter(|(it, _)| !matches!(it, 3 | 4)).map(|(_, it)| it).sum()
    };
    (busy_ticks(SERVER_CORE) + busy_ticks(LOAD_CORE)) as f64 / TICKS_PER_SECOND
}

/// The memory that a process has in use, in bytes.
#[must_use]
pub fn resident_bytes(pid: u32) -> u64 {
    read_field(&format!("/proc/{pid}/status"), "VmRSS:") * 1024
}

/// How many files and sockets a process has open.
#[must_use]
pub fn open_descriptors(pid: u32) -> u64 {
    fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, |it| it.count() as u64)
}

/// How often a process wrote to a file or a socket with `write` or `writev`.
#[must_use]
pub fn write_syscalls(pid: u32) -> u64 {
    read_field(&format!("/proc/{pid}/io"), "syscw:")
}

fn read_field(path: &str, name: &str) -> u64 {
    let text = fs::read_to_string(path).unwrap_or_default();
    let line = text.lines().find_map(|it| it.strip_prefix(name));
    line.and_then(|it| it.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// What there is to say about the machine.
#[must_use]
pub fn describe_machine() -> String {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cores = cpu.lines().filter(|it| it.starts_with("processor")).count();
    let model = cpu.lines().find_map(|it| it.strip_prefix("model name")).unwrap_or_default();
    let model = model.trim_start_matches([' ', '\t', ':']);
    let memory = read_field("/proc/meminfo", "MemTotal:") / 1024 / 1024;
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let rustc = Command::new("rustc").arg("--version").output().ok();
    let rustc = rustc.and_then(|it| String::from_utf8(it.stdout).ok()).unwrap_or_default();
    format!("{cores} cores ({model}), {memory} GiB, Linux {}, {}", kernel.trim(), rustc.trim())
}

/// How busy the machine is: the system's load average of the last minute.
#[must_use]
pub fn load_average() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().and_then(|it| it.parse().ok()).unwrap_or(0.0)
}
