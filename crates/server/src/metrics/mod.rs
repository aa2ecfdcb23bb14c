//! Metrics of the server. All label values are fixed when the server starts: labels contain no ids
//! and no input of callers, so the number of time series is bounded.
//!
//! Counters are atomics in fixed arrays, so that recording a call needs no lookup and no lock.

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

/// Upper bounds of the latency buckets, in seconds.
const LATENCY_BOUNDS_SECONDS: [f64; 12] =
    [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1.0, 5.0, 30.0];

/// Binding of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binding {
    JsonRpc,
    HttpJson,
    #[cfg(feature = "grpc")]
    Grpc,
}

/// Outcome of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallOutcome {
    /// The call succeeded, or its stream started.
    Ok,
    /// The call failed because of the request or the permissions of the caller.
    Rejected,
    /// The call failed because of the server, its store or the agent.
    Failed,
}

impl From<ErrorKind> for CallOutcome {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Internal | ErrorKind::InvalidAgentResponse | ErrorKind::Unavailable => {
                Self::Failed
            }
            _ => Self::Rejected,
        }
    }
}

/// Outcome of an attempt to deliver an event to a webhook.
#[cfg(feature = "push")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeliveryOutcome {
    /// The receiver accepted the event.
    Delivered,
    /// The attempt failed.
    Failed,
    /// The delivery will not be attempted again. Counted in addition to the failed attempt.
    Abandoned,
}

/// Counters of webhook deliveries by [`DeliveryOutcome`].
#[derive(Debug, Default)]
pub(crate) struct DeliveryCounters([AtomicU64; 3]);

#[cfg(feature = "push")]
impl DeliveryCounters {
    /// Records an outcome.
    pub(crate) fn record(&self, outcome: DeliveryOutcome) {
        self.0[outcome as usize].fetch_add(1, Relaxed);
    }
}

/// Labels of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallLabels {
    pub(crate) binding: Binding,
    /// `None` if the request names no known operation.
    pub(crate) operation: Option<Operation>,
    pub(crate) version: Version,
}

/// Metrics of one server. Cheap to clone; clones share the counters.
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

/// Gauge whose value is read when the metrics are written.
struct Gauge {
    name: &'static str,
    help: &'static str,
    read: Box<dyn Fn() -> usize + Send + Sync>,
}

struct LatencyHistogram {
    /// Number of calls per bucket. The last bucket has no upper bound.
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

    /// Writes the cumulative buckets, the sum and the count. Writes nothing without calls.
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
    /// Records a call that was answered, or whose stream started, after `elapsed`.
    pub(crate) fn record_call(&self, labels: CallLabels, outcome: CallOutcome, elapsed: Duration) {
        let operation = operation_index(labels.operation);
        let (version, binding) = (labels.version as usize, labels.binding as usize);
        let base = ((operation * VERSIONS + version) * BINDINGS + binding) * OUTCOMES;
        self.0.calls[base + outcome as usize].fetch_add(1, Relaxed);
        self.0.latencies[operation * BINDINGS + binding].record(elapsed);
    }

    /// Counts a connection as open until the returned guard is dropped.
    pub(crate) fn count_connection(&self) -> ConnectionGuard {
        self.0.connections.fetch_add(1, Relaxed);
        ConnectionGuard(self.clone())
    }

    /// Returns the counters of webhook deliveries.
    #[cfg(feature = "push")]
    pub(crate) fn delivery_counters(&self) -> Arc<DeliveryCounters> {
        Arc::clone(&self.0.deliveries)
    }

    /// Registers a gauge. `read` is called for each exposition and must not block.
    pub(crate) fn register_gauge(
        &self,
        name: &'static str,
        help: &'static str,
        read: impl Fn() -> usize + Send + Sync + 'static,
    ) {
        let gauge = Gauge { name, help, read: Box::new(read) };
        self.gauges().push(gauge);
    }

    /// Exports the health of the agents' dependencies. Only the first registry is used.
    pub(crate) fn watch_agent_health(&self, registry: &Arc<AgentRegistry>) {
        let _ = self.0.registry.set(Arc::clone(registry));
    }

    fn gauges(&self) -> parking_lot::MutexGuard<'_, Vec<Gauge>> {
        self.0.gauges.lock()
    }

    /// Writes all metrics.
    pub(crate) fn write(&self, format: ExpositionFormat) -> String {
        let mut exposition = Exposition::new(format);
        self.write_calls(&mut exposition);
        self.write_latencies(&mut exposition);
        self.write_deliveries(&mut exposition);
        let connections = self.0.connections.load(Relaxed);
        exposition.gauge("connections", "Open connections", connections);
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
        exposition.family("upstream_up", MetricKind::Gauge, "Whether the upstream agent responds");
        for (name, health) in reported {
            exposition.sample(
                "upstream_up",
                &[("agent", name)],
                u8::from(health == Health::Healthy),
            );
        }
    }

    fn write_calls(&self, exposition: &mut Exposition) {
        exposition.family("calls", MetricKind::Counter, "Completed calls");
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
        let help = "Webhook delivery attempts by outcome, and abandoned deliveries";
        exposition.family("deliveries", MetricKind::Counter, help);
        for (outcome, count) in ["delivered", "failed", "given_up"].iter().zip(&self.0.deliveries.0)
        {
            exposition.sample("deliveries_total", &[("outcome", outcome)], count.load(Relaxed));
        }
    }

    fn write_latencies(&self, exposition: &mut Exposition) {
        let help = "Time until the reply or the start of the stream, in seconds";
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

/// Counts an open connection until it is dropped.
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
            binding: Binding::HttpJson,
            operation: Some(Operation::GetTask),
            version: Version::V0_3,
        };
        metrics.record_call(call, CallOutcome::Ok, Duration::from_micros(200));
        metrics.record_call(call, CallOutcome::Ok, Duration::from_secs(100));
        let unknown = CallLabels { operation: None, binding: Binding::JsonRpc, ..call };
        metrics.record_call(unknown, CallOutcome::Rejected, Duration::ZERO);
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
        // The formats name counters differently.
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
