//! `latimer push`.

use latimer_daemon::config::LoadedConfig;
use latimer_daemon::{OperatorClient, ReplayOutcome, Secret};
use serde_json::Value;

use crate::args::{DeadLetterSelection, ListDeadLetters, OutputFormat, ServerArgs};
use crate::error::CliError;
use crate::output;
use crate::serve::build_runtime;

/// Environment variable with the API key of the server.
const API_KEY_VAR: &str = "LATIMER_API_KEY";

/// Lists dead letters.
pub(crate) fn list(args: &ListDeadLetters) -> Result<(), CliError> {
    build_runtime()?.block_on(async {
        let dead_letters = connect(&args.server)?.dead_letters().await?;
        output::print(&match args.output {
            OutputFormat::Json => serde_json::to_string_pretty(&dead_letters)
                .map_err(|error| CliError::new(error.to_string()))?,
            OutputFormat::Text if dead_letters.is_empty() => "no dead letters".to_owned(),
            OutputFormat::Text => table(&dead_letters),
        })?;
        Ok(())
    })
}

/// Retries delivery of dead letters.
pub(crate) fn replay(args: &DeadLetterSelection) -> Result<(), CliError> {
    build_runtime()?.block_on(async {
        let client = connect(&args.server)?;
        // A write error is reported at the end: it does not exclude dead letters from the command.
        let (mut failed, mut printed) = (0, Ok(()));
        for id in selected_ids(&client, args).await? {
            match client.replay_dead_letter(&id).await? {
                ReplayOutcome::Delivered => {
                    printed = printed.and(output::print(&format!("{id}  delivered")));
                }
                ReplayOutcome::Failed(reason) => {
                    failed += 1;
                    output::print_error(&format!("{id}  not delivered: {reason}"));
                }
                ReplayOutcome::NotFound => {
                    failed += 1;
                    output::print_error(&format!("{id}  no such dead letter"));
                }
            }
        }
        fail_if_any(failed, "could not be delivered")?;
        Ok(printed?)
    })
}

/// Deletes dead letters.
pub(crate) fn delete(args: &DeadLetterSelection) -> Result<(), CliError> {
    build_runtime()?.block_on(async {
        let client = connect(&args.server)?;
        // A write error is reported at the end: it does not exclude dead letters from the command.
        let (mut failed, mut printed) = (0, Ok(()));
        for id in selected_ids(&client, args).await? {
            if client.delete_dead_letter(&id).await? {
                printed = printed.and(output::print(&format!("{id}  dropped")));
            } else {
                failed += 1;
                output::print_error(&format!("{id}  no such dead letter"));
            }
        }
        fail_if_any(failed, "could not be dropped")?;
        Ok(printed?)
    })
}

fn fail_if_any(failed: usize, problem: &str) -> Result<(), CliError> {
    match failed {
        0 => Ok(()),
        1 => Err(CliError::new(format!("1 dead letter {problem}"))),
        many => Err(CliError::new(format!("{many} dead letters {problem}"))),
    }
}

fn connect(args: &ServerArgs) -> Result<OperatorClient, CliError> {
    let loaded = LoadedConfig::load(&crate::config::load_request(args.config.as_ref()))?;
    let key = std::env::var(API_KEY_VAR).ok().map(Secret::new);
    Ok(OperatorClient::connect(&loaded.config, args.url.as_deref(), key)?)
}

async fn selected_ids(
    client: &OperatorClient,
    args: &DeadLetterSelection,
) -> Result<Vec<String>, CliError> {
    if !args.all {
        return Ok(args.ids.clone());
    }
    let dead_letters = client.dead_letters().await?;
    Ok(dead_letters.iter().filter_map(|it| it["id"].as_str()).map(str::to_owned).collect())
}

/// Formats dead letters as a table.
fn table(dead_letters: &[Value]) -> String {
    const COLUMNS: [(&str, &str); 7] = [
        ("ID", "id"),
        ("TASK", "taskId"),
        ("EVENT", "event"),
        ("RECEIVER", "receiver"),
        ("ATTEMPTS", "attempts"),
        ("GIVEN UP", "at"),
        ("REASON", "reason"),
    ];
    let cell = |dead_letter: &Value, key| match &dead_letter[key] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let head = COLUMNS.map(|(title, _)| title.to_owned());
    let rows =
        dead_letters.iter().map(|dead_letter| COLUMNS.map(|(_, key)| cell(dead_letter, key)));
    let rows: Vec<_> = std::iter::once(head).chain(rows).collect();
    let width = |column: usize| rows.iter().map(|it| it[column].chars().count()).max();
    let widths: Vec<_> = (0..COLUMNS.len()).map(|it| width(it).unwrap_or_default()).collect();
    let line = |row: &[String; 7]| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}
