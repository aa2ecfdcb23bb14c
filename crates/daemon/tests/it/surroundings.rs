//! A folder with a configuration, and an environment.

use std::fs;

use latimer_daemon::config::{ConfigError, Flag, Loaded, Lookup, Request, Surroundings};

/// A folder of its own, and whatever else a configuration depends on.
pub(crate) struct Place {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) request: Request,
}

impl Place {
    /// Without a file.
    pub(crate) fn empty() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().to_str().unwrap().to_owned();
        let surroundings = Surroundings {
            folder: folder.path().to_owned(),
            variables: [("HOME".to_owned(), home)].into(),
        };
        let request = Request { file: Lookup::Search, flags: Vec::new(), surroundings };
        Self { folder, request }
    }

    /// With a file.
    pub(crate) fn with(text: &str) -> Self {
        let place = Self::empty();
        fs::write(place.folder.path().join("latimer.toml"), text).unwrap();
        place
    }

    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.request.surroundings.variables.insert(name.into(), value.into());
        self
    }

    pub(crate) fn flag(mut self, option: &'static str, key: &'static str, value: &str) -> Self {
        self.request.flags.push(Flag { option, key, value: value.into() });
        self
    }

    pub(crate) fn load(&self) -> Result<Loaded, ConfigError> {
        Loaded::load(&self.request)
    }

    pub(crate) fn problem(&self) -> String {
        self.load().expect_err("a problem").to_string()
    }
}
