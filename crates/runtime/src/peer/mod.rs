//! What the gateway and agents as tools share: both call another agent for a turn.
//!
//! | module | what is in it |
//! | --- | --- |
//! | `context_cache` | what an agent calls the contexts of callers |
//! | `hops` | hop paths of messages, which end loops between agents |
//! | `redaction` | removal of upstream hosts from text that callers can read |
//! | `upstream_ids` | ids derived for an upstream agent, and those stored with a task |

pub(crate) mod context_cache;
pub(crate) mod hops;
pub(crate) mod redaction;
pub(crate) mod upstream_ids;

use latimer_client::{ClientBuilder, Error};

/// Sets the options of the client that calls an agent.
pub(crate) type ConfigureClient =
    dyn Fn(ClientBuilder) -> Result<ClientBuilder, Error> + Send + Sync;
