-- Webhooks in registration order.
CREATE TABLE webhooks (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    task INTEGER NOT NULL,
    id TEXT NOT NULL,
    -- Number of times the webhook was replaced.
    generation INTEGER NOT NULL DEFAULT 0,
    dialect INTEGER NOT NULL,
    -- Revision of the last event that was delivered or abandoned.
    seen INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    failing_since INTEGER,
    due INTEGER,
    -- Encrypted, because it contains URLs and secrets.
    format INTEGER NOT NULL,
    config BLOB NOT NULL
) STRICT;

CREATE UNIQUE INDEX webhooks_by_id ON webhooks (task, id);

-- Deliveries that were abandoned.
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
