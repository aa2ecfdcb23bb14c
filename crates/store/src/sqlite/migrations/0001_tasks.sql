-- State of the store; a single row.
CREATE TABLE store (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    -- Incremented whenever the store is opened. Identifies the process that a task is assigned to.
    epoch INTEGER NOT NULL,
    -- First task number that has never been assigned. Numbers are reserved in blocks.
    unused_number INTEGER NOT NULL
) STRICT;

INSERT INTO store (only_row, epoch, unused_number) VALUES (1, 0, 1);

CREATE TABLE tasks (
    -- Task number, in creation order. Never reused, so that no stale row refers to a new task.
    number INTEGER PRIMARY KEY,
    revision INTEGER NOT NULL,
    state INTEGER NOT NULL,
    work INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    dialect INTEGER NOT NULL,
    caller TEXT NOT NULL,
    agent TEXT NOT NULL,
    id TEXT NOT NULL,
    context TEXT NOT NULL,
    -- Events of a task that was created and finished by one short append, encoded as in the table
    -- `events`. Such a task consists of this row only and never changes. Stored last, so that
    -- reading the other columns does not read the body.
    format INTEGER,
    body BLOB
) STRICT;

-- Finds one task, and the tasks of one owner that have the same id. Most ids are ordered by time, so
-- that new entries are adjacent whatever their owner is.
CREATE UNIQUE INDEX tasks_by_key ON tasks (id, caller, agent);

-- Order of lists. Contains every column that a list can filter by, so that counting reads no task.
CREATE INDEX tasks_by_time ON tasks (caller, updated, id, agent, state, context);

-- Tasks with pending work, which recovery reads after a crash. Few at any time.
CREATE INDEX tasks_with_work ON tasks (number) WHERE work <> 0;

-- Events of one append, or of a part of a long one, as a JSON array.
CREATE TABLE events (
    -- Task number * 2^24 + revision of the first event: the log of a task is contiguous and
    -- ordered without an index.
    place INTEGER PRIMARY KEY,
    format INTEGER NOT NULL,
    count INTEGER NOT NULL,
    body BLOB NOT NULL
) STRICT;

-- Latest snapshot of each task with a long log. A separate table, so that an append to the log does not
-- rewrite it.
CREATE TABLE snapshots (
    task INTEGER PRIMARY KEY,
    format INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    body BLOB NOT NULL
) STRICT;

-- Finished tasks in the order in which they finished, which is the order of eviction. A row contains
-- the tasks that finished in one transaction, 16 bytes each: task number and time.
CREATE TABLE finished (
    place INTEGER PRIMARY KEY,
    tasks BLOB NOT NULL
) STRICT;

-- Removed tasks whose long logs are still being deleted, in steps.
CREATE TABLE leftovers (
    task INTEGER PRIMARY KEY
) STRICT;

-- Idempotency records in insertion order. A row contains the records of one transaction whose
-- outcomes are tasks, or one record with its direct reply. A record has 32 bytes: digest, expiry and
-- the place of the event (zero for a direct reply). Lookups use a cache in memory.
CREATE TABLE sent (
    place INTEGER PRIMARY KEY,
    messages BLOB NOT NULL,
    format INTEGER,
    answer BLOB
) STRICT;
