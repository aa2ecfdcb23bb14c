//! The commands of the README do what it says they do.

use std::path::Path;
use std::process::Command;

#[test]
fn the_minute_prints_what_the_readme_shows() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = std::fs::read_to_string(root.join("README.md")).expect("a README");
    let block = |kind: &str| {
        let (_, rest) = readme.split_once(&format!("```{kind}\n")).expect("a block");
        rest.split_once("```").expect("its end").0
    };
    let output = Command::new("sh").arg("-c").arg(block("sh")).current_dir(&root).output();
    let output = output.expect("a shell");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout), block("text"));
}
