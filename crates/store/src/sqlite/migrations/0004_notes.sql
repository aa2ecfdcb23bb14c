-- What the agent keeps with a task for itself.
ALTER TABLE tasks ADD COLUMN note TEXT;
