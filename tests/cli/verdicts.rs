//! Honest verdicts: what an agent can claim or do, and what it comes to. Each story is
//! the whole of it: verdict and findings, exit code, boxes, attempts, proof, commits,
//! kept attempts, and what is left in the tree.
//!
//! What the guard would deny, the agent does here through `sh build.sh`, a script of the
//! repository that the task allows: no guard sees what is in it, so the verdict has to.

mod accepted;
mod checks;
mod claims;
mod formatting;
mod history;
mod proof;
mod records;
mod shared_work;
mod strays;
mod task_file;

use crate::repo::{Ran, Repo, story};

/// One criterion with a check, one without. `sh build.sh` is allowed.
const TASK: &str = "\
---
allow: [\"sh build.sh\"]
---
# Demo

- [ ] out.txt says hello
  - verify: `grep -qx hello out.txt`
- [ ] notes exist
";

/// What an honest agent does for the first criterion.
const HONEST: &str = r#"
turns:
- match: out.txt says hello
  steps:
  - write: {path: out.txt, text: "hello\n"}
  - tick: "{criterion}"
  - progress: "{criterion}: written"
  - commit: say hello
"#;

/// One iteration with this script, without a sandbox: only the verdict is against it.
fn once(repo: &Repo, script: &str) -> (Ran, String) {
    let ran = repo.run(script, &["--max-iterations", "1", "--sandbox=off"]);
    let story = story(repo, &ran);
    (ran, story)
}

/// An agent that runs `sh build.sh` and then says that it is done.
const BUILDS: &str = "turns: [{steps: [{run: sh build.sh}, {say: Done!}]}]";

/// One iteration in which the agent runs this through `sh build.sh`.
fn builds(task: &str, build: &str) -> (Repo, Ran, String) {
    let repo = Repo::with(task, &[("build.sh", &format!("set -e\n{build}"))]);
    let (ran, story) = once(&repo, BUILDS);
    (repo, ran, story)
}

/// Shell words that do honest work on the first criterion and commit it.
const WORK: &str = "
echo hello > out.txt
sed -i.bak 's/\\[ \\] out/[x] out/' tasks/demo/TASK.md && rm tasks/demo/TASK.md.bak
echo \"- $(date +%F) said hello\" >> tasks/demo/progress.md
git add out.txt tasks
git commit -qm 'ralph(demo): say hello'
";
