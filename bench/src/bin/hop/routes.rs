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
    /// A plain reverse proxy.
    Nginx(PathBuf),
    /// Ours, which is told of an agent elsewhere.
    Gateway(PathBuf),
}

impl fmt::Display for Route {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Direct => "direct",
            Self::Nginx(_) => "nginx",
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
            Self::Nginx(program) => {
                let file = home.join("nginx.conf");
                fs::write(&file, nginx(&address, upstream, home))?;
                let arguments = ["-e", "/dev/null", "-p", &text(home), "-c", &text(&file)];
                (program, arguments.map(str::to_owned).to_vec())
            }
            Self::Gateway(program) => {
                let file = home.join("latimer.toml");
                fs::write(&file, gateway(&address, upstream))?;
                let arguments = ["serve", "--config", &text(&file)];
                (program, arguments.map(str::to_owned).to_vec())
            }
        };
        let mut process = starter.start_other(SERVER_CORE, program, &arguments)?;
        process.wait_until_listening(&address)?;
        Ok(Hop { address, process: Some(process) })
    }
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// One process that keeps connections open on both sides, and passes on what comes as it comes.
fn nginx(address: &str, upstream: &str, home: &Path) -> String {
    let folder = home.display();
    let places: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .iter()
        .map(|it| format!("{it}_temp_path {folder}/{it};\n"))
        .collect();
    format!(
        "daemon off;\nmaster_process off;\npid {folder}/nginx.pid;\nevents {{}}\n\
         http {{\naccess_log off;\n{places}\
         upstream agent {{ server {upstream}; keepalive 64; }}\n\
         server {{\nlisten {address};\nkeepalive_requests 100000000;\n\
         location / {{\nproxy_pass http://agent;\nproxy_http_version 1.1;\n\
         proxy_set_header Connection \"\";\nproxy_set_header Host {upstream};\n\
         proxy_buffering off;\nproxy_read_timeout 1h;\n}}\n}}\n}}\n"
    )
}

fn gateway(address: &str, upstream: &str) -> String {
    format!(
        "listen = \"{address}\"\n[store]\nkind = \"memory\"\n[log]\nfilter = \"warn\"\n\
         [[agents]]\nname = \"behind\"\nkind = \"a2a\"\nurl = \"http://{upstream}\"\n"
    )
}
