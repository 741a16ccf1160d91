//! The screen of a run on a real terminal, and `watch`.

use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use ralph_copilot::model::{Event, EventKind};
use regex::Regex;
use rustix::process::Signal;

use super::THREE;
use crate::picture;
use crate::repo::{Repo, collect, in_place_of, signal, until};

/// An agent that works honestly on the first criterion, and runs a long command for the second.
const LONG: &str = r#"
turns:
- match: a is there
  steps: [{write: {path: a.txt, text: a}}, {tick: "{criterion}"}, {progress: did a}, {commit: a}]
- match: b is there
  steps: [{run: sleep 1000}]
"#;

/// A program on a terminal of its own, by util-linux's `script`.
struct OnTerminal {
    child: Child,
    /// Everything that it wrote.
    written: Arc<Mutex<Vec<u8>>>,
    rows: u16,
    columns: u16,
}

impl OnTerminal {
    fn new(program: &Command, (rows, columns): (u16, u16)) -> Self {
        let words = std::iter::once(program.get_program()).chain(program.get_args());
        let words = words.map(|word| word.to_str().expect("UTF-8"));
        let words = shlex::try_join(words).expect("words");
        let line = format!("stty rows {rows} cols {columns}; exec {words}");
        let mut terminal = in_place_of(program, "script");
        terminal.args(["-q", "-e", "-c", &line, "/dev/null"]);
        terminal.env("TERM", "xterm").env("SHELL", "/bin/sh").env_remove("NO_COLOR");
        terminal.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = terminal.spawn().expect("script starts");
        let mut out = child.stdout.take().expect("its output");
        let written = Arc::<Mutex<Vec<u8>>>::default();
        let copy = Arc::clone(&written);
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = out.read(&mut bytes) {
                copy.lock().expect("bytes").extend_from_slice(&bytes[..count]);
            }
        });
        Self { child, written, rows, columns }
    }

    fn screen(&self) -> vt100::Parser {
        let mut parser = vt100::Parser::new(self.rows, self.columns, 0);
        parser.process(&self.written.lock().expect("bytes"));
        parser
    }

    fn contents(&self) -> String {
        self.screen().screen().contents()
    }

    /// Waits until the screen has this text.
    fn shows(&self, text: &str) -> String {
        until(text, || Some(self.contents()).filter(|it| it.contains(text)))
    }

    fn types(&mut self, keys: &[u8]) {
        self.child.stdin.as_mut().expect("a keyboard").write_all(keys).expect("typed");
    }

    /// Its exit code, and what is left on the screen.
    fn end(mut self) -> (Option<i32>, String) {
        let code = self.child.wait().expect("it ends").code();
        (code, self.contents())
    }
}

fn runs_long(event: &Event) -> bool {
    matches!(&event.kind, EventKind::ToolDecided { input, .. }
        if input["command"] == "sleep 1000")
}

fn journal_path(repo: &Repo) -> std::path::PathBuf {
    crate::run_folder(repo).expect("a run").join("events.jsonl")
}

/// A run of that agent, without a terminal, at its long command.
fn long_run(repo: &Repo) -> Child {
    let mut run = repo.run_command(LONG, &["--json"]);
    let run = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    until("the call", || crate::journal(repo).iter().any(runs_long).then_some(()));
    run
}

#[test]
fn watch_shows_a_run_of_elsewhere_and_ends_with_its_code() {
    let repo = Repo::new(THREE);
    let run = long_run(&repo);
    let watch = OnTerminal::new(&repo.command(&["watch", "demo", "--exit-status"]), (24, 90));
    let shown = watch.shows("running sleep 1000");
    assert!(shown.contains("✓ iteration 1: PASS \"a is there\""), "{shown}");
    assert!(shown.contains("demo · 1 of 3 done · "), "{shown}");
    assert!(shown.contains("1 of 20 iterations"), "{shown}");
    assert_eq!(shown.matches(" of 3 done").count(), 1, "one head line: {shown}");
    signal(run.id(), Signal::INT);
    assert_eq!(collect(run).code, Some(130));
    let (code, left) = watch.end();
    assert_eq!(code, Some(130), "{left}");
    assert!(left.contains("Interrupted (Ctrl-C)."), "{left}");
    assert!(!left.contains("running sleep") && !left.contains(" of 3 done"), "{left}");
    // What has ended is shown at once; without --exit-status nothing is wrong.
    let after = repo.ralph(&["watch"]);
    assert_eq!(after.code, Some(0), "{}", after.stderr);
    assert!(after.stdout.contains("Interrupted (Ctrl-C)."), "{}", after.stdout);
}

