//! What is counted. Labels are few and known beforehand: no ids, and nothing a caller wrote.
//!
//! Everything is an atomic in its place, so that counting a call looks nothing up.

mod text;

use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use latimer_protocol::{ErrorKind, Operation, Version};

use crate::agent::Registry;
use crate::executor::Health;
pub(crate) use text::Form;
use text::{Kind, Labels, Text};

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

/// What became of an attempt to tell a webhook of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// It arrived.
    Delivered,
    /// It did not.
    Failed,
    /// It did not, and is not tried again.
    GivenUp,
}

/// What became of deliveries.
#[derive(Debug, Default)]
pub(crate) struct Deliveries([AtomicU64; 3]);

impl Deliveries {
    /// Counts one.
    pub(crate) fn count(&self, delivery: Delivery) {
        self.0[delivery as usize].fetch_add(1, Relaxed);
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
    deliveries: Arc<Deliveries>,
    gauges: std::sync::Mutex<Vec<Gauge>>,
    registry: OnceLock<Arc<Registry>>,
}

impl Default for Inner {
    fn default() -> Self {
        Self {
            calls: [const { AtomicU64::new(0) }; _],
            latencies: [const { Latencies::new() }; _],
            connections: AtomicUsize::new(0),
            deliveries: Arc::default(),
            gauges: std::sync::Mutex::default(),
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

    /// Writes how many took no longer than each bound. Nothing when there were none.
    fn write(&self, name: &str, labels: &Labels<'_>, text: &mut Text) {
        let counts = self.buckets.each_ref().map(|it| it.load(Relaxed));
        let all: u64 = counts.iter().sum();
        if all == 0 {
            return;
        }
        let mut so_far = 0;
        for (place, count) in counts.iter().enumerate() {
            so_far += count;
            let bound = BOUNDS.get(place).map_or("+Inf".to_owned(), |it| format!("{it:?}"));
            let labels = [labels, &[("le", bound.as_str())]].concat();
            text.sample(&format!("{name}_bucket"), &labels, so_far);
        }
        let sum = Duration::from_nanos(self.nanoseconds.load(Relaxed)).as_secs_f64();
        text.sample(&format!("{name}_sum"), labels, sum);
        text.sample(&format!("{name}_count"), labels, all);
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

    /// What is counted of deliveries.
    pub(crate) fn deliveries(&self) -> Arc<Deliveries> {
        Arc::clone(&self.0.deliveries)
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

    /// Shows how what agents depend on is doing.
    pub(crate) fn look_after(&self, registry: &Arc<Registry>) {
        // Set once: a server has its agents from the beginning.
        let _ = self.0.registry.set(Arc::clone(registry));
    }

    fn gauges(&self) -> std::sync::MutexGuard<'_, Vec<Gauge>> {
        self.0.gauges.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Everything that is counted, as text.
    pub(crate) fn write(&self, form: Form) -> String {
        let mut text = Text::new(form);
        self.write_calls(&mut text);
        self.write_latencies(&mut text);
        self.write_deliveries(&mut text);
        let connections = self.0.connections.load(Relaxed);
        text.gauge("connections", "Connections that are open", connections);
        for it in self.gauges().iter() {
            text.gauge(it.name, it.help, (it.read)());
        }
        self.write_health(&mut text);
        text.finish()
    }

    fn write_health(&self, text: &mut Text) {
        let agents = self.0.registry.get().into_iter().flat_map(|it| it.iter());
        let known: Vec<_> =
            agents.filter_map(|it| Some((it.name(), it.executor().health()?))).collect();
        if known.is_empty() {
            return;
        }
        text.family("upstream_up", Kind::Gauge, "Whether the agent behind an agent answers");
        for (name, health) in known {
            text.sample("upstream_up", &[("agent", name)], u8::from(health == Health::Well));
        }
    }

    fn write_calls(&self, text: &mut Text) {
        text.family("calls", Kind::Counter, "Calls that were answered");
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
            text.sample("calls_total", &labels, count);
        }
    }

    fn write_deliveries(&self, text: &mut Text) {
        let help = "Attempts to tell webhooks of events, and events that were given up";
        text.family("deliveries", Kind::Counter, help);
        for (outcome, count) in ["delivered", "failed", "given_up"].iter().zip(&self.0.deliveries.0)
        {
            text.sample("deliveries_total", &[("outcome", outcome)], count.load(Relaxed));
        }
    }

    fn write_latencies(&self, text: &mut Text) {
        let help = "Time until a call was answered, or its stream began";
        text.family("call_seconds", Kind::Histogram, help);
        for (index, latencies) in self.0.latencies.iter().enumerate() {
            let labels = [
                ("operation", operation_name(index / BINDINGS)),
                ("binding", binding_name(index % BINDINGS)),
            ];
            latencies.write("call_seconds", &labels, text);
        }
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
        metrics.deliveries().count(Delivery::GivenUp);
        metrics.show("tasks", "Tasks in memory", || 7);
        let open = metrics.open_connection();
        let numbers = [
            r#"latimer_calls_total{operation="GetTask",version="0.3",binding="grpc",outcome="ok"} 2"#,
            r#"latimer_calls_total{operation="unknown",version="0.3",binding="jsonrpc",outcome="refused"} 1"#,
            r#"latimer_call_seconds_bucket{operation="GetTask",binding="grpc",le="0.0001"} 0"#,
            r#"latimer_call_seconds_bucket{operation="GetTask",binding="grpc",le="0.00025"} 1"#,
            r#"latimer_call_seconds_bucket{operation="GetTask",binding="grpc",le="30.0"} 1"#,
            r#"latimer_call_seconds_bucket{operation="GetTask",binding="grpc",le="+Inf"} 2"#,
            r#"latimer_call_seconds_sum{operation="GetTask",binding="grpc"} 100.0002"#,
            r#"latimer_call_seconds_count{operation="GetTask",binding="grpc"} 2"#,
            "# TYPE latimer_call_seconds histogram",
            r#"latimer_deliveries_total{outcome="failed"} 0"#,
            r#"latimer_deliveries_total{outcome="given_up"} 1"#,
            "# TYPE latimer_connections gauge",
            "latimer_connections 1",
            "# HELP latimer_tasks Tasks in memory",
            "latimer_tasks 7",
        ];
        let has = |text: &str, line: &str| text.lines().any(|it| it == line);
        // The names of counters are where the two forms part.
        for (form, counter, ends) in [
            (Form::Prometheus, "# TYPE latimer_calls_total counter", false),
            (Form::OpenMetrics, "# TYPE latimer_calls counter", true),
        ] {
            let text = metrics.write(form);
            for line in numbers.iter().chain([&counter]) {
                assert!(has(&text, line), "{form:?}: {line} in\n{text}");
            }
            assert_eq!(text.ends_with("\n# EOF\n"), ends, "{form:?}: {text}");
            assert_eq!(has(&text, "# EOF"), ends, "{form:?}: {text}");
        }
        drop(open);
        assert!(metrics.write(Form::Prometheus).contains("latimer_connections 0"));
    }
}
