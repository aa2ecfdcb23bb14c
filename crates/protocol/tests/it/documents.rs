//! Checks that the tests, items and files that the documents name exist.

use std::fs;
use std::path::{Path, PathBuf};

fn workspace_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Documents whose code spans are checked. The changelog and ADR 9 also contain replaced names.
const DOCUMENTS: [&str; 20] = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "docs/features.md",
    "docs/glossary.md",
    "docs/kit.md",
    "docs/guide/calling.md",
    "docs/guide/embedding.md",
    "docs/guide/gateway.md",
    "docs/guide/security.md",
    "docs/guide/using.md",
    "docs/adr/0001-one-model-many-dialects.md",
    "docs/adr/0002-read-once-explain-on-failure.md",
    "docs/adr/0003-generated-protobuf-is-checked-in.md",
    "docs/adr/0004-signatures-over-every-signed-form.md",
    "docs/adr/0005-the-request-polls-its-turn.md",
    "docs/adr/0006-a-failed-json-rpc-stream-is-an-event-stream.md",
    "docs/adr/0007-the-guard-is-enforced-where-sockets-are-opened.md",
    "docs/adr/0008-a-gateway-is-an-executor-with-a-note.md",
];

fn read_document(name: &str) -> String {
    fs::read_to_string(workspace_root().join(name)).unwrap_or_else(|it| panic!("{name}: {it}"))
}

/// Returns the code spans of a document. Code blocks are not code spans.
fn code_spans(text: &str) -> impl Iterator<Item = &str> {
    let prose = text.split("```").step_by(2);
    prose.flat_map(|it| it.split('`').skip(1).step_by(2))
}

#[test]
fn every_feature_has_a_row_and_its_tests_exist() {
    let (features, sources) = (read_document("docs/features.md"), Sources::read());
    let (mut numbers, mut states) = (Vec::new(), [0, 0, 0]);
    for line in features.lines() {
        let cells: Vec<_> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [number, _, _, state, proof] = cells[..] else { continue };
        let Ok(number) = number.parse::<u32>() else { continue };
        numbers.push(number);
        let names: Vec<_> = code_spans(proof).collect();
        match state {
            "done" => states[0] += 1,
            "part" => states[1] += 1,
            "–" => states[2] += 1,
            other => panic!("row {number}: unknown state {other}"),
        }
        assert_eq!(names.is_empty(), state == "–", "row {number}: {proof}");
        for name in names {
            let exists = is_test_path(name) && find_test(name)
                || sources.0.iter().any(|(_, text)| defines(text, name))
                || workspace_root().join(name).exists();
            assert!(exists, "row {number}: {name} does not exist");
        }
    }
    assert_eq!(numbers, (1..=238).collect::<Vec<_>>());
    let [done, part, open] = states;
    assert!(
        features.contains(&format!("done {done}, part {part}, open {open} of 238")),
        "{states:?}"
    );
}

#[test]
fn security_guide_claims_cite_tests() {
    let guide = read_document("docs/guide/security.md");
    let (mut claims, mut claimed) = (0, false);
    for line in guide.lines().filter(|it| it.starts_with('|')) {
        let cells: Vec<_> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let (what, tests) = (cells[0], cells[cells.len() - 1]);
        match tests {
            "test" => claimed = true,
            "is trusted with" => claimed = false,
            _ if !claimed || what == "---" => {}
            _ => {
                claims += 1;
                assert!(code_spans(tests).any(is_test_path), "{what}: no test");
            }
        }
    }
    assert!(claims > 40, "{claims}");
}

#[test]
fn embedding_guide_contains_the_example() {
    let example = read_document("examples/embedded.rs");
    let paragraphs = example.split("\n\n").skip(1);
    let code: Vec<_> = paragraphs.take_while(|it| !it.starts_with("#[cfg(test)]")).collect();
    let block = format!("```rust,no_run\n{}\n```", code.join("\n\n"));
    assert!(read_document("docs/guide/embedding.md").contains(&block), "{block}");
}

#[test]
fn decision_9_counts_the_rows_of_its_list() {
    let decision = read_document("docs/adr/0009-plain-english-names.md");
    let list = read_document("docs/adr/0009-rows.tsv");
    for table in 0..=8 {
        let table = format!("3.{table}");
        let has_status = |line: &&str, status| {
            let mut columns = line.split('\t');
            columns.next() == Some(table.as_str()) && columns.nth(3) == Some(status)
        };
        let count = |status| list.lines().filter(|it| has_status(it, status)).count();
        let (followed, deviated) = (count("followed"), count("deviated"));
        let row = format!("| {} | {followed} | {deviated} |", followed + deviated);
        let is_counted = |it: &str| it.starts_with(&format!("| {table} ")) && it.ends_with(&row);
        assert!(decision.lines().any(is_counted), "{table}: {row}");
    }
}

