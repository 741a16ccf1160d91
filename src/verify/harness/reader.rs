//! The files of a check that were read, and those that are left to read.
//!
//! Invariant: nothing is read twice. Not in this file: the meaning of a line.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::expand::globbed;
use super::files::{EntryKind, SourceTree, text};
use super::fixtures;
use super::instruments;
use super::paths::{folder, inside, sounds_like_a_check};
use super::programs::{self, Program};
use super::shell::{ComparedElsewhere, ShellCommand, compared_files};
use super::table::Table;

/// The files that the checks run and look at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judges {
    /// Files of the start whose exit status decides, and what they load.
    pub files: BTreeSet<PathBuf>,
    /// Those among them that a check only reads.
    pub data: BTreeSet<PathBuf>,
    /// Data whose every word a check compares with what a program makes.
    pub compared: BTreeSet<PathBuf>,
    /// Those among them that are run.
    pub scripts: BTreeSet<PathBuf>,
    /// Those that are run for what they print.
    pub printed: BTreeSet<PathBuf>,
    /// Paths that a check only looks at, whether they exist or not.
    pub subjects: BTreeSet<PathBuf>,
    /// Judges that look like the product itself.
    pub judge_is_subject: BTreeSet<PathBuf>,
    /// Words of the checks and of what they run: targets, scripts, and recipes that they name.
    pub names: BTreeSet<String>,
    /// Entries of makefiles and manifests whose output the checks compare, and nothing else.
    pub products: BTreeSet<String>,
    /// Lines of shell that run: the checks, recipes, and scripts.
    pub lines: Vec<String>,
    /// Paths that would be loaded instead of a judge's own file if they existed.
    pub shadows: BTreeSet<PathBuf>,
    /// Globs of parts that makefiles of the checks include.
    pub includes: BTreeSet<String>,
}

/// Where a line of shell stands.
#[derive(Clone, Debug, Default)]
pub(super) struct ReadAt {
    /// The folder in which it runs.
    pub(super) folder: PathBuf,
    /// The script that holds it.
    pub(super) script: Option<PathBuf>,
    /// The arguments of the script.
    pub(super) arguments: Vec<String>,
    /// A check's own line, or what it runs.
    pub(super) direct: bool,
    /// An option of the shell says that the first failure ends the script.
    pub(super) stops: bool,
    /// What the line that runs this one compares, with paths from the root.
    pub(super) compared: ComparedElsewhere,
}

impl ReadAt {
    /// The place of what a command of a text runs.
    pub(super) fn run_by(&self, command: &ShellCommand, later: &[ShellCommand]) -> Self {
        let checks = || command.words.iter().any(|word| sounds_like_a_check(word));
        let mut place = self.before(later);
        place.compared.output = command.compared && !checks();
        place
    }

    /// The place of a text after which these commands run: they may compare files that it writes.
    pub(super) fn before(&self, later: &[ShellCommand]) -> Self {
        let files = compared_files(later).filter_map(|name| inside(&self.folder, name));
        let files = files.filter_map(|path| Some(path.to_str()?.to_owned()));
        let mut place = self.clone();
        place.compared.files.extend(files);
        place
    }

    /// What the caller compares, as this folder's commands name it.
    pub(super) fn compared_here(&self) -> ComparedElsewhere {
        let here = |path: &String| {
            Some(Path::new(path).strip_prefix(&self.folder).ok()?.to_str()?.to_owned())
        };
        let files = self.compared.files.iter().filter_map(here).collect();
        ComparedElsewhere { output: self.compared.output, files }
    }
}

/// Something to read.
pub(super) enum Unread {
    /// Shell text: a check, a recipe, or a script.
    Lines(String),
    /// A judge.
    Judge(PathBuf),
}

