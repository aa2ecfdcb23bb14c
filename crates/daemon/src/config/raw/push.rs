//! `[push]`.

use std::time::Duration;

use crate::config::section::{choice, section};

section! {
    /// How webhooks are told about tasks.
    pub(crate) Push {
        /// Whether callers may register webhooks.
        enabled: bool, default("true") => "false";
        /// Lets webhooks lead to this machine, also over plain HTTP.
        allow_loopback_webhooks: bool, optional("`true` while only this machine can reach the server") => "true";
        /// Where else webhooks may lead, beside HTTPS on the public internet: a host with a port, or
        /// a network.
        allow: Vec<String>, default("[]") => "[\"hooks.internal:8443\", \"10.1.0.0/16\"]";
        /// How many webhooks a task may have.
        max_per_task: u64, default("10") => "3";
        /// How many webhooks with something to do a caller may have.
        max_per_caller: u64, default("10000") => "100";
        /// How long a receiver may take to answer.
        timeout: Duration, default("\"15s\"") => "\"30s\"";
        /// How often a delivery is tried before it becomes a dead letter.
        attempts: u32, default("12") => "3";
        /// For how long a receiver may fail. From then on a delivery is tried once, until one
        /// arrives.
        max_age: Duration, default("\"1d\"") => "\"1h\"";
        /// How long to wait after the first failure. Each further one doubles it.
        first_pause: Duration, default("\"1s\"") => "\"500ms\"";
        /// The longest wait between two attempts.
        longest_pause: Duration, default("\"10m\"") => "\"1m\"";
        /// What receivers get whose webhooks were registered in 0.3: the `task`, as the official
        /// SDKs have it, or the event in the `envelope` of JSON-RPC, as a stream has it.
        older_body: V0_3Body, default("\"task\"") => "\"envelope\"";
    }
}

choice! {
    /// What receivers of 0.3 get.
    pub(crate) V0_3Body: "`task` or `envelope`" {
        /// The whole task.
        Task,
        /// The event, as a stream has it.
        Envelope,
    }
}
