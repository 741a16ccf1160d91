//! The change of a file as a patch.

use std::path::Path;

use git2::Patch;

/// A unified diff between two contents of a file; `None` is a missing file.
pub(in crate::verify) fn patch(path: &Path, old: Option<&[u8]>, new: Option<&[u8]>) -> String {
    let (before, after) = (old.unwrap_or_default(), new.unwrap_or_default());
    let made =
        Patch::from_buffers(before, Some(path), after, Some(path), None).and_then(|mut patch| {
            patch.to_buf().map(|text| text.as_str().unwrap_or_default().to_owned())
        });
    match made {
        Ok(text) if !text.is_empty() => text,
        // An empty file has no lines to show.
        Ok(_) | Err(_) => match (old, new) {
            (None, Some(_)) => format!("new file {}\n", path.display()),
            (Some(_), None) => format!("removed {}\n", path.display()),
            _ => String::new(),
        },
    }
}
