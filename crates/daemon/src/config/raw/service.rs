//! The store, limits, the log, and the server as such.

use std::path::PathBuf;

use crate::config::key::{choice, section};
use crate::config::size::Size;
use crate::config::time::Time;

section! {
    /// Where tasks are kept, and for how long.
    Store {
        /// `sqlite` keeps tasks in a file, so that they survive; `memory` forgets them when the
        /// server ends.
        kind: StoreKind, default("\"sqlite\"") => "\"memory\"";
        /// For `sqlite`: the file.
        path: PathBuf, optional("`latimer/latimer.db` in the data folder of the user") => "\"/var/lib/latimer/latimer.db\"";
        /// For `sqlite`: what an event survives before anybody sees it. `full` also survives the
        /// loss of power, `process` the end of the process.
        durability: Durable, default("\"full\"") => "\"process\"";
        /// The most tasks there may be. The one that finished first makes room; when none is
        /// finished, no more are taken.
        max_tasks: u64, optional("1000000, or 1000 in memory") => "5000";
        /// The most conversations there may be. `0` means any number.
        max_contexts: u64, optional("any number, or 500 in memory") => "500";
        /// How long a finished task is kept.
        max_age: Time, optional("7 days, or an hour in memory") => "\"30d\"";
        /// How often to look for what is too old.
        sweep_every: Time, default("\"5m\"") => "\"1m\"";
    }
}

section! {
    /// What callers may ask for at most.
    Limits {
        /// The size of a request.
        max_body: Size, default("\"10MiB\"") => "\"1MiB\"";
    }
}

section! {
    /// What the server writes to its log, which is its standard error.
    Log {
        /// Which messages: a level, or levels by module. `LATIMER_LOG` and `RUST_LOG` go before it.
        filter: String, default("\"info\"") => "\"info,latimer_server=debug\"";
        /// How they are written. `LATIMER_LOG_FORMAT` goes before it.
        format: LogFormat, default("\"text\"") => "\"json\"";
    }
}

section! {
    /// How the server as such behaves.
    Server {
        /// How long it waits for what is going on when it is told to end.
        drain: Time, default("\"10s\"") => "\"1m\"";
    }
}

choice! {
    /// Where tasks are kept.
    StoreKind: "`sqlite` or `memory`" {
        /// In a file.
        Sqlite,
        /// In memory.
        Memory,
    }
}

choice! {
    /// What an event survives before anybody sees it.
    Durable: "`full` or `process`" {
        /// The loss of power.
        Full,
        /// The end of the process.
        Process,
    }
}

choice! {
    /// How messages are written.
    LogFormat: "`text` or `json`" {
        /// For people.
        Text,
        /// For programs.
        Json,
    }
}
