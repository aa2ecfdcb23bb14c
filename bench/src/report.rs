//! Reports: Markdown text, rows of JSON, and JSON results of child processes.

use std::fs::{self, OpenOptions};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::BenchError;
use crate::process::{Process, describe_machine, load_average};

/// Writes a value as a line of JSON to standard output, for the parent process.
pub(crate) fn write_json(value: &impl Serialize) -> Result<(), BenchError> {
    let mut out = std::io::stdout().lock();
    serde_json::to_writer(&mut out, value)?;
    out.write_all(b"\n")?;
    Ok(out.flush()?)
}

/// Waits until a child process has closed its output, and parses it as JSON.
///
/// # Errors
/// Fails if the output is already taken or is not a `T`.
pub fn read_json<T: DeserializeOwned>(process: &mut Process) -> Result<T, BenchError> {
    let mut text = String::new();
    process
        .take_stdout()
        .ok_or("the output of the process is already taken")?
        .read_to_string(&mut text)?;
    Ok(serde_json::from_str(&text).map_err(|error| format!("{error}: {text:?}"))?)
}

/// Waits for one line of output of a running child process, and parses it as JSON. Takes the output,
/// so it works once.
///
/// # Errors
/// Fails if the output is already taken, ends, or is not a `T`.
pub fn read_json_line<T: DeserializeOwned>(process: &mut Process) -> Result<T, BenchError> {
    let mut line = String::new();
    BufReader::new(process.take_stdout().ok_or("the output of the process is already taken")?)
        .read_line(&mut line)?;
    Ok(serde_json::from_str(&line).map_err(|error| format!("{error}: {line:?}"))?)
}

/// Report of one run: Markdown text, which is also printed, and a file of raw JSON rows.
#[derive(Debug)]
pub struct Report {
    dir: PathBuf,
    name: String,
    text: String,
    /// Whether the file of rows may contain those of an earlier run on the same day.
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

    /// Prints a line, and adds it to the report.
    #[expect(clippy::print_stdout, reason = "the program prints its report")]
    pub fn add_line(&mut self, line: &str) {
        println!("{line}");
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Appends a raw row to the file at once, so that an aborted run keeps its rows. The first row
    /// replaces those of an earlier run on the same day.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
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

    /// Writes the text to a file in the directory of the report, which must exist.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn save(mut self) -> Result<(), BenchError> {
        self.add_line(&format!("\nLoad average of the machine after: {:.2}.", load_average()));
        let path = self.dir.join(&self.name);
        let result = fs::write(path.with_extension("md"), &self.text);
        result.map_err(|error| write_error(&path, &error))?;
        print_progress(&format!("report written to {}.md", path.display()));
        Ok(())
    }
}

fn write_error(path: &Path, error: &std::io::Error) -> BenchError {
    format!("cannot write {}: {error}", path.display()).into()
}

/// Prints a progress message to standard error; it is not part of the report.
#[expect(clippy::print_stderr, reason = "shows the progress of a long run")]
pub fn print_progress(text: &str) {
    eprintln!("{text}");
}

/// Returns the median, or NaN if there are no values.
#[must_use]
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match (values.get(values.len() / 2), values.len().is_multiple_of(2)) {
        (None, _) => f64::NAN,
        (Some(&middle), false) => middle,
        (Some(&upper), true) => (values[values.len() / 2 - 1] + upper) / 2.0,
    }
}

/// Formats a number rounded to an integer, with spaces between thousands.
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

/// Formats a number of bytes in MB, with one decimal.
#[must_use]
pub fn format_megabytes(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / 1e6)
}
