//! A proxy that closes connections.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// Forwards bytes in both directions until a test closes its connections.
pub(crate) struct CuttingProxy {
    address: SocketAddr,
    cut: Arc<Notify>,
}

impl CuttingProxy {
    pub(crate) async fn start(target: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let cut = Arc::new(Notify::new());
        let cut_signal = Arc::clone(&cut);
        tokio::spawn(async move {
            while let Ok((from, _)) = listener.accept().await {
                tokio::spawn(forward(from, target, Arc::clone(&cut_signal)));
            }
        });
        Self { address, cut }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Closes all connections.
    pub(crate) fn cut(&self) {
        self.cut.notify_waiters();
    }
}

async fn forward(mut from: TcpStream, target: SocketAddr, cut: Arc<Notify>) {
    let cut = cut.notified();
    let Ok(mut upstream) = TcpStream::connect(target).await else { return };
    tokio::select! {
        _ = tokio::io::copy_bidirectional(&mut from, &mut upstream) => {}
        () = cut => {}
    }
}
