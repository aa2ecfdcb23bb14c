//! Checks that the tests cited in the feature list and the guides exist.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn workspace_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn every_feature_has_a_row_and_its_tests_exist() {
    let features = fs::read_to_string(workspace_root().join("docs/features.md"))
        .expect("feature list is readable");
    let mut sources = String::new();
    collect_sources(&workspace_root().join("crates"), &mut sources);
    let (mut numbers, mut states) = (Vec::new(), [0, 0, 0]);
    for line in features.lines() {
        let cells: Vec<_> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [number, _, _, state, proof] = cells[..] else { continue };
        let Ok(number) = number.parse::<u32>() else { continue };
        numbers.push(number);
        let names: Vec<_> = proof.split('`').skip(1).step_by(2).collect();
        match state {
            "done" => states[0] += 1,
            "part" => states[1] += 1,
            "–" => states[2] += 1,
            other => panic!("row {number}: unknown state {other}"),
        }
        assert_eq!(names.is_empty(), state == "–", "row {number}: {proof}");
        for name in names.iter().filter_map(|it| it.rsplit("::").next()) {
            let definitions = [format!("fn {name}("), format!("struct {name} ")];
            let exists = definitions.iter().any(|it| sources.contains(it))
                || workspace_root().join(name).exists();
            assert!(exists, "row {number}: there is no {name}");
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
fn security_guide_claims_cite_existing_tests() {
    let guide = fs::read_to_string(workspace_root().join("docs/guide/security.md"))
        .expect("guide is readable");
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
                assert!(tests.contains("::"), "{what}: no test");
            }
        }
    }
    check_names(&guide);
    assert!(claims > 40, "{claims}");
}

#[test]
fn gateway_guide_cites_existing_tests() {
    let guide = fs::read_to_string(workspace_root().join("docs/guide/gateway.md"))
        .expect("guide is readable");
    assert!(check_names(&guide) > 10);
}

/// Asserts that the tests cited in a guide exist and returns their number.
fn check_names(guide: &str) -> usize {
    let (mut sources, mut names) = (BTreeMap::new(), 0);
    let code_spans = guide.split('`').skip(1).step_by(2);
    // IPv6 addresses such as `[::1]` and code examples are not paths.
    let is_path = |it: &&str| it.contains("::") && !it.contains(['"', '[', ' ']);
    for path in code_spans.filter(is_path) {
        let (crate_name, name) = (path.split("::").next(), path.rsplit("::").next());
        let (crate_name, name) =
            (crate_name.expect("path has a crate"), name.expect("path has a name"));
        let source = sources.entry(crate_name.to_owned()).or_insert_with(|| {
            let mut source = String::new();
            collect_sources(&workspace_root().join("crates").join(crate_name), &mut source);
            source
        });
        let definitions = [format!("fn {name}("), format!("mod {name};")];
        assert!(definitions.iter().any(|it| source.contains(it)), "{path} does not exist");
        names += 1;
    }
    names
}

/// Appends all Rust source below a directory to `text`.
fn collect_sources(directory: &Path, text: &mut String) {
    for entry in fs::read_dir(directory).expect("directory is readable") {
        let path = entry.expect("entry is readable").path();
        if path.is_dir() {
            collect_sources(&path, text);
        } else if path.extension().is_some_and(|it| it == "rs") {
            text.push_str(&fs::read_to_string(&path).expect("source is readable"));
        }
    }
}
