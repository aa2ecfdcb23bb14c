//! Scenarios of malformed, oversized and incomplete requests.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::ensure;
use crate::caller::Caller;
use crate::error::{RESPONSE_TIMEOUT, ScenarioResult};
use crate::server::{MAX_BODY_BYTES, SERVER_TIMEOUT};

/// Malformed request, and the strings that its response must contain.
struct BadRequest {
    head: &'static str,
    body: &'static str,
    expected: [&'static str; 2],
}

const fn bad_request(
    head: &'static str,
    body: &'static str,
    status: &'static str,
    expected: &'static str,
) -> BadRequest {
    BadRequest { head, body, expected: [status, expected] }
}

const RPC: &str = "POST /a2a HTTP/1.1\r\nA2A-Version: 1.0\r\n";
const RPC_V0_3: &str = "POST /a2a HTTP/1.1\r\n";
const REST: &str = "POST /a2a/message:send HTTP/1.1\r\nA2A-Version: 1.0\r\n";
const GET_TASK: &str = "GET /a2a/tasks/unknown-task HTTP/1.1\r\nA2A-Version: 1.0\r\n";
const CANCEL: &str = "POST /a2a/tasks/unknown-task:cancel HTTP/1.1\r\nA2A-Version: 1.0\r\n";
const LIST: &str = "GET /a2a/tasks?pageToken=x HTTP/1.1\r\nA2A-Version: 1.0\r\n";
const UNKNOWN_PATH: &str = "GET /a2a/nowhere HTTP/1.1\r\nA2A-Version: 1.0\r\n";
const UNKNOWN_VERSION: &str = "POST /a2a HTTP/1.1\r\nA2A-Version: 9.9\r\n";
const NOT_HTTP: &str = "\u{16}\u{3}\u{1}\r\n";

const GET_BODY: &str =
    r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"unknown-task"}}"#;
const GET_BODY_V0_3: &str =
    r#"{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"unknown-task"}}"#;
const EMPTY_PARAMS: &str = r#"{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{}}"#;
const EMPTY_PARAMS_V0_3: &str = r#"{"jsonrpc":"2.0","id":1,"method":"message/send","params":{}}"#;
const UNKNOWN_METHOD: &str = r#"{"jsonrpc":"2.0","id":1,"method":"Juggle","params":{}}"#;
const UNKNOWN_TASK: &str = r#"{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":
    {"messageId":"m","taskId":"unknown-task","role":"ROLE_USER","parts":[{"text":"hello"}]}}}"#;

const ALL: &[BadRequest] = &[
    bad_request(RPC, "{ to be", " 200 ", "-32700"),
    bad_request(RPC_V0_3, "\u{fffd}", " 200 ", "-32700"),
    bad_request(REST, "[[[[", " 400 ", "PARSE_ERROR"),
    bad_request(RPC, UNKNOWN_METHOD, " 200 ", "-32601"),
    bad_request(RPC, EMPTY_PARAMS, " 200 ", "-32602"),
    bad_request(RPC_V0_3, EMPTY_PARAMS_V0_3, " 200 ", "-32602"),
    bad_request(REST, "{}", " 400 ", "INVALID_PARAMS"),
    bad_request(RPC, GET_BODY, " 200 ", "-32001"),
    bad_request(RPC_V0_3, GET_BODY_V0_3, " 200 ", "-32001"),
    bad_request(RPC, UNKNOWN_TASK, " 200 ", "-32001"),
    bad_request(GET_TASK, "", " 404 ", "TASK_NOT_FOUND"),
    bad_request(CANCEL, "", " 404 ", "TASK_NOT_FOUND"),
    bad_request(LIST, "", " 400 ", "INVALID_PARAMS"),
    bad_request(UNKNOWN_PATH, "", " 404 ", "METHOD_NOT_FOUND"),
    bad_request(UNKNOWN_VERSION, GET_BODY, " 200 ", "-32009"),
    bad_request(NOT_HTTP, "", " 400 ", ""),
];

pub(super) async fn bad_input(caller: &mut Caller) -> ScenarioResult {
    if caller.random.one_in(8) {
        return oversized_body(caller).await;
    }
    let BadRequest { head, body, expected } = &ALL[caller.random.below(ALL.len() as u64) as usize];
    let response = send_raw(caller, head, body.as_bytes()).await?;
    match expected.iter().all(|it| response.contains(it)) {
        true => Ok(()),
        false => {
            Err(caller.classify(format!("unexpected response to {head:?} {body:?}: {response:?}")))
        }
    }
}

/// Sends a body above the limit. The response may be lost with the connection.
async fn oversized_body(caller: &mut Caller) -> ScenarioResult {
    let response = send_raw(caller, RPC, &vec![b' '; MAX_BODY_BYTES * 2]).await?;
    ensure(response.is_empty() || response.contains("-32600"), || {
        format!("unexpected response to an oversized body: {response:?}")
    })
}

/// Sends a request on a new connection, and returns everything the server sends until it closes it.
async fn send_raw(caller: &Caller, head: &str, body: &[u8]) -> ScenarioResult<String> {
    let address = &caller.context.address;
    let mut socket = connect(caller).await?;
    let headers = format!(
        "Host: {address}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let mut response = Vec::new();
    let exchange = async {
        socket.write_all(&[head.as_bytes(), headers.as_bytes(), body].concat()).await?;
        socket.read_to_end(&mut response).await
    };
    match timeout(RESPONSE_TIMEOUT, exchange).await {
        // A server that closes a connection with unread data resets it, so an error is expected.
        Ok(_) => Ok(String::from_utf8_lossy(&response).into_owned()),
        Err(_) => {
            Err(caller.classify(format!("{head:?}: no response within {RESPONSE_TIMEOUT:?}")))
        }
    }
}

async fn connect(caller: &Caller) -> ScenarioResult<TcpStream> {
    let socket = TcpStream::connect(&caller.context.address).await;
    socket.map_err(|error| caller.classify(format!("cannot connect: {error}")))
}

pub(super) async fn half_open(caller: &mut Caller) -> ScenarioResult {
    let half = match caller.random.below(3) {
        0 => "",
        1 => "POST /a2a HTTP/1.1\r\nHost: soak\r\n",
        _ => "POST /a2a HTTP/1.1\r\nHost: soak\r\nContent-Length: 1000\r\n\r\n{\"jsonrpc\"",
    };
    let mut socket = connect(caller).await?;
    if let Err(error) = socket.write_all(half.as_bytes()).await {
        return Err(caller.classify(format!("cannot send: {error}")));
    }
    if caller.random.one_in(2) {
        sleep(Duration::from_millis(caller.random.below(500))).await;
        return Ok(());
    }
    // The server closes a connection whose request does not arrive in time.
    let mut response = Vec::new();
    match timeout(SERVER_TIMEOUT + RESPONSE_TIMEOUT, socket.read_to_end(&mut response)).await {
        Ok(_) => Ok(()),
        Err(_) => Err(caller.classify(format!("the server does not time out {half:?}"))),
    }
}
