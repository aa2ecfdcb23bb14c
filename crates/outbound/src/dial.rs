//! Opening sockets.

use std::fmt;
use std::io;
use std::net::SocketAddr;

use async_trait::async_trait;
use tokio::net::TcpStream;

/// Opens sockets, to addresses that the guard has passed and to no others.
#[async_trait]
pub trait Dial: fmt::Debug + Send + Sync + 'static {
    /// A connection to `address`. Dropping the future gives up.
    ///
    /// # Errors
    /// When nobody answers there.
    async fn dial(&self, address: SocketAddr) -> io::Result<TcpStream>;
}

/// The sockets of the operating system.
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
