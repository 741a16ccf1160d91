//! Checks README.md and docs/: links, tables, commands, settings, line length, the transcript.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_exit_codes_are_those_of_the_code() {
    let path = root().join("docs/exit-codes.md");
    let made = ralph_copilot::cli::document();
    if std::env::var_os("RALPH_BLESS").is_some() {
        fs::write(&path, &made).expect("written");
    }
    let stands = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(stands, made, "RALPH_BLESS=1 cargo test --test docs writes it");
}

/// README.md and everything in docs/.
fn documents() -> Vec<PathBuf> {
    let mut found = vec![root().join("README.md")];
    for entry in fs::read_dir(root().join("docs")).expect("docs") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
    found.retain(|path| path.is_file());
    found.sort();
    found
}

/// Targets of `[text](target)` outside of code.
fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            code = !code;
        }
        // Every second piece between backticks is code.
        let prose: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
        if code {
            continue;
        }
        for (at, _) in prose.match_indices("](") {
            let target = prose[at + 2..].split(')').next().unwrap_or_default();
            found.push(target.to_owned());
        }
    }
    found
}

/// The anchor of a heading, as GitHub's renderer makes it.
fn anchor(heading: &str) -> String {
    let kept = heading.trim_start_matches('#').trim().to_lowercase();
    kept.chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

#[test]
fn every_relative_link_leads_somewhere() {
    let mut broken = Vec::new();
    for document in documents() {
        let text = fs::read_to_string(&document).expect("a document");
        for link in links(&text) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (file, heading) = match link.split_once('#') {
                Some((file, heading)) => (file, Some(heading)),
                None => (link.as_str(), None),
            };
            let folder = document.parent().expect("a folder");
            let target = if file.is_empty() { document.clone() } else { folder.join(file) };
            let leads = target.exists()
                && heading.is_none_or(|heading| {
                    let text = fs::read_to_string(&target).unwrap_or_default();
                    text.lines()
                        .filter(|line| line.starts_with('#'))
                        .any(|line| anchor(line) == heading)
                });
            if !leads {
                broken.push(format!("{}: {link}", document.display()));
            }
        }
    }
    assert_eq!(broken, Vec::<String>::new());
}

/// A bar inside a cell is written `\|`, even in code, because it would end the cell.
#[test]
fn every_row_of_a_table_has_the_cells_of_its_head() {
    let mut broken = Vec::new();
    for document in documents() {
        let text = fs::read_to_string(&document).expect("a document");
        let mut head = None;
        for line in text.lines() {
            let bars = line.replace("\\|", "").matches('|').count();
            let table = line.starts_with('|');
            if table && *head.get_or_insert(bars) != bars {
                broken.push(format!("{}: {line}", document.display()));
            }
            head = head.filter(|_| table);
        }
    }
    assert_eq!(broken, Vec::<String>::new());
}

/// Tables, code, and lines without a space may be wider.
#[test]
fn prose_is_wrapped_at_100_columns() {
    let mut long = Vec::new();
    for document in documents() {
        let text = fs::read_to_string(&document).expect("a document");
        let mut code = false;
        for (number, line) in text.lines().enumerate() {
            let fence = line.trim_start().starts_with("```");
            code ^= fence;
            let exempt = code || fence || line.starts_with('|') || !line.trim().contains(' ');
            if !exempt && line.chars().count() > 100 {
                long.push(format!("{}:{}", document.display(), number + 1));
            }
        }
    }
    assert_eq!(long, Vec::<String>::new());
}

/// The transcript in the README is the demo's output: without times, the starts of
/// iterations, the checks that passed, and the ends of long lines. `RALPH_BLESS=1` writes it.
#[test]
fn the_readme_shows_the_output_of_the_demo() {
    const WIDTH: usize = 96;
    let snapshot = include_str!("cli/commands/snapshots/cli__commands__write__demo.snap");
    let (_, run) = snapshot.split_once("[clock] iteration 1:").expect("the first iteration");
    let (run, _) = run.split_once("\nNext:").expect("the end of the run");
    let lines = run
        .lines()
        .skip(1)
        .filter(|line| !line.contains("` passed") && !line.contains(", attempt "))
        .map(|line| line.replace("[clock] ", "").replace(", [span]", "").replace(" [span],", ""))
        .map(|line| match line.char_indices().nth(WIDTH) {
            Some((end, _)) => format!("{}…\n", line[..end].trim_end()),
            None => format!("{line}\n"),
        })
        .collect::<String>();
    let path = root().join("README.md");
    let readme = fs::read_to_string(&path).expect("README");
    let (before, rest) = readme.split_once("<!-- demo -->\n").expect("its beginning");
    let (_, after) = rest.split_once("<!-- end -->\n").expect("its end");
    let blessed = format!("{before}<!-- demo -->\n```text\n{lines}```\n<!-- end -->\n{after}");
    if std::env::var_os("RALPH_BLESS").is_some() {
        fs::write(&path, &blessed).expect("written");
    } else {
        assert_eq!(readme, blessed, "RALPH_BLESS=1 cargo test --test docs writes it");
    }
}

