-- Who wants to be told about a task, in the order in which they said so.
CREATE TABLE webhooks (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    task INTEGER NOT NULL,
    id TEXT NOT NULL,
    -- How often it was replaced.
    generation INTEGER NOT NULL DEFAULT 0,
    dialect INTEGER NOT NULL,
    -- The last event that was delivered, or given up.
    seen INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    failing_since INTEGER,
    due INTEGER,
    -- Sealed: it has addresses and secrets that are nobody's business.
    format INTEGER NOT NULL,
    config BLOB NOT NULL
) STRICT;

CREATE UNIQUE INDEX webhooks_by_id ON webhooks (task, id);

-- What was given up.
CREATE TABLE dead_letters (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    webhook INTEGER NOT NULL,
    id TEXT NOT NULL UNIQUE,
    revision INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    at INTEGER NOT NULL,
    reason TEXT NOT NULL
) STRICT;

CREATE INDEX dead_letters_by_webhook ON dead_letters (webhook);
