//! How webhooks are told about tasks.

use latimer_server::outbound::AllowRule;
use latimer_server::{PushSettings, V0_3Body};

use super::Resolve;
use super::settings::count;
use crate::config::raw;

impl Resolve<'_> {
    pub(super) fn push(&mut self, raw: &raw::Push) -> PushSettings {
        if raw.attempts == 0 {
            let message = "`push.attempts`: a delivery is tried at least once";
            self.problem(&["push", "attempts"], message, "set `push.enabled = false` for none");
        }
        PushSettings {
            enabled: raw.enabled,
            allow_loopback: raw.allow_loopback_webhooks,
            allow: self.allowed(&raw.allow),
            max_per_task: count(raw.max_per_task),
            max_per_caller: count(raw.max_per_caller),
            timeout: raw.timeout.0,
            max_attempts: raw.attempts,
            give_up_after: raw.max_age.0,
            initial_backoff: raw.first_pause.0,
            max_backoff: raw.longest_pause.0,
            user_agent: self.user_agent.clone(),
            v0_3_body: match raw.older_body {
                raw::OlderBody::Task => V0_3Body::Task,
                raw::OlderBody::Envelope => V0_3Body::Envelope,
            },
        }
    }

    fn allowed(&mut self, texts: &[String]) -> Vec<AllowRule> {
        let mut allowed = Vec::new();
        for (place, text) in texts.iter().enumerate() {
            match text.parse() {
                Ok(it) => allowed.push(it),
                Err(error) => {
                    let path = ["push", "allow", &place.to_string()];
                    let message = format!("`push.allow`: {text:?} {error}");
                    let hint = "write it like \"hooks.internal:8443\" or \"10.1.0.0/16\"";
                    self.problem(&path, message, hint);
                }
            }
        }
        allowed
    }
}
