//! Temporary directory with a configuration file and an environment.

use std::fs;

use latimer_daemon::config::{
    ConfigError, ConfigFile, Environment, FlagOverride, LoadRequest, LoadedConfig,
};

/// Sources of a configuration: a temporary directory, environment variables and options.
pub(crate) struct ConfigFixture {
    pub(crate) temp_dir: tempfile::TempDir,
    pub(crate) request: LoadRequest,
}

impl ConfigFixture {
    /// Creates a fixture without a configuration file.
    pub(crate) fn empty() -> Self {
        let temp_dir = tempfile::tempdir().unwrap();
        let home = temp_dir.path().to_str().unwrap().to_owned();
        let environment = Environment {
            current_dir: temp_dir.path().to_owned(),
            vars: [("HOME".to_owned(), home)].into(),
        };
        let request = LoadRequest { file: ConfigFile::Discover, flags: Vec::new(), environment };
        Self { temp_dir, request }
    }

    /// Creates a fixture with a configuration file.
    pub(crate) fn with_config(text: &str) -> Self {
        let fixture = Self::empty();
        fs::write(fixture.temp_dir.path().join("latimer.toml"), text).unwrap();
        fixture
    }

    pub(crate) fn with_env_var(mut self, name: &str, value: &str) -> Self {
        self.request.environment.vars.insert(name.into(), value.into());
        self
    }

    pub(crate) fn with_flag(
        mut self,
        option: &'static str,
        key: &'static str,
        value: &str,
    ) -> Self {
        self.request.flags.push(FlagOverride { option, key, value: value.into() });
        self
    }

    pub(crate) fn load(&self) -> Result<LoadedConfig, ConfigError> {
        LoadedConfig::load(&self.request)
    }

    pub(crate) fn load_error(&self) -> String {
        self.load().expect_err("the configuration is invalid").to_string()
    }
}
