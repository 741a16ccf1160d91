//! Every program name that some table knows. Needed where a name alone decides:
//! whether a function shadows a program, whether a file of the workspace is one.

use super::options::lists;

/// Whether any table judges a program of this name.
pub(in crate::guard) fn is_program(name: &str) -> bool {
    matches!(name, "git" | "find" | "sed" | "gsed" | "awk" | "gawk" | "mawk" | "nawk")
        || super::refused::is_refused(name)
        || lists(super::builtins::NAMES, name)
        || lists(super::wrappers::NAMES, name)
        || super::readers::names().any(|known| known == name)
        || lists(super::writers::NAMES, name)
        || super::interpreters::language(name).is_some()
        || super::runners::is_runner(name)
}
