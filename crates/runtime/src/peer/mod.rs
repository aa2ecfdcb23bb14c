//! Code that the gateway and agent tools share: both call another agent for a turn.
//!
//! | module | contents |
//! | --- | --- |
//! | `context_cache` | context ids that upstream agents chose |
//! | `hops` | hop paths of messages, which limit loops between agents |
//! | `redaction` | removal of upstream hosts from text that callers can read |
//! | `upstream_ids` | ids derived for an upstream agent, and those stored with a task |

pub(crate) mod context_cache;
pub(crate) mod hops;
pub(crate) mod redaction;
pub(crate) mod upstream_ids;

use latimer_client::{ClientBuilder, Error};

/// Function that configures the client for an agent.
pub(crate) type ConfigureClient =
    dyn Fn(ClientBuilder) -> Result<ClientBuilder, Error> + Send + Sync;
