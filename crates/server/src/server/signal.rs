//! Termination signals of the operating system.

use tokio::signal;
use tracing::error;

/// Waits for SIGINT or SIGTERM.
pub(super) async fn shutdown_signal() {
    let interrupted = async {
        if let Err(error) = signal::ctrl_c().await {
            error!(%error, "waiting for SIGINT failed");
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        () = interrupted => {}
        () = terminated() => {}
    }
}

#[cfg(unix)]
async fn terminated() {
    match signal::unix::signal(signal::unix::SignalKind::terminate()) {
        Ok(mut signal) => drop(signal.recv().await),
        Err(error) => {
            error!(%error, "waiting for SIGTERM failed");
            std::future::pending().await
        }
    }
}

#[cfg(not(unix))]
async fn terminated() {
    std::future::pending().await
}
