//! Inputs: recorded payloads of other implementations, mutated.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::Value;

/// Original inputs of one kind.
pub(crate) type Corpus = LazyLock<Vec<Vec<u8>>>;

/// JSON and event streams: complete bodies and the payloads they contain.
pub(crate) static TEXT_INPUTS: Corpus = LazyLock::new(|| {
    let mut texts = Vec::new();
    for fixture in fixtures("") {
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
            texts.extend(fixture.pointer(pointer).map(to_bytes));
        }
        let stream = fixture.pointer("/response/sse").and_then(Value::as_str);
        texts.extend(stream.map(|it| it.as_bytes().to_vec()));
    }
    assert!(texts.len() > 1000, "the fixtures contain texts");
    texts
});

/// Protobuf: requests, replies and error details.
pub(crate) static MESSAGES: Corpus = LazyLock::new(|| {
    let mut messages = Vec::new();
    for fixture in fixtures("") {
        let replies = fixture.pointer("/response/messages").and_then(Value::as_array);
        let replies = replies.into_iter().flatten().map(|it| &it["message"]);
        let others = ["/request/message", "/response/details"];
        let others = others.iter().filter_map(|it| fixture.pointer(it));
        let encoded = replies.chain(others).filter_map(Value::as_str);
        messages.extend(encoded.map(|it| STANDARD.decode(it).expect("base64")));
    }
    messages.sort();
    messages.dedup();
    assert!(messages.len() > 300, "the fixtures contain messages");
    messages
});

/// Agent cards, with and without signatures.
pub(crate) static CARDS: Corpus = LazyLock::new(|| {
    let mut cards: Vec<_> = fixtures("cards").iter().map(to_bytes).collect();
    cards.extend(fixtures("signatures").iter().filter_map(|it| it.get("card")).map(to_bytes));
    let fetched = fixtures("").into_iter().filter(|it| it["operation"] == "get_agent_card");
    cards.extend(fetched.filter_map(|it| it.pointer("/response/body").map(to_bytes)));
    assert!(cards.len() > 20, "the fixtures contain cards");
    cards
});

/// Protected headers of the signed cards.
pub(crate) static HEADERS: Corpus = LazyLock::new(|| {
    let signed = fixtures("signatures");
    let headers = signed.iter().filter_map(|it| it.pointer("/card/signatures/0/protected"));
    let headers = headers.filter_map(Value::as_str);
    headers.map(|it| URL_SAFE_NO_PAD.decode(it).expect("base64url")).collect()
});

/// Keys in PEM, JWK and JWK set format.
pub(crate) static KEYS: Corpus = LazyLock::new(|| {
    let mut paths = files(&fixtures_root().join("signatures"));
    paths.extend(files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds")));
    paths.retain(|it| it.extension().is_some_and(|it| it == "pem"));
    let mut keys: Vec<_> =
        paths.iter().map(|it| fs::read(it).expect("key file is readable")).collect();
    for fixture in fixtures("signatures") {
        keys.push(to_bytes(fixture.get("jwks").unwrap_or(&fixture)));
    }
    keys
});

/// Keys of the signed cards.
pub(crate) fn jwks() -> Vec<Value> {
    fixtures("signatures").iter().filter_map(|it| it.get("jwks").cloned()).collect()
}

fn to_bytes(value: &Value) -> Vec<u8> {
    value.to_string().into_bytes()
}

fn fixtures_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/protocol/fixtures")
}

/// Loads all fixtures below a directory.
fn fixtures(directory: &str) -> Vec<Value> {
    let mut paths = files(&fixtures_root().join(directory));
    paths.retain(|it| it.extension().is_some_and(|it| it == "json"));
    let read = |path| {
        serde_json::from_slice(&fs::read(path).expect("fixture is readable"))
            .expect("fixture is JSON")
    };
    paths.into_iter().map(read).collect()
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).expect("directory is readable");
    let mut paths: Vec<_> = entries.map(|it| it.expect("entry is readable").path()).collect();
    paths.sort();
    let expand = |path: PathBuf| if path.is_dir() { files(&path) } else { vec![path] };
    paths.into_iter().flat_map(expand).collect()
}

/// Fragments of JSON, event streams and protobuf to insert at random positions.
const FRAGMENTS: &[&[u8]] = &[
    b"null",
    b"true",
    b"{}",
    b"[]",
    b"\"\"",
    b"0",
    b"-1",
    b"1e999",
    b"1.5",
    b"9007199254740993",
    b"\\u0000",
    b"\\ud800",
    b"\"",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\n\n",
    b"\r",
    b"data: ",
    b"\"kind\":\"task\",",
    b"\"$case\":",
    b"\"parts\":[{}],",
    b"\xef\xbb\xbf",
    b"/tasks/",
    b"%2F",
    b":cancel",
    b"?A2A-Version=",
    b"[[[[[[[[",
    b"eyJhbGciOiJub25lIn0",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    b"\xff\xff\xff\xff\x07",
    b"\x0a\x00",
    b"\x12\x00",
    b"\x08\x01",
    b"\x11\x00\x00\x00\x00\x00\x00\xf8\x7f",
];

/// One input: index and number of mutations of the original, the mutations, and random bytes.
pub(crate) type Mutation = (u16, Vec<(u16, u8, u8)>, Vec<u8>);

/// Creates an input. One in eight is an original, and one in eight consists of random bytes.
pub(crate) fn mutate(corpus: &Corpus, (seed, damage, random): &Mutation) -> Vec<u8> {
    let original = |index: u16| &corpus[usize::from(index) % corpus.len()];
    let times = match seed % 8 {
        0 => return random.clone(),
        times => usize::from(times - 1),
    };
    let mut bytes = original(seed / 8).clone();
    for (raw_position, kind, value) in damage.iter().take(times) {
        let choice = *raw_position;
        let position = usize::from(choice) % (bytes.len() + 1);
        let end = (position + usize::from(*value)).min(bytes.len());
        let fragment = FRAGMENTS[usize::from(*value) % FRAGMENTS.len()];
        match kind % 8 {
            0 => bytes.insert(position, *value),
            1 => drop(bytes.drain(position..end)),
            2 => drop(bytes.splice(position..position, fragment.iter().copied())),
            3 => {
                let end = (position + fragment.len()).min(bytes.len());
                bytes.splice(position..end, fragment.iter().copied());
            }
            4 => {
                let copy = bytes[position..end].to_vec();
                bytes.splice(position..position, copy);
            }
            5 => bytes.truncate(position),
            // Keeps the length, so that protobuf length prefixes stay valid.
            6 => bytes.get_mut(position).into_iter().for_each(|it| *it = *value),
            // Concatenated protobuf messages are merged.
            _ => bytes.extend_from_slice(original(choice)),
        }
    }
    bytes
}
