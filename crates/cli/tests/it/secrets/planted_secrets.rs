//! Recognizable secrets, and recorded output that is searched for them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use memchr::memmem;

/// Secrets by purpose.
#[derive(Default)]
pub(super) struct PlantedSecrets(BTreeMap<&'static str, Vec<u8>>);

impl PlantedSecrets {
    /// Returns the secret string for a purpose, the same for each call. It contains no characters
    /// that an encoding would escape.
    pub(super) fn add_text(&mut self, purpose: &'static str) -> String {
        let letters: String = purpose.chars().filter(char::is_ascii_alphanumeric).collect();
        let text = format!("zQ7{letters}Xk9");
        self.0.insert(purpose, text.clone().into_bytes());
        text
    }

    /// Adds an existing secret.
    pub(super) fn add_bytes(&mut self, purpose: &'static str, bytes: impl Into<Vec<u8>>) {
        self.0.insert(purpose, bytes.into());
    }
}

/// Recorded output that must not contain secrets.
#[derive(Default)]
pub(super) struct VisibleOutput(Vec<(String, Vec<u8>)>);

impl VisibleOutput {
    pub(super) fn add(&mut self, source: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        let bytes = bytes.into();
        if !self.0.iter().any(|(_, existing)| *existing == bytes) {
            self.0.push((source.into(), bytes));
        }
    }

    /// Adds all files below a directory, except those with an excluded name.
    pub(super) fn add_files(&mut self, when: &str, directory: &Path, excluded: &[&str]) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if excluded.contains(&name) {
                continue;
            }
            match path.is_dir() {
                true => self.add_files(when, &path, excluded),
                false => self.add(format!("{when}: {}", path.display()), fs::read(&path).unwrap()),
            }
        }
    }

    /// Returns whether any output contains `text`.
    pub(super) fn contains(&self, text: &str) -> bool {
        self.0.iter().any(|(_, bytes)| memmem::find(bytes, text.as_bytes()).is_some())
    }

    /// Returns the occurrences of planted secrets in any encoding.
    pub(super) fn find_leaks(&self, planted: &PlantedSecrets) -> Vec<String> {
        let mut leaks = Vec::new();
        for (purpose, secret) in &planted.0 {
            for (encoding, bytes) in encodings(secret) {
                let finder = memmem::Finder::new(&bytes);
                for (source, output) in &self.0 {
                    if let Some(offset) = finder.find(output) {
                        let context =
                            &output[offset.saturating_sub(80)..(offset + 80).min(output.len())];
                        let context = String::from_utf8_lossy(context);
                        leaks.push(format!("{source}: the {purpose}, {encoding}: …{context}…"));
                    }
                }
            }
        }
        leaks
    }
}

/// Returns a secret in every encoding that output could use.
fn encodings(secret: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let encode_each =
        |write: fn(&u8) -> String| secret.iter().map(write).collect::<String>().into_bytes();
    let list: Vec<_> = secret.iter().map(ToString::to_string).collect();
    let mut encodings = vec![
        ("unencoded", secret.to_vec()),
        ("in lower case", secret.to_ascii_lowercase()),
        ("in upper case", secret.to_ascii_uppercase()),
        ("in hexadecimal digits", encode_each(|it| format!("{it:02x}"))),
        ("in hexadecimal digits", encode_each(|it| format!("{it:02X}"))),
        ("encoded for a URL", encode_each(|it| format!("%{it:02X}"))),
        ("escaped in JSON", encode_each(|it| format!("\\u{it:04x}"))),
        ("as a list of bytes", list.join(", ").into_bytes()),
        ("as a list of bytes", list.join(",").into_bytes()),
    ];
    for prefix_len in 0..3 {
        // The base64 form depends on the number of preceding bytes, modulo 3. Letters that contain
        // bits of other bytes are left out.
        let padded = [&[0; 2][..prefix_len], secret].concat();
        let letters = (prefix_len * 8).div_ceil(6)..padded.len() * 8 / 6;
        for engine in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
            let text = engine.encode(&padded).into_bytes();
            encodings.push(("in base64", text[letters.clone()].to_vec()));
        }
    }
    encodings
}

#[test]
fn secrets_are_found_in_every_encoding() {
    let mut planted = PlantedSecrets::default();
    let text = planted.add_text("key of the safe");
    let bytes = text.as_bytes();
    let hex: String = bytes.iter().map(|it| format!("{it:02x}")).collect();
    for (output, want) in [
        (format!("key={text};"), true),
        (format!("key={};", text.to_uppercase()), true),
        (format!("{:?}", bytes), true),
        (serde_json::to_string(bytes).unwrap(), true),
        (hex, true),
        (STANDARD_NO_PAD.encode(format!("user:{text}!")), true),
        (STANDARD_NO_PAD.encode(format!("a user:{text}")), true),
        (URL_SAFE_NO_PAD.encode(format!("the user:{text}?")), true),
        ("zQ7 Xk9".to_owned(), false),
    ] {
        let mut all = VisibleOutput::default();
        all.add("somewhere", "nothing");
        all.add("here", output.clone());
        assert_eq!(!all.find_leaks(&planted).is_empty(), want, "{output}");
    }
}
