//! Where webhooks lead: a receiver that is not always well, and not always there.

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
use super::context::lock_unpoisoned;
use latimer_bench::BenchError;

/// Longer than the server waits for an answer.
const STALL_DURATION: Duration = Duration::from_secs(1);

/// Receives events.
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
    ledger: std::sync::Mutex<DeliveryLedger>,
}

/// Where the events of one task go.
#[derive(Clone, Debug)]
pub struct Hook {
    /// Its address.
    pub url: String,
    path: String,
}

impl Receiver {
    /// Listens.
    ///
    /// # Errors
    /// When it cannot.
    pub async fn start() -> Result<Self, BenchError> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let shared = Arc::<Shared>::default();
        let mut tasks = JoinSet::new();
        tasks.spawn(shared.clone().serve(listener));
        Ok(Self { address, shared, tasks: Mutex::new(tasks) })
    }

    /// Nobody listens for a while, and whoever is connected is cut off.
    ///
    /// # Errors
    /// When it cannot listen again.
    pub async fn go_offline(&self, duration: Duration) -> Result<(), BenchError> {
        let mut tasks = self.tasks.lock().await;
        tasks.shutdown().await;
        sleep(duration).await;
        let listener = TcpListener::bind(self.address).await?;
        tasks.spawn(self.shared.clone().serve(listener));
        Ok(())
    }

    /// An address that nobody had before.
    #[must_use]
    pub fn new_hook(&self) -> Hook {
        let path = format!("/{}", self.shared.next_hook.fetch_add(1, Ordering::Relaxed));
        Hook { url: format!("http://{}{path}", self.address), path }
    }

    /// A task came to an end with so many events, all of which must arrive or be given up.
    pub fn expect_events(&self, hook: &Hook, task: String, events: usize) {
        lock_unpoisoned(&self.shared.ledger).expect_events(hook.path.clone(), task, events);
    }

    /// An event of a task was given up.
    pub fn record_dead_letter(&self, task: String, delivery: String) {
        lock_unpoisoned(&self.shared.ledger).record_dead_letter(task, delivery);
    }

    /// Whether everything arrived or was given up.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        lock_unpoisoned(&self.shared.ledger).settle_fulfilled()
    }

    /// What neither arrived nor was given up.
    #[must_use]
    pub fn missing(&self) -> Vec<String> {
        lock_unpoisoned(&self.shared.ledger).describe_missing()
    }

    /// How it went so far.
    #[must_use]
    pub fn summary(&self) -> DeliverySummary {
        lock_unpoisoned(&self.shared.ledger).summary()
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

    /// Takes deliveries of one connection until it breaks, or is broken.
    async fn receive(self: Arc<Self>, mut socket: TcpStream) {
        let mut input = Vec::new();
        while let Some(delivery) = Delivery::read(&mut socket, &mut input).await {
            let status = match self.delivery_count.fetch_add(1, Ordering::Relaxed) % 30 {
                7 | 8 => "500 Internal Server Error",
                13 => "503 Service Unavailable",
                17 => return lock_unpoisoned(&self.ledger).record_refusal(),
                23 => {
                    lock_unpoisoned(&self.ledger).record_refusal();
                    return sleep(STALL_DURATION).await;
                }
                _ => "200 OK",
            };
            // Before the answer: otherwise who is told may know before we do.
            match status {
                "200 OK" => lock_unpoisoned(&self.ledger).record_delivery(delivery),
                _ => lock_unpoisoned(&self.ledger).record_refusal(),
            }
            let response = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
            if socket.write_all(response.as_bytes()).await.is_err() {
                return;
            }
        }
    }
}
