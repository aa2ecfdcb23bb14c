//! The reference of all keys, for the documents.

use std::fmt::Write;

use super::ROOT_SECTION;
use super::key::{KIND_KEY, Key, KeyKind, Presence, SectionSpec};

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
    write_keys(section, &title, header, description, text);
    for kind in section.kinds().iter().filter(|it| !it.section.keys().is_empty()) {
        let title = format!("{title} with `{KIND_KEY} = \"{}\"`", kind.name);
        write_keys(kind.section, &title, header, &paragraph(kind.description), text);
    }
}

fn write_keys(
    section: &SectionSpec,
    title: &str,
    header: &str,
    description: &str,
    text: &mut String,
) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "\n## {title}");
    if !description.is_empty() {
        let _ = writeln!(text, "\n{description}");
    }
    let keys = section.keys();
    if keys.iter().any(|key| matches!(key.spec.kind, KeyKind::Value(..))) {
        text.push_str(TABLE_HEADER);
    }
    for key in &keys {
        if let KeyKind::Value(type_name, _) = key.spec.kind {
            let _ = writeln!(text, "{}", row(key, type_name));
        }
    }
    let path = header.trim_matches(['[', ']']);
    let prefix = if path.is_empty() { String::new() } else { format!("{path}.") };
    for key in &keys {
        let path = format!("{prefix}{}", key.name());
        let description = paragraph(key.spec.description);
        match key.spec.kind {
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

fn row(key: &Key, type_name: &str) -> String {
    let default = match key.presence() {
        Presence::Default(text) => format!("`{text}`"),
        Presence::Optional(fallback) => fallback.to_owned(),
        Presence::Required => "required".to_owned(),
        Presence::Section => String::new(),
    };
    let aliases = key.aliases().map(|it| format!(" or `{it}`")).collect::<String>();
    let unit = match key.counts_milliseconds() {
        true => " A plain number counts milliseconds.",
        false => "",
    };
    let meaning = paragraph(key.spec.description);
    let (name, example) = (key.name(), key.example());
    format!("| `{name}`{aliases} | {type_name} | {default} | {meaning}{unit} | `{example}` |")
}

fn paragraph(lines: &[&str]) -> String {
    lines.iter().map(|it| it.trim()).collect::<Vec<_>>().join(" ")
}
