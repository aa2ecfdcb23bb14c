//! Termination signals, the only code that depends on the operating system's signals.

use tokio::signal;
use tracing::error;

/// Waits for an interrupt or a termination signal.
pub(super) async fn shutdown_signal() {
    let interrupted = async {
        if let Err(error) = signal::ctrl_c().await {
            error!(%error, "cannot wait for an interrupt");
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
            error!(%error, "cannot wait for TERM");
            std::future::pending().await
        }
    }
}

#[cfg(not(unix))]
async fn terminated() {
    std::future::pending().await
}
