//! What is remembered of a start is that of the same tree and the same commands.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use globset::GlobSet;

use super::super::{FileEntry, HarnessCheck, HarnessQuestion, KnownStart, KnownStarts};
use super::super::{SourceTree, Table};
use super::tree::Planted;

/// A tree with a name of its own, as git's trees have one.
struct Named(Planted, Option<[u8; 20]>);

impl SourceTree for Named {
    fn paths(&self) -> &BTreeMap<PathBuf, FileEntry> {
        self.0.paths()
    }

    fn name(&self) -> Option<[u8; 20]> {
        self.1
    }

    fn read(&self, path: &Path) -> Option<Vec<u8>> {
        self.0.read(path)
    }
}

#[test]
fn a_start_is_known_by_its_tree_and_its_commands() {
    let (table, none) = (Table::new(&[]).expect("the table"), GlobSet::empty());
    let mut known = KnownStarts::default();
    let mut get = |start: &Named, command: &str, setup: &[String]| -> Arc<KnownStart> {
        known.get(&HarnessQuestion {
            start,
            now: start,
            checks: &[HarnessCheck { command, missing_at_start: false }],
            setup,
            table: &table,
            may_change: &none,
            protect: &none,
        })
    };
    let judges =
        |known: &KnownStart| -> Vec<PathBuf> { known.found.files.iter().cloned().collect() };
    let scripts = [("one.sh", "sh two.sh\n"), ("two.sh", "true\n")];
    let start = Named(Planted::of(&scripts), Some([1; 20]));
    let first = get(&start, "sh one.sh", &[]);
    assert_eq!(judges(&first), ["one.sh", "two.sh"].map(PathBuf::from));
    assert!(Arc::ptr_eq(&first, &get(&start, "sh one.sh", &[])), "it was read again");

    assert_eq!(judges(&get(&start, "sh two.sh", &[])), ["two.sh"].map(PathBuf::from));
    let both = get(&start, "sh two.sh", &["sh one.sh".to_owned()]);
    assert_eq!(judges(&both), ["one.sh", "two.sh"].map(PathBuf::from));

    let changed = Planted::of(&[("one.sh", "true\n"), ("two.sh", "true\n")]);
    let other = Named(changed.clone(), Some([2; 20]));
    assert_eq!(judges(&get(&other, "sh one.sh", &[])), ["one.sh"].map(PathBuf::from));

    // Without a name, as with files of the human laid over it, it is read each time.
    let first = get(&Named(Planted::of(&scripts), None), "sh one.sh", &[]);
    let then = get(&Named(changed, None), "sh one.sh", &[]);
    assert_ne!(judges(&first), judges(&then));
}
