//! Table of the open connections: limits on their number, and eviction of idle ones.

use std::collections::HashMap;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::BoxError;
use bytes::Bytes;
use http::Version;
use http_body::{Body as HttpBody, Frame, SizeHint};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::binding::Body;

/// Number of connections beyond the maximum that are accepted to answer probes.
const RESERVED_CONNECTIONS: usize = 32;
/// One eviction closes this fraction of the connections, so that a full table is rarely searched.
const EVICTED_FRACTION: usize = 128;

/// The open connections of a listener, by address.
#[derive(Debug)]
pub(super) struct ConnectionTable {
    max_total: usize,
    /// Zero for no limit.
    max_per_address: usize,
    opened_at: Instant,
    state: Mutex<TableState>,
    /// Notified when a connection closes.
    closed: Notify,
}

#[derive(Debug, Default)]
struct TableState {
    by_address: HashMap<IpAddr, HashMap<u64, Arc<Activity>>>,
    total: usize,
    next_id: u64,
}

/// Calls that a connection may make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// All.
    Full,
    /// Health and readiness only, because the table is full.
    ProbesOnly,
}

/// Requests in progress on a connection, and the signal that evicts it.
#[derive(Debug)]
pub(super) struct Activity {
    opened_at: Instant,
    requests: AtomicUsize,
    /// Time of the end of the last request, in milliseconds after `opened_at`.
    idle_since: AtomicU64,
    has_request: AtomicBool,
    is_http2: AtomicBool,
    evicted: CancellationToken,
}

/// Entry of a connection in the table, until it is dropped.
#[derive(Debug)]
pub(super) struct ConnectionEntry {
    table: Arc<ConnectionTable>,
    address: IpAddr,
    id: u64,
    pub(super) admission: Admission,
    pub(super) activity: Arc<Activity>,
}

impl ConnectionTable {
    pub(super) fn new(max_total: usize, max_per_address: usize) -> Self {
        Self {
            max_total: max_total.max(1),
            max_per_address,
            opened_at: Instant::now(),
            state: Mutex::default(),
            closed: Notify::new(),
        }
    }

    /// Adds a connection. At a limit it evicts the connections that have been idle longest. Returns
    /// `None` if a limit is reached and no connection is idle.
    pub(super) fn admit(
        self: &Arc<Self>,
        address: IpAddr,
        limit_address: bool,
    ) -> Option<ConnectionEntry> {
        let mut state = self.state.lock();
        if limit_address && self.max_per_address > 0 {
            let open = state.by_address.get(&address).map_or(0, HashMap::len);
            if open >= self.max_per_address && state.evict_idle(Some(address)) == 0 {
                return None;
            }
        }
        if state.total >= self.max_total {
            state.evict_idle(None);
        }
        let admission = match state.total {
            total if total < self.max_total => Admission::Full,
            total if total < self.max_with_reserve() => Admission::ProbesOnly,
            _ => return None,
        };
        let activity = Arc::new(Activity::new(self.opened_at));
        let id = state.next_id;
        state.next_id += 1;
        state.total += 1;
        state.by_address.entry(address).or_default().insert(id, Arc::clone(&activity));
        drop(state);
        Some(ConnectionEntry { table: Arc::clone(self), address, id, admission, activity })
    }

    /// Waits until a connection can be added. Evicts idle connections if the table is full.
    pub(super) async fn wait_for_room(&self, check_interval: Duration) {
        loop {
            let closed = self.closed.notified();
            if self.has_room() {
                return;
            }
            // A connection can become idle without closing.
            let _ = tokio::time::timeout(check_interval, closed).await;
        }
    }

    fn has_room(&self) -> bool {
        let mut state = self.state.lock();
        state.total < self.max_with_reserve() || state.evict_idle(None) > 0
    }

    fn max_with_reserve(&self) -> usize {
        self.max_total.saturating_add(RESERVED_CONNECTIONS)
    }

    /// Evicts the connections that have been idle longest.
    pub(super) fn evict_idle(&self) {
        self.state.lock().evict_idle(None);
    }
}

impl TableState {
    /// Removes the connections that have been idle longest, of one address or of all, and signals
    /// them to close. Returns their number.
    fn evict_idle(&mut self, address: Option<IpAddr>) -> usize {
        let addresses =
            self.by_address.iter().filter(|(it, _)| address.is_none_or(|at| at == **it));
        let mut open = 0;
        let mut idle: Vec<_> = addresses
            .flat_map(|(address, connections)| {
                open += connections.len();
                let idle = connections.iter().filter(|(_, activity)| activity.is_idle());
                idle.map(|(id, activity)| {
                    (activity.idle_since.load(Ordering::Relaxed), *id, *address)
                })
            })
            .collect();
        let count = (open / EVICTED_FRACTION).max(1).min(idle.len());
        if count < idle.len() {
            idle.select_nth_unstable(count);
        }
        for (_, id, address) in &idle[..count] {
            if let Some(activity) = self.remove(*address, *id) {
                activity.evicted.cancel();
            }
        }
        count
    }

    fn remove(&mut self, address: IpAddr, id: u64) -> Option<Arc<Activity>> {
        let connections = self.by_address.get_mut(&address)?;
        let removed = connections.remove(&id)?;
        if connections.is_empty() {
            self.by_address.remove(&address);
        }
        self.total -= 1;
        Some(removed)
    }
}

