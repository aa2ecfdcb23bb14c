//! What is counted. Labels are few and known beforehand: no ids, and nothing a caller wrote.
//!
//! Everything is an atomic in its place, so that counting a call looks nothing up.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use latimer_protocol::{ErrorKind, Operation, Version};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

/// The media type of what [`Metrics::write`] writes.
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

const OPERATIONS: usize = Operation::ALL.len() + 1;
const VERSIONS: usize = Version::ALL.len();
const BINDINGS: usize = 3;
const OUTCOMES: usize = 3;

/// The upper bounds of the latencies that are told apart, in seconds.
const BOUNDS: [f64; 12] =
    [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1.0, 5.0, 30.0];

/// The transport of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    JsonRpc,
    HttpJson,
    Grpc,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Well.
    Ok,
    /// The caller asked for something it cannot have.
    Refused,
    /// Not for any fault of the caller.
    Failed,
}

impl From<ErrorKind> for Outcome {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Internal | ErrorKind::InvalidAgentResponse | ErrorKind::Unavailable => {
                Self::Failed
            }
            _ => Self::Refused,
        }
    }
}

/// What a call is counted under.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counted {
    pub(crate) transport: Transport,
    /// None where it could not be made out what is asked.
    pub(crate) operation: Option<Operation>,
    pub(crate) version: Version,
}

/// Everything that is counted. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Metrics(Arc<Inner>);

struct Inner {
    calls: [AtomicU64; OPERATIONS * VERSIONS * BINDINGS * OUTCOMES],
    latencies: [Latencies; OPERATIONS * BINDINGS],
    connections: AtomicUsize,
    gauges: std::sync::Mutex<Vec<Gauge>>,
}

impl Default for Inner {
    fn default() -> Self {
        Self {
            calls: [const { AtomicU64::new(0) }; _],
            latencies: [const { Latencies::new() }; _],
            connections: AtomicUsize::new(0),
            gauges: std::sync::Mutex::default(),
        }
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Metrics").finish_non_exhaustive()
    }
}

/// A number that somebody else keeps.
struct Gauge {
    name: &'static str,
    help: &'static str,
    read: Box<dyn Fn() -> usize + Send + Sync>,
}

struct Latencies {
    /// One more than there are bounds, for everything beyond.
    buckets: [AtomicU64; BOUNDS.len() + 1],
    nanoseconds: AtomicU64,
}

impl Latencies {
    const fn new() -> Self {
        Self {
            buckets: [const { AtomicU64::new(0) }; BOUNDS.len() + 1],
            nanoseconds: AtomicU64::new(0),
        }
    }

    fn add(&self, elapsed: Duration) {
        let seconds = elapsed.as_secs_f64();
        let bucket = BOUNDS.iter().position(|bound| seconds <= *bound).unwrap_or(BOUNDS.len());
        self.buckets[bucket].fetch_add(1, Relaxed);
        let nanoseconds = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
        self.nanoseconds.fetch_add(nanoseconds, Relaxed);
    }
}

fn place(operation: Option<Operation>) -> usize {
    operation.map_or(OPERATIONS - 1, |it| it as usize)
}

impl Metrics {
    /// Counts a call that was answered after `elapsed`.
    pub(crate) fn count(&self, what: Counted, outcome: Outcome, elapsed: Duration) {
        let operation = place(what.operation);
        let (version, transport) = (what.version as usize, what.transport as usize);
        let call = ((operation * VERSIONS + version) * BINDINGS + transport) * OUTCOMES;
        self.0.calls[call + outcome as usize].fetch_add(1, Relaxed);
        self.0.latencies[operation * BINDINGS + transport].add(elapsed);
    }

    /// Counts a connection for as long as what is returned is kept.
    pub(crate) fn open_connection(&self) -> OpenConnection {
        self.0.connections.fetch_add(1, Relaxed);
        OpenConnection(self.clone())
    }

    /// Shows a number that somebody else keeps.
    pub(crate) fn show(
        &self,
        name: &'static str,
        help: &'static str,
        read: impl Fn() -> usize + Send + Sync + 'static,
    ) {
        let gauge = Gauge { name, help, read: Box::new(read) };
        self.gauges().push(gauge);
    }

    fn gauges(&self) -> std::sync::MutexGuard<'_, Vec<Gauge>> {
        self.0.gauges.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Everything that is counted, as text.
    pub(crate) fn write(&self) -> Result<String, fmt::Error> {
        let mut registry = Registry::with_prefix("latimer");
        registry.register_collector(Box::new(self.clone()));
        let mut out = String::new();
        prometheus_client::encoding::text::encode(&mut out, &registry)?;
        Ok(out)
    }
}

