//! Official clients with default timeouts stream from an agent that is silent for 20 seconds.

use std::thread;

use serde_json::Value;

use super::sdk::{Binding, Language};
use super::workspace_root;
use crate::program::TestDir;

const SCRIPTS: [(Language, &str); 2] =
    [(Language::Python("1.x"), "python/silent_1x.py"), (Language::JavaScript, "js/silent_1x.mjs")];

#[test]
#[ignore = "needs the SDKs: scripts/test installs and runs them"]
fn official_clients_get_task_of_silent_agent_at_once() {
    let dir = TestDir::new();
    let args = ["serve", "--listen", "127.0.0.1:0", "--exec", "sleep 20; echo done"];
    let server = dir.serve(&args);
    let base_url = format!("http://{}", server.address());
    thread::scope(|scope| {
        for (language, script) in SCRIPTS {
            for binding in Binding::ALL {
                let base_url = &base_url;
                scope.spawn(move || check_stream(language, script, *binding, base_url));
            }
        }
    });
}

fn check_stream(language: Language, script: &str, binding: Binding, base_url: &str) {
    let path = workspace_root().join("tests/interop").join(script);
    let output = language.run(&path).args([base_url, binding.argument()]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    let what = format!("{script} {binding:?}\n{text}\n{errors}");
    let events: Vec<Value> = text
        .lines()
        .map(|it| serde_json::from_str(it).unwrap_or_else(|_| panic!("{what}")))
        .collect();
    let (Some(first), Some(last)) = (events.first(), events.last()) else { panic!("{what}") };
    assert_eq!(first["kind"], "task", "{what}");
    assert!(first["seconds"].as_f64().unwrap() < 5.0, "{what}");
    assert_eq!(last["state"], "TASK_STATE_COMPLETED", "{what}");
    assert!(last["seconds"].as_f64().unwrap() >= 19.0, "{what}");
}
