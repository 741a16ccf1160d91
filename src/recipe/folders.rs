//! The folders in which the runner looks for a recipe, in its order.
//!
//! Invariant: pure; callers read the folders.

use std::path::{Path, PathBuf};

use crate::model::RECIPE_FOLDERS;

/// Extensions of recipe files, the preferred one first.
pub const ENDINGS: [&str; 2] = ["yaml", "yml"];

/// The folders, first match wins: only `named` if it is not empty, else those of the
/// environment, the home and the working folder `dir`.
pub fn folders(
    named: &[PathBuf],
    dir: &Path,
    home: Option<&Path>,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Vec<PathBuf> {
    if !named.is_empty() {
        return named.iter().map(|folder| dir.join(folder)).collect();
    }
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    let bundle = Path::new("amplifier-bundle/recipes");
    let mut all: Vec<PathBuf> = Vec::new();
    all.extend(set("AMPLIHACK_PACKAGE_RECIPE_DIR").map(PathBuf::from));
    let more = set("RECIPE_RUNNER_RECIPE_DIRS").unwrap_or_default();
    all.extend(more.split(':').filter(|folder| !folder.is_empty()).map(PathBuf::from));
    all.extend(set("AMPLIHACK_HOME").map(|home| Path::new(&home).join(bundle)));
    if let Some(home) = home {
        all.push(home.join(".amplihack").join(bundle));
        all.push(home.join(".amplihack/.claude/recipes"));
    }
    all.extend(RECIPE_FOLDERS.map(PathBuf::from));
    all.into_iter().map(|folder| dir.join(folder)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(named: &[&str], variables: &[(&str, &str)]) -> Vec<String> {
        let named: Vec<PathBuf> = named.iter().map(PathBuf::from).collect();
        let variable = |name: &str| {
            let known = variables.iter().find(|(it, _)| *it == name);
            known.map(|(_, value)| (*value).to_owned())
        };
        folders(&named, Path::new("/w"), Some(Path::new("/h")), &variable)
            .into_iter()
            .map(|folder| folder.display().to_string())
            .collect()
    }

    #[test]
    fn the_order_is_the_runner_s() {
        let variables = [
            ("AMPLIHACK_PACKAGE_RECIPE_DIR", "/p"),
            ("RECIPE_RUNNER_RECIPE_DIRS", "/a::b"),
            ("AMPLIHACK_HOME", "/amp"),
        ];
        assert_eq!(
            shown(&[], &variables),
            [
                "/p",
                "/a",
                "/w/b",
                "/amp/amplifier-bundle/recipes",
                "/h/.amplihack/amplifier-bundle/recipes",
                "/h/.amplihack/.claude/recipes",
                "/w/amplifier-bundle/recipes",
                "/w/src/amplihack/amplifier-bundle/recipes",
                "/w/.claude/recipes",
            ]
        );
        assert_eq!(shown(&["r", "/s"], &variables), ["/w/r", "/s"]);
    }
}
