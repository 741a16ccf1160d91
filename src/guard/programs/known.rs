//! Every program name that some table knows. Needed where a name alone decides:
//! whether a function shadows a program, whether a file of the workspace is one.

/// Whether any table judges a program of this name.
pub(in crate::guard) fn is_program(name: &str) -> bool {
    matches!(name, "git" | "find" | "sed" | "gsed" | "awk" | "gawk" | "mawk" | "nawk")
        || super::refused::is_refused(name)
        || super::builtins::NAMES.contains(&name)
        || super::wrappers::NAMES.contains(&name)
        || super::readers::names().any(|known| known == name)
        || super::writers::NAMES.contains(&name)
        || super::interpreters::language(name).is_some()
        || super::runners::is_runner(name)
}
