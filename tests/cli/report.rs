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
        let waits =
            ["held", "stuck", "blocked", "skipped"].iter().any(|word| said.starts_with(word));
        assert!(said == "open" || line_of(&text).ends_with(&said), "{said}: {text}");
        assert_eq!(line_of(&check).ends_with(&said), waits, "{said}: {check}");
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
    assert!(text.contains("\nNext\n  continue where it stopped: "), "{text}");
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
