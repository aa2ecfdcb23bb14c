-- From this version on, `tasks.work` can be 3: the task is held, which means that its agent may still
-- reply with a message instead. The state of a held task is stored as a negative number, so that lists
-- skip it. Nothing has to change in existing rows.
SELECT 1;
