//! A proxy that cuts connections.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// Passes bytes on in both directions until told to cut.
pub(crate) struct Cutter {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    cut: Notify,
    count: AtomicUsize,
}

/// A proxy that waits to be told where to.
pub(crate) struct Waiting(TcpListener);

impl Waiting {
    pub(crate) async fn new() -> Self {
        Self(TcpListener::bind("127.0.0.1:0").await.unwrap())
    }

    pub(crate) fn port(&self) -> u16 {
        self.0.local_addr().unwrap().port()
    }

    pub(crate) fn lead(self, to: SocketAddr) -> Cutter {
        let Self(listener) = self;
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared::default());
        let accepting = Arc::clone(&shared);
        tokio::spawn(async move {
            while let Ok((from, _)) = listener.accept().await {
                tokio::spawn(pass(from, to, Arc::clone(&accepting)));
            }
        });
        Cutter { address, shared }
    }
}

impl Cutter {
    pub(crate) async fn start(to: SocketAddr) -> Self {
        Waiting::new().await.lead(to)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Cuts every connection there is.
    pub(crate) fn cut(&self) {
        self.shared.cut.notify_waiters();
    }

    pub(crate) fn connections_cut(&self) -> usize {
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
