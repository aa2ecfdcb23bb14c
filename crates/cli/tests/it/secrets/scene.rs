//! A server with a secret in every place that takes one, and those who come by.

use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use rcgen::KeyPair;
use serde_json::{Value, json};

use super::ask;
use super::issuer::{AUDIENCE, Issuer};
use super::planted::{Planted, Seen};
use crate::program::{Place, Ran, Serving};
use crate::push::receiver::{Mood, Receiver};

/// Files that were put there, with secrets in them.
const OURS: &[&str] = &["latimer.toml", "signing.pem"];

pub(super) struct Scene {
    place: Place,
    planted: Planted,
    seen: Seen,
    issuer: Issuer,
    pub(super) receiver: Receiver,
    address: String,
}

impl Scene {
    /// A server whose log has this format, and everything in it.
    pub(super) fn new(format: &str) -> Self {
        let issuer = Issuer::start();
        let mut planted = Planted::default();
        let signing = KeyPair::generate().unwrap();
        planted.bytes("signing key", scalar(&signing));
        let key = planted.text("key of somebody");
        let hashed = Place::new().run_with(&["config", "hash-key"], key.as_bytes()).out;
        planted.bytes("digest of a key", hashed.trim());
        let mut text = |purpose| planted.text(purpose);
        let config = format!(
            r#"
            listen = "127.0.0.1:0"
            api_key = "{key}"
            [[auth.keys]]
            name = "ci"
            sha256 = "{digest}"
            [auth.jwt]
            issuer = "{issuer}"
            audience = ["{AUDIENCE}"]
            [[a2a.external_agents]]
            name = "one"
            url = "http://127.0.0.1:9/?key={query}"
            auth_token = "{token}"
            headers = {{ X-Key = "{header}" }}
            [a2a.remote_agents.other]
            url = "http://127.0.0.1:9"
            auth_token_env = "OTHER_TOKEN"
            [[mcp_servers]]
            name = "database"
            [mcp_servers.transport]
            type = "stdio"
            command = "npx"
            args = ["postgresql://me:{database}@localhost/db"]
            [store]
            path = "data/tasks.db"
            [push]
            attempts = 2
            first_pause = "20ms"
            longest_pause = "100ms"
            [server]
            drain = "200ms"
            [signing]
            key = "signing.pem"
            [log]
            filter = "trace"
            format = "{format}"
            [[agents]]
            name = "demo"
            kind = "demo"
            [[agents]]
            name = "env"
            kind = "command"
            command = ["env"]
            "#,
            key = text("key of the server"),
            digest = hashed.trim(),
            issuer = issuer.url(),
            query = text("key in the address of a remote agent"),
            token = text("token of a remote agent"),
            header = text("header of a remote agent"),
            database = text("password of a database"),
        );
        let place = Place::new()
            .file("latimer.toml", &config)
            .file("signing.pem", &signing.serialize_pem())
            .variable("OTHER_TOKEN", &text("token in the environment"))
            .variable("LATIMER_API_KEY", &text("key of the server"))
            .variable("LATIMER__API_KEY", &text("key of the server"))
            .variable("RUST_BACKTRACE", "full");
        let receiver = Receiver::start(Mood::Broken);
        let (seen, address) = (Seen::default(), String::new());
        Self { place, planted, seen, issuer, receiver, address }
    }

    pub(super) fn serve(&mut self, log: &str) -> Serving {
        let server = self.place.serve_logging_to(log, &["serve"]);
        self.address = server.address();
        server
    }

    pub(super) fn secret(&mut self, purpose: &'static str) -> String {
        self.planted.text(purpose)
    }

