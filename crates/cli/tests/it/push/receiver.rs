//! Webhook receiver that fails on request.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Responses of a receiver to deliveries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReceiverMode {
    /// Accepts all.
    Healthy,
    /// Accepts seven of ten; the others get an error, a timeout or a closed connection.
    Flaky,
    /// Rejects all with 503.
    Failing,
}

/// An accepted delivery.
#[derive(Clone, Debug)]
pub(crate) struct Delivery {
    pub(crate) path: String,
    pub(crate) id: String,
    /// All header lines.
    pub(crate) headers: String,
    pub(crate) body: String,
}

/// A webhook receiver. Dropping it stops it.
#[derive(Debug)]
pub(crate) struct Receiver {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    address: SocketAddr,
    mode: Mutex<ReceiverMode>,
    deliveries: Mutex<Vec<Delivery>>,
    failure_count: AtomicU64,
    offline: AtomicBool,
    stopped: AtomicBool,
    request_count: AtomicU64,
}

impl Receiver {
    pub(crate) fn start(mode: ReceiverMode) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let shared = Arc::new(Shared {
            address: listener.local_addr().unwrap(),
            mode: Mutex::new(mode),
            deliveries: Mutex::default(),
            failure_count: AtomicU64::new(0),
            offline: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
            request_count: AtomicU64::new(0),
        });
        let server = shared.clone();
        thread::spawn(move || server.serve(listener));
        Self { shared }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.shared.address)
    }

    pub(crate) fn set_mode(&self, mode: ReceiverMode) {
        *self.shared.mode.lock().unwrap() = mode;
    }

    /// Closes every new connection for a time.
    pub(crate) fn go_offline(&self, time: Duration) {
        self.shared.offline.store(true, Ordering::SeqCst);
        thread::sleep(time);
        self.shared.offline.store(false, Ordering::SeqCst);
    }

    pub(crate) fn failure_count(&self) -> u64 {
        self.shared.failure_count.load(Ordering::SeqCst)
    }

    /// Returns accepted deliveries by path.
    pub(crate) fn deliveries(&self) -> HashMap<String, Vec<Delivery>> {
        let mut by_path = HashMap::<_, Vec<_>>::new();
        for delivery in self.shared.deliveries.lock().unwrap().iter() {
            by_path.entry(delivery.path.clone()).or_default().push(delivery.clone());
        }
        by_path
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        // Wakes the accept loop, which checks `stopped`.
        let _ = TcpStream::connect(self.shared.address);
    }
}

impl Shared {
    fn serve(self: Arc<Self>, listener: TcpListener) {
        for stream in listener.incoming() {
            if self.stopped.load(Ordering::SeqCst) {
                return;
            }
            let Ok(stream) = stream else { continue };
            let shared = self.clone();
            thread::spawn(move || shared.handle(stream));
        }
    }

    /// Handles one request. Returns `None` if the connection is closed without a response.
    fn handle(&self, stream: TcpStream) -> Option<()> {
        if self.offline.load(Ordering::SeqCst) {
            self.failure_count.fetch_add(1, Ordering::SeqCst);
            return None;
        }
        let (delivery, mut stream) = read_delivery(stream)?;
        let mode = *self.mode.lock().unwrap();
        let request_index = self.request_count.fetch_add(1, Ordering::SeqCst);
        let status = match (mode, request_index % 10) {
            (ReceiverMode::Failing, _) | (ReceiverMode::Flaky, 1) => "503 Busy",
            (ReceiverMode::Flaky, 4) => {
                self.failure_count.fetch_add(1, Ordering::SeqCst);
                // Longer than the timeout of an attempt.
                thread::sleep(Duration::from_secs(2));
                return None;
            }
            (ReceiverMode::Flaky, 7) => {
                self.failure_count.fetch_add(1, Ordering::SeqCst);
                return None;
            }
            (ReceiverMode::Healthy | ReceiverMode::Flaky, _) => "200 OK",
        };
        // Recorded before the response, because the test may check as soon as it is sent.
        match status {
            "200 OK" => self.deliveries.lock().unwrap().push(delivery),
            _ => drop(self.failure_count.fetch_add(1, Ordering::SeqCst)),
        }
        write!(stream, "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n").ok()
    }
}

fn read_delivery(stream: TcpStream) -> Option<(Delivery, TcpStream)> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.trim_start_matches('/').to_owned();
    let (mut length, mut id, mut headers) = (0, String::new(), String::new());
    loop {
        line.clear();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.push_str(&line);
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().ok()?,
            "webhook-id" => id = value.to_owned(),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body = String::from_utf8(body).ok()?;
    Some((Delivery { path, id, headers, body }, reader.into_inner()))
}
