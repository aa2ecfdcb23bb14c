//! Sample configurations load unchanged.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use latimer_daemon::config::{ConfigFile, Environment, LoadRequest, LoadedConfig, ServingMode};
use latimer_daemon::{StartError, validate};

fn samples() -> Vec<PathBuf> {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/samples");
    let files = fs::read_dir(directory).unwrap().map(|it| it.unwrap().path());
    files.filter(|it| it.extension().is_some_and(|it| it != "md")).collect()
}

fn load(name: &str) -> LoadedConfig {
    let path = samples().into_iter().find(|it| it.ends_with(name)).expect(name);
    let mut environment = Environment::default();
    environment.vars.insert("HOME".into(), "/nowhere".into());
    let request = LoadRequest { file: ConfigFile::Path(path), flags: Vec::new(), environment };
    LoadedConfig::load(&request).unwrap_or_else(|error| panic!("{name}: {error}"))
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
fn json_sample_resolves_the_remote_agent() {
    let config = load("cortex.json").config;
    assert_eq!((config.serving, &*config.listen), (ServingMode::Enabled, "0.0.0.0:3000"));
    let partner = &config.remote_agents[0];
    let (name, partner) = (&*partner.name, &partner.upstream);
    assert_eq!((name, partner.url.as_str()), ("partner-bot", "https://partner.example.com"));
    assert_eq!(partner.auth.auth_token.as_ref().unwrap().reveal(), "sk-...");
    assert_eq!(partner.timeout, Some(Duration::from_secs(60)));
    assert!(partner.card_url.as_ref().unwrap().as_str().ends_with("/agent-card.json"));
}

#[test]
fn samples_without_agents_set_the_serving_state() {
    assert_eq!(load("openfang-a2a.toml").config.serving, ServingMode::Enabled);
    assert_eq!(load("mcp-github.toml").config.serving, ServingMode::NotConfigured);
}

#[tokio::test]
async fn unsupported_agent_kinds_fail_validation() {
    let config = load("design.toml").config;
    let error = validate(&config).await.expect_err("the kind is not available");
    assert!(
        matches!(&error, StartError::UnsupportedKind { agent, kind: "mcp" } if agent == "files")
    );
    assert!(error.is_config_error());
}

#[tokio::test]
async fn unauthenticated_remote_sample_fails_validation() {
    let error = validate(&load("cortex.json").config).await.expect_err("authentication is missing");
    assert!(matches!(error, StartError::UnauthenticatedRemote { .. }), "{error}");
    assert!(error.hint().unwrap().contains("api_key"));
}
