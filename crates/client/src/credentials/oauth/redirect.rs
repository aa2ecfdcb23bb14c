//! Receiver of the redirect of a login.
//!
//! The HTTP reader is written by hand: a login needs only the request line of one GET request from a
//! browser on this machine, with limits for its size and time. An HTTP library would add a server to
//! the dependencies of the client.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use http::Uri;
use latimer_protocol::{Secret, truncate_for_display};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use url::Url;

use crate::error::Error;

/// Time that a browser has to send its request, and to read the response.
const BROWSER_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of connections of one login. A browser needs one or two; the others may come from
/// programs that scan ports.
const MAX_CONNECTIONS: usize = 100;
/// Maximum size of a request, in bytes.
const MAX_REQUEST_BYTES: u64 = 16 * 1024;
/// Maximum length of the server's reason for a denial in an error.
const MAX_REASON_CHARS: usize = 64;

/// Default redirect URI.
const DEFAULT_REDIRECT_URI: &str = "http://127.0.0.1/callback";

const LOGIN_DONE_MESSAGE: &str = "You are logged in. This page can be closed.";
const LOGIN_DENIED_MESSAGE: &str = "The login was denied. This page can be closed.";
const UNKNOWN_PAGE_MESSAGE: &str = "This page belongs to no login.";

/// Listener on a loopback port that waits for the redirect of a login.
pub(super) struct LoopbackListener {
    listener: TcpListener,
    uri: String,
    path: String,
}

impl LoopbackListener {
    /// Listens on the redirect URI, or on a free port.
    pub(super) async fn bind(redirect_uri: Option<&str>) -> Result<Self, Error> {
        let redirect_uri = RedirectUri::parse(redirect_uri.unwrap_or(DEFAULT_REDIRECT_URI))?;
        let bind_error = |error| {
            Error::InvalidSetup(format!("cannot listen for the redirect of a login: {error}"))
        };
        let listener =
            TcpListener::bind((redirect_uri.address, redirect_uri.port.unwrap_or(0))).await;
        let listener = listener.map_err(bind_error)?;
        let port = listener.local_addr().map_err(bind_error)?.port();
        Ok(Self { listener, uri: redirect_uri.with_port(port), path: redirect_uri.path })
    }

    pub(super) fn uri(&self) -> &str {
        &self.uri
    }

    /// Waits for the redirect and returns its code. Requests without the state of the login receive
    /// an error page.
    ///
    /// # Errors
    /// [`Error::NoCredentials`] if the login is denied, the port fails, or none of
    /// [`MAX_CONNECTIONS`] connections is the redirect.
    pub(super) async fn wait_for_code(self, state: &str) -> Result<Secret, Error> {
        for _ in 0..MAX_CONNECTIONS {
            let mut stream = match self.listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) if is_connection_error(&error) => continue,
                Err(error) => {
                    let problem = format!("cannot receive the redirect of the login: {error}");
                    return Err(Error::NoCredentials(problem));
                }
            };
            if let Some(code) = self.serve(&mut stream, state).await {
                return code;
            }
        }
        Err(Error::NoCredentials(format!(
            "none of {MAX_CONNECTIONS} connections to {} is the redirect of the login: log in again",
            self.uri
        )))
    }

    /// Answers the request of a connection. Returns the code, or the error of a denied login;
    /// `None` if the request is not the redirect.
    async fn serve(&self, stream: &mut TcpStream, state: &str) -> Option<Result<Secret, Error>> {
        let url = timeout(BROWSER_TIMEOUT, read_request_url(stream)).await.ok()??;
        let query_parameter = |name: &str| {
            let mut pairs = url.query_pairs();
            pairs.find(|(it, _)| it == name).map(|(_, value)| value.into_owned())
        };
        if url.path() != self.path || query_parameter("state").as_deref() != Some(state) {
            respond(stream, "404 Not Found", UNKNOWN_PAGE_MESSAGE).await;
            return None;
        }
        if let Some(code) = query_parameter("code") {
            respond(stream, "200 OK", LOGIN_DONE_MESSAGE).await;
            return Some(Ok(Secret::new(code)));
        }
        respond(stream, "200 OK", LOGIN_DENIED_MESSAGE).await;
        let reason = query_parameter("error").unwrap_or_else(|| "no reason given".into());
        let reason = truncate_for_display(&reason, MAX_REASON_CHARS);
        Some(Err(Error::NoCredentials(format!("the login was denied: {reason}"))))
    }
}

