//! The formats of `printf`.

use crate::guard::line::Arg;

/// Is this no format of printf with a conversion that assigns, such as `%n` or `\x25hn`?
pub(super) fn sets_no_variable(format: &Arg) -> bool {
    const PERCENTS: [&str; 6] = ["\\x25", "\\045", "\\45", "\\u25", "\\u0025", "\\U00000025"];
    let text =
        PERCENTS.iter().fold(format.head().replace("%%", ""), |text, it| text.replace(it, "%"));
    let assigns = |rest: &str| {
        let rest = rest.trim_start_matches(|c: char| !c.is_ascii_alphabetic() && c != '%');
        rest.trim_start_matches(['h', 'l', 'L', 'q', 'j', 'z', 't']).starts_with('n')
    };
    !text.split('%').skip(1).any(assigns)
}
