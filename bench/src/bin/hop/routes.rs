//! Ways to an agent: straight, or through something in between.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use latimer_bench::Failure;
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
    pub(crate) fn of_calls(&self) -> [&Route; 4] {
        [&self.direct, &self.nginx, &self.tuned, &self.gateway]
    }

    /// Those on which events come one by one; a plain nginx gathers them.
    pub(crate) fn of_events(&self) -> [&Route; 3] {
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
    pub(crate) fn open(
        &self,
        starter: Starter,
        upstream: &str,
        home: &Path,
    ) -> Result<Hop, Failure> {
        let address = free_address()?;
        let (program, arguments) = match self {
            Self::Direct => return Ok(Hop { address: upstream.to_owned(), process: None }),
            Self::Nginx(program) => (program, nginx(&plain(&address, upstream, home), home)?),
            Self::TunedNginx(program) => (program, nginx(&tuned(&address, upstream), home)?),
            Self::Gateway(program) => (program, gateway(&address, upstream, home)?),
        };
        let mut process = starter.start_other(SERVER_CORE, program, &arguments)?;
        process.wait_until_listening(&address)?;
        Ok(Hop { address, process: Some(process) })
    }
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// Writes down what nginx is to do, and returns what it is started with: as one process, so that its
/// CPU time can be told, which keeps its files in `home`.
fn nginx(server: &str, home: &Path) -> Result<Vec<String>, Failure> {
    let folder = home.display();
    let places: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .iter()
        .map(|it| format!("{it}_temp_path {folder}/{it};\n"))
        .collect();
    let told = format!(
        "daemon off;\nmaster_process off;\npid {folder}/nginx.pid;\n\
         events {{ worker_connections 768; }}\nhttp {{\n{places}{server}}}\n"
    );
    let file = home.join("nginx.conf");
    fs::write(&file, told)?;
    Ok(["-e", "/dev/null", "-p", &text(home), "-c", &text(&file)].map(str::to_owned).to_vec())
}

/// What Debian's `nginx.conf` says, and one site that passes everything on.
fn plain(address: &str, upstream: &str, home: &Path) -> String {
    format!(
        "sendfile on;\ntcp_nopush on;\ntypes_hash_max_size 2048;\ngzip on;\n\
         access_log {}/access.log;\n\
         server {{\nlisten {address};\nlocation / {{ proxy_pass http://{upstream}; }}\n}}\n",
        home.display()
    )
}

/// Connections stay open on both sides, and what comes is passed on as it comes.
fn tuned(address: &str, upstream: &str) -> String {
    format!(
        "access_log off;\nupstream agent {{ server {upstream}; keepalive 64; }}\n\
         server {{\nlisten {address};\nkeepalive_requests 100000000;\n\
         location / {{\nproxy_pass http://agent;\nproxy_http_version 1.1;\n\
         proxy_set_header Connection \"\";\nproxy_set_header Host {upstream};\n\
         proxy_buffering off;\nproxy_read_timeout 1h;\n}}\n}}\n"
    )
}

/// The same for the gateway.
fn gateway(address: &str, upstream: &str, home: &Path) -> Result<Vec<String>, Failure> {
    let told = format!(
        "listen = \"{address}\"\n[store]\nkind = \"memory\"\n[log]\nfilter = \"warn\"\n\
         [[agents]]\nname = \"behind\"\nkind = \"a2a\"\nurl = \"http://{upstream}\"\n"
    );
    let file = home.join("latimer.toml");
    fs::write(&file, told)?;
    Ok(["serve", "--config", &text(&file)].map(str::to_owned).to_vec())
}
