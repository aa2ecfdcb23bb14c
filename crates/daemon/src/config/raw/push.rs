//! `[push]`.

use std::time::Duration;

use crate::config::section::{choice, section};

section! {
    /// Delivery of push notifications to webhooks.
    pub(crate) Push {
        /// Whether callers may register webhooks.
        enabled: bool, default("true") => "false";
        /// Whether webhook URLs may resolve to this machine, over HTTPS or plain HTTP.
        allow_loopback_webhooks: bool, optional("`true` while only this machine can reach the server") => "true";
        /// Hosts with a port, or networks, that webhook URLs may resolve to in addition to HTTPS on
        /// the public internet. Other private addresses are blocked.
        allow: Vec<String>, default("[]") => "[\"hooks.internal:8443\", \"10.1.0.0/16\"]";
        /// Maximum number of webhooks per task.
        max_per_task: u64, default("10") => "3";
        /// Maximum number of webhooks per caller that still have deliveries to make.
        max_per_caller: u64, default("10000") => "100";
        /// Time allowed for one delivery attempt, until the receiver has responded.
        timeout: Duration, default("\"15s\"") => "\"30s\"";
        /// Maximum number of attempts for a delivery before it becomes a dead letter. At least 1.
        attempts: u32, default("12") => "3";
        /// How long a receiver may fail before its deliveries are no longer retried. Each further
        /// delivery is attempted once until one succeeds.
        max_age: Duration, default("\"1d\"") => "\"1h\"";
        /// Pause after the first failed attempt. Each further failure doubles it, up to
        /// `longest_pause`.
        first_pause: Duration, default("\"1s\"") => "\"500ms\"";
        /// Maximum pause between two attempts.
        longest_pause: Duration, default("\"10m\"") => "\"1m\"";
        /// Request body for webhooks that were registered over 0.3: the complete `task`, as the
        /// official SDKs expect, or the event in a JSON-RPC `envelope`, as in a stream.
        older_body: V0_3Body, default("\"task\"") => "\"envelope\"";
    }
}

choice! {
    /// Request body for webhooks that were registered over 0.3.
    pub(crate) V0_3Body: "`task` or `envelope`" {
        /// The complete task.
        Task,
        /// The event in a JSON-RPC envelope, as in a stream.
        Envelope,
    }
}