#[test]
fn links_are_found_in_prose_and_not_in_code() {
    let text = "a [b](c.md) and `[d](e.md)` [f](#g-h)\n```\n[i](j.md)\n```\n";
    assert_eq!(links(text), ["c.md", "#g-h"]);
    assert_eq!(anchor("## Exit codes of `run`, all"), "exit-codes-of-run-all");
}

/// The commands and flags in the README and in docs/overnight.md exist.
#[test]
fn the_documented_commands_and_flags_exist() {
    let help = |args: &[&str]| {
        let program = env!("CARGO_BIN_EXE_ralph-copilot");
        let output = std::process::Command::new(program).args(args).output().expect("started");
        assert!(output.status.success(), "{args:?}");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let commands = help(&["--help"]);
    let flags = ["run", "doctor", "tick", "policy check", "report", "init"]
        .map(|command| help(&command.split(' ').chain(["--help"]).collect::<Vec<_>>()))
        .join("\n");
    let read = |page: &str| fs::read_to_string(root().join(page)).expect(page);
    let readme = read("README.md");
    let pages = readme.clone() + &read("docs/overnight.md");
    let typed: Vec<&str> = pages.lines().filter(|line| line.contains("ralph-copilot ")).collect();
    assert!(typed.len() > 20, "{typed:?}");
    for line in typed {
        let words = line.split([' ', '`']).filter(|word| word.len() > 2 && word.starts_with("--"));
        for flag in words {
            let known = flags.contains(flag) || ["--release", "--help"].contains(&flag);
            assert!(known, "{flag} in {line:?}");
        }
    }
    let table = readme.lines().filter(|line| line.starts_with("| `")).collect::<String>();
    let listed = commands.split("Commands:\n").nth(1).and_then(|rest| rest.split("\n\n").next());
    // Continuation lines are indented further.
    let listed = listed.expect("commands").lines().filter_map(|line| line.strip_prefix("  "));
    let listed = listed.filter_map(|line| line.split(' ').next().filter(|word| !word.is_empty()));
    let listed: Vec<&str> = listed.filter(|command| *command != "help").collect();
    assert!(listed.len() > 15, "{listed:?}");
    for command in listed {
        let named = [" ", "`", "\\"].map(|end| format!("`{command}{end}"));
        assert!(
            named.iter().any(|it| table.contains(it)),
            "{command} is not in the README's table"
        );
        assert!(help(&[command, "--help"]).contains("Usage: "), "{command}");
    }
}

/// The table of settings in docs/configuration.md has exactly the keys of the configuration.
#[test]
fn every_setting_is_documented() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("config.toml");
    fs::write(&file, "\"???\" = 1\n").expect("written");
    let error = ralph_copilot::config::from_file(&file).expect_err("no such key").to_string();
    let (_, keys) = error.split_once("expected one of ").expect("the keys");
    let keys: Vec<&str> = keys.split('`').skip(1).step_by(2).collect();
    let page = fs::read_to_string(root().join("docs/configuration.md")).expect("the page");
    let (_, table) = page.split_once("| key | default | meaning |").expect("the table");
    let (table, _) = table.split_once("\n\n").expect("its end");
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let (mut told, mut keys) = (rows.collect::<Vec<_>>(), keys);
    told.sort_unstable();
    keys.sort_unstable();
    assert_eq!(told, keys);
}

