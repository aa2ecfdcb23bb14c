//! Child processes pinned to a core, and their resource usage. All code specific to Linux is here.

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

/// Core on which servers run.
pub const SERVER_CORE: usize = 0;
/// Core on which load generators run.
pub const LOAD_CORE: usize = 1;

/// Unit of the times in `/proc`: `USER_HZ`, which is 100 on all supported architectures.
const TICKS_PER_SECOND: f64 = 100.0;

/// Child process. Dropping it kills the process and waits for its exit.
#[derive(Debug)]
pub struct Process {
    child: Child,
}

/// Starts child processes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Starter {
    /// Niceness of the processes; a negative value requires privileges.
    pub nice: i32,
}

impl Starter {
    /// Starts this program on a core in another role, with piped standard input and output.
    ///
    /// # Errors
    /// Fails if the process cannot be started.
    pub fn start(self, core: usize, role: &Role) -> Result<Process, BenchError> {
        let mut command = self.pinned_command(core, &std::env::current_exe()?);
        role.add_to_command(&mut command)?;
        Ok(Process { child: command.spawn()? })
    }

    /// Starts another program on a core, and discards its output.
    ///
    /// # Errors
    /// Fails if the process cannot be started.
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

    /// Starts another program without pinning it to a core, with standard error written to `log`.
    ///
    /// # Errors
    /// Fails if the process cannot be started.
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
    /// Returns the process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Blocks until the process accepts connections at `address`.
    ///
    /// # Errors
    /// Fails if the process exits, or does not listen within ten seconds.
    pub fn wait_until_listening(&mut self, address: &str) -> Result<(), BenchError> {
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(10) {
            if TcpStream::connect(address).is_ok() {
                return Ok(());
            }
            if let Some(status) = self.child.try_wait()? {
                return Err(format!("the server exited with {status}").into());
            }
            thread::sleep(Duration::from_millis(10));
        }
        Err(format!("the server does not listen at {address}").into())
    }

    /// Sends a signal to the process.
    ///
    /// # Errors
    /// Fails if the system rejects the signal.
    pub fn signal(&self, signal: Signal) -> Result<(), BenchError> {
        let id = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        Ok(kill_process(id.ok_or("no such process")?, signal)?)
    }

    /// Returns the exit status, or `None` while the process is running.
    ///
    /// # Errors
    /// Fails if the system cannot report the status.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// Takes the standard input of the process. Closing it ends a role that holds resources open.
    #[must_use]
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    /// Takes the standard output of the process.
    #[must_use]
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Fails if the process has already exited.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns a loopback socket address with a free port. Another process may take it before its use.
///
/// # Errors
/// Fails if no port can be bound.
pub fn free_address() -> io::Result<String> {
    let socket = std::net::TcpListener::bind("127.0.0.1:0")?;
    Ok(socket.local_addr()?.to_string())
}

/// Returns the CPU time of a process in seconds, with a resolution of 10 ms; 0 if it does not
/// exist.
#[must_use]
pub fn cpu_seconds(pid: u32) -> f64 {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return 0.0 };
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: u64 = fields.skip(11).take(2).filter_map(|it| it.parse::<u64>().ok()).sum();
    ticks as f64 / TICKS_PER_SECOND
}

/// Returns the time in seconds for which both benchmark cores were busy since boot, with any process.
/// Includes time stolen by the hypervisor.
#[must_use]
pub fn cores_busy_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let busy_ticks = |core: usize| -> u64 {
        let name = format!("cpu{core} ");
        let line = stat.lines().find_map(|it| it.strip_prefix(&*name)).unwrap_or_default();
        let fields = line.split_whitespace().filter_map(|it| it.parse::<u64>().ok());
        // Fields 4 and 5 are idle time; those after the eighth are included in earlier ones.
        fields.take(8).enumerate().filter(|(it, _)| !matches!(it, 3 | 4)).map(|(_, it)| it).sum()
    };
    (busy_ticks(SERVER_CORE) + busy_ticks(LOAD_CORE)) as f64 / TICKS_PER_SECOND
}

/// Returns the resident memory of a process in bytes; 0 if it does not exist.
#[must_use]
pub fn resident_bytes(pid: u32) -> u64 {
    read_field(&format!("/proc/{pid}/status"), "VmRSS:") * 1024
}

/// Returns the number of open files and sockets of a process; 0 if it does not exist.
#[must_use]
pub fn open_descriptors(pid: u32) -> u64 {
    fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, |it| it.count() as u64)
}

/// Returns the number of `write` and `writev` system calls of a process; 0 if it does not exist.
#[must_use]
pub fn write_syscalls(pid: u32) -> u64 {
    read_field(&format!("/proc/{pid}/io"), "syscw:")
}

fn read_field(path: &str, name: &str) -> u64 {
    let text = fs::read_to_string(path).unwrap_or_default();
    let line = text.lines().find_map(|it| it.strip_prefix(name));
    line.and_then(|it| it.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Describes processor, memory, kernel and compiler for a report.
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

/// Returns the load average of the last minute.
#[must_use]
pub fn load_average() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().and_then(|it| it.parse().ok()).unwrap_or(0.0)
}
