//! A server with secrets in its configuration, and the callers that use it.

use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use rcgen::KeyPair;
use serde_json::{Value, json};

use super::issuer::{AUDIENCE, Issuer};
use super::planted_secrets::{PlantedSecrets, VisibleOutput};
use super::requests;
use crate::program::{CommandOutput, ServerProcess, TestDir};
use crate::push::receiver::{Receiver, ReceiverMode};

/// Files of the fixture that contain secrets.
const FIXTURE_FILES: &[&str] = &["latimer.toml", "signing.pem"];

pub(super) struct Fixture {
    dir: TestDir,
    planted: PlantedSecrets,
    visible: VisibleOutput,
    issuer: Issuer,
    pub(super) receiver: Receiver,
    address: String,
}

impl Fixture {
    /// Creates a configuration with this log format and the level `trace`.
    pub(super) fn new(format: &str) -> Self {
        let issuer = Issuer::start();
        let mut planted = PlantedSecrets::default();
        let signing = KeyPair::generate().unwrap();
        planted.add_bytes("signing key", private_scalar(&signing));
        let key = planted.add_text("key of the owner");
        let hashed = TestDir::new().run_with_stdin(&["config", "hash-key"], key.as_bytes()).stdout;
        planted.add_bytes("digest of a key", hashed.trim());
        let mut text = |purpose| planted.add_text(purpose);
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
        let dir = TestDir::new()
            .with_file("latimer.toml", &config)
            .with_file("signing.pem", &signing.serialize_pem())
            .with_env_var("OTHER_TOKEN", &text("token in the environment"))
            .with_env_var("LATIMER_API_KEY", &text("key of the server"))
            .with_env_var("LATIMER__API_KEY", &text("key of the server"))
            .with_env_var("RUST_BACKTRACE", "full");
        let receiver = Receiver::start(ReceiverMode::Failing);
        let (visible, address) = (VisibleOutput::default(), String::new());
        Self { dir, planted, visible, issuer, receiver, address }
    }

    pub(super) fn serve(&mut self, log: &str) -> ServerProcess {
        let server = self.dir.serve_logging_to(log, &["serve"]);
        self.address = server.address();
        server
    }

    pub(super) fn secret(&mut self, purpose: &'static str) -> String {
        self.planted.add_text(purpose)
    }

    pub(super) fn address(&self) -> String {
        self.address.clone()
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the headers of the caller that registers webhooks.
    pub(super) fn owner_headers(&mut self) -> String {
        format!("Authorization: Bearer {}\r\n", self.secret("key of the owner"))
    }

    /// Returns headers with valid credentials, one per authentication method.
    pub(super) fn valid_credentials(&mut self) -> Vec<String> {
        let token = self.issuer.token(AUDIENCE, "alice", 600);
        self.plant_token("token of a caller", &token);
        vec![
            self.owner_headers(),
            format!("X-API-Key: {}\r\n", self.secret("key of the server")),
            format!("Authorization: Bearer {token}\r\n"),
        ]
    }

    /// Returns headers with invalid credentials.
    pub(super) fn invalid_credentials(&mut self) -> Vec<String> {
        let wrong = self.secret("wrong key");
        let other = self.secret("another wrong key");
        let password = self.secret("wrong password");
        let basic = STANDARD.encode(format!("me:{password}"));
        let part = URL_SAFE_NO_PAD.encode(json!({"alg": "ES256", "x": wrong}).to_string());
        let expired = self.issuer.token(AUDIENCE, "alice", -600);
        let elsewhere = self.issuer.token("elsewhere", "alice", 600);
        for (purpose, token) in
            [("expired token", &expired), ("token for another audience", &elsewhere)]
        {
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

    /// Plants the signature of a token, without which the token is useless.
    fn plant_token(&mut self, purpose: &'static str, token: &str) {
        self.planted.add_bytes(purpose, token.rsplit('.').next().unwrap());
    }

    /// Makes a call and records its response.
    pub(super) fn call(&mut self, method: &str, params: &Value, headers: &str) -> Value {
        let response = self.call_privately(method, params, headers);
        self.record_output(format!("response to {method}"), response.to_string());
        response
    }

    /// Makes a call whose response may contain secrets of its caller.
    pub(super) fn call_privately(&self, method: &str, params: &Value, headers: &str) -> Value {
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let response =
            requests::http_request(&self.address, "POST /a2a", headers, &call.to_string());
        let response = String::from_utf8(response).unwrap();
        serde_json::from_str(response.split_once("\r\n\r\n").expect("a response").1).unwrap()
    }

    pub(super) fn http(&mut self, request: &str, headers: &str, body: &str) -> Vec<u8> {
        let response = requests::http_request(&self.address, request, headers, body);
        self.record_output(format!("response to {request}"), response.clone());
        response
    }

    /// Runs a command and records its output.
    pub(super) fn run(&mut self, args: &[&str]) -> CommandOutput {
        let output = self.dir.run(args);
        self.record_output(format!("stdout of {args:?}"), output.stdout.as_str());
        self.record_output(format!("stderr of {args:?}"), output.stderr.as_str());
        output
    }

    pub(super) fn record_output(&mut self, source: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        self.visible.add(source, bytes);
    }

    /// Records all current files: the database, its companion files and logs.
    pub(super) fn record_files(&mut self, when: &str) {
        self.visible.add_files(when, self.dir.temp_dir.path(), FIXTURE_FILES);
    }

    pub(super) fn wait_for_dead_letters(&mut self, count: usize) {
        let started = Instant::now();
        let args = ["push", "dead", "list", "--output", "json", "--url", &self.url()];
        loop {
            let output = self.dir.run(&args);
            let dead_letters: Vec<Value> = serde_json::from_str(&output.stdout).unwrap_or_default();
            if dead_letters.len() >= count {
                return;
            }
            assert!(started.elapsed() < Duration::from_secs(30), "{output:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    pub(super) fn output_contains(&self, text: &str) -> bool {
        self.visible.contains(text)
    }

    pub(super) fn assert_no_leaks(&self) {
        let leaks = self.visible.find_leaks(&self.planted);
        assert!(leaks.is_empty(), "{} leaks:\n{}", leaks.len(), leaks.join("\n"));
    }
}

/// Returns the private scalar of a key.
pub(super) fn private_scalar(key: &KeyPair) -> Vec<u8> {
    let der = key.serialize_der();
    let prefix = [2, 1, 1, 4, 32];
    let offset = memchr::memmem::find(&der, &prefix).expect("a key of P-256") + prefix.len();
    der[offset..offset + 32].to_vec()
}
