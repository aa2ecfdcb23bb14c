//! Numbers as text, in the two forms that are read: that of Prometheus, and OpenMetrics. Names, labels
//! and help are our own words, and need no escapes.

use std::fmt::{Display, Write as _};

use latimer_protocol::binding::rest;

/// Names and values of labels.
pub(super) type Labels<'a> = [(&'static str, &'a str)];

/// What all names begin with.
const PREFIX: &str = "latimer_";
/// The name of OpenMetrics.
const OPEN_METRICS: &str = "application/openmetrics-text";
/// The name of what everybody else reads.
const PLAIN: &str = "text/plain";

/// How numbers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Version 0.0.4 of Prometheus, which everything reads.
    Prometheus,
    /// OpenMetrics 1.0, for those that ask for it by name.
    OpenMetrics,
}

impl Form {
    /// The form that an `Accept` asks for.
    pub(crate) fn accepted(accept: Option<&str>) -> Self {
        if rest::prefers(accept, OPEN_METRICS, PLAIN) {
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
pub(super) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

/// A text that is being written. Writing to it does not fail.
pub(super) struct Text {
    form: Form,
    out: String,
}

impl Text {
    pub(super) fn new(form: Form) -> Self {
        Self { form, out: String::new() }
    }

    /// Begins a family; its numbers follow.
    pub(super) fn family(&mut self, name: &str, kind: Kind, help: &str) {
        let (kind, suffix) = match (kind, self.form) {
            // OpenMetrics counts `calls` in `calls_total`; before, a family was its numbers' name.
            (Kind::Counter, Form::Prometheus) => ("counter", "_total"),
            (Kind::Counter, Form::OpenMetrics) => ("counter", ""),
            (Kind::Gauge, _) => ("gauge", ""),
            (Kind::Histogram, _) => ("histogram", ""),
        };
        let _ = writeln!(self.out, "# HELP {PREFIX}{name}{suffix} {help}");
        let _ = writeln!(self.out, "# TYPE {PREFIX}{name}{suffix} {kind}");
    }

    /// One number of a family.
    pub(super) fn sample(&mut self, name: &str, labels: &Labels<'_>, value: impl Display) {
        self.out.push_str(PREFIX);
        self.out.push_str(name);
        for (place, (label, text)) in labels.iter().enumerate() {
            let opening = if place == 0 { '{' } else { ',' };
            let _ = write!(self.out, "{opening}{label}=\"{text}\"");
        }
        let closing = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.out, "{closing} {value}");
    }

    /// A family of one number.
    pub(super) fn gauge(&mut self, name: &str, help: &str, value: usize) {
        self.family(name, Kind::Gauge, help);
        self.sample(name, &[], value);
    }

    pub(super) fn finish(mut self) -> String {
        if self.form == Form::OpenMetrics {
            self.out.push_str("# EOF\n");
        }
        self.out
    }
}
