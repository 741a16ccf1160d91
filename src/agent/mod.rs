//! Agents: open a session, prompt it, watch the turn.
