//! The reference of all keys, for the documents.

use std::fmt::Write;

use super::ROOT_SECTION;
use super::key::{KeyKind, KeySpec, Presence, SectionSpec};

const HEADER: &str = "\
# Configuration

<!-- Made from the list of keys in crates/daemon/src/config/raw; a test holds it against that. -->

`latimer serve` takes its configuration from, the first going before the others:

1. options, such as `--listen`;
2. the environment: `LATIMER__A2A__LISTEN_PATH=/agents` sets `a2a.listen_path`. Texts are taken as
   they are, everything else is written as in TOML;
3. one file: that of `--config`, else that of `LATIMER_CONFIG`, else the first that exists of
   `latimer.toml` in this folder or further up in this repository,
   `$XDG_CONFIG_HOME/latimer/latimer.toml` (or `~/.config/…`), and `/etc/latimer/latimer.toml`;
4. the defaults below.

Without a file it serves one agent that echoes. A file is TOML, or JSON if its name ends in `.json`;
keys may be written in camelCase, too. A key that does not exist is an error. `latimer config check`
says what is wrong with a file, and `latimer config show` what holds and where it comes from.

```toml
listen = \"127.0.0.1:8080\"

[[agents]]
name = \"shout\"
kind = \"command\"
description = \"Says it louder\"
command = [\"tr\", \"a-z\", \"A-Z\"]

[store]
max_age = \"30d\"
```

| type | how it is written |
| --- | --- |
| duration | a text such as `\"500ms\"`, `\"30s\"`, `\"5m\"`, `\"1h30m\"` or `\"7d\"`, or a number of seconds |
| size | a text such as `\"64kB\"` or `\"10MiB\"`, or a number of bytes |
| path | a text; a relative path in a file is relative to the folder of that file |
";

const TABLE_HEADER: &str =
    "\n| key | type | default | meaning | example |\n| --- | --- | --- | --- | --- |\n";

/// The reference, as Markdown.
#[must_use]
pub fn reference() -> String {
    let mut text = HEADER.to_owned();
    write_section(&ROOT_SECTION, "", "", &mut text);
    text
}

fn write_section(section: &SectionSpec, header: &str, description: &str, text: &mut String) {
    let title = match header {
        "" => "Keys outside of any section".to_owned(),
        header => format!("`{header}`"),
    };
    // Writing to a string does not fail.
    let _ = writeln!(text, "\n## {title}");
    if !description.is_empty() {
        let _ = writeln!(text, "\n{description}");
    }
    if section.keys.iter().any(|key| matches!(key.kind, KeyKind::Value(..))) {
        text.push_str(TABLE_HEADER);
    }
    for key in section.keys {
        if let KeyKind::Value(type_name, _) = key.kind {
            let _ = writeln!(text, "{}", row(key, type_name));
        }
    }
    let path = header.trim_matches(['[', ']']);
    let prefix = if path.is_empty() { String::new() } else { format!("{path}.") };
    for key in section.keys {
        let path = format!("{prefix}{}", key.name());
        let description = paragraph(key.description);
        match key.kind {
            KeyKind::Value(..) => {}
            KeyKind::Table(inner) => write_section(inner, &format!("[{path}]"), &description, text),
            KeyKind::TableList(inner) => {
                write_section(inner, &format!("[[{path}]]"), &description, text)
            }
            KeyKind::NamedTables(inner) => {
                write_section(inner, &format!("[{path}.NAME]"), &description, text)
            }
        }
    }
}

fn row(key: &KeySpec, type_name: &str) -> String {
    let default = match key.presence {
        Presence::Default(text) => format!("`{text}`"),
        Presence::Optional(fallback) => fallback.to_owned(),
        Presence::Required => "must be there".to_owned(),
        Presence::Section => String::new(),
    };
    let aliases = key.aliases.iter().map(|it| format!(" or `{it}`")).collect::<String>();
    let example = key.example.map(|it| format!("`{it}`")).unwrap_or_default();
    let meaning = paragraph(key.description);
    format!("| `{}`{aliases} | {type_name} | {default} | {meaning} | {example} |", key.name())
}

fn paragraph(lines: &[&str]) -> String {
    lines.iter().map(|it| it.trim()).collect::<Vec<_>>().join(" ")
}
