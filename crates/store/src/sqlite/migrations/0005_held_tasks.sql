-- From this version on, `tasks.work` can be 3: the task is held, which means that its agent may still
-- reply with a message instead. The state of a held task is stored as a negative number, so that lists
-- skip it.

-- Recovery reads tasks with pending work in an order by kind.
DROP INDEX tasks_with_work;
CREATE INDEX tasks_with_work ON tasks (work, number) WHERE work <> 0;

-- Tasks that wait for their caller. A task that is finished by its first append never enters it.
CREATE INDEX tasks_interrupted ON tasks (caller, updated) WHERE state IN (6, 8);
