//! Where the bytes come from: recorded texts, damaged.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use serde_json::Value;

/// Texts that real peers sent: whole bodies, and the payloads inside them.
static TEXTS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let mut texts = Vec::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/protocol/fixtures");
    collect(&root, &mut texts);
    assert!(texts.len() > 100, "there are recorded texts");
    texts
});

fn collect(folder: &Path, texts: &mut Vec<Vec<u8>>) {
    let mut entries: Vec<_> = fs::read_dir(folder)
        .expect("a folder of fixtures")
        .map(|entry| entry.expect("a readable folder").path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            collect(&path, texts);
        } else if path.extension().is_some_and(|it| it == "json") {
            let text = fs::read(&path).expect("a readable fixture");
            let fixture: Value = serde_json::from_slice(&text).expect("JSON");
            for pointer in [
                "/request/body",
                "/request/body/params",
                "/response/body",
                "/response/body/result",
                "/response/body/error",
                "/response/events/0",
                "/response/events/0/result",
                "/response/events/1/result",
            ] {
                texts.extend(fixture.pointer(pointer).map(|it| it.to_string().into_bytes()));
            }
            let stream = fixture.pointer("/response/sse").and_then(Value::as_str);
            texts.extend(stream.map(|it| it.as_bytes().to_vec()));
        }
    }
}

/// Pieces of JSON and of streams that are likely to be in the wrong place.
const PIECES: &[&str] = &[
    "null",
    "true",
    "{}",
    "[]",
    "\"\"",
    "0",
    "-1",
    "1e999",
    "1.5",
    "9007199254740993",
    "\\u0000",
    "\\ud800",
    "\"",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\n\n",
    "\r",
    "data: ",
    "\"kind\":\"task\",",
    "\"$case\":",
    "\"parts\":[{}],",
    "\u{feff}",
    "/tasks/",
    "%2F",
    ":cancel",
    "?A2A-Version=",
    "[[[[[[[[",
];

/// One input: which text, and what happens to it.
pub(crate) type Recipe = (u16, Vec<(u16, u8, u8)>, Vec<u8>);

/// Makes the bytes. One in eight is the random tail alone.
pub(crate) fn bake((text, damage, tail): &Recipe) -> Vec<u8> {
    if text.is_multiple_of(8) {
        return tail.clone();
    }
    let mut bytes = TEXTS[usize::from(*text) % TEXTS.len()].clone();
    for (place, kind, value) in damage.iter().take(12) {
        let place = usize::from(*place) % (bytes.len() + 1);
        let end = (place + usize::from(*value)).min(bytes.len());
        match kind % 6 {
            0 => bytes.insert(place, *value),
            1 => drop(bytes.drain(place..end)),
            2 => {
                let piece = PIECES[usize::from(*value) % PIECES.len()];
                bytes.splice(place..place, piece.bytes());
            }
            3 => {
                let piece = PIECES[usize::from(*value) % PIECES.len()];
                let end = (place + piece.len()).min(bytes.len());
                bytes.splice(place..end, piece.bytes());
            }
            4 => {
                let copy = bytes[place..end].to_vec();
                bytes.splice(place..place, copy);
            }
            _ => bytes.truncate(place),
        }
    }
    bytes
}