impl Drop for ConnectionEntry {
    fn drop(&mut self) {
        // Does nothing if the connection was evicted.
        let removed = self.table.state.lock().remove(self.address, self.id);
        if removed.is_some() {
            self.table.closed.notify_one();
        }
    }
}

impl Activity {
    fn new(opened_at: Instant) -> Self {
        Self {
            opened_at,
            requests: AtomicUsize::new(0),
            idle_since: AtomicU64::new(milliseconds(opened_at.elapsed())),
            has_request: AtomicBool::new(false),
            is_http2: AtomicBool::new(false),
            evicted: CancellationToken::new(),
        }
    }

    /// Counts a request until the returned guard is dropped.
    pub(super) fn start_request(self: &Arc<Self>, version: Version) -> RequestGuard {
        self.requests.fetch_add(1, Ordering::Relaxed);
        if !self.has_request() {
            self.is_http2.store(version == Version::HTTP_2, Ordering::Relaxed);
            self.has_request.store(true, Ordering::Release);
        }
        RequestGuard(Arc::clone(self))
    }

    /// Returns whether the connection had a request.
    pub(super) fn has_request(&self) -> bool {
        self.has_request.load(Ordering::Acquire)
    }

    /// Returns whether no request is in progress.
    pub(super) fn is_idle(&self) -> bool {
        self.requests.load(Ordering::Acquire) == 0
    }

    /// Waits until the table evicts the connection.
    pub(super) async fn evicted(&self) {
        self.evicted.cancelled().await;
    }

    /// Waits until an HTTP/2 connection has been idle for this time. Never completes for HTTP/1.1,
    /// whose idle time hyper limits. Call it after the first request.
    pub(super) async fn http2_idle(&self, limit: Duration) {
        if !self.is_http2.load(Ordering::Relaxed) {
            return std::future::pending().await;
        }
        loop {
            let idle_since = Duration::from_millis(self.idle_since.load(Ordering::Acquire));
            let idle = self.opened_at.elapsed().saturating_sub(idle_since);
            match self.is_idle() {
                true if idle >= limit => return,
                true => tokio::time::sleep(limit - idle).await,
                false => tokio::time::sleep(limit).await,
            }
        }
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Counts a request of a connection until it is dropped.
#[derive(Debug)]
pub(super) struct RequestGuard(Arc<Activity>);

impl Drop for RequestGuard {
    fn drop(&mut self) {
        let Self(activity) = self;
        activity.idle_since.store(milliseconds(activity.opened_at.elapsed()), Ordering::Release);
        activity.requests.fetch_sub(1, Ordering::Release);
    }
}

/// Body of a response, which counts its request until the body was sent or dropped.
pub(super) struct TrackedBody {
    pub(super) body: Body,
    pub(super) _request: RequestGuard,
}

impl HttpBody for TrackedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    fn is_evicted(entry: &ConnectionEntry) -> bool {
        entry.activity.evicted.is_cancelled()
    }

    #[tokio::test(start_paused = true)]
    async fn full_table_evicts_the_connection_idle_longest() {
        let table = Arc::new(ConnectionTable::new(3, 0));
        let mut entries = Vec::new();
        for last in 0..3 {
            entries.push(table.admit(address(last), true).unwrap());
            tokio::time::advance(Duration::from_millis(10)).await;
        }
        // The first one is busy, and the second one was until now.
        let busy = entries[0].activity.start_request(Version::HTTP_2);
        drop(entries[1].activity.start_request(Version::HTTP_2));
        let new = table.admit(address(9), true).unwrap();
        assert_eq!(new.admission, Admission::Full);
        let evicted: Vec<_> = entries.iter().map(is_evicted).collect();
        assert_eq!(evicted, [false, false, true]);
        drop(busy);
    }

    #[tokio::test]
    async fn reserve_admits_probes_while_all_connections_are_busy() {
        let table = Arc::new(ConnectionTable::new(2, 0));
        let busy = |_| {
            let entry = table.admit(address(1), true).unwrap();
            let request = entry.activity.start_request(Version::HTTP_2);
            (entry, request)
        };
        let mut open: Vec<_> = (0..2).map(busy).collect();
        for _ in 0..RESERVED_CONNECTIONS {
            let (entry, request) = busy(0);
            assert_eq!(entry.admission, Admission::ProbesOnly);
            open.push((entry, request));
        }
        assert!(table.admit(address(2), true).is_none());
        let waiting = table.wait_for_room(Duration::from_secs(60));
        tokio::pin!(waiting);
        assert!(futures_util::poll!(waiting.as_mut()).is_pending());
        open.pop();
        waiting.await;
        assert_eq!(table.admit(address(2), true).unwrap().admission, Admission::ProbesOnly);
        open.clear();
        assert_eq!(table.admit(address(2), true).unwrap().admission, Admission::Full);
    }

    #[tokio::test]
    async fn address_at_its_limit_evicts_only_its_own_connections() {
        let table = Arc::new(ConnectionTable::new(100, 2));
        let other = table.admit(address(2), true).unwrap();
        let first = table.admit(address(1), true).unwrap();
        let second = table.admit(address(1), true).unwrap();
        let third = table.admit(address(1), true).unwrap();
        assert!(is_evicted(&first) && !is_evicted(&second) && !is_evicted(&other));
        let _busy = [&second, &third].map(|it| it.activity.start_request(Version::HTTP_11));
        assert!(table.admit(address(1), true).is_none());
        assert!(table.admit(address(1), false).is_some(), "an exempt address has no limit");
        assert!(table.admit(address(3), true).is_some());
    }
}
