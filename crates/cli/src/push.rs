//! `latimer push`.

use latimer_daemon::config::Loaded;
use latimer_daemon::{Operator, ReplayOutcome, Secret};
use serde_json::Value;

use crate::arguments::{DeadLetters, Format, ListDead, WhichDead};
use crate::failure::Failure;
use crate::output;
use crate::serve::runtime;

/// The variable that has the key of the server, when its configuration does not.
const KEY: &str = "LATIMER_API_KEY";

/// Shows what was not delivered.
pub(crate) fn list(arguments: &ListDead) -> Result<(), Failure> {
    runtime()?.block_on(async {
        let letters = operator(&arguments.server)?.dead_letters().await?;
        output::print(&match arguments.output {
            Format::Json => serde_json::to_string_pretty(&letters)
                .map_err(|error| Failure::new(error.to_string()))?,
            Format::Text if letters.is_empty() => "no dead letters".to_owned(),
            Format::Text => table(&letters),
        });
        Ok(())
    })
}

/// Tries once more to deliver.
pub(crate) fn replay(arguments: &WhichDead) -> Result<(), Failure> {
    runtime()?.block_on(async {
        let operator = operator(&arguments.server)?;
        let mut failed = 0;
        for id in which(&operator, arguments).await? {
            match operator.replay(&id).await? {
                ReplayOutcome::Delivered => output::print(&format!("{id}  delivered")),
                ReplayOutcome::Failed(reason) => {
                    failed += 1;
                    output::complain(&format!("{id}  not delivered: {reason}"));
                }
                ReplayOutcome::NotFound => {
                    failed += 1;
                    output::complain(&format!("{id}  there is no such dead letter"));
                }
            }
        }
        outcome(failed, "could not be delivered")
    })
}

/// Forgets what was not delivered.
pub(crate) fn forget(arguments: &WhichDead) -> Result<(), Failure> {
    runtime()?.block_on(async {
        let operator = operator(&arguments.server)?;
        let mut failed = 0;
        for id in which(&operator, arguments).await? {
            if operator.forget(&id).await? {
                output::print(&format!("{id}  dropped"));
            } else {
                failed += 1;
                output::complain(&format!("{id}  there is no such dead letter"));
            }
        }
        outcome(failed, "could not be dropped")
    })
}

fn outcome(failed: usize, what: &str) -> Result<(), Failure> {
    match failed {
        0 => Ok(()),
        1 => Err(Failure::new(format!("one dead letter {what}"))),
        many => Err(Failure::new(format!("{many} dead letters {what}"))),
    }
}

fn operator(arguments: &DeadLetters) -> Result<Operator, Failure> {
    let loaded = Loaded::load(&crate::config::request(arguments.config.as_ref()))?;
    let key = std::env::var(KEY).ok().map(Secret::new);
    Ok(Operator::of(&loaded.config, arguments.url.as_deref(), key)?)
}

async fn which(operator: &Operator, arguments: &WhichDead) -> Result<Vec<String>, Failure> {
    if !arguments.all {
        return Ok(arguments.ids.clone());
    }
    let letters = operator.dead_letters().await?;
    Ok(letters.iter().filter_map(|it| it["id"].as_str()).map(str::to_owned).collect())
}

/// Columns as wide as what is in them.
fn table(letters: &[Value]) -> String {
    const COLUMNS: [(&str, &str); 7] = [
        ("ID", "id"),
        ("TASK", "taskId"),
        ("EVENT", "event"),
        ("RECEIVER", "receiver"),
        ("ATTEMPTS", "attempts"),
        ("GIVEN UP", "at"),
        ("REASON", "reason"),
    ];
    let cell = |letter: &Value, key| match &letter[key] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let head = COLUMNS.map(|(title, _)| title.to_owned());
    let rows = letters.iter().map(|letter| COLUMNS.map(|(_, key)| cell(letter, key)));
    let rows: Vec<_> = std::iter::once(head).chain(rows).collect();
    let width = |column: usize| rows.iter().map(|it| it[column].chars().count()).max();
    let widths: Vec<_> = (0..COLUMNS.len()).map(|it| width(it).unwrap_or_default()).collect();
    let line = |row: &[String; 7]| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}
