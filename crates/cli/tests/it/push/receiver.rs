//! A receiver of webhooks that is not always well.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// What a receiver does with a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    /// Takes it.
    Well,
    /// Takes seven of ten, and fails the others in turn: an error, silence, a cut connection.
    Moody,
    /// Takes nothing.
    Broken,
}

/// A delivery that was taken.
#[derive(Clone, Debug)]
pub(crate) struct Taken {
    pub(crate) path: String,
    pub(crate) id: String,
    /// All headers, as they came.
    pub(crate) head: String,
    pub(crate) body: String,
}

/// A receiver. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Receiver {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    address: SocketAddr,
    mood: Mutex<Mood>,
    taken: Mutex<Vec<Taken>>,
    failed: AtomicU64,
    away: AtomicBool,
    over: AtomicBool,
    number: AtomicU64,
}

impl Receiver {
    pub(crate) fn start(mood: Mood) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let shared = Arc::new(Shared {
            address: listener.local_addr().unwrap(),
            mood: Mutex::new(mood),
            taken: Mutex::default(),
            failed: AtomicU64::new(0),
            away: AtomicBool::new(false),
            over: AtomicBool::new(false),
            number: AtomicU64::new(0),
        });
        let serving = shared.clone();
        thread::spawn(move || serving.serve(listener));
        Self { shared }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.shared.address)
    }

    pub(crate) fn set(&self, mood: Mood) {
        *self.shared.mood.lock().unwrap() = mood;
    }

    /// Cuts off everybody who comes for a while.
    pub(crate) fn leave(&self, time: Duration) {
        self.shared.away.store(true, Ordering::SeqCst);
        thread::sleep(time);
        self.shared.away.store(false, Ordering::SeqCst);
    }

    pub(crate) fn failed(&self) -> u64 {
        self.shared.failed.load(Ordering::SeqCst)
    }

    /// What was taken, by path.
    pub(crate) fn taken(&self) -> HashMap<String, Vec<Taken>> {
        let mut by_path = HashMap::<_, Vec<_>>::new();
        for taken in self.shared.taken.lock().unwrap().iter() {
            by_path.entry(taken.path.clone()).or_default().push(taken.clone());
        }
        by_path
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        // So that it looks.
        let _ = TcpStream::connect(self.shared.address);
    }
}

impl Shared {
    fn serve(self: Arc<Self>, listener: TcpListener) {
        for stream in listener.incoming() {
            if self.over.load(Ordering::SeqCst) {
                return;
            }
            let Ok(stream) = stream else { continue };
            let shared = self.clone();
            thread::spawn(move || shared.take(stream));
        }
    }

    /// Takes a delivery, or does not. Whoever cannot be read has gone.
    fn take(&self, stream: TcpStream) -> Option<()> {
        if self.away.load(Ordering::SeqCst) {
            self.failed.fetch_add(1, Ordering::SeqCst);
            return None;
        }
        let (taken, mut stream) = read(stream)?;
        let mood = *self.mood.lock().unwrap();
        let number = self.number.fetch_add(1, Ordering::SeqCst);
        let status = match (mood, number % 10) {
            (Mood::Broken, _) | (Mood::Moody, 1) => "503 Busy",
            (Mood::Moody, 4) => {
                self.failed.fetch_add(1, Ordering::SeqCst);
                // Longer than anybody waits.
                thread::sleep(Duration::from_secs(2));
                return None;
            }
            (Mood::Moody, 7) => {
                self.failed.fetch_add(1, Ordering::SeqCst);
                return None;
            }
            (Mood::Well | Mood::Moody, _) => "200 OK",
        };
        // Before the answer: otherwise who is told may know before we do.
        match status {
            "200 OK" => self.taken.lock().unwrap().push(taken),
            _ => drop(self.failed.fetch_add(1, Ordering::SeqCst)),
        }
        write!(stream, "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n").ok()
    }
}

fn read(stream: TcpStream) -> Option<(Taken, TcpStream)> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.trim_start_matches('/').to_owned();
    let (mut length, mut id, mut head) = (0, String::new(), String::new());
    loop {
        line.clear();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        head.push_str(&line);
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().ok()?,
            "webhook-id" => id = value.to_owned(),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body = String::from_utf8(body).ok()?;
    Some((Taken { path, id, head, body }, reader.into_inner()))
}
