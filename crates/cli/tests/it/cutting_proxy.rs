//! TCP proxy that cuts connections.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// Relays connections until [`cut`](Self::cut) closes them.
pub(crate) struct CuttingProxy {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    cut: Notify,
    cut_count: AtomicUsize,
}

/// A proxy that has a port but no target yet.
pub(crate) struct UnconnectedProxy(TcpListener);

impl UnconnectedProxy {
    pub(crate) async fn new() -> Self {
        Self(TcpListener::bind("127.0.0.1:0").await.unwrap())
    }

    pub(crate) fn port(&self) -> u16 {
        self.0.local_addr().unwrap().port()
    }

    pub(crate) fn connect_to(self, to: SocketAddr) -> CuttingProxy {
        let Self(listener) = self;
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared::default());
        let accepting = Arc::clone(&shared);
        tokio::spawn(async move {
            while let Ok((from, _)) = listener.accept().await {
                tokio::spawn(relay(from, to, Arc::clone(&accepting)));
            }
        });
        CuttingProxy { address, shared }
    }
}

impl CuttingProxy {
    pub(crate) async fn start(to: SocketAddr) -> Self {
        UnconnectedProxy::new().await.connect_to(to)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Closes every open connection.
    pub(crate) fn cut(&self) {
        self.shared.cut.notify_waiters();
    }

    pub(crate) fn connections_cut(&self) -> usize {
        self.shared.cut_count.load(Ordering::Relaxed)
    }
}

async fn relay(mut from: TcpStream, to: SocketAddr, shared: Arc<Shared>) {
    let cut = shared.cut.notified();
    let Ok(mut upstream) = TcpStream::connect(to).await else { return };
    tokio::select! {
        _ = tokio::io::copy_bidirectional(&mut from, &mut upstream) => {}
        () = cut => {
            shared.cut_count.fetch_add(1, Ordering::Relaxed);
        }
    }
}
