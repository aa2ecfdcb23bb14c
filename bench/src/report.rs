//! What is found, for people and for programs.

use std::fs::{self, OpenOptions};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::BenchError;
use crate::process::{Process, describe_machine, load_average};

/// Says something to whoever started this process.
pub(crate) fn write_json(value: &impl Serialize) -> Result<(), BenchError> {
    let mut out = std::io::stdout().lock();
    serde_json::to_writer(&mut out, value)?;
    out.write_all(b"\n")?;
    Ok(out.flush()?)
}

/// What a process says once it has ended.
///
/// # Errors
/// When it says something else, or nothing.
pub fn read_json<T: DeserializeOwned>(process: &mut Process) -> Result<T, BenchError> {
    let mut text = String::new();
    process.take_stdout().ok_or("nothing to hear")?.read_to_string(&mut text)?;
    Ok(serde_json::from_str(&text).map_err(|error| format!("{error}: {text:?}"))?)
}

/// What a process says while it goes on: one line.
///
/// # Errors
/// When it says something else, or nothing.
pub fn read_json_line<T: DeserializeOwned>(process: &mut Process) -> Result<T, BenchError> {
    let mut line = String::new();
    BufReader::new(process.take_stdout().ok_or("nothing to hear")?).read_line(&mut line)?;
    Ok(serde_json::from_str(&line).map_err(|error| format!("{error}: {line:?}"))?)
}

/// A report that is printed and kept: text for people, and the raw rows beside it.
#[derive(Debug)]
pub struct Report {
    dir: PathBuf,
    name: String,
    text: String,
    /// Whether the rows of an earlier report of the day are still there.
    stale: bool,
}

impl Report {
    /// Creates the report of the benchmark `program`, run with `options`, to be saved in `dir`.
    #[must_use]
    pub fn new(dir: &Path, program: &str, options: &str) -> Self {
        let command = format!("cargo run --release -p latimer-bench --bin {program}");
        Self::for_command(dir, program, &command, options)
    }

    /// Creates the report of a program that is started with `command` and `options`, to be saved in
    /// `dir`. `name` is its title and part of its file names.
    #[must_use]
    pub fn for_command(dir: &Path, name: &str, command: &str, options: &str) -> Self {
        let now = jiff::Timestamp::now();
        let date = now.strftime("%Y-%m-%d");
        let mut report = Self {
            dir: dir.to_owned(),
            name: format!("{date}-{name}"),
            text: String::new(),
            stale: true,
        };
        let options = if options.is_empty() { String::new() } else { format!(" -- {options}") };
        report.add_line(&format!("# `{name}`, {date}\n"));
        report.add_line(&format!("`{command}{options}`\\"));
        report.add_line(&format!("at {} on {}.\\", now.strftime("%H:%M UTC"), describe_machine()));
        report.add_line(&format!("Load average of the machine before: {:.2}.", load_average()));
        report
    }

    /// Prints a line, and keeps it.
    #[expect(clippy::print_stdout, reason = "what the program is for")]
    pub fn add_line(&mut self, line: &str) {
        println!("{line}");
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Keeps a raw row, at once: a long run may not come to its end.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write_row(&mut self, row: &impl Serialize) -> Result<(), BenchError> {
        let mut line = serde_json::to_string(row)?;
        line.push('\n');
        let stale = std::mem::take(&mut self.stale);
        let mut options = OpenOptions::new();
        options.create(true).write(true).append(!stale).truncate(stale);
        let path = self.dir.join(&self.name).with_extension("jsonl");
        let result = options.open(&path).and_then(|mut file| file.write_all(line.as_bytes()));
        result.map_err(|error| write_error(&path, &error))
    }

    /// Writes it into its folder. A folder that is not there is not made.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn save(mut self) -> Result<(), BenchError> {
        self.add_line(&format!("\nLoad average of the machine after: {:.2}.", load_average()));
        let path = self.dir.join(&self.name);
        let result = fs::write(path.with_extension("md"), &self.text);
        result.map_err(|error| write_error(&path, &error))?;
        print_progress(&format!("kept as {}.md", path.display()));
        Ok(())
    }
}

fn write_error(path: &Path, error: &std::io::Error) -> BenchError {
    format!("cannot write {}: {error}", path.display()).into()
}

/// Says how it goes on, beside the report.
#[expect(clippy::print_stderr, reason = "for whoever waits")]
pub fn print_progress(text: &str) {
    eprintln!("{text}");
}

/// The middle one, or the middle of the two that are; not a number when there are none.
#[must_use]
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match (values.get(values.len() / 2), values.len().is_multiple_of(2)) {
        (None, _) => f64::NAN,
        (Some(&middle), false) => middle,
        (Some(&upper), true) => (values[values.len() / 2 - 1] + upper) / 2.0,
    }
}

/// A number with its thousands apart.
#[must_use]
pub fn format_thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let (sign, digits) = digits.strip_prefix('-').map_or(("", &*digits), |it| ("-", it));
    let mut out = String::from(sign);
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

/// A number of bytes in MB.
#[must_use]
pub fn format_megabytes(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / 1e6)
}
