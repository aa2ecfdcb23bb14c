//! The official SDKs: installation, names and results of checks.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::workspace_root;

/// Result of the check of one operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CheckOutcome {
    /// The operation works, with an optional note on the SDK.
    Passed { note: Option<String> },
    /// The SDK does not support the operation or cannot check it.
    Unsupported { reason: String },
    /// The operation does not work.
    Failed { detail: String },
}

impl CheckOutcome {
    /// Converts a failure to `Unsupported` if there is a reason to expect it. A success is a
    /// failure then, so that the reason is removed.
    pub(super) fn expect_unsupported(self, reason: Option<&str>) -> Self {
        match (self, reason) {
            (Self::Failed { .. }, Some(reason)) => Self::Unsupported { reason: reason.to_owned() },
            (Self::Passed { .. }, Some(reason)) => {
                Self::Failed { detail: format!("works, but is listed as unsupported: {reason}") }
            }
            (outcome, _) => outcome,
        }
    }
}

/// Prefixes of SDK names, letters of bindings, keys of unsupported operations, and the reason.
pub(super) type UnsupportedRule =
    (&'static [&'static str], &'static str, &'static [&'static str], &'static str);

/// Returns the reason why an operation is not supported over a binding; `None` if it is supported.
pub(super) fn unsupported_reason(
    table: &[UnsupportedRule],
    name: &str,
    binding: Binding,
    operation: &str,
) -> Option<&'static str> {
    let applies = |(names, bindings, operations, _): &&UnsupportedRule| {
        names.iter().any(|it| name.starts_with(it))
            && bindings.contains(binding.letter())
            && operations.contains(&operation)
    };
    table.iter().find(applies).map(|(.., reason)| *reason)
}

/// Language of an SDK.
#[derive(Clone, Copy, Debug)]
pub(super) enum Language {
    /// Python, with the directory of its virtual environment.
    Python(&'static str),
    JavaScript,
}

impl Language {
    /// Returns the language and the pinned version of the SDK of a script.
    pub(super) fn name(self, script: &str, compat: bool) -> String {
        let (language, pins, prefix) = match self {
            Self::Python(venv) => ("Python", format!("python/{venv}.txt"), "a2a-sdk==".to_owned()),
            Self::JavaScript => {
                let line = if script.contains("0_3") { "0.3" } else { "1.x" };
                ("JS", "js/package.json".to_owned(), format!(r#""a2a-{line}": "npm:@a2a-js/sdk@"#))
            }
        };
        let pins = fs::read_to_string(workspace_root().join("tests/peers").join(pins));
        let pins = pins.expect("the file with pinned versions exists");
        let version = pins.split(&prefix).nth(1).expect("the SDK is pinned");
        let end = version.find(|it: char| !(it.is_ascii_digit() || it == '.'));
        let mode = if compat { " as 0.3" } else { "" };
        format!("{language} {}{mode}", &version[..end.unwrap_or(version.len())])
    }

    /// Returns a command that runs a script.
    pub(super) fn run(self, script: &Path) -> Command {
        let mut command = match self {
            Self::Python(venv) => {
                let venv = workspace_root().join(".venv").join(venv);
                assert_installed(&venv.join(".stamp"));
                Command::new(venv.join("bin/python"))
            }
            Self::JavaScript => {
                assert_installed(&workspace_root().join("tests/peers/js/node_modules/.stamp"));
                Command::new("node")
            }
        };
        command.arg(script).env("PYTHONDONTWRITEBYTECODE", "1");
        command
    }
}

fn assert_installed(stamp: &Path) {
    assert!(stamp.exists(), "an SDK is missing ({}): run scripts/setup-peers", stamp.display());
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binding {
    JsonRpc,
    Rest,
    Grpc,
}

impl Binding {
    pub(super) const ALL: &[Self] = &[Self::JsonRpc, Self::Rest, Self::Grpc];

    pub(super) fn argument(self) -> &'static str {
        match self {
            Self::JsonRpc => "jsonrpc",
            Self::Rest => "rest",
            Self::Grpc => "grpc",
        }
    }

    /// Returns the letter in tables.
    pub(super) fn letter(self) -> char {
        match self {
            Self::JsonRpc => 'J',
            Self::Rest => 'H',
            Self::Grpc => 'G',
        }
    }
}
