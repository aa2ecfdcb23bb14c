//! What real peers sent and answered, read with the grammar of its transport.

use std::fs;
use std::path::{Path, PathBuf};

use http::Method;
use serde_json::Value;

use super::*;
use crate::operation::Operation;
use crate::version::Version;

struct Fixture {
    path: PathBuf,
    binding: String,
    operation: String,
    version: Version,
    request: Value,
    response: Value,
}

impl Fixture {
    fn read(path: &Path) -> Option<Self> {
        let mut file: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        let text = |name: &str| file[name].as_str().map(str::to_owned);
        Some(Self {
            path: path.to_owned(),
            binding: text("binding")?,
            operation: text("operation")?,
            version: text("protocol")?.parse().unwrap(),
            request: file["request"].take(),
            response: file["response"].take(),
        })
    }

    fn said(&self) -> Option<Version> {
        let header = self.request["headers"][parameters::VERSION].as_str();
        // A version that is refused before any binding is looked at is not the matter here.
        Version::said(header, None).unwrap_or(Some(self.version))
    }

    fn body(of: &Value) -> Option<String> {
        let text = of["body_text"].as_str().map(str::to_owned);
        text.or_else(|| of.get("body").map(Value::to_string))
    }

    /// Whether the peer refused the request, for whatever reason.
    fn failed(&self) -> bool {
        self.response["status"].as_u64() >= Some(400)
            || self.response["body"].get("error").is_some()
    }

    /// Checks what was found against what the peer made of the same request.
    fn check(&self, found: Result<(Operation, Version), String>) {
        let name = self.path.display();
        match found {
            Ok(_) if self.failed() => {}
            Ok((operation, version)) => {
                assert!(self.is_of(operation), "{name}: {operation:?}");
                assert_eq!(version, self.version, "{name}");
            }
            Err(error) => assert!(self.failed(), "{name}: {error}"),
        }
    }

    fn is_of(&self, operation: Operation) -> bool {
        let name: String = format!("{operation:?}").replace("TaskPushNotification", "Push");
        let name = name.replace("Configs", "Config").to_lowercase();
        self.operation.replace('_', "").replace("configs", "config") == name
    }
}

fn fixtures(binding: &str) -> Vec<Fixture> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.extension() {
                _ if path.is_dir() => folders.push(path),
                Some(extension) if extension == "json" => found.extend(Fixture::read(&path)),
                _ => {}
            }
        }
    }
    found.retain(|it| it.binding == binding);
    assert!(!found.is_empty(), "{binding}");
    found
}

#[test]
fn jsonrpc_requests_of_peers_are_read() {
    for fixture in fixtures("jsonrpc") {
        let Some(body) = Fixture::body(&fixture.request) else { continue };
        let read = jsonrpc::Request::read(body.as_bytes()).map_err(|it| it.error);
        let found =
            read.and_then(|it| jsonrpc::resolve(&it.method, fixture.said(), VersionRule::Lenient));
        fixture.check(found.map_err(|it| it.to_string()));
    }
}

#[test]
fn jsonrpc_answers_of_peers_are_read() {
    for fixture in fixtures("jsonrpc") {
        let name = fixture.path.display();
        let Some(Ok(answer)) = Fixture::body(&fixture.response).map(|body| {
            jsonrpc::Response::read(body.as_bytes()).map(|it| it.payload(fixture.version).is_ok())
        }) else {
            continue;
        };
        assert_eq!(answer, fixture.response["body"].get("error").is_none(), "{name}");
    }
}

#[test]
fn rest_addresses_of_peers_are_found() {
    for fixture in fixtures("rest") {
        let method: Method = fixture.request["method"].as_str().unwrap().parse().unwrap();
        let address = fixture.request["path"].as_str().unwrap();
        let (path, query) = address.split_once('?').unwrap_or((address, ""));
        // One peer takes a task without an identifier for the list of them; we do not.
        if path.ends_with('/') {
            continue;
        }
        let ask = rest::Ask { query, said: fixture.said(), ..rest::Ask::new(&method, path) };
        let found = rest::Route::find(&ask).map_err(|it| it.to_string());
        fixture.check(found.map(|it| (it.operation, it.version)));
    }
}

#[test]
fn streams_of_peers_are_read() {
    for fixture in fixtures("jsonrpc").into_iter().chain(fixtures("rest")) {
        let name = fixture.path.display();
        let Some(text) = fixture.response["sse"].as_str() else { continue };
        let mut decoder = sse::Decoder::new();
        let mut frames = Vec::new();
        for mut chunk in text.as_bytes().chunks(7) {
            while let Some(frame) = decoder.read(&mut chunk).unwrap() {
                frames.push(frame);
            }
        }
        frames.extend(std::iter::from_fn(|| decoder.finish()));
        let read: Vec<Value> =
            frames.iter().map(|it| serde_json::from_slice(&it.data).expect(text)).collect();
        assert_eq!(Value::from(read), fixture.response["events"], "{name}");
        if fixture.binding == "rest" {
            continue;
        }
        let id = fixture.request["body"]["id"].to_string();
        for frame in frames {
            let answer = jsonrpc::Response::read(&frame.data).unwrap();
            assert_eq!(answer.id.as_ref().map(jsonrpc::Id::as_json), Some(&*id), "{name}");
        }
    }
}
