//! What is counted. Labels are few and known beforehand: no ids, and nothing a caller wrote.
//!
//! Everything is an atomic in its place, so that counting a call looks nothing up.

mod exposition;

use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use latimer_protocol::{ErrorKind, Operation, Version};

use crate::agent::AgentRegistry;
use crate::executor::Health;
pub(crate) use exposition::ExpositionFormat;
use exposition::{Exposition, Labels, MetricKind};

const OPERATIONS: usize = Operation::ALL.len() + 1;
const VERSIONS: usize = Version::ALL.len();
const BINDINGS: usize = 3;
const OUTCOMES: usize = 3;

/// The upper bounds of the latencies that are told apart, in seconds.
const LATENCY_BOUNDS_SECONDS: [f64; 12] =
    [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1.0, 5.0, 30.0];

/// The transport of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    JsonRpc,
    HttpJson,
    #[cfg(feature = "grpc")]
    Grpc,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallOutcome {
    /// Well.
    Ok,
    /// The caller asked for something it cannot have.
    Refused,
    /// Not for any fault of the caller.
    Failed,
}

impl From<ErrorKind> for CallOutcome {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Internal | ErrorKind::InvalidAgentResponse | ErrorKind::Unavailable => {
                Self::Failed
            }
            _ => Self::Refused,
        }
    }
}

/// What became of an attempt to tell a webhook of an event.
#[cfg(feature = "push")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeliveryOutcome {
    /// It arrived.
    Delivered,
    /// It did not.
    Failed,
    /// It did not, and is not tried again.
    GivenUp,
}

/// What became of deliveries.
#[derive(Debug, Default)]
pub(crate) struct DeliveryCounters([AtomicU64; 3]);

#[cfg(feature = "push")]
impl DeliveryCounters {
    /// Counts one.
    pub(crate) fn count(&self, outcome: DeliveryOutcome) {
        self.0[outcome as usize].fetch_add(1, Relaxed);
    }
}

/// What a call is counted under.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallLabels {
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
    latencies: [LatencyHistogram; OPERATIONS * BINDINGS],
    connections: AtomicUsize,
    deliveries: Arc<DeliveryCounters>,
    gauges: parking_lot::Mutex<Vec<Gauge>>,
    registry: OnceLock<Arc<AgentRegistry>>,
}

