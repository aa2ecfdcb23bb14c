//! Tests that proxy settings of the environment are ignored.

use std::process::Command;

use latimer_outbound::{Guard, HttpClient, RequestLimits};

use crate::support::{Listener, StubResponse, allow_only, post};

const CHILD: &str = "LATIMER_TEST_CHILD";

/// Runs itself again in a child process whose environment contains proxy settings.
#[tokio::test(flavor = "multi_thread")]
async fn environment_proxy_settings_are_ignored() {
    if std::env::var_os(CHILD).is_some() {
        return call().await;
    }
    let proxy = Listener::start(|_| StubResponse::text("proxy")).await;
    let url = format!("http://{}", proxy.address);
    let mut child = Command::new(std::env::current_exe().expect("this program"));
    child.args(["--exact", "proxies::environment_proxy_settings_are_ignored"]).env(CHILD, "1");
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
        child.env(name, &url).env(name.to_lowercase(), &url);
    }
    child.env_remove("NO_PROXY").env_remove("no_proxy");
    let output =
        tokio::task::spawn_blocking(move || child.output()).await.expect("the child process ran");
    let output = output.expect("the child process ran");
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && stdout.contains("1 passed"), "{stdout}");
    assert_eq!(proxy.accepted(), 0);
}

async fn call() {
    let listener = Listener::start(|_| StubResponse::text("direct")).await;
    let rules = allow_only([&listener.address.to_string()]);
    let client = HttpClient::builder(Guard::new(rules)).build().expect("a client");
    let response = client.send(post(&listener.url("/")), &RequestLimits::default()).await;
    assert_eq!(&response.expect("a response").body()[..], b"direct");
}
