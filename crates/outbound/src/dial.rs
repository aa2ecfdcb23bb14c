//! Opening of sockets.

use std::fmt;
use std::io;
use std::net::SocketAddr;

use async_trait::async_trait;
use tokio::net::TcpStream;

/// Opens TCP connections for an [`HttpClient`](crate::HttpClient), which calls it only with
/// addresses that its guard allows.
#[async_trait]
pub trait Dial: fmt::Debug + Send + Sync + 'static {
    /// Connects to `address`. Dropping the future aborts the attempt.
    ///
    /// # Errors
    /// An I/O error if the connection cannot be established.
    async fn dial(&self, address: SocketAddr) -> io::Result<TcpStream>;
}

/// Sockets of the operating system, with Nagle's algorithm disabled.
#[derive(Debug)]
pub(crate) struct TcpDialer;

#[async_trait]
impl Dial for TcpDialer {
    async fn dial(&self, address: SocketAddr) -> io::Result<TcpStream> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }
}
