-- One row, about the store itself.
CREATE TABLE store (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    -- How often the store was opened: names the process that a task's work belongs to.
    epoch INTEGER NOT NULL,
    -- The first number that no task was ever given. Handed out in blocks.
    unused_number INTEGER NOT NULL
) STRICT;

INSERT INTO store (only_row, epoch, unused_number) VALUES (1, 0, 1);

CREATE TABLE tasks (
    -- In the order of creation. Never given twice, so that nothing old can point to a new task.
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
    -- The events of a task that came and went in one short append, as in the table of events: such
    -- a task is this row alone, and never changes. Last, so that the rest is read without it.
    format INTEGER,
    body BLOB
) STRICT;

-- Finds one task, and all that a caller named alike. Ids are mostly made in the order of time, so
-- that new ones come to lie together, whoever their callers are.
CREATE UNIQUE INDEX tasks_by_key ON tasks (id, caller, agent);

-- The order of lists. What can be asked for is in it too, so that counting needs no task.
CREATE INDEX tasks_by_time ON tasks (caller, updated, id, agent, state, context);

-- Few at any time: what a process leaves behind when it dies.
CREATE INDEX tasks_with_work ON tasks (number) WHERE work <> 0;

-- The events of one append, or of a piece of a long one, as a JSON array.
CREATE TABLE events (
    -- The task's number * 2^24, plus the revision of the first event: a log lies together, in
    -- order, without an index.
    place INTEGER PRIMARY KEY,
    format INTEGER NOT NULL,
    count INTEGER NOT NULL,
    body BLOB NOT NULL
) STRICT;

-- The last whole task, of those whose log is long. Apart, so that a further event does not move it.
CREATE TABLE snapshots (
    task INTEGER PRIMARY KEY,
    format INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    body BLOB NOT NULL
) STRICT;

-- Finished tasks in the order in which they finished, which is that in which they go. A row has
-- those that finished in one transaction: 16 bytes each, the number and the time.
CREATE TABLE finished (
    place INTEGER PRIMARY KEY,
    tasks BLOB NOT NULL
) STRICT;

-- Long logs whose tasks are gone. They go piece by piece.
CREATE TABLE leftovers (
    task INTEGER PRIMARY KEY
) STRICT;

-- What came of messages, in the order in which they came. A row has those that led to a task in one
-- transaction, or one with its answer: 32 bytes each, the digest, when it may be forgotten, and the
-- place of the event (or zero). To find one, the store has them in memory.
CREATE TABLE sent (
    place INTEGER PRIMARY KEY,
    messages BLOB NOT NULL,
    format INTEGER,
    answer BLOB
) STRICT;
