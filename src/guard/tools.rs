//! A tool's name and raw arguments → its effect → the decision.
//!
//! The arguments decide: every command, path, and address anywhere in them is judged, whatever the
//! tool calls itself. The same call arrives in different shapes from a hook and from ACP; both end
//! in the same checks.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::model::{Asked, Decision, RuleDecision, ToolRequest};

use super::call_context::{CallContext, ReadKind, WriteKind};
use super::denial::{Denial, blocked_pattern};
use super::explain::{Explained, ExplainedParts};
use super::families::{Family, family};
use super::files::Files;
use super::line;
use super::policy::{Approval, Policy};
use super::task_files::{self, Edit};
use super::tool_input::ToolInput;

/// Decides a call. Pure: it depends on its arguments alone and changes nothing.
///
/// Every denial names its rule and, if there is one, a permitted alternative.
pub fn decide(request: &ToolRequest, policy: &Policy, files: &dyn Files) -> Decision {
    decided(request, policy, files, &mut ExplainedParts::default())
}

/// Decides a call as [`decide`] does, and tells which parts of it were looked at.
pub fn explain(request: &ToolRequest, policy: &Policy, files: &dyn Files) -> Explained {
    let mut parts = ExplainedParts::kept();
    let decision = decided(request, policy, files, &mut parts);
    Explained { decision, parts: parts.into_list() }
}

fn decided(
    request: &ToolRequest,
    policy: &Policy,
    files: &dyn Files,
    parts: &mut ExplainedParts,
) -> Decision {
    let call = Call { request, policy, files, family: family(&request.tool) };
    match call.decide(parts) {
        Ok(decision) => decision,
        Err(denial) => Decision::deny(denial.rule.clone(), denial.text()),
    }
}

struct Call<'a> {
    request: &'a ToolRequest,
    policy: &'a Policy,
    files: &'a dyn Files,
    family: Family,
}