    pub(super) fn address(&self) -> String {
        self.address.clone()
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Headers of the one who registers webhooks.
    pub(super) fn owner(&mut self) -> String {
        format!("Authorization: Bearer {}\r\n", self.secret("key of somebody"))
    }

    /// Headers that show what counts.
    pub(super) fn rightly(&mut self) -> Vec<String> {
        let token = self.issuer.token(AUDIENCE, "alice", 600);
        self.plant_token("token of a caller", &token);
        vec![
            self.owner(),
            format!("X-API-Key: {}\r\n", self.secret("key of the server")),
            format!("Authorization: Bearer {token}\r\n"),
        ]
    }

    /// Headers that show what does not.
    pub(super) fn wrongly(&mut self) -> Vec<String> {
        let wrong = self.secret("wrong key");
        let other = self.secret("another wrong key");
        let password = self.secret("wrong password");
        let basic = STANDARD.encode(format!("me:{password}"));
        let part = URL_SAFE_NO_PAD.encode(json!({"alg": "ES256", "x": wrong}).to_string());
        let expired = self.issuer.token(AUDIENCE, "alice", -600);
        let elsewhere = self.issuer.token("elsewhere", "alice", 600);
        for (purpose, token) in [("old token", &expired), ("token for others", &elsewhere)] {
            self.plant_token(purpose, token);
        }
        vec![
            format!("Authorization: Bearer {wrong}\r\n"),
            format!("Authorization: Bearer {part}.{part}.{part}\r\n"),
            format!("Authorization: Bearer {expired}\r\n"),
            format!("Authorization: Bearer {elsewhere}\r\n"),
            format!("Authorization: Basic {basic}\r\n"),
            format!("Authorization: {wrong}\r\n"),
            format!("Authorization: {wrong} {other}\r\n"),
            format!("Authorization: Bearer {wrong} {other}\r\n"),
            format!("Authorization: Bearer {wrong}\r\nAuthorization: Bearer {other}\r\n"),
            format!("Authorization: Bearer {wrong}\r\nX-API-Key: {other}\r\n"),
            format!("Authorization: Bearer é{wrong}\r\n"),
            format!("X-API-Key: {wrong}\r\n"),
            format!("X-API-Key: {wrong}\r\nCookie: a={other}\r\nProxy-Authorization: {basic}\r\n"),
        ]
    }

    /// The signature of a token is what makes it one.
    fn plant_token(&mut self, purpose: &'static str, token: &str) {
        self.planted.bytes(purpose, token.rsplit('.').next().unwrap());
    }

    /// Calls, and lets everybody see the answer.
    pub(super) fn call(&mut self, method: &str, params: &Value, headers: &str) -> Value {
        let answer = self.call_unseen(method, params, headers);
        self.keep(format!("answer to {method}"), answer.to_string());
        answer
    }

    /// Calls as somebody who may see secrets of their own.
    pub(super) fn call_unseen(&self, method: &str, params: &Value, headers: &str) -> Value {
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let answer = ask::http(&self.address, "POST /a2a", headers, &call.to_string());
        let answer = String::from_utf8(answer).unwrap();
        serde_json::from_str(answer.split_once("\r\n\r\n").expect("an answer").1).unwrap()
    }

    pub(super) fn http(&mut self, request: &str, headers: &str, body: &str) -> Vec<u8> {
        let answer = ask::http(&self.address, request, headers, body);
        self.keep(format!("answer to {request}"), answer.clone());
        answer
    }

    /// Runs a command, and lets everybody see what it says.
    pub(super) fn run(&mut self, arguments: &[&str]) -> Ran {
        let ran = self.place.run(arguments);
        self.keep(format!("stdout of {arguments:?}"), ran.out.as_str());
        self.keep(format!("stderr of {arguments:?}"), ran.errors.as_str());
        ran
    }

    pub(super) fn keep(&mut self, what: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        self.seen.add(what, bytes);
    }

    /// All files as they are now: the database, its companions, logs.
    pub(super) fn keep_files(&mut self, when: &str) {
        self.seen.add_files(when, self.place.folder.path(), OURS);
    }

    pub(super) fn until_dead_letters(&mut self, count: usize) {
        let since = Instant::now();
        let arguments = ["push", "dead", "list", "--output", "json", "--url", &self.url()];
        loop {
            let ran = self.place.run(&arguments);
            let letters: Vec<Value> = serde_json::from_str(&ran.out).unwrap_or_default();
            if letters.len() >= count {
                return;
            }
            assert!(since.elapsed() < Duration::from_secs(30), "{ran:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    pub(super) fn has(&self, words: &str) -> bool {
        self.seen.has(words)
    }

    pub(super) fn assert_clean(&self) {
        let found = self.seen.find(&self.planted);
        assert!(found.is_empty(), "{} times:\n{}", found.len(), found.join("\n"));
    }
}

/// The number that a private key is.
pub(super) fn scalar(key: &KeyPair) -> Vec<u8> {
    let der = key.serialize_der();
    let before = [2, 1, 1, 4, 32];
    let at = memchr::memmem::find(&der, &before).expect("a key of P-256") + before.len();
    der[at..at + 32].to_vec()
}
