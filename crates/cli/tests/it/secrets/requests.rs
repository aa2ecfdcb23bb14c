//! Raw requests for every binding, valid or not. They return the complete response.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};

/// Time allowed for a response.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(20);

/// Sends an HTTP/1.1 request with header lines and returns the response with its headers.
pub(super) fn http_request(address: &str, request: &str, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "{request} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {length}\r\n\
         Content-Type: application/json\r\n{headers}\r\n"
    );
    send_bytes(address, &[head.as_bytes(), body.as_bytes()].concat())
}

/// Sends bytes and returns the response.
pub(super) fn send_bytes(address: &str, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(REQUEST_TIMEOUT)).unwrap();
    stream.write_all(bytes).unwrap();
    let mut response = Vec::new();
    // The server may reset the connection after a partial response.
    stream.read_to_end(&mut response).ok();
    response
}

/// Makes a gRPC call and returns headers, messages and trailers of the response.
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

/// Encodes a length-delimited protobuf field.
pub(super) fn protobuf_field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let length = u8::try_from(bytes.len()).ok().filter(|it| *it < 128).expect("a short field");
    [&[number << 3 | 2, length][..], bytes].concat()
}

/// Encodes an HTTP/2 request with an invalid path.
pub(super) fn http2_invalid_path(path: &str) -> Vec<u8> {
    let length = u8::try_from(path.len()).ok().filter(|it| *it < 127).expect("a short path");
    // HPACK: `:method: GET`, `:scheme: http`, and `:path` with a literal value.
    let block = [&[0x82, 0x86, 0x04, length][..], path.as_bytes()].concat();
    let size = u8::try_from(block.len()).unwrap();
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    bytes.extend([0, 0, 0, 4, 0, 0, 0, 0, 0]);
    bytes.extend([0, 0, size, 1, 5, 0, 0, 0, 1]);
    bytes.extend(block);
    // GOAWAY.
    bytes.extend([0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    bytes
}
