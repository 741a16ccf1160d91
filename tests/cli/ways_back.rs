//! Ignored files that lead from a proof room back to the working tree: found before a check runs
//! there, wherever checks run in rooms.

use crate::repo::{Ran, Repo};

const IDLE: &str = "turns: [{steps: [{say: nothing}]}]";

/// What leads back, with `ROOT` for the working tree, and the script that the check runs.
const LEAD_BACK: [(&str, &str, &str); 4] = [
    (".venv/lib/app.pth", "ROOT/src\n", "test -f app.txt\n"),
    (".venv/bin/greet", "#!ROOT/.venv/bin/python\n", "test \"$(.venv/bin/greet)\" = hi\n"),
    (".venv/bin/activate", "# all\nVIRTUAL_ENV=ROOT/.venv\n", ". .venv/bin/activate\nexit 1\n"),
    (".venv/bin/greet", "#!ROOT/.venv/bin/python\n", "make greets\n"),
];

/// A repository whose check runs this script, on the branch `work` with a tick in it.
fn repo(front: &str, (path, text, script): (&str, &str, &str)) -> Repo {
    let task =
        format!("---\n{front}\n---\n# Demo\n\n- [ ] greets\n  - verify: `sh tests/run.sh`\n");
    let files = [
        ("tests/run.sh", script),
        ("Makefile", "greets:\n\t@test \"$$(.venv/bin/greet)\" = hi\n"),
        (".gitignore", ".venv/\n"),
    ];
    let repo = Repo::with(&task, &files);
    repo.write(path, text.replace("ROOT", repo.root().to_str().expect("UTF-8")));
    repo.git(&["switch", "--quiet", "--create", "work"]);
    repo
}

fn is_refused(name: &str, path: &str, ran: &Ran) {
    assert_eq!(ran.code, Some(7), "{name}, {path}: {} {}", ran.stdout, ran.stderr);
    let told = format!("`{path}` leads from the proof room back");
    assert!(ran.stderr.contains(&told), "{name}: {}", ran.stderr);
    assert!(ran.stderr.contains("setup:"), "{name}: {}", ran.stderr);
}

#[test]
fn a_run_with_proof_rooms_refuses_them() {
    for front in ["proof: room", "proof: end"] {
        for leads in LEAD_BACK {
            let repo = repo(front, leads);
            let ran = repo.run(IDLE, &["--sandbox=off", "--max-iterations", "1"]);
            is_refused(front, leads.0, &ran);
        }
    }
    // Without rooms checks test the working tree anyway.
    let ran =
        repo("proof: tree", LEAD_BACK[0]).run(IDLE, &["--sandbox=off", "--max-iterations", "1"]);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
}

#[test]
fn rehearse_and_verify_refuse_them() {
    for leads in LEAD_BACK {
        let repo = repo("protect: []", leads);
        let ran = repo.ralph(&["rehearse", "demo", "--sandbox=off"]);
        is_refused("rehearse", leads.0, &ran);
        repo.write("app.txt", "app\n");
        repo.write("tasks/demo/TASK.md", repo.task().replace("[ ]", "[x]"));
        repo.commit("ralph(demo): [greets] done");
        let ran = repo.ralph(&["verify", "demo", "--base", "main", "--sandbox=off"]);
        is_refused("verify", leads.0, &ran);
    }
}

/// A script of `.venv/bin` that no check starts is in every virtual environment.
#[test]
fn what_no_check_starts_leads_nowhere() {
    let path = ".venv/bin/pip";
    let repo = repo("protect: []", (path, "#!ROOT/.venv/bin/python\n", "test -f app.txt\n"));
    let ran = repo.run(IDLE, &["--sandbox=off", "--max-iterations", "1"]);
    assert_eq!(ran.code, Some(3), "{} {}", ran.stdout, ran.stderr);
}