/// An open connection; closed when it is dropped.
#[derive(Debug)]
pub(crate) struct OpenConnection(Metrics);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.0.connections.fetch_sub(1, Relaxed);
    }
}

impl Collector for Metrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        self.encode_calls(&mut encoder)?;
        self.encode_latencies(&mut encoder)?;
        let connections = self.0.connections.load(Relaxed);
        gauge(&mut encoder, "connections", "Connections that are open", connections)?;
        for it in self.gauges().iter() {
            gauge(&mut encoder, it.name, it.help, (it.read)())?;
        }
        Ok(())
    }
}

fn gauge(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: usize) -> fmt::Result {
    let gauge = ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX));
    gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)
}

impl Metrics {
    fn encode_calls(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Calls that were answered";
        let mut family = encoder.encode_descriptor("calls", help, None, MetricType::Counter)?;
        for (index, count) in self.0.calls.iter().enumerate() {
            let count = count.load(Relaxed);
            if count == 0 {
                continue;
            }
            let labels = [
                ("operation", operation_name(index / (VERSIONS * BINDINGS * OUTCOMES))),
                ("version", version_name(index / (BINDINGS * OUTCOMES) % VERSIONS)),
                ("binding", binding_name(index / OUTCOMES % BINDINGS)),
                ("outcome", ["ok", "refused", "failed"][index % OUTCOMES]),
            ];
            ConstCounter::new(count).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }

    fn encode_latencies(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Time until a call was answered, or its stream began";
        let kind = MetricType::Histogram;
        let mut family = encoder.encode_descriptor("call_seconds", help, None, kind)?;
        for (index, latencies) in self.0.latencies.iter().enumerate() {
            let labels = [
                ("operation", operation_name(index / BINDINGS)),
                ("binding", binding_name(index % BINDINGS)),
            ];
            encode_histogram(latencies, family.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

fn encode_histogram(latencies: &Latencies, mut encoder: MetricEncoder<'_>) -> fmt::Result {
    let counts = latencies.buckets.iter().map(|it| it.load(Relaxed));
    let bounds = BOUNDS.into_iter().chain([f64::INFINITY]);
    let buckets: Vec<(f64, u64)> = bounds.zip(counts).collect();
    let count = buckets.iter().map(|(_, count)| count).sum();
    if count == 0 {
        return Ok(());
    }
    let sum = Duration::from_nanos(latencies.nanoseconds.load(Relaxed)).as_secs_f64();
    encoder.encode_histogram::<[(&str, &str); 0]>(sum, count, &buckets, None)
}

fn operation_name(place: usize) -> &'static str {
    let operation = Operation::ALL.get(place);
    operation.and_then(|it| it.method(Version::V1_0)).unwrap_or("unknown")
}

fn version_name(place: usize) -> &'static str {
    let version = Version::ALL.into_iter().find(|it| *it as usize == place);
    version.map_or("unknown", Version::as_str)
}

fn binding_name(place: usize) -> &'static str {
    ["jsonrpc", "http_json", "grpc"][place]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_shown_under_what_they_were() {
        let metrics = Metrics::default();
        let call = Counted {
            transport: Transport::Grpc,
            operation: Some(Operation::GetTask),
            version: Version::V0_3,
        };
        metrics.count(call, Outcome::Ok, Duration::from_micros(200));
        metrics.count(call, Outcome::Ok, Duration::from_secs(100));
        let unknown = Counted { operation: None, transport: Transport::JsonRpc, ..call };
        metrics.count(unknown, Outcome::Refused, Duration::ZERO);
        metrics.show("tasks", "Tasks in memory", || 7);
        let open = metrics.open_connection();
        let text = metrics.write().unwrap();
        for line in [
            r#"latimer_calls_total{operation="GetTask",version="0.3",binding="grpc",outcome="ok"} 2"#,
            r#"latimer_calls_total{operation="unknown",version="0.3",binding="jsonrpc",outcome="refused"} 1"#,
            r#"latimer_call_seconds_bucket{le="0.00025",operation="GetTask",binding="grpc"} 1"#,
            r#"latimer_call_seconds_bucket{le="+Inf",operation="GetTask",binding="grpc"} 2"#,
            r#"latimer_call_seconds_count{operation="GetTask",binding="grpc"} 2"#,
            "latimer_connections 1",
            "latimer_tasks 7",
            "# EOF",
        ] {
            assert!(text.lines().any(|it| it == line), "{line} in\n{text}");
        }
        drop(open);
        assert!(metrics.write().unwrap().contains("latimer_connections 0"));
    }
}