#[test]
fn tests_items_and_files_named_in_documents_exist() {
    let sources = Sources::read();
    let (mut tests, mut items, mut files, mut missing) = (0, 0, 0, Vec::new());
    for document in DOCUMENTS {
        let text = read_document(document);
        for span in code_spans(&text) {
            let found = if is_test_path(span) {
                tests += 1;
                find_test(span)
            } else if is_item_path(span) {
                items += 1;
                sources.find_item(span)
            } else if is_file_path(span) {
                files += 1;
                workspace_root().join(span).exists()
            } else {
                continue;
            };
            if !found {
                missing.push(format!("{document}: {span}"));
            }
        }
    }
    assert!(missing.is_empty(), "these do not exist:\n{}", missing.join("\n"));
    assert!(tests > 400 && items > 100 && files > 30, "{tests} {items} {files}");
}

#[test]
fn test_paths_are_resolved_through_every_module() {
    for path in ["protocol::it::documents::read_document", "protocol::version::tests", "cli::log"] {
        assert!(find_test(path), "{path}");
    }
    for path in ["protocol::it::read_document", "protocol::error::version", "server::it::nothing"] {
        assert!(!find_test(path), "{path}");
    }
    let sources = Sources::read();
    for path in ["Task::apply", "latimer_server::AccessRule", "card::verify", "Error::Agent"] {
        assert!(sources.find_item(path), "{path}");
    }
    for path in ["Task::admit", "latimer_store::AccessRule", "card::apply", "Error::Cut"] {
        assert!(!sources.find_item(path), "{path}");
    }
}

/// Returns whether a code span is a path of identifiers, such as `Task::apply`.
fn is_path(span: &str) -> bool {
    let is_identifier = |it: &str| {
        it.starts_with(|it: char| it.is_ascii_alphabetic())
            && it.chars().all(|it| it.is_ascii_alphanumeric() || it == '_')
    };
    span.contains("::") && span.split("::").all(is_identifier)
}

/// Returns whether a code span is the path of a test or of a module with tests. Its first segment
/// is a directory below `crates`.
fn is_test_path(span: &str) -> bool {
    let first = span.split("::").next().unwrap_or_default();
    is_path(span) && workspace_root().join("crates").join(first).is_dir()
}

/// Returns whether a code span is the path of an item.
fn is_item_path(span: &str) -> bool {
    is_path(span) && !is_test_path(span)
}

/// Returns whether a code span is a path from the root of the repository. Patterns are not.
fn is_file_path(span: &str) -> bool {
    const DIRECTORIES: [&str; 8] =
        ["bench", "crates", "docs", "examples", "fuzz", "scripts", "tests", "xtask"];
    let is_below = |it: &&str| span.strip_prefix(*it).is_some_and(|it| it.starts_with('/'));
    DIRECTORIES.iter().any(is_below) && !span.contains(['*', '{', ' '])
}

/// Returns whether each module of a path is a module of the one before it, and the last one
/// defines the item.
fn find_test(path: &str) -> bool {
    let segments: Vec<_> = path.split("::").collect();
    let [crate_name, modules @ .., name] = &segments[..] else { return false };
    let crate_directory = workspace_root().join("crates").join(crate_name);
    let test_directory = modules.first().map(|it| crate_directory.join("tests").join(it));
    let (mut directory, modules) = match test_directory {
        Some(directory) if directory.join("main.rs").exists() => (directory, &modules[1..]),
        _ => (crate_directory.join("src"), modules),
    };
    let roots = ["lib.rs", "main.rs"].map(|it| directory.join(it));
    let Some(mut text) = roots.iter().find_map(|it| fs::read_to_string(it).ok()) else {
        return false;
    };
    for module in modules {
        let file = fs::read_to_string(directory.join(format!("{module}.rs")))
            .or_else(|_| fs::read_to_string(directory.join(module).join("mod.rs")));
        let inline = text.split_once(&format!("mod {module} {{")).map(|(_, it)| it.to_owned());
        let Some(found) = file.ok().filter(|_| defines(&text, module)).or(inline) else {
            return false;
        };
        text = found;
        directory.push(module);
    }
    defines(&text, name)
}

