//! Configurations of the founding documents load as they are.

use std::fs;
use std::path::PathBuf;

use latimer_daemon::config::{Loaded, Lookup, Request, Serving, Surroundings};
use latimer_daemon::{StartError, check};

fn samples() -> Vec<PathBuf> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/samples");
    let files = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path());
    files.filter(|it| it.extension().is_some_and(|it| it != "md")).collect()
}

fn load(name: &str) -> Loaded {
    let path = samples().into_iter().find(|it| it.ends_with(name)).expect(name);
    let mut surroundings = Surroundings::default();
    surroundings.variables.insert("HOME".into(), "/nowhere".into());
    let request = Request { file: Lookup::Named(path), flags: Vec::new(), surroundings };
    Loaded::load(&request).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn every_sample_loads() {
    let samples = samples();
    assert!(samples.len() >= 9, "{samples:?}");
    for sample in samples {
        load(sample.file_name().unwrap().to_str().unwrap());
    }
}

#[test]
fn a_sample_in_json_means_what_it_says() {
    let config = load("cortex.json").config;
    assert_eq!((config.serving, &*config.listen), (Serving::On, "0.0.0.0:3000"));
    let partner = &config.remote_agents[0];
    let (name, partner) = (&*partner.name, &partner.upstream);
    assert_eq!((name, &*partner.url), ("partner-bot", "https://partner.example.com"));
    assert_eq!(partner.token.as_ref().unwrap().reveal(), "sk-...");
    assert_eq!(partner.timeout.as_secs(), 60);
    assert!(partner.card_url.as_deref().unwrap().ends_with("/agent-card.json"));
}

#[test]
fn samples_without_agents_serve_none_but_are_on_as_they_say() {
    assert_eq!(load("openfang-a2a.toml").config.serving, Serving::On);
    assert_eq!(load("mcp-github.toml").config.serving, Serving::Absent);
}

#[tokio::test]
async fn kinds_that_come_later_are_refused_at_the_start() {
    let config = load("design.toml").config;
    let error = check(&config).await.expect_err("not available");
    assert!(matches!(&error, StartError::Unavailable { agent, kind: "mcp" } if agent == "files"));
    assert!(error.is_configuration());
}

#[tokio::test]
async fn a_sample_that_anybody_could_call_is_refused_at_the_start() {
    let error = check(&load("cortex.json").config).await.expect_err("unprotected");
    assert!(matches!(error, StartError::Unprotected { .. }), "{error}");
    assert!(error.hint().unwrap().contains("api_key"));
}