/// The README links every page, and every page links another one.
#[test]
fn every_page_is_linked() {
    let pages = |links: Vec<String>| {
        let pages = links.into_iter().filter_map(|link| {
            let file = link.split('#').next()?.rsplit('/').next()?.to_owned();
            file.ends_with(".md").then_some(file)
        });
        pages.collect::<Vec<_>>()
    };
    let readme = fs::read_to_string(root().join("README.md")).expect("README");
    let linked = pages(links(&readme));
    for page in documents().into_iter().filter(|page| page.parent() != Some(root())) {
        let name = page.file_name().expect("a name").to_string_lossy().into_owned();
        assert!(linked.contains(&name), "README.md does not link {name}");
        let text = fs::read_to_string(&page).expect("a page");
        assert!(pages(links(&text)).iter().any(|it| *it != name), "{name} links no other page");
    }
}

#[test]
fn the_harness_table_is_the_one_that_is_used() {
    const ENDS: (&str, &str) = ("<!-- harness table -->\n", "<!-- end of the harness table -->");
    let path = root().join("docs/harness.md");
    let page = fs::read_to_string(&path).expect("a page");
    let (before, rest) = page.split_once(ENDS.0).expect("the table's begin");
    let (stands, after) = rest.split_once(ENDS.1).expect("its end");
    let made = format!("\n{}\n", ralph_copilot::verify::table_markdown());
    if std::env::var_os("RALPH_BLESS").is_some() {
        let page = [before, ENDS.0, &made, ENDS.1, after].concat();
        fs::write(&path, page).expect("written");
    }
    assert_eq!(stands, made, "RALPH_BLESS=1 cargo test --test docs writes it");
}

#[test]
fn the_table_of_agents_is_the_one_that_is_used() {
    const ENDS: (&str, &str) = ("<!-- agents -->\n", "<!-- end of the agents -->");
    let path = root().join("docs/agents.md");
    let page = fs::read_to_string(&path).expect("a page");
    let (before, rest) = page.split_once(ENDS.0).expect("the table's begin");
    let (stands, after) = rest.split_once(ENDS.1).expect("its end");
    let mut made =
        "\n| agent | tried | `--agent` | set in the agent | its folders in HOME | log in | \
                    does not tell |\n|---|---|---|---|---|---|---|\n"
            .to_owned();
    for known in ralph_copilot::agent::AGENTS.iter() {
        let tried = known.tried.map_or_else(
            || "not tried".to_owned(),
            |(registry, package, version)| format!("`{package}` {version} ({registry})"),
        );
        let place = |place: &str| {
            if place.starts_with('~') { format!("`{place}`") } else { place.to_owned() }
        };
        let set = known.set.map(|(what, at)| format!("`{what}` in {}", place(at)));
        let set = set.unwrap_or_default();
        let folders: Vec<_> = known.folders.iter().map(|folder| format!("`{folder}`")).collect();
        let moved = known.variable.map_or_else(String::new, |name| format!(", or `{name}`"));
        let (name, start, login, untold) = (known.name, known.start, known.login, known.untold);
        let folders = folders.join(", ");
        made.push_str(&format!(
            "| {name} | {tried} | `{start}` | {set} | {folders}{moved} | {login} | {untold} |\n"
        ));
    }
    made.push('\n');
    if std::env::var_os("RALPH_BLESS").is_some() {
        let page = [before, ENDS.0, &made, ENDS.1, after].concat();
        fs::write(&path, page).expect("written");
    }
    assert_eq!(stands, made, "RALPH_BLESS=1 cargo test --test docs writes it");
}

/// In a user's repository, `docs/` is another folder.
#[test]
fn a_hint_that_names_a_page_says_whose_it_is() {
    fn files(folder: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).expect("a folder").map(|it| it.expect("it").path());
        entries.flat_map(|it| if it.is_dir() { files(&it) } else { vec![it] }).collect()
    }
    let pages: Vec<_> =
        documents().iter().filter_map(|it| it.file_name()?.to_str().map(str::to_owned)).collect();
    let mut named = 0;
    let sources = files(&root().join("src"));
    for path in sources.iter().filter(|it| it.extension().is_some_and(|it| it == "rs")) {
        let text = fs::read_to_string(path).expect("text");
        for line in text.lines().filter(|it| !it.trim_start().starts_with("//")) {
            for page in pages.iter().map(|it| format!("docs/{it}")).filter(|it| line.contains(it)) {
                named += 1;
                let whole = format!("ralph-copilot's {page}");
                assert!(line.contains(&whole), "{}: {line}", path.display());
            }
        }
    }
    assert!(named > 10, "{named}");
}
