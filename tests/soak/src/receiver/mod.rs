//! Webhook receiver that fails some deliveries and is sometimes offline.

mod delivery;
mod ledger;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio::time::sleep;

use self::delivery::Delivery;
use self::ledger::DeliveryLedger;
pub use self::ledger::DeliverySummary;
use latimer_bench::BenchError;

/// Time for which a delivery is left without a response; longer than the server's push timeout.
const STALL_DURATION: Duration = Duration::from_secs(1);

/// HTTP server for webhook deliveries. Dropping it closes all connections.
#[derive(Debug)]
pub struct Receiver {
    address: SocketAddr,
    shared: Arc<Shared>,
    tasks: Mutex<JoinSet<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    next_hook: AtomicU64,
    delivery_count: AtomicU64,
    ledger: parking_lot::Mutex<DeliveryLedger>,
}

/// Webhook URL for the events of one task.
#[derive(Clone, Debug)]
pub struct Hook {
    /// URL to register with the task.
    pub url: String,
    path: String,
}

impl Receiver {
    /// Starts a receiver on a free loopback port.
    ///
    /// # Errors
    /// Fails if the port cannot be bound.
    pub async fn start() -> Result<Self, BenchError> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let shared = Arc::<Shared>::default();
        let mut tasks = JoinSet::new();
        tasks.spawn(shared.clone().serve(listener));
        Ok(Self { address, shared, tasks: Mutex::new(tasks) })
    }

    /// Closes the listener and all connections, and listens again after `duration`.
    ///
    /// # Errors
    /// Fails if the port cannot be bound again.
    pub async fn go_offline(&self, duration: Duration) -> Result<(), BenchError> {
        let mut tasks = self.tasks.lock().await;
        tasks.shutdown().await;
        sleep(duration).await;
        let listener = TcpListener::bind(self.address).await?;
        tasks.spawn(self.shared.clone().serve(listener));
        Ok(())
    }

    /// Returns an unused webhook URL.
    #[must_use]
    pub fn new_hook(&self) -> Hook {
        let path = format!("/{}", self.shared.next_hook.fetch_add(1, Ordering::Relaxed));
        Hook { url: format!("http://{}{path}", self.address), path }
    }

    /// Expects `events` events of a finished task, each of which must be delivered or become a dead
    /// letter.
    pub fn expect_events(&self, hook: &Hook, task: String, events: usize) {
        self.shared.ledger.lock().expect_events(hook.path.clone(), task, events);
    }

    /// Records that a delivery of a task became a dead letter.
    pub fn record_dead_letter(&self, task: String, delivery: String) {
        self.shared.ledger.lock().record_dead_letter(task, delivery);
    }

    /// Returns whether every expected event was delivered or became a dead letter.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.shared.ledger.lock().settle_fulfilled()
    }

    /// Describes the webhooks with missing events.
    #[must_use]
    pub fn missing(&self) -> Vec<String> {
        self.shared.ledger.lock().describe_missing()
    }

    /// Returns the counts so far.
    #[must_use]
    pub fn summary(&self) -> DeliverySummary {
        self.shared.ledger.lock().summary()
    }
}

impl Shared {
    async fn serve(self: Arc<Self>, listener: TcpListener) {
        let mut connections = JoinSet::new();
        while let Ok((socket, _)) = listener.accept().await {
            connections.spawn(self.clone().receive(socket));
            while connections.try_join_next().is_some() {}
        }
    }

    /// Serves the deliveries of one connection. Five of every thirty fail: with a 5xx status, a
    /// closed connection or no response.
    async fn receive(self: Arc<Self>, mut socket: TcpStream) {
        let mut input = Vec::new();
        while let Some(delivery) = Delivery::read(&mut socket, &mut input).await {
            let status = match self.delivery_count.fetch_add(1, Ordering::Relaxed) % 30 {
                7 | 8 => "500 Internal Server Error",
                13 => "503 Service Unavailable",
                17 => return self.ledger.lock().record_injected_failure(),
                23 => {
                    self.ledger.lock().record_injected_failure();
                    return sleep(STALL_DURATION).await;
                }
                _ => "200 OK",
            };
            // Recorded before the response: the server may report the result to a caller at once.
            match status {
                "200 OK" => self.ledger.lock().record_delivery(delivery),
                _ => self.ledger.lock().record_injected_failure(),
            }
            let response = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
            if socket.write_all(response.as_bytes()).await.is_err() {
                return;
            }
        }
    }
}