impl Default for Inner {
    fn default() -> Self {
        Self {
            calls: [const { AtomicU64::new(0) }; _],
            latencies: [const { LatencyHistogram::new() }; _],
            connections: AtomicUsize::new(0),
            deliveries: Arc::default(),
            gauges: parking_lot::Mutex::default(),
            registry: OnceLock::new(),
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

struct LatencyHistogram {
    /// One more than there are bounds, for everything beyond.
    buckets: [AtomicU64; LATENCY_BOUNDS_SECONDS.len() + 1],
    nanoseconds: AtomicU64,
}

impl LatencyHistogram {
    const fn new() -> Self {
        Self {
            buckets: [const { AtomicU64::new(0) }; LATENCY_BOUNDS_SECONDS.len() + 1],
            nanoseconds: AtomicU64::new(0),
        }
    }

    fn record(&self, elapsed: Duration) {
        let seconds = elapsed.as_secs_f64();
        let bucket = LATENCY_BOUNDS_SECONDS
            .iter()
            .position(|bound| seconds <= *bound)
            .unwrap_or(LATENCY_BOUNDS_SECONDS.len());
        self.buckets[bucket].fetch_add(1, Relaxed);
        let nanoseconds = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
        self.nanoseconds.fetch_add(nanoseconds, Relaxed);
    }

    /// Writes how many took no longer than each bound. Nothing when there were none.
    fn write(&self, name: &str, labels: &Labels<'_>, exposition: &mut Exposition) {
        let counts = self.buckets.each_ref().map(|it| it.load(Relaxed));
        let total: u64 = counts.iter().sum();
        if total == 0 {
            return;
        }
        let mut cumulative = 0;
        for (index, count) in counts.iter().enumerate() {
            cumulative += count;
            let bound =
                LATENCY_BOUNDS_SECONDS.get(index).map_or("+Inf".to_owned(), |it| format!("{it:?}"));
            let labels = [labels, &[("le", bound.as_str())]].concat();
            exposition.sample(&format!("{name}_bucket"), &labels, cumulative);
        }
        let sum = Duration::from_nanos(self.nanoseconds.load(Relaxed)).as_secs_f64();
        exposition.sample(&format!("{name}_sum"), labels, sum);
        exposition.sample(&format!("{name}_count"), labels, total);
    }
}

fn operation_index(operation: Option<Operation>) -> usize {
    operation.map_or(OPERATIONS - 1, |it| it as usize)
}

impl Metrics {
    /// Counts a call that was answered after `elapsed`.
    pub(crate) fn count(&self, labels: CallLabels, outcome: CallOutcome, elapsed: Duration) {
        let operation = operation_index(labels.operation);
        let (version, transport) = (labels.version as usize, labels.transport as usize);
        let base = ((operation * VERSIONS + version) * BINDINGS + transport) * OUTCOMES;
        self.0.calls[base + outcome as usize].fetch_add(1, Relaxed);
        self.0.latencies[operation * BINDINGS + transport].record(elapsed);
    }

    /// Counts a connection for as long as what is returned is kept.
    pub(crate) fn count_connection(&self) -> ConnectionGuard {
        self.0.connections.fetch_add(1, Relaxed);
        ConnectionGuard(self.clone())
    }

    /// What is counted of deliveries.
    #[cfg(feature = "push")]
    pub(crate) fn deliveries(&self) -> Arc<DeliveryCounters> {
        Arc::clone(&self.0.deliveries)
    }

    /// Shows a number that somebody else keeps.
    pub(crate) fn register_gauge(
        &self,
        name: &'static str,
        help: &'static str,
        read: impl Fn() -> usize + Send + Sync + 'static,
    ) {
        let gauge = Gauge { name, help, read: Box::new(read) };
        self.gauges().push(gauge);
    }

    /// Shows how what agents depend on is doing.
    pub(crate) fn watch_agent_health(&self, registry: &Arc<AgentRegistry>) {
        // Set once: a server has its agents from the beginning.
        let _ = self.0.registry.set(Arc::clone(registry));
    }

    fn gauges(&self) -> parking_lot::MutexGuard<'_, Vec<Gauge>> {
        self.0.gauges.lock()
    }

    /// Everything that is counted, as text.
    pub(crate) fn write(&self, format: ExpositionFormat) -> String {
        let mut exposition = Exposition::new(format);
        self.write_calls(&mut exposition);
        self.write_latencies(&mut exposition);
        self.write_deliveries(&mut exposition);
        let connections = self.0.connections.load(Relaxed);
        exposition.gauge("connections", "Connections that are open", connections);
        for it in self.gauges().iter() {
            exposition.gauge(it.name, it.help, (it.read)());
        }
        self.write_health(&mut exposition);
        exposition.finish()
    }

    fn write_health(&self, exposition: &mut Exposition) {
        let agents = self.0.registry.get().into_iter().flat_map(|it| it.iter());
        let reported: Vec<_> =
            agents.filter_map(|it| Some((it.name(), it.executor().health()?))).collect();
        if reported.is_empty() {
            return;
        }
        exposition.family(
            "upstream_up",
            MetricKind::Gauge,
            "Whether the agent behind an agent answers",
        );
        for (name, health) in reported {
            exposition.sample(
                "upstream_up",
                &[("agent", name)],
                u8::from(health == Health::Healthy),
            );
        }
    }

    fn write_calls(&self, exposition: &mut Exposition) {
        exposition.family("calls", MetricKind::Counter, "Calls that were answered");
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
            exposition.sample("calls_total", &labels, count);
        }
    }

    fn write_deliveries(&self, exposition: &mut Exposition) {
        let help = "Attempts to tell webhooks of events, and events that were given up";
        exposition.family("deliveries", MetricKind::Counter, help);
        for (outcome, count) in ["delivered", "failed", "given_up"].iter().zip(&self.0.deliveries.0)
        {
            exposition.sample("deliveries_total", &[("outcome", outcome)], count.load(Relaxed));
        }
    }

    fn write_latencies(&self, exposition: &mut Exposition) {
        let help = "Time until a call was answered, or its stream began";
        exposition.family("call_seconds", MetricKind::Histogram, help);
        for (index, latencies) in self.0.latencies.iter().enumerate() {
            let labels = [
                ("operation", operation_name(index / BINDINGS)),
                ("binding", binding_name(index % BINDINGS)),
            ];
            latencies.write("call_seconds", &labels, exposition);
        }
    }
}

/// An open connection; closed when it is dropped.
#[derive(Debug)]
pub(crate) struct ConnectionGuard(Metrics);

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        self.0.0.connections.fetch_sub(1, Relaxed);
    }
}