/// Keywords that are followed by the name that they define.
const DEFINITIONS: [&str; 8] = ["const", "enum", "fn", "mod", "static", "struct", "trait", "type"];

/// Returns the code lines of a source text, without comments.
fn code_lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|it| !it.trim_start().starts_with("//"))
}

fn identifiers(line: &str) -> impl Iterator<Item = &str> {
    line.split(|it: char| !it.is_alphanumeric() && it != '_').filter(|it| !it.is_empty())
}

/// Returns whether a line defines `name`.
fn line_defines(line: &str, name: &str) -> bool {
    let before = identifiers(line).take_while(|it| *it != name).last();
    before.is_some_and(|it| DEFINITIONS.contains(&it)) && identifiers(line).any(|it| it == name)
}

fn defines(text: &str, name: &str) -> bool {
    code_lines(text).any(|it| line_defines(it, name))
}

/// Source files of the crates, without their tests.
struct Sources(Vec<(PathBuf, String)>);

impl Sources {
    fn read() -> Self {
        let mut files = Vec::new();
        let crates = fs::read_dir(workspace_root().join("crates")).expect("directory is readable");
        for entry in crates {
            let directory = entry.expect("entry is readable").path();
            collect_sources(&directory.join("src"), &mut files);
        }
        Self(files)
    }

    /// Returns whether an item exists. `latimer_x::Item` is an item of that crate, `Type::member` a
    /// member of a type, and `module::item` an item that the module defines or re-exports.
    fn find_item(&self, path: &str) -> bool {
        let with_crate = path.strip_prefix("latimer_").and_then(|it| it.split_once("::"));
        let (crate_directory, item) = match with_crate {
            Some((name, item)) => (Some(format!("crates/{name}")), item),
            None => (None, path),
        };
        let segments: Vec<_> = item.split("::").collect();
        let [parents @ .., name] = &segments[..] else { return false };
        let (types, modules): (Vec<_>, Vec<_>) =
            parents.iter().partition(|it| it.starts_with(char::is_uppercase));
        self.0.iter().any(|(file, text)| {
            let is_in_crate = |it: &String| file.ancestors().any(|file| file.ends_with(it));
            let is_in_module = |it: &&&str| {
                file.with_extension("").iter().any(|file| file == **it)
                    || text.contains(&format!("mod {it} {{"))
            };
            crate_directory.iter().all(is_in_crate)
                && modules.iter().all(|it| is_in_module(&it))
                && match types.last() {
                    Some(owner) => has_member(text, owner, name),
                    None => defines(text, name) || reexports(text, name),
                }
        }) || self.is_used(path)
    }

    /// Returns whether the code uses a path as it is written in the document. The path can then be
    /// of another crate, or of an item that a macro defines.
    fn is_used(&self, path: &str) -> bool {
        self.0.iter().any(|(_, text)| code_lines(text).any(|it| it.contains(path)))
    }
}

/// Returns whether a block of the type in this file defines `member`, or has it as field or variant.
fn has_member(text: &str, owner: &str, member: &str) -> bool {
    const BLOCKS: [&str; 4] = ["enum", "impl", "struct", "trait"];
    let mut block_indent = None;
    for line in code_lines(text) {
        let indent = line.len() - line.trim_start().len();
        match block_indent {
            None if line.ends_with('{') => {
                let is_block = identifiers(line).take(3).any(|it| BLOCKS.contains(&it));
                if is_block && identifiers(line).any(|it| it == owner) {
                    block_indent = Some(indent);
                }
            }
            Some(start) if indent == start && line.trim() == "}" => block_indent = None,
            Some(_) => {
                let first = identifiers(line).find(|it| *it != "pub");
                if first == Some(member) || line_defines(line, member) {
                    return true;
                }
            }
            None => {}
        }
    }
    false
}

fn reexports(text: &str, name: &str) -> bool {
    let mut imports = text.split("pub use ").skip(1).filter_map(|it| it.split(';').next());
    imports.any(|it| identifiers(it).any(|it| it == name))
}

/// Appends the Rust files below a directory and their text.
fn collect_sources(directory: &Path, files: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(directory).expect("directory is readable") {
        let path = entry.expect("entry is readable").path();
        if path.is_dir() {
            collect_sources(&path, files);
        } else if path.extension().is_some_and(|it| it == "rs") {
            let text = fs::read_to_string(&path).expect("source is readable");
            files.push((path, text));
        }
    }
}
