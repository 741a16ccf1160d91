//! Runners whose configuration holds the commands: tox, nox, and Rake.

use std::path::PathBuf;
use std::sync::LazyLock;

use regex::Regex;

use super::files::text;
use super::reader::{ReadAt, Reader};

/// Reads the commands of a runner's configuration.
pub(super) fn configured(reader: &mut Reader<'_>, program: &str, place: &ReadAt, depth: usize) {
    let (files, commands): (&[&str], fn(&str) -> String) = match program {
        "tox" => (&["tox.ini", "setup.cfg", "tox.toml", "pyproject.toml"], tox),
        "nox" => (&["noxfile.py"], calls),
        "pytest" | "py.test" => return plugins(reader, place, depth),
        "rake" => (&["rakefile", "Rakefile", "rakefile.rb", "Rakefile.rb"], calls),
        _ => return,
    };
    let files: Vec<PathBuf> = files.iter().map(|name| place.folder.join(name)).collect();
    for code in files.iter().filter_map(|path| text(reader.start, path)) {
        reader.recipe(&commands(&code), place, depth + 1);
    }
}

/// Plugins that the configuration of pytest names: `-p NAME`, `pytest_plugins = [NAME]`.
fn plugins(reader: &mut Reader<'_>, place: &ReadAt, depth: usize) {
    static PLUGIN: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?:^|[\s\x22'])-p[\s=]*([A-Za-z_][\w.]*)").expect("valid"));
    for name in ["pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg"] {
        let Some(code) = text(reader.start, &place.folder.join(name)) else { continue };
        let lines = code.lines().filter(|line| line.contains("-p"));
        for found in lines.flat_map(|line| PLUGIN.captures_iter(line)) {
            let module = found[1].replace('.', "/");
            let files = [format!("{module}.py"), format!("{module}/__init__.py")];
            let files: Vec<PathBuf> =
                files.iter().filter_map(|it| reader.file(it, place)).collect();
            for path in files {
                reader.judge(&path, &ReadAt { direct: false, ..place.clone() }, depth);
            }
        }
    }
}

/// The values of `commands =` in sections of tox.
fn tox(code: &str) -> String {
    let mut inside = false;
    let mut found = String::new();
    for line in code.lines() {
        let indented = line.starts_with([' ', '\t']);
        let value = match line.split_once('=') {
            Some((name, value)) if !indented => {
                inside = name.trim().starts_with("commands");
                value
            }
            Some(_) | None => line,
        };
        if inside {
            let value = value.split("{posargs").next().unwrap_or(value).trim();
            // A list of TOML: `[["sh", "gate"]]`.
            let is_list = value.starts_with('[') && value.contains(['"', '\'']);
            let words: Vec<&str> = value.split(['"', '\'']).skip(1).step_by(2).collect();
            found.push_str(&if is_list { words.join(" ") } else { value.to_owned() });
            found.push('\n');
        }
    }
    found
}

/// The strings of calls that run a command: `sh 'a b'`, `session.run("a", "b")`.
fn calls(code: &str) -> String {
    static CALL: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?m)(?:^|[\s.;{])(?:sh|ruby|system|run|exec)\b[\s(]+(.*)$").expect("valid")
    });
    let lines = CALL.captures_iter(code).filter_map(|found| {
        let call = found.get(0)?.as_str().trim_start();
        let strings = found.get(1)?.as_str().split(['"', '\'']).skip(1).step_by(2);
        let words: Vec<&str> = strings.collect();
        let ruby = if call.starts_with("ruby") { "ruby " } else { "" };
        Some(format!("{ruby}{}\n", words.join(" ")))
    });
    lines.collect()
}
