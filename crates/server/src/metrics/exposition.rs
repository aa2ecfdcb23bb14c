//! Numbers as text, in the two forms that are read: that of Prometheus, and OpenMetrics. Names, labels
//! and help are our own words, and need no escapes.

use std::fmt::{Display, Write as _};

use latimer_protocol::binding::rest;

/// Names and values of labels.
pub(super) type Labels<'a> = [(&'static str, &'a str)];

/// What all names begin with.
const PREFIX: &str = "latimer_";
/// The name of OpenMetrics.
const OPEN_METRICS_TYPE: &str = "application/openmetrics-text";
/// The name of what everybody else reads.
const PLAIN_TEXT_TYPE: &str = "text/plain";

/// How numbers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExpositionFormat {
    /// Version 0.0.4 of Prometheus, which everything reads.
    Prometheus,
    /// OpenMetrics 1.0, for those that ask for it by name.
    OpenMetrics,
}

impl ExpositionFormat {
    /// The form that an `Accept` asks for.
    pub(crate) fn from_accept(accept: Option<&str>) -> Self {
        if rest::prefers(accept, OPEN_METRICS_TYPE, PLAIN_TEXT_TYPE) {
            Self::OpenMetrics
        } else {
            Self::Prometheus
        }
    }

    /// Its media type.
    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// What a family of numbers is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MetricKind {
    Counter,
    Gauge,
    Histogram,
}

/// A text that is being written. Writing to it does not fail.
pub(super) struct Exposition {
    format: ExpositionFormat,
    out: String,
}

impl Exposition {
    pub(super) fn new(format: ExpositionFormat) -> Self {
        Self { format, out: String::new() }
    }

    /// Begins a family; its numbers follow.
    pub(super) fn family(&mut self, name: &str, kind: MetricKind, help: &str) {
        let (kind, suffix) = match (kind, self.format) {
            // OpenMetrics counts `calls` in `calls_total`; before, a family was its numbers' name.
            (MetricKind::Counter, ExpositionFormat::Prometheus) => ("counter", "_total"),
            (MetricKind::Counter, ExpositionFormat::OpenMetrics) => ("counter", ""),
            (MetricKind::Gauge, _) => ("gauge", ""),
            (MetricKind::Histogram, _) => ("histogram", ""),
        };
        let _ = writeln!(self.out, "# HELP {PREFIX}{name}{suffix} {help}");
        let _ = writeln!(self.out, "# TYPE {PREFIX}{name}{suffix} {kind}");
    }

    /// One number of a family.
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

    /// A family of one number.
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