impl Call<'_> {
    /// The user's rules around the built-in ones, the strictest first: blocked tools,
    /// blocked patterns, what is understood, tools to ask for, the list of tools.
    fn decide(&self, parts: &mut ExplainedParts) -> Result<Decision, Denial> {
        let input = &self.request.input;
        // Older versions hand the arguments over as a JSON text.
        let parsed: Option<Value> = input.as_str().and_then(|text| serde_json::from_str(text).ok());
        let input = parsed.as_ref().unwrap_or(input);
        let (rules, tool) = (&self.policy.rules, self.request.tool.as_str());
        if let Some(name) = rules.blocks(tool) {
            let why = format!("the tool {tool} is blocked (`{name}` in blocked_tools)");
            return Err(Denial::new("policy.blocked-tool", why));
        }
        if let Some(pattern) = any_text(input, &|text| rules.matches(text)) {
            return Err(blocked_pattern(pattern));
        }
        let (decision, ask) = self.understood(input, parts)?;
        if rules.leaves_out(tool) {
            let why = format!("the tool {tool} is not in allowed_tools");
            return Err(Denial::new("policy.not-allowed-tool", why)
                .instead(format!("use one of these: {}", rules.allowed().join(", "))));
        }
        let named = rules.asks_for(tool).map(|name| {
            let why = format!("{tool} needs the approval of a human (`{name}` in ask_tools)");
            Denial::new("policy.ask-tool", why)
        });
        let by_human = || {
            let changes = !matches!(decision.rule.as_str(), "path.read" | "tool.session");
            let waits = self.policy.approval == Approval::Human && changes;
            waits.then(|| {
                Denial::new(
                    "approval.human",
                    "it needs the approval of a human, and no one was asked",
                )
            })
        };
        match ask.or(named).or_else(by_human) {
            None => Ok(decision),
            Some(denial) => Ok(Decision {
                for_a_human: true,
                writes: decision.writes.clone(),
                sandboxed: decision.sandboxed,
                ..Decision::deny(denial.rule.clone(), denial.text())
            }),
        }
    }

    /// The decision of the built-in rules, and the additional need for a human's approval.
    fn understood(
        &self,
        input: &Value,
        parts: &mut ExplainedParts,
    ) -> Result<(Decision, Option<Denial>), Denial> {
        let tool = self.request.tool.as_str();
        let mut seen = ToolInput::read(input);
        let editor = matches!(self.family, Family::Write) && seen.is_editor();
        // What changes a file says so by its name or by a field; one more word changes nothing.
        let edits_by_command = matches!(
            tool.to_lowercase().as_str(),
            "str_replace_editor" | "str_replace_based_edit_tool"
        );
        let viewing = editor
            && edits_by_command
            && !seen.writes
            && seen.commands.iter().all(|command| command == "view");
        if editor {
            seen.commands.clear();
        }
        if seen.malformed || !input.is_object() && !seen.patch {
            return Err(Denial::new(
                "tool.malformed",
                match input {
                    Value::Null => format!("cannot tell what {} does", self.seen()),
                    _ => format!("cannot parse the arguments of {tool}"),
                },
            ));
        }
        let (files, others): (Vec<String>, Vec<String>) =
            seen.urls.iter().cloned().partition(|url| url.starts_with("file:"));
        let listed = self.policy.rules.lists(tool);
        let asks = self.family == Family::Network || !others.is_empty();
        if asks && !listed && !self.policy.is_online() {
            return Err(Denial::new("network", "it talks to the network")
                .instead("work with what is in the repository"));
        }
        seen.paths.extend(files);
        if seen.keystrokes {
            return Err(Denial::new(
                "tool.keystrokes",
                "keystrokes for a running shell cannot be checked on their own",
            )
            .instead("run the command in a call of its own"));
        }
        if !seen.commands.is_empty() {
            return self.shell(&seen, parts);
        }
        for path in seen.sources.iter().chain(&seen.paths) {
            parts.see(|| path.clone());
        }
        let write = seen.writes || matches!(self.family, Family::Write | Family::Move);
        let deletes = || {
            Denial::new("program.delete", "an unattended run never deletes files")
                .instead("archive it: `mkdir -p _archive && mv FILE _archive/`")
        };
        if seen.deletes || !seen.removed.is_empty() && !self.policy.tier.is_sandboxed() {
            return Err(deletes());
        }
        match self.family {
            Family::Shell => {
                Err(Denial::new("tool.malformed", format!("{} has no command", self.seen())))
            }
            Family::Delete => Err(deletes()),
            Family::Write | Family::Move | Family::Read | Family::Search if write && !viewing => {
                self.write(input, &seen)
            }
            Family::Read | Family::Write | Family::Move | Family::Search => self.read(input, &seen),
            Family::Session if seen.paths.is_empty() && seen.sources.is_empty() => {
                let why = format!("{tool} concerns the session alone");
                Ok((Decision::allow("tool.session", why), None))
            }
            Family::Network
                if self.policy.is_online() && seen.paths.is_empty() && seen.sources.is_empty() =>
            {
                Ok((Decision::allow("network.open", "the task opens the network"), None))
            }
            // Its paths and commands were judged like any others.
            Family::Unknown | Family::Network if listed || self.policy.rules.allow_unknown() => {
                if seen.paths.is_empty() && seen.sources.is_empty() {
                    let why = format!("the configuration allows {tool}");
                    return Ok((Decision::allow("policy.allowed-tool", why), None));
                }
                self.write(input, &seen)
            }
            Family::Session | Family::Unknown | Family::Network => {
                let why = match self.request.asked {
                    Asked::Permission => format!("cannot tell what {} does", self.seen()),
                    Asked::Hook | Asked::Server => format!("unknown tool `{tool}`"),
                };
                Err(Denial::new("tool.unknown", why)
                    .instead("use the shell, view, create, edit, grep or glob"))
            }
        }
    }

    /// The tool and the names of its arguments: "`other` with `foo`, `bar`".
    fn seen(&self) -> String {
        let tool = &self.request.tool;
        match self.request.input.as_object().filter(|fields| !fields.is_empty()) {
            Some(fields) => {
                let short = |name: &String| name.chars().take(40).collect::<String>();
                let names: Vec<String> =
                    fields.keys().take(8).map(|name| format!("`{}`", short(name))).collect();
                format!("`{tool}` with {}", names.join(", "))
            }
            None => format!("`{tool}` without arguments"),
        }
    }

    fn shell(
        &self,
        seen: &ToolInput,
        parts: &mut ExplainedParts,
    ) -> Result<(Decision, Option<Denial>), Denial> {
        let mut policy = self.policy.clone();
        let mut context = CallContext::new(self.policy, self.files);
        if let Some(folder) = &seen.folder {
            let real = context.read(&self.absolute(folder)?, ReadKind::Name)?;
            if !context.inside(&real.path) {
                return Err(Denial::new(
                    "path.outside",
                    format!("{folder} is outside the workspace"),
                ));
            }
            policy.cwd = real.path;
        }
        for path in seen.paths.iter().chain(&seen.sources) {
            context.write(&self.absolute(path)?, WriteKind::Change)?;
        }
        let noted = line::assigned(context, &seen.variables)?.noted();
        let mut writes: Vec<PathBuf> = noted.writes.into_iter().collect();
        let mut ask = noted.ask;
        for command in &seen.commands {
            if command.trim().is_empty() {
                return Err(Denial::new("tool.malformed", "the call has no command"));
            }
            if policy.has_network(command) {
                ask = ask.or(self.ruled_command(command)?);
                continue;
            }
            let looked = line::judge(command, &policy, self.files, parts)
                .map_err(|denial| denial.within(command))?;
            writes.extend(looked.writes);
            ask = ask.or(looked.ask.map(|denial| denial.within(command)));
        }
        writes.sort();
        writes.dedup();
        let mut decision =
            Decision::allow("shell.understood", "every command on the line is allowed");
        decision.writes = writes;
        decision.sandboxed = policy.tier.is_sandboxed();
        Ok((decision, ask))
    }

    /// The decision of the user's rules about a command that the task names word for word: a
    /// denial, or a human's approval.
    fn ruled_command(&self, command: &str) -> Result<Option<Denial>, Denial> {
        let words: Vec<_> = shlex::split(command).into_iter().flatten().map(Some).collect();
        let Some(ruling) = self.policy.rules.command(&words) else { return Ok(None) };
        let denial = ruling.denial().within(command);
        match ruling.decision {
            RuleDecision::Deny => Err(denial),
            RuleDecision::Ask => Ok(Some(denial)),
            RuleDecision::Allow => Ok(None),
        }
    }

    fn absolute(&self, path: &str) -> Result<PathBuf, Denial> {
        let path = path.strip_prefix("file://").unwrap_or(path);
        if path.is_empty() {
            return Err(Denial::new("tool.malformed", "a path is empty"));
        }
        if let Some(rest) = path.strip_prefix('~') {
            let home =
                self.policy.home.as_ref().filter(|_| rest.is_empty() || rest.starts_with('/'));
            return home.map(|home| home.join(rest.trim_start_matches('/'))).ok_or_else(|| {
                Denial::new("path.outside", format!("{path} is outside the workspace"))
            });
        }
        Ok(self.policy.cwd.join(path))
    }

    fn write(&self, input: &Value, seen: &ToolInput) -> Result<(Decision, Option<Denial>), Denial> {
        let paths: Vec<PathBuf> =
            seen.paths.iter().map(|path| self.absolute(path)).collect::<Result<_, _>>()?;
        if paths.is_empty() && seen.removed.is_empty() {
            return Err(Denial::new("tool.malformed", format!("{} names no file", self.seen())));
        }
        if self.family == Family::Move && seen.sources.is_empty() && paths.len() < 2 {
            return Err(Denial::new("tool.malformed", "a move needs two names"));
        }
        let device = paths.iter().find(|path| path.starts_with("/dev"));
        if let Some(path) = device.filter(|_| self.family == Family::Move) {
            return Err(Denial::new(
                "program.delete",
                format!(
                    "moving a file to {} deletes it, and an unattended run never deletes",
                    path.display()
                ),
            )
            .instead("archive it: `mkdir -p _archive && mv FILE _archive/`"));
        }
        let mut context = CallContext::new(self.policy, self.files);
        for source in &seen.sources {
            let source = self.absolute(source)?;
            context.read(&source, ReadKind::Content)?;
            context
                .write(&source, WriteKind::Move)
                .map_err(|denial| denial.within(&source.to_string_lossy()))?;
        }
        for removed in &seen.removed {
            let path = self.absolute(removed)?;
            self.removes(&mut context, &path).map_err(|denial| denial.within(removed))?;
        }
        let mut writes = Vec::new();
        for path in &paths {
            let written = self.write_one(&mut context, path, input, &paths);
            writes.push(written.map_err(|denial| denial.within(&path.to_string_lossy()))?);
        }
        let noted = context.noted();
        writes.extend(noted.writes);
        writes.sort();
        writes.dedup();
        let mut decision = Decision::allow("path.workspace", "it writes inside the workspace");
        decision.writes = writes;
        Ok((decision, noted.ask))
    }

    /// A patch may delete what git can bring back, and what this run made.
    fn removes(&self, context: &mut CallContext<'_>, path: &Path) -> Result<(), Denial> {
        let real = context.write(path, WriteKind::Move)?;
        let kept = context.tracked().is_some_and(|files| files.contains(&real));
        if !kept && !context.is_new(&real) {
            return Err(Denial::new("program.delete", "it deletes a file that git cannot restore")
                .instead("leave it, or move it: `mkdir -p _archive && mv FILE _archive/`"));
        }
        Ok(())
    }

    fn write_one(
        &self,
        context: &mut CallContext<'_>,
        path: &Path,
        input: &Value,
        paths: &[PathBuf],
    ) -> Result<PathBuf, Denial> {
        let real = context.resolve(path)?;
        let alone = paths.iter().all(|other| other == path)
            && real.links.iter().all(|link| !context.inside(link));
        let edit = if alone { Edit::read(input) } else { Edit::Unknown };
        if alone && self.policy.task_file().is_some_and(|task| real.path == task) {
            task_files::tick(self.policy, self.files, &edit)?;
            return Ok(real.path);
        }
        let log = self.policy.task_dir.as_ref().map(|folder| folder.join("progress.md"));
        if alone && log.is_some_and(|log| real.path == log) {
            task_files::append(&real.path, self.files, &edit)?;
            return context.write(path, WriteKind::Append);
        }
        context.write(path, WriteKind::Change)
    }

    fn read(&self, input: &Value, seen: &ToolInput) -> Result<(Decision, Option<Denial>), Denial> {
        let mut context = CallContext::new(self.policy, self.files);
        let searching = self.family == Family::Search;
        if seen.paths.is_empty() && seen.sources.is_empty() && !searching {
            return Err(Denial::new(
                "tool.malformed",
                format!("{} names no file", self.request.tool),
            ));
        }
        for path in seen.paths.iter().chain(&seen.sources) {
            let absolute = self.absolute(path)?;
            context.read(&absolute, ReadKind::Content).map_err(|denial| denial.within(path))?;
        }
        if searching {
            // A tool that finds files shows their names alone.
            let finds = self.request.tool.eq_ignore_ascii_case("glob");
            let roots: Vec<PathBuf> = match seen.paths.as_slice() {
                [] => vec![self.policy.cwd.clone()],
                paths => paths.iter().map(|path| self.absolute(path)).collect::<Result<_, _>>()?,
            };
            let fields = ["glob", "globs", "include", "includes", "filePattern", "pattern"];
            let fields = fields.iter().filter(|name| finds || **name != "pattern");
            for glob in fields.filter_map(|name| input.get(name)).flat_map(texts) {
                let outside = glob.starts_with(['/', '~'])
                    && !Path::new(glob).starts_with(&self.policy.workspace)
                    || Path::new(glob)
                        .components()
                        .any(|part| part == std::path::Component::ParentDir);
                if outside {
                    return Err(Denial::new(
                        "path.outside",
                        format!("{glob} reaches out of the workspace"),
                    ));
                }
                let git =
                    |part: std::path::Component<'_>| part.as_os_str().eq_ignore_ascii_case(".git");
                if Path::new(glob.trim_start_matches('!')).components().any(git)
                    && !glob.starts_with('!')
                {
                    return Err(Denial::new(
                        "path.git",
                        format!("{glob} is aimed at git's own data"),
                    )
                    .instead("use git's own commands: `git log`, `git show`, `git grep`"));
                }
                let wanted = !finds && !glob.starts_with('!');
                let meets = |root: &PathBuf| {
                    let secrets = &context.entries(root).secrets;
                    let below = |path: &Path| path.strip_prefix(root).unwrap_or(path).to_owned();
                    let mut secrets = secrets.iter().filter(|path| self.policy.hides(path));
                    secrets.any(|secret| fits(glob, &below(secret)))
                };
                let aims = wanted && (line::aims_at_secrets(glob) || roots.iter().any(meets));
                if aims || self.policy.hides(Path::new(glob)) {
                    return Err(Denial::new(
                        "secret.file",
                        format!("{glob} is aimed at files that may hold secrets"),
                    )
                    .instead("search without a glob, or for an ending such as `*.rs`"));
                }
            }
        }
        Ok((Decision::allow("path.read", "it reads inside the workspace"), context.noted().ask))
    }
}

/// Whether a glob that says which files are searched fits one of them: without a slash by its
/// name, else by its path. One that cannot be read fits all.
fn fits(glob: &str, path: &Path) -> bool {
    let glob = glob.trim_start_matches("./").trim_start_matches('/');
    let path = path.strip_prefix("./").unwrap_or(path);
    let name = Path::new(path.file_name().unwrap_or_default());
    let built = globset::GlobBuilder::new(glob).case_insensitive(true).build();
    built.map_or(true, |built| {
        built.compile_matcher().is_match(if glob.contains('/') { path } else { name })
    })
}

/// A text, or the texts of a list.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    }
}

/// The first finding in any text of the arguments, names of fields included.
pub(super) fn any_text<'a>(
    input: &Value,
    find: &dyn Fn(&str) -> Option<&'a str>,
) -> Option<&'a str> {
    match input {
        Value::String(text) => find(text),
        Value::Array(items) => items.iter().find_map(|item| any_text(item, find)),
        Value::Object(fields) => {
            fields.iter().find_map(|(name, field)| find(name).or_else(|| any_text(field, find)))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}
