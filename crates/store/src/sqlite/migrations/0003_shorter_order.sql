-- The order of lists, without ids: they would be a third of it, and each send writes it. Those that
-- changed in the same millisecond are sorted by them when they are listed.
DROP INDEX tasks_by_time;
CREATE INDEX tasks_by_time ON tasks (caller, updated, agent, state, context);
