//! One connection, from its first byte to its last.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::server::conn::auto::Builder;
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::{Entry, Tracked};

pub(super) struct Connection {
    pub(super) stream: TcpStream,
    pub(super) peer: SocketAddr,
    pub(super) entry: Entry,
    pub(super) builder: Arc<Builder<Tracked>>,
    /// How long the first request may keep us waiting. From then on hyper has its own limit; what
    /// it does not limit is how long a peer takes to show which version of HTTP it speaks.
    pub(super) patience: Duration,
    pub(super) leaving: CancellationToken,
    pub(super) gone: CancellationToken,
}

impl Connection {
    pub(super) async fn serve(self) {
        let Self { stream, peer, entry, builder, patience, leaving, gone } = self;
        let begun = Arc::new(AtomicBool::new(false));
        let service = service_fn(|request| {
            begun.store(true, Relaxed);
            let entry = entry.clone();
            async move { Ok::<_, Infallible>(entry.answer(request, peer).await) }
        });
        let served = builder.serve_connection_with_upgrades(TokioIo::new(stream), service);
        let mut served = pin!(served);
        let mut patience = pin!(tokio::time::sleep(patience));
        let (mut waits, mut leaves) = (true, false);
        loop {
            tokio::select! {
                biased;
                ended = served.as_mut() => {
                    // Peers go away as they please; whoever cares asks for the details.
                    if let Err(error) = ended {
                        debug!(%error, "connection ended");
                    }
                    return;
                }
                () = gone.cancelled() => return,
                () = leaving.cancelled(), if !leaves => {
                    leaves = true;
                    served.as_mut().graceful_shutdown();
                }
                () = patience.as_mut(), if waits => {
                    waits = false;
                    if !begun.load(Relaxed) {
                        debug!("connection closed: no request came");
                        return;
                    }
                }
            }
        }
    }
}
