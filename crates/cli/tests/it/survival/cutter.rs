//! A proxy that cuts connections.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// Passes bytes on in both directions until told to cut.
pub(super) struct Cutter {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    cut: Notify,
    count: AtomicUsize,
}

impl Cutter {
    pub(super) async fn start(to: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared::default());
        let accepting = Arc::clone(&shared);
        tokio::spawn(async move {
            while let Ok((from, _)) = listener.accept().await {
                tokio::spawn(pass(from, to, Arc::clone(&accepting)));
            }
        });
        Self { address, shared }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Cuts every connection there is.
    pub(super) fn cut(&self) {
        self.shared.cut.notify_waiters();
    }

    pub(super) fn connections_cut(&self) -> usize {
        self.shared.count.load(Ordering::Relaxed)
    }
}

async fn pass(mut from: TcpStream, to: SocketAddr, shared: Arc<Shared>) {
    let cut = shared.cut.notified();
    let Ok(mut onward) = TcpStream::connect(to).await else { return };
    tokio::select! {
        _ = tokio::io::copy_bidirectional(&mut from, &mut onward) => {}
        () = cut => {
            shared.count.fetch_add(1, Ordering::Relaxed);
        }
    }
}
