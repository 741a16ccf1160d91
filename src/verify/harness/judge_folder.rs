//! Folders that hold what judges: everything in them belongs to the harness.

use std::path::{Path, PathBuf};

use super::paths::{file_name, folder};
use super::programs::lists;

/// Names of folders that hold checks and what these need.
const NAMES: &str =
    "acceptance checks ci conformance oracle oracles qa quality validation verification";

/// Names of folders in which a check may lie beside the product.
const MIXED: &str = "api app apps assets backend bin client cmd config core data demo doc docs etc examples frontend
    hack include internal lib libs main packages pkg public script scripts server services site src static
    tool tools util utils web";

/// Whether a file is in a folder for checks, or in one from which the checks run a judge.
pub(super) fn holds<'p>(path: &Path, mut judges: impl Iterator<Item = &'p PathBuf>) -> bool {
    let is_mixed = |part: &str| part.starts_with('.') || lists(MIXED, part);
    let folders = || path.ancestors().skip(1).filter(|it| !it.as_os_str().is_empty());
    folders().any(|it| lists(NAMES, file_name(it)))
        || judges.any(|judge| {
            let own = folder(judge);
            !own.iter().any(|part| part.to_str().is_none_or(is_mixed))
                && folders().any(|it| it == own)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_judges_is_told_from_one_that_holds_the_product_too() {
        let judges = ["grading/judge.py", "scripts/check.sh", "check.sh", ".github/check.py"]
            .map(PathBuf::from);
        for (path, expected) in [
            ("grading/words", true),
            ("grading/deep/cases.txt", true),
            ("ci/score", true),
            ("scripts/build.sh", false),
            ("app.py", false),
            ("src/ci.rs", false),
            (".github/ci.yml", false),
        ] {
            assert_eq!(holds(Path::new(path), judges.iter()), expected, "{path}");
        }
    }
}
