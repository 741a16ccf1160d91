//! `report`: a run the morning after, for people, pull requests, and browsers.

use pulldown_cmark::{Event as MdEvent, Tag, TagEnd};

use crate::repo::{Ran, Repo, finish};
use crate::runs::{HONEST, THREE};

/// A task with a criterion that tries to be markup.
const HOSTILE: &str = "\
# Hostile

- [ ] <script>alert(1)</script> ![x](http://example.org/x.png) @octocat
  - verify: `test -e never || { echo '::error file=a::hi'; echo '<img src=x onerror=y>'; echo '~~~'; echo '````'; false; }`
- [ ] a is there
  - verify: `test -e a.txt`
";

const AGENT: &str = r#"
turns:
- match: a is there
  steps: [{write: {path: a.txt, text: a}}, {tick: "{criterion}"}, {commit: "Closes #1 @octocat <b>"}]
- match: octocat
  on_reject: continue
  steps: [{run: "git push origin main"}, {write: {path: n.txt, text: n}}, {tick: "{criterion}"}, {commit: n}]
"#;

fn report(repo: &Repo, words: &[&str]) -> Ran {
    let ran = repo.ralph(&[&["report"][..], words].concat());
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    ran
}

#[test]
fn a_report_says_what_became_of_each_criterion_and_what_is_new() {
    let repo = Repo::new(THREE);
    let first = repo.run(HONEST, &["--max-iterations", "1", "--sandbox=off"]);
    assert_eq!(first.code, Some(3), "{}", first.stderr);
    let night = report(&repo, &["demo", "--json"]).json();
    assert_eq!((&night["exit_code"], &night["changes"]), (&3.into(), &serde_json::Value::Null));
    let standings: Vec<&str> = night["criteria"]
        .as_array()
        .expect("criteria")
        .iter()
        .map(|it| it["standing"].as_str().expect("a word"))
        .collect();
    assert_eq!(standings, ["open", "open", "proven"]);

    let second = repo.run(HONEST, &["--sandbox=off"]);
    assert_eq!(second.code, Some(0), "{}", second.stderr);
    let night = report(&repo, &["--json"]).json();
    let changes = &night["changes"];
    assert_eq!(changes["newly_done"], serde_json::json!(["b is there", "c is there"]));
    assert_eq!((&changes["red_again"], &changes["ended"]), (&serde_json::json!([]), &true.into()));
    assert_eq!(night["iterations"].as_array().map(Vec::len), Some(2));
    assert_eq!(night["iterations"][0]["result"]["pass"], "check");
    let text = report(&repo, &["demo"]).stdout;
    for part in [
        "demo: Done: every criterion is proven\n",
        "Since the last run\n  newly done: b is there\n  newly done: c is there\n",
        "    3  [x] a is there  proven by its check\n",
        "Not checked\n  No sandbox confined the agent's commands",
    ] {
        assert!(text.contains(part), "{part:?} in {text}");
    }
    // A run by its name, and one that did nothing: it does not hide the one before.
    let named = night["changes"]["since"].as_str().expect("a run");
    assert!(report(&repo, &[named]).stdout.contains("Stopped: iteration limit reached"));
    let third = repo.run(HONEST, &["--sandbox=off"]);
    assert_eq!(third.code, Some(0), "{}", third.stderr);
    let third = third.events()[0].run.clone();
    let named = report(&repo, &[third.as_str()]).stdout;
    assert!(named.contains("  nothing has changed\n"), "{named}");
    let later = format!("a later run, {}, did nothing: Done: every", third.as_str());
    for told in [report(&repo, &[]).stdout, repo.ralph(&["status"]).stdout] {
        assert!(told.contains(&later) && told.contains("; 2 iterations, "), "{told}");
    }
}

/// The words of the three commands for each criterion, by its line.
fn words(repo: &Repo) -> [Vec<(u64, String)>; 2] {
    let of = |value: &serde_json::Value| {
        let mut all: Vec<_> = value["criteria"]
            .as_array()
            .expect("criteria")
            .iter()
            .map(|it| (it["line"].as_u64().expect("a line"), it["said"].as_str().expect("a word")))
            .map(|(line, said)| (line, said.to_owned()))
            .collect();
        all.sort();
        all
    };
    let status = repo.ralph(&["status", "demo", "--json"]).json();
    let (text, check) =
        (repo.ralph(&["status", "demo"]).stdout, repo.ralph(&["check", "demo"]).stdout);
    for (line, said) in of(&status["report"]) {
        let is_it = |found: &&str| found.trim_start().starts_with(&format!("{line}  ["));
        let line_of = |text: &str| text.lines().find(is_it).unwrap_or_default().to_owned();
        for text in [&text, &check] {
            let said = said.strip_prefix("open").unwrap_or(&said);
            assert!(line_of(text).ends_with(said), "{said}: {text}");
        }
    }
    [of(&status["report"]), of(&report(repo, &["demo", "--json"]).json())]
}

#[test]
fn status_report_and_check_say_the_same_of_each_criterion() {
    let repo = Repo::new(
        "# Demo\n\n- [ ] a is there\n  - verify: `test -e a.txt`\n- [ ] b is there\n  - verify: \
         `test -e b.txt`\n  - id: b\n- [ ] c is there\n  - after: b\n",
    );
    let script = HONEST.replace("{write: {path: b.txt, text: b}}, ", "");
    let flags = ["--sandbox=off", "--stuck-threshold", "1", "--on-stuck", "skip"];
    assert_eq!(repo.run(&script, &flags).code, Some(4));
    let all = |repo: &Repo, wanted: &[&str]| {
        let [status, report] = words(repo);
        assert_eq!(status, report);
        let said: Vec<&str> = status.iter().map(|(_, said)| said.as_str()).collect();
        assert_eq!(said, wanted);
    };
    let skipped = "skipped: `b is there` before it is stuck";
    all(&repo, &["proven by its check", "stuck after 1 attempt", skipped]);
    // What a human does later counts for all of them, and for the run that nothing hides.
    assert_eq!(repo.ralph(&["retry", "demo"]).code, Some(0));
    assert_eq!(repo.run(&script, &["--sandbox=off", "--max-premium-requests=0"]).code, Some(3));
    all(&repo, &["proven by its check", "open", "open"]);
    assert_eq!(repo.ralph(&["tick", "demo", "5"]).code, Some(0));
    all(&repo, &["proven by its check", "ticked but not proven", "open"]);
    let text = repo.ralph(&["status", "demo"]).stdout;
    assert!(text.contains(" did nothing: Stopped: premium request limit reached"), "{text}");
    assert!(text.contains("\nNext\n  prove what is ticked: "), "{text}");
}

#[test]
fn a_stuck_criterion_keeps_its_reason_when_a_later_run_works_on_others() {
    let repo = Repo::new(THREE);
    let script = HONEST.replace("{write: {path: b.txt, text: b}}, ", "");
    let flags = ["--sandbox=off", "--stuck-threshold", "1", "--on-stuck", "skip"];
    let first = repo.run(&script, &[&flags[..], &["--max-iterations", "2"]].concat());
    assert_eq!(first.code, Some(3), "{}", first.stderr);
    let next = repo.ralph(&["status", "demo"]).stdout;
    assert!(next.contains(" once their cause is gone: ralph-copilot retry demo\n"), "{next}");
    assert_eq!(repo.run(&script, &flags).code, Some(4));
    for command in ["status", "report", "check"] {
        let text = repo.ralph(&[command, "demo"]).stdout;
        let said = "stuck after 1 attempt\n             `test -e b.txt` ended with exit code 1.\n";
        assert!(text.contains(said), "{command}: {text}");
    }
    let text = report(&repo, &["demo"]).stdout;
    let (_, time) = text.split_once("\nTimeline\n").expect("a timeline");
    let line = time.lines().next().expect("a line");
    assert!(line.contains("  iteration 3  ") && line.ends_with("  pass     c is there"), "{line}");
}

/// What a denial kept from being done is why it is stuck, and not that its box is open.
#[test]
fn a_morning_keeps_the_strongest_reason_the_branch_s_work_and_the_flags_of_its_run() {
    let repo = Repo::new(THREE);
    let script = HONEST.replace(
        "match: b is there\n  steps: [",
        "match: b is there\n  on_reject: continue\n  steps: [{run: git push o x}, {say: no}]\n  #",
    );
    let flags = ["--sandbox=off", "--stuck-threshold", "1", "--on-stuck=skip"];
    let branch = ["--branch", "ralph/demo", "--max-iterations", "2"];
    let first = repo.run(&script, &[&flags[..], &branch].concat());
    assert_eq!(first.code, Some(3), "{}", first.stderr);
    let next = repo.ralph(&["status", "demo"]).stdout;
    let (_, next) = next.split_once("\n  continue where it stopped: ").expect("a next step");
    let line = next.lines().next().expect("a line");
    let words = shlex::split(line).expect("a command line");
    let after = |flag: &str| words.iter().position(|it| it == flag).map(|at| words[at + 1].clone());
    assert!(after("--agent").is_some_and(|agent| agent.contains(" agent ")), "{line}");
    assert_eq!(after("--on-stuck").as_deref(), Some("skip"), "{line}");
    assert!(line.contains("--sandbox=off") && !line.contains("--json"), "{line}");
    // A later run that proves nothing: c stays open, too.
    let later = repo.run("turns: []", &flags);
    assert_eq!(later.code, Some(4), "{}", later.stderr);
    for command in ["status", "report", "check"] {
        let text = repo.ralph(&[command, "demo"]).stdout;
        let said =
            "stuck after 1 attempt\n             The guard denied 1 call: Denied (git.push): ";
        assert!(text.contains(said), "{command}: {text}");
        let (_, next) = text.split_once("\nNext\n").expect("next steps");
        let step = "  then run: ralph-copilot retry demo && ralph-copilot run demo --";
        assert!(next.contains(step), "{command}: {text}");
    }
    let pr = repo.ralph(&["pr", "demo"]);
    assert_eq!(pr.code, Some(0), "{}", pr.stderr);
    assert!(pr.stderr.contains("there is no remote yet: git remote add "), "{}", pr.stderr);
    let notes = report(&repo, &["demo"]).stdout;
    assert!(!notes.contains("running every check again"), "{notes}");
    // What a human does afterwards counts.
    let retry = repo.ralph(&["retry", "demo"]).stdout;
    assert!(retry.contains("\nNext: work on what is open: ralph-copilot run demo --"), "{retry}");
    let text = repo.ralph(&["status", "demo"]).stdout;
    assert!(
        text.starts_with("demo: Stuck: ") && text.contains(" Changed since: 1 proven, 2 open\n"),
        "{text}"
    );
    assert!(text.contains("\nNext\n  work on what is open: ralph-copilot run demo --"), "{text}");
    assert!(!text.contains("fix the criterion"), "{text}");
}

#[test]
fn nothing_in_a_report_is_live() {
    let repo = Repo::new(HOSTILE);
    let flags = ["--stuck-threshold", "1", "--on-stuck", "skip", "--sandbox=off"];
    let ran = repo.run(AGENT, &flags);
    assert_eq!(ran.code, Some(4), "{}{}", ran.stdout, ran.stderr);
    let summary = repo.beside("summary.md");
    let mut command = repo.command(&["report", "--md"]);
    command.env("GITHUB_STEP_SUMMARY", &summary);
    let md = finish(command);
    assert_eq!(md.code, Some(0), "{}", md.stderr);
    assert_eq!(std::fs::read_to_string(summary).expect("a summary").trim(), md.stdout.trim());
    let md = md.stdout;
    assert!(!md.contains("::error"), "{md}");
    let mut block = 0;
    for event in pulldown_cmark::Parser::new_ext(&md, pulldown_cmark::Options::all()) {
        match event {
            MdEvent::Html(_) | MdEvent::InlineHtml(_) => panic!("{event:?} in {md}"),
            MdEvent::Start(Tag::Image { .. } | Tag::Link { .. }) => panic!("{event:?} in {md}"),
            MdEvent::Text(text) if block == 0 => {
                let live = ["@octocat", "Closes", "<b>"].iter().find(|live| text.contains(**live));
                assert_eq!(live, None, "{text} in {md}");
            }
            MdEvent::Start(Tag::CodeBlock(_)) => block += 1,
            MdEvent::End(TagEnd::CodeBlock) => block -= 1,
            _ => {}
        }
    }
    for part in ["**stuck** `<script>", "Closes #1 @octocat <b>`", " × `git.push`"] {
        assert!(md.contains(part), "{part} in {md}");
    }
    let page = repo.beside("night.html");
    report(&repo, &["demo", "--html", page.to_str().expect("UTF-8")]);
    let html = std::fs::read_to_string(page).expect("a page");
    for part in [
        "default-src 'none'",
        "&lt;script&gt;alert(1)&lt;/script&gt;",
        "&lt;img src=x onerror=y&gt;",
        "<rect class=\"fail\"",
    ] {
        assert!(html.contains(part), "{part} in {html}");
    }
    assert!(!html.contains("<script") && !html.contains("<img") && !html.contains("<b>"), "{html}");
    assert!(html.find("stuck</span>") < html.find("proven</span>"), "what waits comes first");
}

#[test]
fn a_report_without_a_run_says_so() {
    let repo = Repo::new(THREE);
    let ran = repo.ralph(&["report", "--json"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stdout);
    assert!(ran.json()["error"]["reason"].as_str().is_some_and(|why| why.contains("no runs")));
}

#[test]
fn a_command_of_the_users_learns_how_a_run_ended_and_changes_nothing() {
    let repo = Repo::new(THREE);
    let to = repo.beside("told");
    let command = format!(
        "cat > {0}.json; cp $RALPH_COPILOT_REPORT {0}.md; \
         echo $RALPH_COPILOT_OUTCOME $RALPH_COPILOT_EXIT_CODE $RALPH_COPILOT_TASK > {0}; echo out; exit 9",
        to.display()
    );
    let flags = ["--sandbox=off", "--max-iterations", "1", "--on-end", &command];
    let ran = repo.run(HONEST, &flags);
    assert_eq!(ran.code, Some(3), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("note: --on-end: it ended with exit status: 9"), "{}", ran.stderr);
    assert!(!ran.stdout.lines().any(|line| line == "out"), "{}", ran.stdout);
    let told = std::fs::read_to_string(&to).expect("told");
    assert_eq!(told, "limit 3 demo\n");
    let json = std::fs::read_to_string(to.with_extension("json")).expect("JSON");
    let night: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!((&night["exit_code"], &night["status"]), (&3.into(), &"ended".into()));
    let md = std::fs::read_to_string(to.with_extension("md")).expect("Markdown");
    assert!(md.starts_with("# `demo`\n"), "{md}");
    assert_eq!(repo.status(), "");

    repo.write(".ralph/config.toml", "on_end = \"touch pwned\"\n");
    let refused = repo.run(HONEST, &["--sandbox=off"]);
    assert_eq!(refused.code, Some(7), "{}", refused.stdout);
    assert!(refused.stderr.contains("cannot have `on_end`"), "{}", refused.stderr);
}

/// Whoever clones a repository has its configuration, too.
#[test]
fn a_repository_does_not_loosen_what_confines_an_agent() {
    let repo = Repo::new(THREE);
    for (line, what, flag) in [
        ("agent = \"sh agent.sh\"", "an `agent` that is not known", "--agent"),
        ("agent = \"codex-acp -c sandbox_mode=x\"", "an `agent` that is not known", "--agent"),
        ("sandbox = \"off\"", "this `sandbox`", "--sandbox"),
        ("sandbox = \"partial\"", "this `sandbox`", "--sandbox"),
        ("unasked = \"allow\"", "`unasked = \"allow\"`", "--unasked"),
        ("sign = true", "`sign = true`", "--sign"),
    ] {
        repo.write(".ralph/config.toml", line);
        let refused = repo.ralph(&["check", "demo"]);
        assert_eq!(refused.code, Some(7), "{line}: {}", refused.stdout);
        let told = format!("a repository's configuration cannot have {what}");
        assert!(refused.stderr.contains(&told), "{line}: {}", refused.stderr);
        assert!(refused.stderr.contains(&format!("or use {flag}")), "{}", refused.stderr);
    }
    let stricter =
        "agent = \"gemini --acp\"\nsandbox = \"required\"\nunasked = \"stop\"\nsign = false\n";
    repo.write(".ralph/config.toml", stricter);
    assert_eq!(repo.ralph(&["check", "demo"]).code, Some(0));
}

#[test]
fn the_numbers_over_all_runs_and_what_they_foretell() {
    let repo = Repo::new(THREE);
    let script = HONEST.replacen("{write: {path: b.txt, text: b}}, ", "", 1);
    let dry =
        || finish(repo.run_command(HONEST, &["--dry-run", "--json"])).json()["forecast"].clone();
    assert!(dry().is_null());
    let flags = ["--sandbox=off", "--stuck-threshold", "1", "--on-stuck", "skip"];
    assert_eq!(repo.run(&script, &flags).code, Some(4));
    assert_eq!(repo.ralph(&["retry", "demo"]).code, Some(0));
    assert_eq!(repo.run(HONEST, &["--sandbox=off"]).code, Some(0));
    let stats = repo.ralph(&["stats", "demo", "--json"]).json()["tasks"][0]["stats"].clone();
    for (name, value) in
        [("runs", 2), ("iterations", 4), ("criteria", 3), ("passed", 3), ("passed_at_first", 2)]
    {
        assert_eq!(stats[name], value, "{name}: {stats}");
    }
    assert_eq!(stats["attempts"], serde_json::json!([1, 1, 2]), "{stats}");
    assert_eq!(stats["failures"][0][1], 1, "{stats}");
    assert!(stats["millicredits"].is_null(), "nothing is reported: {stats}");
    let text = repo.ralph(&["stats"]).stdout;
    let said =
        "demo: 2 runs, 4 iterations\n3 of 3 criteria passed, 2 of them at the first attempt\n";
    assert!(text.starts_with(said) && text.contains("\n  1 of 1: "), "{text}");
    assert_eq!(repo.ralph(&["tick", "demo", "5", "--off"]).code, Some(0));
    repo.commit("Again");
    let foretold = dry();
    let said = foretold.as_str().unwrap_or_default();
    assert!(said.starts_with("1 open criterion: by the 3 that passed so far "), "{foretold}");
}

#[test]
fn a_pull_request_gets_the_report_as_its_text() {
    let repo = Repo::new(THREE);
    let none = repo.run("turns: []", &["--sandbox=off", "--max-iterations", "1"]);
    assert_eq!(none.code, Some(3), "{}", none.stderr);
    let refused = repo.ralph(&["pr", "demo"]);
    assert_eq!(refused.code, Some(7), "{}", refused.stdout);
    assert!(refused.stderr.contains("left no work that passed"), "{}", refused.stderr);
    let ran = repo.run(HONEST, &["--sandbox=off", "--branch", "ralph/demo"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("hand the branch over: ralph-copilot pr demo"), "{}", ran.stdout);
    let told = repo.ralph(&["pr", "demo"]);
    assert_eq!(told.code, Some(0), "{}", told.stderr);
    let line = shlex::split(told.stdout.trim()).expect("a command line");
    let after = |flag: &str| {
        let at = line.iter().position(|word| word == flag).expect("the flag");
        line[at + 1].clone()
    };
    assert_eq!(line[..3], ["gh", "pr", "create"]);
    assert_eq!(after("--title"), "demo: 3 criteria: 3 proven");
    assert_eq!(after("--head"), repo.git(&["branch", "--show-current"]).trim());
    let body = repo.read(&after("--body-file"));
    assert!(body.starts_with("# `demo`\n") && body.contains("**proven** `a is there`"), "{body}");
    assert!(told.stderr.contains("git push -u origin "), "{}", told.stderr);
    assert_eq!(repo.status(), "", "the file is ignored");
}

#[test]
fn a_limit_of_credits_is_refused_where_none_are_reported() {
    let repo = Repo::new(THREE);
    let ran = repo.run(HONEST, &["--max-ai-credits", "40"]);
    assert_eq!(ran.code, Some(2), "{}{}", ran.stdout, ran.stderr);
    let said = [ran.stdout, ran.stderr].concat();
    assert!(said.contains("--max-ai-credits works only with the Copilot CLI"), "{said}");
    assert_eq!(repo.subjects(), [""; 0]);
}

#[test]
fn init_proposes_what_the_manifests_say_and_check_names_what_no_check_can_prove() {
    let files = [
        ("package.json", r#"{"scripts": {"test": "x"}}"#),
        ("package-lock.json", "{}"),
        ("tests/a.test.js", ""),
    ];
    let repo = Repo::with(THREE, &files);
    assert_eq!(repo.ralph(&["init", "fresh"]).code, Some(0));
    let task = repo.read("tasks/fresh/TASK.md");
    for line in ["# verify: npm test", "# setup: [npm ci]", "# protect: [\"tests/**\"]"] {
        assert!(task.contains(&format!("\n{line}\n")), "{line}: {task}");
    }
    let check = |task: &str| repo.ralph(&["check", task]);
    let fresh = check("fresh");
    assert!(fresh.stderr.contains("is still the template's"), "{}", fresh.stderr);
    // Uncommented, they are the task's settings.
    let task = task.replace("# verify: npm", "verify: npm").replace("# setup: [", "setup: [");
    let task = task.replace("# protect: [\"tests", "protect: [\"tests");
    let (front, _) = task.split_once("\n---\n").expect("front matter");
    repo.write("tasks/fresh/TASK.md", format!("{front}\n---\n# T\n\n- [ ] a\n"));
    let settings = repo.ralph(&["check", "fresh", "--json"]).json()["settings"].clone();
    assert_eq!(settings["setup"], serde_json::json!(["npm ci"]), "{settings}");
    assert_eq!(settings["protect"][0], "tests/**", "{settings}");
    let note = "no check can prove what stands on";
    assert!(!check("fresh").stdout.contains(note) && !check("demo").stdout.contains(note));
    repo.write("tasks/bare/TASK.md", "- [ ] a\n- [x] b\n- [ ] c\n");
    let bare = check("bare");
    assert_eq!(bare.code, Some(0), "{}", bare.stderr);
    assert!(bare.stdout.contains(&format!("note: {note} lines 1, 3: ")), "{}", bare.stdout);
}
