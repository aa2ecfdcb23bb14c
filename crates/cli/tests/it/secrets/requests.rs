//! Requests of every binding, right and wrong, and all that is answered.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};

/// How long anybody waits.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(20);

/// What is answered to a request of HTTP/1.1, headers and all. `headers` are lines.
pub(super) fn http_request(address: &str, request: &str, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "{request} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {length}\r\n\
         Content-Type: application/json\r\n{headers}\r\n"
    );
    send_bytes(address, &[head.as_bytes(), body.as_bytes()].concat())
}

/// What is answered to these bytes.
pub(super) fn send_bytes(address: &str, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(REQUEST_TIMEOUT)).unwrap();
    stream.write_all(bytes).unwrap();
    let mut response = Vec::new();
    // It may be cut off, which is an answer, too.
    stream.read_to_end(&mut response).ok();
    response
}

/// What is answered to a call of gRPC: headers, messages and trailers.
pub(super) fn grpc_request(
    address: &str,
    method: &str,
    headers: &[(&str, &str)],
    message: &[u8],
) -> Vec<u8> {
    let size = u32::try_from(message.len()).unwrap().to_be_bytes();
    let body = [&[0][..], &size, message].concat();
    let mut request = hyper::Request::post(format!("http://{address}/{method}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Full::new(Bytes::from(body))).unwrap();
    let call = async {
        let stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let io = TokioIo::new(stream);
        let (mut sender, connection) = http2::handshake(TokioExecutor::new(), io).await.unwrap();
        let connection = tokio::spawn(connection);
        let response = sender.send_request(request).await.unwrap();
        let (head, body) = response.into_parts();
        let mut received = format!("{head:?}").into_bytes();
        let body = body.collect().await.unwrap();
        received.extend(format!("{:?}", body.trailers()).into_bytes());
        received.extend(body.to_bytes());
        connection.abort();
        received
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(REQUEST_TIMEOUT, call).await.unwrap() })
}

/// A field of protobuf that is a text or a message.
pub(super) fn protobuf_field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let length = u8::try_from(bytes.len()).ok().filter(|it| *it < 128).expect("a short field");
    [&[number << 3 | 2, length][..], bytes].concat()
}

/// A request of HTTP/2 for something that is no path.
pub(super) fn http2_invalid_path(path: &str) -> Vec<u8> {
    let length = u8::try_from(path.len()).ok().filter(|it| *it < 127).expect("a short path");
    // GET, http, and a literal behind the name of `:path`.
    let block = [&[0x82, 0x86, 0x04, length][..], path.as_bytes()].concat();
    let size = u8::try_from(block.len()).unwrap();
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    bytes.extend([0, 0, 0, 4, 0, 0, 0, 0, 0]);
    bytes.extend([0, 0, size, 1, 5, 0, 0, 0, 1]);
    bytes.extend(block);
    // And goodbye.
    bytes.extend([0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    bytes
}
