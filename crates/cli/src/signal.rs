//! Signals to the process. The only module of the crate that depends on the operating system.

use std::io;

/// Listens for signals to stop, from the time it is created.
#[derive(Debug)]
pub(crate) struct Signals {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    pub(crate) fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for a signal to stop: interrupt or terminate.
    pub(crate) async fn shutdown_requested(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }

    /// Waits for an interrupt.
    pub(crate) async fn interrupted(&mut self) {
        self.interrupt.recv().await;
    }
}

#[cfg(not(unix))]
impl Signals {
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {})
    }

    pub(crate) async fn shutdown_requested(&mut self) {
        self.interrupted().await;
    }

    pub(crate) async fn interrupted(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending().await
        }
    }
}
