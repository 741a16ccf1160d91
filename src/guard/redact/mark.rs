//! The mark that replaces a secret, and how redactors are applied one after another.

use std::borrow::Cow;

/// Stands in the place of a secret.
pub(in crate::guard) const REDACTED: &str = "[REDACTED]";

/// Applies a redactor to a text that others may have changed.
pub(super) fn replace<'t>(
    text: Cow<'t, str>,
    redact: impl Fn(&str) -> Option<String>,
) -> Cow<'t, str> {
    match redact(&text) {
        Some(changed) => Cow::Owned(changed),
        None => text,
    }
}
