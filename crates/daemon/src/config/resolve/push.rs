//! Delivery of push notifications.

use latimer_server::outbound::AllowRule;
use latimer_server::{PushSettings, V0_3Body};

use super::Resolver;
use super::settings::saturating_usize;
use crate::config::raw;

impl Resolver<'_> {
    pub(super) fn resolve_push(&mut self, raw: &raw::Push) -> PushSettings {
        if raw.attempts == 0 {
            let message = "`push.attempts` must be at least 1";
            let hint = "to disable webhooks, set `push.enabled = false`";
            self.report_error(&["push", "attempts"], message, hint);
        }
        PushSettings {
            enabled: raw.enabled,
            allow_loopback: raw.allow_loopback_webhooks,
            allow: self.resolve_allow_rules(&raw.allow),
            max_per_task: saturating_usize(raw.max_per_task),
            max_per_caller: saturating_usize(raw.max_per_caller),
            timeout: raw.timeout,
            max_attempts: raw.attempts,
            give_up_after: raw.max_age,
            initial_backoff: raw.first_pause,
            max_backoff: raw.longest_pause,
            user_agent: self.user_agent.clone(),
            v0_3_body: match raw.older_body {
                raw::V0_3Body::Task => V0_3Body::Task,
                raw::V0_3Body::Envelope => V0_3Body::Envelope,
            },
        }
    }

    fn resolve_allow_rules(&mut self, entries: &[String]) -> Vec<AllowRule> {
        let mut rules = Vec::new();
        for (index, text) in entries.iter().enumerate() {
            match text.parse() {
                Ok(it) => rules.push(it),
                Err(error) => {
                    let path = ["push", "allow", &index.to_string()];
                    let message = format!("`push.allow`: {text:?} {error}");
                    let hint = "use the form \"hooks.internal:8443\" or \"10.1.0.0/16\"";
                    self.report_error(&path, message, hint);
                }
            }
        }
        rules
    }
}
