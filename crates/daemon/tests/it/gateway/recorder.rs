//! Stub agent that records requests.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Stub agent and authorization server: accepts every request and records it.
pub(super) struct Recorder {
    pub(super) address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
    _server: JoinSet<()>,
}

impl Recorder {
    pub(super) async fn start() -> Self {
        Self::start_with_card_urls(
            |own| format!("http://{own}/a2a"),
            |own| format!("http://{own}/token"),
        )
        .await
    }

    /// Starts a recorder whose card names these URLs of the agent and of its authorization server.
    pub(super) async fn start_with_card_urls(
        agent_url: impl FnOnce(SocketAddr) -> String,
        token_url: impl FnOnce(SocketAddr) -> String,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let recorded = Arc::clone(&requests);
        let card = Arc::new(card(&agent_url(address), &token_url(address)));
        let mut server = JoinSet::new();
        server.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(Self::serve(stream, Arc::clone(&card), Arc::clone(&recorded)));
            }
        });
        Self { address, requests, _server: server }
    }

    async fn serve(mut stream: TcpStream, card: Arc<String>, requests: Arc<Mutex<Vec<String>>>) {
        let request = read_request(&mut stream).await;
        let body = Self::respond(&card, &request);
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
             connection: close\r\n\r\n",
            body.len(),
        );
        requests.lock().unwrap().push(request);
        stream.write_all(format!("{head}{body}").as_bytes()).await.ok();
    }

    fn respond(card: &str, request: &str) -> String {
        if request.starts_with("GET") {
            return card.to_owned();
        }
        if request.starts_with("POST /token") {
            let token = json!({"access_token": "granted", "token_type": "Bearer"});
            return token.to_string();
        }
        let (_, body) = request.split_once("\r\n\r\n").unwrap_or_default();
        let call: serde_json::Value = serde_json::from_str(body).unwrap_or_default();
        let message = json!({"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "hi"}]});
        json!({"jsonrpc": "2.0", "id": call["id"], "result": {"message": message}}).to_string()
    }

    /// Returns all requests as text.
    pub(super) fn all_requests(&self) -> String {
        self.requests.lock().unwrap().join("\n")
    }

    /// Returns the first request that starts with `start`; empty if there is none.
    pub(super) fn find_request(&self, start: &str) -> String {
        let requests = self.requests.lock().unwrap();
        requests.iter().find(|it| it.starts_with(start)).cloned().unwrap_or_default()
    }
}

fn card(agent_url: &str, token_url: &str) -> String {
    let flow = json!({"clientCredentials": {"tokenUrl": token_url, "scopes": {"agents": ""}}});
    let card = json!({
        "name": "recorder", "description": "d", "version": "1",
        "supportedInterfaces": [{
            "url": agent_url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0",
        }],
        "securitySchemes": {"oauth": {"oauth2SecurityScheme": {"flows": flow}}},
        "securityRequirements": [{"schemes": {"oauth": {"list": ["agents"]}}}],
        "capabilities": {}, "skills": [],
        "defaultInputModes": ["text"], "defaultOutputModes": ["text"],
    });
    card.to_string()
}

/// Reads one request with its body.
async fn read_request(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.split("content-length: ").nth(1).map_or(0, |it| {
                it.split("\r\n").next().and_then(|it| it.parse().ok()).unwrap_or(0)
            });
            if body.len() >= length {
                return String::from_utf8(bytes).unwrap();
            }
        }
        let mut buffer = [0; 4096];
        match stream.read(&mut buffer).await {
            Ok(read) if read > 0 => bytes.extend_from_slice(&buffer[..read]),
            _ => return String::from_utf8_lossy(&bytes).into_owned(),
        }
    }
}
