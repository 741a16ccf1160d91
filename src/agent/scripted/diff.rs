//! The unified diff that Copilot shows in a permission request for a file.
//!
//! One hunk with three lines of context. Like Copilot's, it counts the text after the last
//! newline as a line. The diff is only displayed, never applied.

use std::fmt::Write as _;
use std::path::Path;

const AROUND: usize = 3;

/// The diff of a file; `before` is `None` for a new file.
pub(super) fn unified(path: &Path, before: Option<&str>, after: &str) -> String {
    let path = path.display();
    let Some(before) = before else {
        let lines: Vec<&str> = after.strip_suffix('\n').unwrap_or(after).split('\n').collect();
        let mut diff = format!(
            "\ndiff --git a{path} b{path}\ncreate file mode 100644\nindex 0000000..0000000\n\
             --- a/dev/null\n+++ b{path}\n@@ -1,0 +1,{} @@\n",
            lines.len()
        );
        push(&mut diff, '+', &lines);
        return diff;
    };
    let old: Vec<&str> = before.split('\n').collect();
    let new: Vec<&str> = after.split('\n').collect();
    let most = old.len().min(new.len());
    let head = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let tail = old.iter().rev().zip(new.iter().rev());
    let tail = tail.take(most - head).take_while(|(old, new)| old == new).count();
    let start = head.saturating_sub(AROUND);
    let follow = tail.min(AROUND);
    let (old_end, new_end) = (old.len() - tail, new.len() - tail);
    let mut diff = format!(
        "\ndiff --git a{path} b{path}\nindex 0000000..0000000 100644\n--- a{path}\n+++ b{path}\n\
         @@ -{line},{} +{line},{} @@\n",
        old_end + follow - start,
        new_end + follow - start,
        line = start + 1,
    );
    push(&mut diff, ' ', &old[start..head]);
    push(&mut diff, '-', &old[head..old_end]);
    push(&mut diff, '+', &new[head..new_end]);
    push(&mut diff, ' ', &old[old_end..old_end + follow]);
    diff
}

fn push(diff: &mut String, sign: char, lines: &[&str]) {
    for line in lines {
        let _ = writeln!(diff, "{sign}{line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_file_as_copilot_shows_it() {
        assert_eq!(
            unified(Path::new("/w/repo/new.txt"), None, "abc\n"),
            "\ndiff --git a/w/repo/new.txt b/w/repo/new.txt\ncreate file mode 100644\n\
             index 0000000..0000000\n--- a/dev/null\n+++ b/w/repo/new.txt\n@@ -1,0 +1,1 @@\n+abc\n"
        );
    }

    #[test]
    fn a_changed_line_as_copilot_shows_it() {
        assert_eq!(
            unified(Path::new("/w/repo/hello.txt"), Some("hello world\n"), "bye world\n"),
            "\ndiff --git a/w/repo/hello.txt b/w/repo/hello.txt\nindex 0000000..0000000 100644\n\
             --- a/w/repo/hello.txt\n+++ b/w/repo/hello.txt\n@@ -1,2 +1,2 @@\n\
             -hello world\n+bye world\n \n"
        );
    }

    #[test]
    fn a_line_is_added_after_three_of_its_neighbours() {
        let diff = unified(Path::new("/p"), Some("1\n2\n3\n4\n"), "1\n2\n3\n4\n5\n");
        assert_eq!(
            diff.split_once("+++ b/p\n").map(|(_, hunk)| hunk),
            Some("@@ -2,4 +2,5 @@\n 2\n 3\n 4\n+5\n \n")
        );
    }

    #[test]
    fn equal_neighbours_are_not_counted_twice() {
        let diff = unified(Path::new("/p"), Some("a\na\n"), "a\na\na\n");
        assert_eq!(
            diff.split_once("+++ b/p\n").map(|(_, hunk)| hunk),
            Some("@@ -1,3 +1,4 @@\n a\n a\n+a\n \n")
        );
    }
}