fn operation_name(index: usize) -> &'static str {
    let operation = Operation::ALL.get(index);
    operation.and_then(|it| it.method(Version::V1_0)).unwrap_or("unknown")
}

fn version_name(index: usize) -> &'static str {
    let version = Version::ALL.into_iter().find(|it| *it as usize == index);
    version.map_or("unknown", Version::as_str)
}

fn binding_name(index: usize) -> &'static str {
    ["jsonrpc", "http_json", "grpc"][index]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exposition_reports_calls_latencies_and_gauges() {
        let metrics = Metrics::default();
        let call = CallLabels {
            transport: Transport::HttpJson,
            operation: Some(Operation::GetTask),
            version: Version::V0_3,
        };
        metrics.count(call, CallOutcome::Ok, Duration::from_micros(200));
        metrics.count(call, CallOutcome::Ok, Duration::from_secs(100));
        let unknown = CallLabels { operation: None, transport: Transport::JsonRpc, ..call };
        metrics.count(unknown, CallOutcome::Refused, Duration::ZERO);
        metrics.0.deliveries.0[2].fetch_add(1, Relaxed);
        metrics.register_gauge("tasks", "Tasks in memory", || 7);
        let connection = metrics.count_connection();
        let expected = [
            r#"latimer_calls_total{operation="GetTask",version="0.3",binding="http_json",outcome="ok"} 2"#,
            r#"latimer_calls_total{operation="unknown",version="0.3",binding="jsonrpc",outcome="refused"} 1"#,
            r#"latimer_call_seconds_bucket{operation="GetTask",binding="http_json",le="0.0001"} 0"#,
            r#"latimer_call_seconds_bucket{operation="GetTask",binding="http_json",le="0.00025"} 1"#,
            r#"latimer_call_seconds_bucket{operation="GetTask",binding="http_json",le="30.0"} 1"#,
            r#"latimer_call_seconds_bucket{operation="GetTask",binding="http_json",le="+Inf"} 2"#,
            r#"latimer_call_seconds_sum{operation="GetTask",binding="http_json"} 100.0002"#,
            r#"latimer_call_seconds_count{operation="GetTask",binding="http_json"} 2"#,
            "# TYPE latimer_call_seconds histogram",
            r#"latimer_deliveries_total{outcome="failed"} 0"#,
            r#"latimer_deliveries_total{outcome="given_up"} 1"#,
            "# TYPE latimer_connections gauge",
            "latimer_connections 1",
            "# HELP latimer_tasks Tasks in memory",
            "latimer_tasks 7",
        ];
        let has_line = |text: &str, line: &str| text.lines().any(|it| it == line);
        // The names of counters are where the two forms part.
        for (format, counter, ends_with_eof) in [
            (ExpositionFormat::Prometheus, "# TYPE latimer_calls_total counter", false),
            (ExpositionFormat::OpenMetrics, "# TYPE latimer_calls counter", true),
        ] {
            let text = metrics.write(format);
            for line in expected.iter().chain([&counter]) {
                assert!(has_line(&text, line), "{format:?}: {line} in\n{text}");
            }
            assert_eq!(text.ends_with("\n# EOF\n"), ends_with_eof, "{format:?}: {text}");
            assert_eq!(has_line(&text, "# EOF"), ends_with_eof, "{format:?}: {text}");
        }
        drop(connection);
        assert!(metrics.write(ExpositionFormat::Prometheus).contains("latimer_connections 0"));
    }
}