/// The findings, and the files that are left to read.
pub(super) struct Reader<'a> {
    pub(super) start: &'a dyn SourceTree,
    pub(super) table: &'a Table,
    pub(super) found: Judges,
    /// With the place, and how many scripts run it.
    pub(super) unread: Vec<(Unread, ReadAt, usize)>,
    seen: BTreeSet<(PathBuf, String, Vec<String>, ComparedElsewhere, bool)>,
    /// A script runs whose name is not known.
    pub(super) blind: bool,
    submodules: Vec<PathBuf>,
    /// Files that are judges only because they are run.
    run: BTreeSet<PathBuf>,
    /// Files that are judges for another reason.
    certain: BTreeSet<PathBuf>,
    /// Files whose output is compared somewhere.
    compared: BTreeSet<PathBuf>,
    /// Files with what a program should make.
    pub(super) expected: BTreeSet<PathBuf>,
    /// Those among them whose every word a comparison looks at.
    pub(super) with_values: BTreeSet<PathBuf>,
    /// Entries that are run for their exit status.
    pub(super) entered: BTreeSet<String>,
}

/// How deep scripts may run scripts.
const MOST_DEPTH: usize = 10;

impl<'a> Reader<'a> {
    pub(super) fn new(start: &'a dyn SourceTree, table: &'a Table) -> Self {
        let submodules = start.paths().iter().filter(|(_, it)| it.kind == EntryKind::Gitlink);
        Self {
            start,
            table,
            found: Judges::default(),
            unread: Vec::new(),
            seen: BTreeSet::new(),
            blind: false,
            submodules: submodules.map(|(path, _)| path.clone()).collect(),
            run: BTreeSet::new(),
            certain: BTreeSet::new(),
            compared: BTreeSet::new(),
            expected: BTreeSet::new(),
            with_values: BTreeSet::new(),
            entered: BTreeSet::new(),
        }
    }

    /// The findings. A program that is run in one place and compared in another is the product.
    pub(super) fn finish(mut self) -> Judges {
        for path in &self.run {
            if !self.certain.contains(path) && self.compared.contains(path) && !self.is_known(path)
            {
                self.found.files.remove(path);
                self.found.judge_is_subject.remove(path);
                self.found.subjects.insert(path.clone());
            }
        }
        self.found.products.retain(|name| !self.entered.contains(name));
        let expected = std::mem::take(&mut self.expected);
        let expected = expected.into_iter().filter(|path| fixtures::is_data(path)).collect();
        let expected = fixtures::of_the_harness(
            self.start,
            self.table,
            &self.found.files,
            &self.found.subjects,
            expected,
        );
        self.found.files.extend(expected.iter().cloned());
        self.found.data.extend(expected);
        self.found.data.retain(|path| !self.run.contains(path));
        let decides =
            |path: &&PathBuf| self.found.files.contains(*path) || self.table.role(path).is_some();
        self.found.compared = self.with_values.iter().filter(decides).cloned().collect();
        self.found.printed = self.compared.intersection(&self.found.subjects).cloned().collect();
        self.found.scripts = self.run.intersection(&self.found.files).cloned().collect();
        self.found
    }

    /// Whether a name says that a file belongs to the checks.
    pub(super) fn is_known(&self, path: &Path) -> bool {
        self.table.role(path).is_some()
            || path.iter().any(|part| part.to_str().is_some_and(sounds_like_a_check))
    }

    /// Shell text to read: a check, a recipe, or a script.
    pub(super) fn lines(&mut self, text: &str, place: &ReadAt, depth: usize) {
        if depth > MOST_DEPTH || !self.is_new(&place.folder, text, place) {
            return;
        }
        if place.direct {
            self.name_words(text);
        }
        self.found.lines.push(text.to_owned());
        self.unread.push((Unread::Lines(text.to_owned()), place.clone(), depth));
    }

    fn is_new(&mut self, path: &Path, text: &str, place: &ReadAt) -> bool {
        let (arguments, compared) = (place.arguments.clone(), place.compared.clone());
        self.seen.insert((path.to_owned(), text.to_owned(), arguments, compared, place.stops))
    }

    pub(super) fn recipe(&mut self, text: &str, place: &ReadAt, depth: usize) {
        self.lines(&format!("set -e\n{text}"), place, depth);
    }

