//! How webhooks are told about tasks.

use latimer_server::outbound::AllowRule;
use latimer_server::{OlderBody, PushSettings};

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
            per_task: count(raw.max_per_task),
            per_caller: count(raw.max_per_caller),
            timeout: raw.timeout.0,
            attempts: raw.attempts,
            max_age: raw.max_age.0,
            first_pause: raw.first_pause.0,
            longest_pause: raw.longest_pause.0,
            user_agent: self.user_agent.clone(),
            older_body: match raw.older_body {
                raw::OlderBody::Task => OlderBody::Task,
                raw::OlderBody::Envelope => OlderBody::Envelope,
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
