//! Command-line options of the benchmark programs.

use std::str::FromStr;

use crate::BenchError;

/// Parsed options, each with one value, such as `--rounds 3`.
#[derive(Debug)]
pub struct Arguments {
    pairs: Vec<(String, String)>,
}

impl Arguments {
    /// Parses the command line of this process; `options` are the supported names.
    ///
    /// # Errors
    /// Fails if an option is not supported or has no value.
    pub fn parse(options: &[&str]) -> Result<Self, BenchError> {
        Self::parse_with_aliases(options, &[])
    }

    /// Parses the command line of this process like [`Arguments::parse`]. `aliases` are pairs of a
    /// former name, which messages do not list, and the current name.
    ///
    /// # Errors
    /// Fails if an option is not supported or has no value.
    pub fn parse_with_aliases(
        options: &[&str],
        aliases: &[(&str, &str)],
    ) -> Result<Self, BenchError> {
        let mut args = std::env::args().skip(1);
        let mut pairs = Vec::new();
        while let Some(arg) = args.next() {
            let name = arg.strip_prefix("--").map(|name| {
                let alias = aliases.iter().find(|(former, _)| *former == name);
                alias.map_or(name, |(_, current)| current)
            });
            let name = name.filter(|it| options.contains(it));
            let name = name.ok_or_else(|| {
                let usage: Vec<_> = options.iter().map(|it| format!("--{it} VALUE")).collect();
                format!("unknown option {arg}; the options are {}", usage.join(", "))
            })?;
            let value = args.next().ok_or_else(|| format!("{arg} requires a value"))?;
            pairs.push((name.to_owned(), value));
        }
        Ok(Self { pairs })
    }

    /// Returns the value of an option, if it is given; the last one if it is repeated.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.pairs.iter().rev().find(|(it, _)| it == name).map(|(_, value)| value.as_str())
    }

    /// Returns the parsed value of an option, or `default` if it is not given.
    ///
    /// # Errors
    /// Fails if the value cannot be parsed.
    pub fn get_or<T: FromStr>(&self, name: &str, default: T) -> Result<T, BenchError> {
        match self.get(name) {
            None => Ok(default),
            Some(value) => {
                value.parse().map_err(|_| format!("--{name} {value}: invalid value").into())
            }
        }
    }

    /// Returns whether `name` is in the comma-separated list of an option, or the option is not
    /// given.
    #[must_use]
    pub fn selects(&self, option: &str, name: &str) -> bool {
        self.get(option).is_none_or(|it| it.split(',').any(|it| it == name))
    }

    /// Formats the options for the report, with paths replaced by `…`.
    #[must_use]
    pub fn without_paths(&self) -> String {
        let format_option = |(name, value): &(String, String)| match value.contains('/') {
            true => format!("--{name} …"),
            false => format!("--{name} {value}"),
        };
        self.pairs.iter().map(format_option).collect::<Vec<_>>().join(" ")
    }
}
