//! Where webhooks lead: a receiver that is not always well, and not always there.

mod books;
mod delivery;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio::time::sleep;

pub use self::books::Account;
use self::books::Books;
use self::delivery::Delivery;
use super::world::lock;
use crate::Failure;

/// Longer than the server waits for an answer.
const SILENCE: Duration = Duration::from_secs(1);

/// Receives events.
#[derive(Debug)]
pub struct Receiver {
    address: SocketAddr,
    shared: Arc<Shared>,
    serving: Mutex<JoinSet<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    hooks: AtomicU64,
    deliveries: AtomicU64,
    books: std::sync::Mutex<Books>,
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
    pub async fn start() -> Result<Self, Failure> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let shared = Arc::<Shared>::default();
        let mut serving = JoinSet::new();
        serving.spawn(shared.clone().serve(listener));
        Ok(Self { address, shared, serving: Mutex::new(serving) })
    }

    /// Nobody listens for a while, and whoever is connected is cut off.
    ///
    /// # Errors
    /// When it cannot listen again.
    pub async fn be_away(&self, time: Duration) -> Result<(), Failure> {
        let mut serving = self.serving.lock().await;
        serving.shutdown().await;
        sleep(time).await;
        let listener = TcpListener::bind(self.address).await?;
        serving.spawn(self.shared.clone().serve(listener));
        Ok(())
    }

    /// An address that nobody had before.
    #[must_use]
    pub fn hook(&self) -> Hook {
        let path = format!("/{}", self.shared.hooks.fetch_add(1, Ordering::Relaxed));
        Hook { url: format!("http://{}{path}", self.address), path }
    }

    /// A task came to an end with so many events, all of which must arrive or be given up.
    pub fn owes(&self, hook: &Hook, task: String, events: usize) {
        lock(&self.shared.books).owes(hook.path.clone(), task, events);
    }

    /// An event of a task was given up.
    pub fn given_up(&self, task: String, delivery: String) {
        lock(&self.shared.books).given_up(task, delivery);
    }

    /// Whether everything arrived or was given up.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        lock(&self.shared.books).settle()
    }

    /// What neither arrived nor was given up.
    #[must_use]
    pub fn missing(&self) -> Vec<String> {
        lock(&self.shared.books).missing()
    }

    /// How it went so far.
    #[must_use]
    pub fn account(&self) -> Account {
        lock(&self.shared.books).account()
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
            let status = match self.deliveries.fetch_add(1, Ordering::Relaxed) % 30 {
                7 | 8 => "500 Internal Server Error",
                13 => "503 Service Unavailable",
                17 => return lock(&self.books).refused(),
                23 => {
                    lock(&self.books).refused();
                    return sleep(SILENCE).await;
                }
                _ => "200 OK",
            };
            // Before the answer: otherwise who is told may know before we do.
            match status {
                "200 OK" => lock(&self.books).took(delivery),
                _ => lock(&self.books).refused(),
            }
            let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
            if socket.write_all(answer.as_bytes()).await.is_err() {
                return;
            }
        }
    }
}