    fn name_words(&mut self, text: &str) {
        let odd = |c: char| !(c.is_alphanumeric() || "_-".contains(c));
        let wide = |c: char| !(c.is_alphanumeric() || "_-:./".contains(c));
        let words = text.split(odd).chain(text.split(wide));
        let words = words.map(|word| word.trim_matches([':', '.', '/']));
        self.found.names.extend(words.filter(|word| !word.is_empty()).map(str::to_owned));
    }

    /// A script that a command runs: all files that it may be.
    pub(super) fn script(
        &mut self,
        interpreter: Option<&str>,
        word: &str,
        arguments: &[String],
        command: &ShellCommand,
        place: &ReadAt,
        depth: usize,
    ) {
        let mut paths = match interpreter {
            Some(interpreter) => self.scripts(interpreter, word, place),
            None => self.file(word, place).into_iter().collect(),
        };
        let tail = word
            .rsplit_once('$')
            .map_or(word, |(_, rest)| rest.split_once('/').map_or("", |(_, rest)| rest));
        let tail = tail.strip_prefix("./").unwrap_or(tail);
        if paths.is_empty() && command.decides && !word.starts_with('/') && !tail.is_empty() {
            // `env -C ci sh gate.sh`, `cd "$X" && sh gate.sh`: the folder is not known.
            let files = self.start.paths().keys().filter(|path| path.ends_with(tail));
            paths.extend(files.cloned());
        }
        if let Some(folder) = inside(&place.folder, word).filter(|_| command.decides) {
            // `python3 FOLDER` and `node FOLDER` run a file in it.
            let files = self.start.paths().keys();
            paths.extend(files.filter(|path| path.parent() == Some(&folder)).cloned());
        }
        let positional = command.function.is_some() && word.len() == 2;
        let unknown = word.contains('$') || word == "{}";
        self.blind |= paths.is_empty() && command.decides && unknown && !positional;
        let place = ReadAt { arguments: arguments.to_vec(), ..place.clone() };
        for path in paths {
            self.executed(&path, command, &place, depth);
        }
    }

    pub(super) fn executed(
        &mut self,
        path: &Path,
        command: &ShellCommand,
        place: &ReadAt,
        depth: usize,
    ) {
        // `validate.py` that must accept one file and refuse another is the work.
        let is_check = !command.both_ways
            && (programs::is_plainly_a_check(path) || instruments::is_instrument(self.start, path));
        if command.decides || is_check {
            self.run.insert(path.to_owned());
            self.add(path, place, depth);
        } else {
            self.found.subjects.insert(path.to_owned());
            self.compared.extend(command.compared.then(|| path.to_owned()));
        }
    }

    pub(super) fn judge(&mut self, path: &Path, place: &ReadAt, depth: usize) {
        self.certain.insert(path.to_owned());
        self.add(path, &ReadAt { arguments: Vec::new(), ..place.clone() }, depth);
    }

    fn add(&mut self, path: &Path, place: &ReadAt, depth: usize) {
        let Some(path) = self.add_with_links(path) else { return };
        let mut place = place.clone();
        place.compared.output = false;
        if !self.is_new(&path, "", &place) {
            return;
        }
        if place.direct && !self.is_known(&path) {
            self.found.judge_is_subject.insert(path.clone());
        }
        self.unread.push((Unread::Judge(path), place, depth + 1));
    }

    /// Submodules that a command's words name, or in which it runs.
    pub(super) fn submodules(&mut self, command: &ShellCommand, place: &ReadAt) {
        let program = command.words.first().map_or("", String::as_str);
        if command.compared || programs::program(program) == Program::Looks {
            return;
        }
        let named = command.words.iter().filter_map(|word| inside(&place.folder, word));
        let named: Vec<PathBuf> = named.chain([place.folder.clone()]).collect();
        let holds = |module: &&PathBuf| {
            named.iter().any(|path| {
                path.starts_with(module)
                    || (!path.as_os_str().is_empty() && module.starts_with(path))
            })
        };
        self.found.files.extend(self.submodules.iter().filter(holds).cloned());
    }

