//! The reference of all keys, for the documents.

use std::fmt::Write;

use super::ROOT;
use super::key::{Key, Presence, Section, Shape};

const HEAD: &str = "\
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

const TABLE: &str =
    "\n| key | type | default | meaning | example |\n| --- | --- | --- | --- | --- |\n";

/// The reference, as Markdown.
#[must_use]
pub fn reference() -> String {
    let mut text = HEAD.to_owned();
    section(&ROOT, "", "", &mut text);
    text
}

fn section(section_: &Section, header: &str, about: &str, text: &mut String) {
    let title = match header {
        "" => "Keys outside of any section".to_owned(),
        header => format!("`{header}`"),
    };
    // Writing to a string does not fail.
    let _ = writeln!(text, "\n## {title}");
    if !about.is_empty() {
        let _ = writeln!(text, "\n{about}");
    }
    if section_.keys.iter().any(|key| matches!(key.shape, Shape::Value(..))) {
        text.push_str(TABLE);
    }
    for key in section_.keys {
        if let Shape::Value(words, _) = key.shape {
            let _ = writeln!(text, "{}", row(key, words));
        }
    }
    let path = header.trim_matches(['[', ']']);
    let prefix = if path.is_empty() { String::new() } else { format!("{path}.") };
    for key in section_.keys {
        let path = format!("{prefix}{}", key.name());
        let about = paragraph(key.about);
        match key.shape {
            Shape::Value(..) => {}
            Shape::Table(inner) => section(inner, &format!("[{path}]"), &about, text),
            Shape::List(inner) => section(inner, &format!("[[{path}]]"), &about, text),
            Shape::Named(inner) => section(inner, &format!("[{path}.NAME]"), &about, text),
        }
    }
}

fn row(key: &Key, words: &str) -> String {
    let default = match key.presence {
        Presence::Default(text) => format!("`{text}`"),
        Presence::Optional(words) => words.to_owned(),
        Presence::Required => "must be there".to_owned(),
        Presence::Section => String::new(),
    };
    let aliases = key.aliases.iter().map(|it| format!(" or `{it}`")).collect::<String>();
    let example = key.example.map(|it| format!("`{it}`")).unwrap_or_default();
    let meaning = paragraph(key.about);
    format!("| `{}`{aliases} | {words} | {default} | {meaning} | {example} |", key.name())
}

fn paragraph(lines: &[&str]) -> String {
    lines.iter().map(|it| it.trim()).collect::<Vec<_>>().join(" ")
}
