//! Dialer that records all addresses and connects only to loopback.

use std::io;
use std::net::SocketAddr;
use std::sync::Mutex;

use async_trait::async_trait;
use latimer_outbound::Dial;
use tokio::net::TcpStream;

#[derive(Debug, Default)]
pub(crate) struct RecordingDialer {
    dialed: Mutex<Vec<SocketAddr>>,
}

impl RecordingDialer {
    /// Returns the addresses dialed since the last call.
    pub(crate) fn take_dialed(&self) -> Vec<SocketAddr> {
        std::mem::take(&mut self.dialed.lock().unwrap())
    }
}

#[async_trait]
impl Dial for RecordingDialer {
    async fn dial(&self, address: SocketAddr) -> io::Result<TcpStream> {
        self.dialed.lock().unwrap().push(address);
        let ip = address.ip().to_canonical();
        // The unspecified address is the local machine, too.
        if ip.is_loopback() || ip.is_unspecified() {
            TcpStream::connect(address).await
        } else {
            Err(io::ErrorKind::ConnectionRefused.into())
        }
    }
}