/// Returns whether only the accepted connection failed, not the port.
fn is_connection_error(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

/// A redirect URI with a loopback host.
#[derive(Debug)]
struct RedirectUri {
    /// As configured: authorization servers compare the strings.
    original: String,
    /// Host, as configured.
    host: String,
    address: IpAddr,
    port: Option<u16>,
    path: String,
}

impl RedirectUri {
    fn parse(text: &str) -> Result<Self, Error> {
        let invalid = || {
            let problem = "the redirect URI is not an http URL of this machine, such as";
            Error::InvalidSetup(format!("{problem} http://127.0.0.1:8912/callback"))
        };
        let uri: Uri = text.parse().map_err(|_| invalid())?;
        if uri.scheme_str() != Some("http") || text.contains(['?', '#', '@']) {
            return Err(invalid());
        }
        let host = uri.host().ok_or_else(invalid)?.to_owned();
        let address = match host.as_str() {
            "localhost" | "127.0.0.1" => Ipv4Addr::LOCALHOST.into(),
            "[::1]" => Ipv6Addr::LOCALHOST.into(),
            _ => return Err(invalid()),
        };
        let (port, path) = (uri.port_u16(), uri.path().to_owned());
        Ok(Self { original: text.to_owned(), host, address, port, path })
    }

    /// Returns the URI with the port of the listener.
    fn with_port(&self, port: u16) -> String {
        match self.port {
            Some(_) => self.original.clone(),
            None => format!("http://{}:{port}{}", self.host, self.path),
        }
    }
}

/// Reads a request and returns its URL; `None` if it is not a valid GET request.
async fn read_request_url(stream: &mut TcpStream) -> Option<Url> {
    let mut bytes = Vec::new();
    let mut limited = stream.take(MAX_REQUEST_BYTES);
    while !bytes.windows(4).any(|it| it == b"\r\n\r\n") {
        if limited.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let head = String::from_utf8(bytes).ok()?;
    let mut request_line = head.lines().next()?.split(' ');
    let path = request_line.next().filter(|it| *it == "GET").and(request_line.next())?;
    Url::parse("http://localhost").ok()?.join(path).ok()
}

async fn respond(stream: &mut TcpStream, status: &str, message: &str) {
    let page = format!("<!doctype html><title>Login</title><p>{message}</p>");
    let length = page.len();
    let response = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\n\
         content-length: {length}\r\nconnection: close\r\n\r\n{page}"
    );
    // The browser may have closed the connection.
    drop(timeout(BROWSER_TIMEOUT, stream.write_all(response.as_bytes())).await);
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn wait_for_code(listener: LoopbackListener) -> String {
        let code = timeout(Duration::from_secs(10), listener.wait_for_code("state")).await;
        code.expect("the login ends").unwrap_err().to_string()
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn login_ends_if_the_port_fails() {
        use std::os::fd::AsFd;

        let listener = LoopbackListener::bind(None).await.unwrap();
        let socket = listener.listener.as_fd().try_clone_to_owned().unwrap();
        std::net::TcpStream::from(socket).shutdown(std::net::Shutdown::Both).unwrap();
        let error = wait_for_code(listener).await;
        assert!(error.contains("cannot receive the redirect of the login: Invalid"), "{error}");
    }

    #[tokio::test]
    async fn login_ends_after_too_many_connections() {
        let listener = LoopbackListener::bind(None).await.unwrap();
        let address = listener.listener.local_addr().unwrap();
        let clients = async {
            for _ in 0..MAX_CONNECTIONS {
                drop(TcpStream::connect(address).await.unwrap());
            }
        };
        let (error, ()) = tokio::join!(wait_for_code(listener), clients);
        assert!(error.contains("100 connections to http://127.0.0.1:"), "{error}");
    }

    #[test]
    fn redirect_uri_must_be_a_loopback_http_url() {
        for (text, want) in [
            ("http://127.0.0.1/callback", Some("http://127.0.0.1:7/callback")),
            ("http://localhost:8912/back", Some("http://localhost:8912/back")),
            ("http://localhost:80/back", Some("http://localhost:80/back")),
            ("http://[::1]:8912", Some("http://[::1]:8912")),
            ("http://[::1]/", Some("http://[::1]:7/")),
            ("https://127.0.0.1:8912/", None),
            ("http://app.example/back", None),
            ("http://0.0.0.0:8912/", None),
            ("http://user@127.0.0.1:8912/", None),
            ("http://127.0.0.1:8912/?a=b", None),
            ("/callback", None),
        ] {
            let got = RedirectUri::parse(text).map(|it| it.with_port(7));
            assert_eq!(got.as_deref().ok(), want, "{text}");
        }
    }
}
