//! Text exposition of metrics in the Prometheus and OpenMetrics formats. Names, labels and help
//! texts are constants that need no escaping.
//!
//! Written by hand because the crate `prometheus-client` writes OpenMetrics only, and a scraper that
//! does not request OpenMetrics has to get the text format 0.0.4.

use std::fmt::{Display, Write as _};

use latimer_protocol::binding::rest;

/// Label names and values.
pub(super) type Labels<'a> = [(&'static str, &'a str)];

/// Prefix of all metric names.
const PREFIX: &str = "latimer_";
/// Media type of OpenMetrics.
const OPEN_METRICS_TYPE: &str = "application/openmetrics-text";
/// Media type of the Prometheus format.
const PLAIN_TEXT_TYPE: &str = "text/plain";

/// Format of an exposition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExpositionFormat {
    /// Prometheus text format 0.0.4, the default.
    Prometheus,
    /// OpenMetrics 1.0, for clients that request it by name.
    OpenMetrics,
}

impl ExpositionFormat {
    /// Selects the format for an `Accept` header.
    pub(crate) fn from_accept(accept: Option<&str>) -> Self {
        if rest::prefers(accept, OPEN_METRICS_TYPE, PLAIN_TEXT_TYPE) {
            Self::OpenMetrics
        } else {
            Self::Prometheus
        }
    }

    /// Returns the content type.
    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// Type of a metric family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MetricKind {
    Counter,
    Gauge,
    Histogram,
}

/// An exposition in progress. Writing to it cannot fail.
pub(super) struct Exposition {
    format: ExpositionFormat,
    out: String,
}

impl Exposition {
    pub(super) fn new(format: ExpositionFormat) -> Self {
        Self { format, out: String::new() }
    }

    /// Starts a family. Its samples must follow.
    pub(super) fn family(&mut self, name: &str, kind: MetricKind, help: &str) {
        let (kind, suffix) = match (kind, self.format) {
            // In OpenMetrics the family `calls` has the sample `calls_total`. In Prometheus the family
            // has the name of the sample.
            (MetricKind::Counter, ExpositionFormat::Prometheus) => ("counter", "_total"),
            (MetricKind::Counter, ExpositionFormat::OpenMetrics) => ("counter", ""),
            (MetricKind::Gauge, _) => ("gauge", ""),
            (MetricKind::Histogram, _) => ("histogram", ""),
        };
        let _ = writeln!(self.out, "# HELP {PREFIX}{name}{suffix} {help}");
        let _ = writeln!(self.out, "# TYPE {PREFIX}{name}{suffix} {kind}");
    }

    /// Writes a sample of the current family.
    pub(super) fn sample(&mut self, name: &str, labels: &Labels<'_>, value: impl Display) {
        self.out.push_str(PREFIX);
        self.out.push_str(name);
        for (index, (label, text)) in labels.iter().enumerate() {
            let opening = if index == 0 { '{' } else { ',' };
            let _ = write!(self.out, "{opening}{label}=\"{text}\"");
        }
        let closing = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.out, "{closing} {value}");
    }

    /// Writes a gauge with one sample.
    pub(super) fn gauge(&mut self, name: &str, help: &str, value: usize) {
        self.family(name, MetricKind::Gauge, help);
        self.sample(name, &[], value);
    }

    pub(super) fn finish(mut self) -> String {
        if self.format == ExpositionFormat::OpenMetrics {
            self.out.push_str("# EOF\n");
        }
        self.out
    }
}
