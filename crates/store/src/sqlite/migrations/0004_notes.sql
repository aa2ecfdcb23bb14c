-- Private note that the agent stores with the task.
ALTER TABLE tasks ADD COLUMN note TEXT;