#[test]
fn control_c_ends_watch_alone_and_leaves_nothing_stale() {
    let repo = Repo::new(THREE);
    let run = long_run(&repo);
    let before = std::fs::read(journal_path(&repo)).expect("a journal");
    let mut watch = OnTerminal::new(&repo.command(&["watch"]), (24, 90));
    watch.shows("running sleep 1000");
    watch.types(b"\x03");
    let (code, left) = watch.end();
    assert_eq!(code, Some(130), "{left}");
    assert!(!left.contains("running sleep") && !left.contains(" of 3 done"), "{left}");
    let after = std::fs::read(journal_path(&repo)).expect("a journal");
    assert!(after.starts_with(&before), "the run goes on, and nothing of it was changed");
    signal(run.id(), Signal::INT);
    assert_eq!(collect(run).code, Some(130));
}

#[test]
fn a_run_that_was_killed_is_gone_for_watch_too() {
    let repo = Repo::new(THREE);
    let mut run = long_run(&repo);
    run.kill().expect("killed");
    run.wait().expect("reaped");
    let watch = repo.ralph(&["watch", "--exit-status"]);
    assert_eq!(watch.code, Some(1), "{}", watch.stdout);
    assert!(watch.stderr.contains("is gone without an outcome"), "{}", watch.stderr);
}

#[test]
fn the_first_control_c_says_what_a_second_one_does() {
    let repo = Repo::new(THREE);
    let mut run = OnTerminal::new(&repo.run_command(LONG, &[]), (30, 90));
    run.shows("running sleep 1000");
    run.types(b"\x03");
    let written = Arc::clone(&run.written);
    let (code, left) = run.end();
    assert_eq!(code, Some(130), "{left}");
    let words = left.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(words.matches("Ctrl-C again kills everything at once").count(), 1, "{left}");
    assert!(!left.contains("running sleep") && !left.contains(" of 3 done"), "{left}");
    let written = String::from_utf8_lossy(&written.lock().expect("bytes")).into_owned();
    assert!(written.contains("\x1b]0;ralph: demo 1/3\x07"), "the title: {written:?}");
    assert!(written.contains("\x1b]9;4;1;33\x07"), "the progress: {written:?}");
    assert!(written.contains("\x1b]9;4;0\x07\x1b[23;0t"), "both go again: {written:?}");
}

#[test]
fn a_run_without_a_terminal_has_no_control_sequence() {
    let repo = Repo::new(THREE);
    let ran = crate::repo::finish(repo.run_command(super::HONEST, &["-v"]));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(!ran.stdout.contains('\x1b') && !ran.stdout.contains('\r'), "{}", ran.stdout);
    assert!(ran.stdout.contains("  execute `git"), "each call: {}", ran.stdout);
    let quiet = crate::repo::finish(Repo::new(THREE).run_command(super::HONEST, &["-q"]));
    assert!(!quiet.stdout.contains("note:") && !quiet.stdout.contains("Baseline"));
    assert_eq!(quiet.stdout.matches(": PASS ").count(), 3, "{}", quiet.stdout);
    assert!(quiet.stdout.contains("Done: every criterion is proven."), "{}", quiet.stdout);
}

/// A program that comes before all others of its name.
fn with_program(repo: &Repo, text: &str, args: &[&str]) -> Command {
    use std::os::unix::fs::PermissionsExt as _;
    let name = if cfg!(target_os = "macos") { "caffeinate" } else { "systemd-inhibit" };
    let folder = repo.beside("bin");
    std::fs::create_dir_all(&folder).expect("a folder");
    let program = folder.join(name);
    std::fs::write(&program, text).expect("a program");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("its mode");
    let mut run = repo.run_command(super::HONEST, args);
    let path = std::env::var("PATH").expect("a path");
    run.env("PATH", format!("{}:{path}", folder.display()));
    run
}

