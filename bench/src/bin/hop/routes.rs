//! Routes to an agent: direct, or through a proxy or gateway.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use latimer_bench::BenchError;
use latimer_bench::process::{Process, SERVER_CORE, Starter, free_address};

/// Route to an agent.
#[derive(Clone, Debug)]
pub(crate) enum Route {
    /// Direct connection.
    Direct,
    /// nginx with Debian's default configuration and a single `proxy_pass`.
    Nginx(PathBuf),
    /// nginx with kept-alive upstream connections, and without log and buffering.
    TunedNginx(PathBuf),
    /// `latimer serve` with an agent of kind `a2a`.
    Gateway(PathBuf),
}

/// All compared routes.
pub(crate) struct Routes {
    pub(crate) direct: Route,
    pub(crate) nginx: Route,
    pub(crate) tuned: Route,
    pub(crate) gateway: Route,
}

impl Routes {
    /// Returns the routes for which calls are measured.
    pub(crate) fn for_calls(&self) -> [&Route; 4] {
        [&self.direct, &self.nginx, &self.tuned, &self.gateway]
    }

    /// Returns the routes for which event age is measured; the default nginx buffers events.
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

/// Address to call, and the process of the proxy or gateway, if there is one.
pub(crate) struct Hop {
    pub(crate) address: String,
    pub(crate) process: Option<Process>,
}

impl Route {
    /// Starts the proxy or gateway for an agent at `upstream`, with its files in `data_dir`.
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

/// Writes an nginx configuration with the given `server` section, and returns the arguments of nginx.
/// It runs as one process, so that its CPU time can be measured.
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

/// Returns the settings of Debian's `nginx.conf`, with one site that forwards every request.
fn plain_server(address: &str, upstream: &str, data_dir: &Path) -> String {
    format!(
        "sendfile on;\ntcp_nopush on;\ntypes_hash_max_size 2048;\ngzip on;\n\
         access_log {}/access.log;\n\
         server {{\nlisten {address};\nlocation / {{ proxy_pass http://{upstream}; }}\n}}\n",
        data_dir.display()
    )
}

/// Returns settings that keep connections open on both sides and forward data unbuffered.
fn tuned_server(address: &str, upstream: &str) -> String {
    format!(
        "access_log off;\nupstream agent {{ server {upstream}; keepalive 64; }}\n\
         server {{\nlisten {address};\nkeepalive_requests 100000000;\n\
         location / {{\nproxy_pass http://agent;\nproxy_http_version 1.1;\n\
         proxy_set_header Connection \"\";\nproxy_set_header Host {upstream};\n\
         proxy_buffering off;\nproxy_read_timeout 1h;\n}}\n}}\n"
    )
}

/// Writes the configuration of the gateway, and returns its arguments.
fn gateway_arguments(
    address: &str,
    upstream: &str,
    data_dir: &Path,
) -> Result<Vec<String>, BenchError> {
    let config = format!(
        "listen = \"{address}\"\n[store]\nkind = \"memory\"\n[log]\nfilter = \"warn\"\n\
         [[agents]]\nname = \"upstream\"\nkind = \"a2a\"\nurl = \"http://{upstream}\"\n"
    );
    let file = data_dir.join("latimer.toml");
    fs::write(&file, config)?;
    Ok(["serve", "--config", &path_string(&file)].map(str::to_owned).to_vec())
}
