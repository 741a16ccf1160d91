//! Repositories that git keeps in other ways: linked worktrees, submodules, LFS, tags, shallow
//! clones, and paths that need quotes.

use crate::place::{Place, Project, proves, tiers};

/// A script whose test needs what the case is about.
const BASE: Project = Project {
    needs: &["git"],
    files: &[("sq.sh", "echo 0\n"), ("tests/run.sh", "test \"$(sh sq.sh 7)\" = 49\n")],
    prepare: &[],
    check: "sh tests/run.sh",
    work: ("sq.sh", "echo $(($1 * $1))\n"),
};

/// Runs a project in the folder that `make` prepares, in each tier.
fn proves_after(project: &Project, make: impl Fn(&mut Place)) {
    for tier in tiers(project.needs) {
        let mut place = Place::of(project, "");
        make(&mut place);
        let ran = place.run(project, tier);
        assert!(ran.is_proven(), "{tier}: {}", ran.told);
    }
}

#[test]
fn a_linked_worktree() {
    proves_after(&BASE, |place| {
        place.shell("git worktree add --quiet -b topic ../topic");
        place.enter("topic");
    });
}

#[test]
fn a_shallow_clone() {
    proves_after(&BASE, |place| {
        place.shell(
            "git commit --quiet --allow-empty --message more
            git clone --quiet --depth 1 \"file://$PWD\" ../clone",
        );
        place.enter("clone");
    });
}

#[test]
fn a_path_with_spaces_and_letters_of_other_languages() {
    proves_after(&BASE, |place| {
        place.shell("git clone --quiet . '../mein Projekt – größer'");
        place.enter("mein Projekt – größer");
    });
}

#[test]
fn a_submodule_whose_file_a_test_uses() {
    let project = Project {
        files: &[
            ("sq.sh", "echo 0\n"),
            ("tests/run.sh", ". vendor/assert/assert.sh\nequal \"$(sh sq.sh 7)\" 49\n"),
        ],
        prepare: &["mkdir ../assert && cd ../assert && git init --quiet .
            echo 'equal() { test \"$1\" = \"$2\"; }' > assert.sh
            git add . && git commit --quiet --message start && cd ../repo
            git submodule --quiet add ../assert vendor/assert
            git commit --quiet --message submodule"],
        ..BASE
    };
    proves(&project);
}

#[test]
fn a_file_in_lfs() {
    let project = Project {
        needs: &["git-lfs"],
        files: &[
            ("sq.sh", "echo 0\n"),
            ("tests/run.sh", "test \"$(sh sq.sh 7)\" = \"$(cat data/49.bin)\"\n"),
        ],
        prepare: &["git lfs install >/dev/null && git lfs track 'data/*.bin' >/dev/null
            mkdir data && echo 49 > data/49.bin
            git add --all && git commit --quiet --message data
            git show HEAD:data/49.bin | grep -q git-lfs"],
        ..BASE
    };
    proves(&project);
}

#[test]
fn a_check_that_needs_tags() {
    let project = Project {
        files: &[
            ("sq.sh", "echo 0\n"),
            (
                "tests/run.sh",
                "git describe --tags | grep -q '^v1.2' && test \"$(sh sq.sh 7)\" = 49\n",
            ),
        ],
        prepare: &["git tag -a -m 'version 1.2' v1.2"],
        ..BASE
    };
    proves(&project);
}
