//! Writes the reference of all keys, `docs/reference/config.md`.

use std::fmt::Write;

use super::ROOT_SECTION;
use super::key::{KIND_KEY, Key, KeyKind, Presence, SectionSpec};

const HEADER: &str = "\
# Configuration

<!-- Generated from the keys declared in crates/daemon/src/config/raw; a test compares both. -->

`latimer serve` reads its configuration from these sources, in order of precedence:

1. command-line options, such as `--listen`;
2. environment variables: `LATIMER__A2A__LISTEN_PATH=/agents` sets `a2a.listen_path`. A string is taken
   literally; every other value is written as in TOML;
3. one file: the file of `--config`, else of `LATIMER_CONFIG`, else the first that exists of
   `latimer.toml` in the current directory or in a parent directory of the same repository,
   `$XDG_CONFIG_HOME/latimer/latimer.toml` (or `~/.config/…`), and `/etc/latimer/latimer.toml`;
4. the defaults below.

Without a file, `latimer serve` serves one agent of `kind = \"echo\"`. A file is TOML, or JSON if its name
ends in `.json`; keys may also be written in camelCase. Unknown keys are errors. `latimer config check`
reports errors and warnings, and `latimer config show` prints the effective values and their sources.

```toml
listen = \"127.0.0.1:8080\"

[[agents]]
name = \"shout\"
kind = \"command\"
description = \"Converts text to upper case\"
command = [\"tr\", \"a-z\", \"A-Z\"]

[store]
max_age = \"30d\"
```

| type | syntax |
| --- | --- |
| duration | a string of numbers with the units `ms`, `s`, `m`, `h` or `d`, such as `\"500ms\"`, `\"1h30m\"` or `\"7d\"`; or a number of seconds |
| size | a string such as `\"64kB\"` or `\"10MiB\"`, or a number of bytes |
| path | a string; a relative path in a file is relative to the directory of that file |
| URL | a string that starts with `https://` or `http://` and contains no user name |
";

const TABLE_HEADER: &str =
    "\n| key | type | default | description | example |\n| --- | --- | --- | --- | --- |\n";

/// Returns the reference of all keys as Markdown.
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
        true => " A number without a unit counts milliseconds.",
        false => "",
    };
    let description = paragraph(key.spec.description);
    let (name, example) = (key.name(), key.example());
    format!("| `{name}`{aliases} | {type_name} | {default} | {description}{unit} | `{example}` |")
}

fn paragraph(lines: &[&str]) -> String {
    lines.iter().map(|it| it.trim()).collect::<Vec<_>>().join(" ")
}
