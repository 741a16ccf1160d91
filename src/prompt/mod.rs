//! Prompts from templates.
