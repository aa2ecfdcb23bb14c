//! The reference of configuration keys matches the declared keys.

use std::fs;

use latimer_daemon::config::reference;

use crate::fixture::ConfigFixture;

#[test]
fn config_reference_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/config.md");
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        fs::write(path, reference()).unwrap();
    }
    let written = fs::read_to_string(path).unwrap_or_default();
    assert!(
        written == reference(),
        "docs/reference/config.md is outdated: run this test with UPDATE_REFERENCE=1"
    );
}

#[test]
fn reference_example_loads() {
    let text = reference();
    let example = text.split("```toml").nth(1).and_then(|it| it.split("```").next()).unwrap();
    assert_eq!(ConfigFixture::with_config(example).load().unwrap().config.agents[0].name, "shout");
}
