//! Ways to an agent: straight, or through something in between.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use latimer_bench::BenchError;
use latimer_bench::process::{Process, SERVER_CORE, Starter, free_address};

/// A way to an agent.
#[derive(Clone, Debug)]
pub(crate) enum Route {
    /// Nothing is in between.
    Direct,
    /// A plain reverse proxy: nginx as Debian sets it up, told only where to pass calls on to.
    Nginx(PathBuf),
    /// The same, set up for nothing but this: it keeps connections open and no log.
    TunedNginx(PathBuf),
    /// Ours, which is told of an agent elsewhere.
    Gateway(PathBuf),
}

/// All of them.
pub(crate) struct Routes {
    pub(crate) direct: Route,
    pub(crate) nginx: Route,
    pub(crate) tuned: Route,
    pub(crate) gateway: Route,
}

impl Routes {
    /// Those on which calls are made.
    pub(crate) fn for_calls(&self) -> [&Route; 4] {
        [&self.direct, &self.nginx, &self.tuned, &self.gateway]
    }

    /// Those on which events come one by one; a plain nginx gathers them.
    pub(crate) fn for_events(&self) -> [&Route; 3] {
        [&self.direct, &self.tuned, &self.gateway]
    }
}

impl fmt::Display for Route {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Direct => "direct",
            Self::Nginx(_) => "nginx",
            Self::TunedNginx(_) => "nginx, tuned",
            Self::Gateway(_) => "gateway",
        })
    }
}

/// What is in between, and where it listens.
pub(crate) struct Hop {
    pub(crate) address: String,
    pub(crate) process: Option<Process>,
}

impl Route {
    /// Opens the way to an agent at `upstream`.
    pub(crate) fn start(
        &self,
        starter: Starter,
        upstream: &str,
        data_dir: &Path,
    ) -> Result<Hop, BenchError> {
        let address = free_address()?;
        let (program, arguments) = match self {
            Self::Direct => return Ok(Hop { address: upstream.to_owned(), process: None }),
            Self::Nginx(program) => {
                (program, nginx_arguments(&plain_server(&address, upstream, data_dir), data_dir)?)
            }
            Self::TunedNginx(program) => {
                (program, nginx_arguments(&tuned_server(&address, upstream), data_dir)?)
            }
            Self::Gateway(program) => (program, gateway_arguments(&address, upstream, data_dir)?),
        };
        let mut process = starter.start_program(SERVER_CORE, program, &arguments)?;
        process.wait_until_listening(&address)?;
        Ok(Hop { address, process: Some(process) })
    }
}

fn path_string(path: &Path) -> String {
    path.display().to_string()
}

/// Writes down what nginx is to do, and returns what it is started with: as one process, so that its
/// CPU time can be told, which keeps its files in `home`.
fn nginx_arguments(server: &str, data_dir: &Path) -> Result<Vec<String>, BenchError> {
    let dir = data_dir.display();
    let temp_paths: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .iter()
        .map(|it| format!("{it}_temp_path {dir}/{it};\n"))
        .collect();
    let config = format!(
        "daemon off;\nmaster_process off;\npid {dir}/nginx.pid;\n\
         events {{ worker_connections 768; }}\nhttp {{\n{temp_paths}{server}}}\n"
    );
    let file = data_dir.join("nginx.conf");
    fs::write(&file, config)?;
    Ok(["-e", "/dev/null", "-p", &path_string(data_dir), "-c", &path_string(&file)]
        .map(str::to_owned)
        .to_vec())
}

/// What Debian's `nginx.conf` says, and one site that passes everything on.
fn plain_server(address: &str, upstream: &str, data_dir: &Path) -> String {
    format!(
        "sendfile on;\ntcp_nopush on;\ntypes_hash_max_size 2048;\ngzip on;\n\
         access_log {}/access.log;\n\
         server {{\nlisten {address};\nlocation / {{ proxy_pass http://{upstream}; }}\n}}\n",
        data_dir.display()
    )
}

/// Connections stay open on both sides, and what comes is passed on as it comes.
fn tuned_server(address: &str, upstream: &str) -> String {
    format!(
        "access_log off;\nupstream agent {{ server {upstream}; keepalive 64; }}\n\
         server {{\nlisten {address};\nkeepalive_requests 100000000;\n\
         location / {{\nproxy_pass http://agent;\nproxy_http_version 1.1;\n\
         proxy_set_header Connection \"\";\nproxy_set_header Host {upstream};\n\
         proxy_buffering off;\nproxy_read_timeout 1h;\n}}\n}}\n"
    )
}

/// The same for the gateway.
fn gateway_arguments(
    address: &str,
    upstream: &str,
    data_dir: &Path,
) -> Result<Vec<String>, BenchError> {
    let config = format!(
        "listen = \"{address}\"\n[store]\nkind = \"memory\"\n[log]\nfilter = \"warn\"\n\
         [[agents]]\nname = \"behind\"\nkind = \"a2a\"\nurl = \"http://{upstream}\"\n"
    );
    let file = data_dir.join("latimer.toml");
    fs::write(&file, config)?;
    Ok(["serve", "--config", &path_string(&file)].map(str::to_owned).to_vec())
}
