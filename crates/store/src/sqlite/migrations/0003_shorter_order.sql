-- Order of lists, without ids: they would be a third of the index, and every send writes to it. Tasks
-- that changed in the same millisecond are sorted by id when they are listed.
DROP INDEX tasks_by_time;
CREATE INDEX tasks_by_time ON tasks (caller, updated, agent, state, context);
