//! Fenced blocks of Markdown, whose text is quoted.

/// Which lines are inside a fenced Markdown block, or are a fence; quoted text reports
/// nothing.
pub(super) fn fenced(lines: &[&str]) -> Vec<bool> {
    let mut open: Option<&str> = None;
    let each = lines.iter().map(|line| {
        let line = line.trim();
        let fence = ["```", "~~~"].into_iter().find(|fence| line.starts_with(fence));
        match (open, fence) {
            (None, Some(_)) => open = fence,
            (Some(begun), Some(fence)) if begun == fence => open = None,
            (Some(_), _) => return true,
            (None, None) => return false,
        }
        true
    });
    each.collect()
}