    /// Submodules that code adds to its search path, or loads from.
    pub(super) fn submodules_in(&mut self, code: &str) {
        let loads = |line: &&str| {
            let words = ["path", "PATH", "lib", "require", "import", "include", "source"];
            words.iter().any(|word| line.contains(word))
        };
        let named = |module: &&PathBuf| {
            let texts = code.lines().filter(loads).flat_map(|line| line.split(['"', '\'']));
            texts
                .map(|text| text.trim_start_matches("./"))
                .any(|it| Path::new(it).starts_with(module))
        };
        self.found.files.extend(self.submodules.iter().filter(named).cloned());
    }

    /// Adds a file and the links on the way to it.
    pub(super) fn add_with_links(&mut self, path: &Path) -> Option<PathBuf> {
        let Some((links, path)) = self.resolved(path) else {
            // A link that leads nowhere.
            self.found.files.extend(self.start.paths().contains_key(path).then(|| path.to_owned()));
            return None;
        };
        self.found.files.extend(links);
        self.found.files.insert(path.clone());
        let kind = self.start.paths().get(&path)?.kind;
        matches!(kind, EntryKind::Regular { .. }).then_some(path)
    }

    /// The file behind the links of a path, which may be links to folders, and those links.
    fn resolved(&self, path: &Path) -> Option<(Vec<PathBuf>, PathBuf)> {
        let (mut links, mut path) = (Vec::new(), path.to_owned());
        for _ in 0..8 {
            let entries = self.start.paths();
            let is_link = |above: &&Path| {
                entries.get(*above).is_some_and(|entry| entry.kind == EntryKind::Link)
            };
            let Some(link) = path.ancestors().find(is_link).map(Path::to_owned) else {
                return entries.contains_key(&path).then_some((links, path));
            };
            let rest = path.strip_prefix(&link).ok()?;
            let target = Path::new(&text(self.start, &link)?).join(rest);
            path = inside(folder(&link), target.to_str()?)?;
            links.push(link);
        }
        None
    }

    pub(super) fn file(&self, word: &str, place: &ReadAt) -> Option<PathBuf> {
        let word = word.split("::").next().unwrap_or(word);
        let short = word.split([':', '#']).next().unwrap_or(word);
        // `$ROOT/check.sh`: the folders that are not known are left out.
        let known = word
            .rsplit_once('$')
            .map_or("", |(_, rest)| rest.split_once('/').map_or("", |(_, rest)| rest));
        let script = place.script.as_deref().map(folder);
        let folders = [Some(place.folder.as_path()), script, Some(Path::new(""))];
        [word, short, known].into_iter().filter(|word| !word.is_empty()).find_map(|word| {
            folders
                .iter()
                .flatten()
                .filter_map(|folder| inside(folder, word))
                .find(|path| self.resolved(path).is_some())
        })
    }

    pub(super) fn subjects(&mut self, words: &[String], place: &ReadAt) {
        for word in words {
            let value = word.split_once('=').map_or(word.as_str(), |(_, value)| value);
            self.found.subjects.extend(inside(&place.folder, value));
        }
    }

    pub(super) fn runner(&mut self, arguments: &[String], place: &ReadAt, depth: usize) {
        let runs_doctests = arguments.iter().any(|word| word.starts_with("--doctest"));
        for word in arguments {
            let value = word.split_once('=').map_or(word.as_str(), |(_, value)| value);
            if let Some(path) = self.file(value, place) {
                // The product holds its tests.
                if runs_doctests && !self.is_known(&path) {
                    self.found.subjects.insert(path);
                    continue;
                }
                self.judge(&path, place, depth);
            }
            // A quoted glob is the runner's own.
            for name in globbed(self.start, &place.folder, value).unwrap_or_default() {
                if let Some(path) = inside(&place.folder, &name) {
                    self.judge(&path, place, depth);
                }
            }
        }
    }
}
