//! What nobody should say, and what nobody should leave unsaid.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::want;
use crate::soak::caller::Caller;
use crate::soak::server::{BRIEF, MAX_BODY};
use crate::soak::trouble::{PATIENCE, Run};

/// What is said, and what is in the answer.
struct Nonsense {
    head: &'static str,
    body: &'static str,
    answer: [&'static str; 2],
}

const fn nonsense(
    head: &'static str,
    body: &'static str,
    status: &'static str,
    answer: &'static str,
) -> Nonsense {
    Nonsense { head, body, answer: [status, answer] }
}

const RPC: &str = "POST /a2a HTTP/1.1\r\nA2A-Version: 1.0\r\n";
const OLD: &str = "POST /a2a HTTP/1.1\r\n";
const REST: &str = "POST /a2a/message:send HTTP/1.1\r\nA2A-Version: 1.0\r\n";
const GET_TASK: &str = "GET /a2a/tasks/nobody HTTP/1.1\r\nA2A-Version: 1.0\r\n";
const CANCEL: &str = "POST /a2a/tasks/nobody:cancel HTTP/1.1\r\nA2A-Version: 1.0\r\n";
const LIST: &str = "GET /a2a/tasks?pageToken=x HTTP/1.1\r\nA2A-Version: 1.0\r\n";
const NOWHERE: &str = "GET /a2a/nowhere HTTP/1.1\r\nA2A-Version: 1.0\r\n";
const WRONG: &str = "POST /a2a HTTP/1.1\r\nA2A-Version: 9.9\r\n";
const NO_HTTP: &str = "\u{16}\u{3}\u{1}\r\n";

const GET: &str = r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"nobody"}}"#;
const OLD_GET: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"nobody"}}"#;
const EMPTY: &str = r#"{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{}}"#;
const OLD_EMPTY: &str = r#"{"jsonrpc":"2.0","id":1,"method":"message/send","params":{}}"#;
const METHOD: &str = r#"{"jsonrpc":"2.0","id":1,"method":"Juggle","params":{}}"#;
const CONTINUE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":
    {"messageId":"m","taskId":"nobody","role":"ROLE_USER","parts":[{"text":"hello"}]}}}"#;

const ALL: &[Nonsense] = &[
    nonsense(RPC, "{ to be", " 200 ", "-32700"),
    nonsense(OLD, "\u{fffd}", " 200 ", "-32700"),
    nonsense(REST, "[[[[", " 400 ", "PARSE_ERROR"),
    nonsense(RPC, METHOD, " 200 ", "-32601"),
    nonsense(RPC, EMPTY, " 200 ", "-32602"),
    nonsense(OLD, OLD_EMPTY, " 200 ", "-32602"),
    nonsense(REST, "{}", " 400 ", "INVALID_PARAMS"),
    nonsense(RPC, GET, " 200 ", "-32001"),
    nonsense(OLD, OLD_GET, " 200 ", "-32001"),
    nonsense(RPC, CONTINUE, " 200 ", "-32001"),
    nonsense(GET_TASK, "", " 404 ", "TASK_NOT_FOUND"),
    nonsense(CANCEL, "", " 404 ", "TASK_NOT_FOUND"),
    nonsense(LIST, "", " 400 ", "INVALID_PARAMS"),
    nonsense(NOWHERE, "", " 404 ", "METHOD_NOT_FOUND"),
    nonsense(WRONG, GET, " 200 ", "-32009"),
    nonsense(NO_HTTP, "", " 400 ", ""),
];

pub(super) async fn bad_input(caller: &mut Caller) -> Run {
    if caller.random.once_in(8) {
        return too_much(caller).await;
    }
    let Nonsense { head, body, answer } = &ALL[caller.random.below(ALL.len() as u64) as usize];
    let said = say(caller, head, body.as_bytes()).await?;
    match answer.iter().all(|it| said.contains(it)) {
        true => Ok(()),
        false => Err(caller.judge(format!("{head:?} {body:?} is answered with {said:?}"))),
    }
}

/// A body that is too large. The answer may be lost with the connection.
async fn too_much(caller: &mut Caller) -> Run {
    let said = say(caller, RPC, &vec![b' '; MAX_BODY * 2]).await?;
    want(said.is_empty() || said.contains("-32600"), || format!("too much, and: {said:?}"))
}

/// Says something on a connection of its own, and returns what is answered until that is closed.
async fn say(caller: &Caller, head: &str, body: &[u8]) -> Run<String> {
    let address = &caller.world.address;
    let mut socket = connect(caller).await?;
    let rest = format!(
        "Host: {address}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    let mut said = Vec::new();
    let spoken = async {
        socket.write_all(&[head.as_bytes(), rest.as_bytes(), body].concat()).await?;
        socket.read_to_end(&mut said).await
    };
    match timeout(PATIENCE, spoken).await {
        // Whoever closes a connection on which there is more to read breaks it.
        Ok(_) => Ok(String::from_utf8_lossy(&said).into_owned()),
        Err(_) => Err(caller.judge(format!("{head:?}: nothing for {PATIENCE:?}"))),
    }
}

async fn connect(caller: &Caller) -> Run<TcpStream> {
    let socket = TcpStream::connect(&caller.world.address).await;
    socket.map_err(|error| caller.judge(format!("no connection: {error}")))
}

pub(super) async fn half_open(caller: &mut Caller) -> Run {
    let half = match caller.random.below(3) {
        0 => "",
        1 => "POST /a2a HTTP/1.1\r\nHost: soak\r\n",
        _ => "POST /a2a HTTP/1.1\r\nHost: soak\r\nContent-Length: 1000\r\n\r\n{\"jsonrpc\"",
    };
    let mut socket = connect(caller).await?;
    if let Err(error) = socket.write_all(half.as_bytes()).await {
        return Err(caller.judge(format!("cannot begin: {error}")));
    }
    if caller.random.once_in(2) {
        sleep(Duration::from_millis(caller.random.below(500))).await;
        return Ok(());
    }
    // Who does not go on is left alone.
    let mut said = Vec::new();
    match timeout(BRIEF + PATIENCE, socket.read_to_end(&mut said)).await {
        Ok(_) => Ok(()),
        Err(_) => Err(caller.judge(format!("{half:?} is waited for without end"))),
    }
}
