//! TASK.md: parsed, explained, ticked.