#[test]
fn the_machine_stays_awake_as_long_as_the_run_and_no_longer() {
    let repo = Repo::new(THREE);
    let log = repo.beside("awake.log");
    let text = format!(
        "#!/bin/sh\nwhile [ \"$1\" != sh ]; do shift; done\necho began >> '{0}'\n\"$@\"\necho ended >> '{0}'\n",
        log.display()
    );
    let mut run = with_program(&repo, &text, &["--keep-awake"]);
    run.stdout(Stdio::piped()).stderr(Stdio::piped());
    let run = run.spawn().expect("it starts");
    until("the inhibitor", || std::fs::read_to_string(&log).ok());
    let ran = collect(run);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(!ran.stdout.contains("keep-awake"), "{}", ran.stdout);
    let processes = Command::new("ps").args(["-Ao", "args"]).output().expect("ps").stdout;
    let processes = String::from_utf8_lossy(&processes).into_owned();
    let folder = repo.beside("bin").display().to_string();
    assert!(!processes.contains(&folder), "{processes}");
}

#[test]
fn a_machine_that_cannot_be_kept_awake_is_one_line_and_no_reason_to_stop() {
    let repo = Repo::new(THREE);
    let text = "#!/bin/sh\necho 'Failed to inhibit: Access denied' >&2\nexit 1\n";
    let ran = crate::repo::finish(with_program(&repo, text, &["--keep-awake"]));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let said: Vec<&str> = ran.stdout.lines().filter(|it| it.contains("keep-awake")).collect();
    assert_eq!(said.len(), 1, "{}", ran.stdout);
    assert!(said[0].contains("may go to sleep") && said[0].contains("Access denied"), "{said:?}");
}

/// The agent of the picture.
const PICTURED: &str = r#"
turns:
- match: 503
  steps: [{write: {path: retry.txt, text: r}}, {tick: "{criterion}"}, {progress: r}, {commit: r}]
- match: README
  times: 1
  steps: [{write: {path: n.txt, text: n}}, {tick: "{criterion}"}, {progress: n}, {commit: n}]
- match: README
  times: 1
  steps: [{run: git push origin main}]
- match: README
  steps: [{write: {path: readme.txt, text: r}}, {tick: "{criterion}"}, {progress: r}, {commit: r}]
- match: timeout
  steps: [{run: sh tests.sh}]
"#;

const PICTURED_TASK: &str = "\
# Retries

- [ ] The client retries three times on 503
  - verify: `sh check.sh retry`
- [ ] The README mentions the retries
  - verify: `sh check.sh readme`
- [ ] The timeout can be configured
  - verify: `sh check.sh timeout`
";

/// The picture in the README is what a run draws, but for its times. `docs/picture` draws it.
#[test]
fn the_picture_of_the_readme_is_what_a_run_shows() {
    let repo = Repo::new(PICTURED_TASK);
    repo.write("check.sh", "test -e \"$1.txt\"\n");
    repo.write("tests.sh", "sleep 1000\n");
    repo.commit("checks");
    let mut run = OnTerminal::new(&repo.run_command(PICTURED, &[]), (10, 100));
    run.shows("running sh tests.sh");
    let screen = run.screen();
    run.types(b"\x03");
    let drawn = picture::svg(screen.screen(), "ralph-copilot");
    let (code, left) = run.end();
    assert_eq!(code, Some(130), "{left}");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/screen.svg");
    if std::env::var_os("RALPH_UPDATE_PICTURE").is_some() {
        std::fs::write(path, &drawn).expect("written");
    }
    // A time of another length may break a line elsewhere.
    let rows = Regex::new(r"\s*</text>\s*<text [^>]*>\s*|\s+").expect("a pattern");
    let times = Regex::new(r"\b([0-9]+ min )?[0-9]+(\.[0-9]+)? s\b").expect("a pattern");
    let timeless = |svg: &str| times.replace_all(&rows.replace_all(svg, " "), "N s").into_owned();
    let known = std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(timeless(&known), timeless(&drawn), "docs/picture draws docs/screen.svg again");
}

#[test]
fn verify_shows_the_check_that_runs_and_leaves_no_trace_of_it() {
    let repo = Repo::new("- [ ] a is there\n  - verify: `sleep 1; test -f a.txt`\n");
    repo.git(&["switch", "--quiet", "--create", "work"]);
    let ran = repo.run(LONG, &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let verify = repo.command(&["verify", "demo", "--base", "main"]);
    let terminal = OnTerminal::new(&verify, (24, 90));
    let shown = terminal.shows("run 1: sleep 1; test -f a.txt");
    assert_eq!(shown.lines().count(), 1, "{shown}");
    let (code, left) = terminal.end();
    assert_eq!(code, Some(0), "{left}");
    assert!(!left.contains("run 1:") && left.contains("a is there"), "{left}");
}
