//! `mcp install` and `mcp uninstall`: our entry in a client's configuration.
//!
//! Invariant: only our own entry and the objects, file, and folder that `install` created for it
//! change; comments are kept, and a file that cannot be parsed is left alone.

use std::path::{Path, PathBuf};

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};

use super::allowed::AllowedTasks;
use crate::cli::args::{McpClient, McpInstallArgs, McpServeArgs, ToolSet};
use crate::cli::context::RepoContext;
use crate::cli::failure::Failure;
use crate::cli::launch::copilot_home;
use crate::cli::paths::{canonical, directory, own_program};
use crate::cli::print::say;
use crate::model::ExitCode;
use crate::sys::{Durability, FileMode, atomic};

/// The name of our server.
const NAME: &str = "ralph-copilot";
/// A configuration without settings.
const EMPTY: &str = "{}\n";
/// The text that teaches OpenClaw's agent when to delegate.
const PERSONA: &str = include_str!("persona.md");

/// Adds the entry, or prints it.
pub(super) fn install(named: Option<&Path>, args: &McpInstallArgs) -> Result<u8, Failure> {
    let target = Target::of(named, args.client)?;
    let entry = entry(named, args.client, &args.serve)?;
    if args.print {
        let text = target.with_entry(EMPTY, entry)?;
        say(&format!("{}\n{}", target.path.display(), text.trim_end()));
    } else {
        let before = target.read()?;
        let text = target.with_entry(&before, entry)?;
        let did = match target.without_entry(&before)? {
            Some(_) if text == before => "already has this `ralph-copilot`",
            Some(_) => "replaced `ralph-copilot`; its other settings are gone",
            None => "added `ralph-copilot`",
        };
        target.write(&text)?;
        say(&format!("{}: {did}", target.path.display()));
        if matches!(args.client, McpClient::Claude | McpClient::Vscode) {
            say("Next: commit the file, since a run needs a clean working tree");
        }
    }
    if args.client == McpClient::Openclaw {
        say(&format!("\nFor the agent's persona:\n\n{}", PERSONA.trim_end()));
    }
    Ok(0)
}

/// Removes the entry.
pub(super) fn uninstall(named: Option<&Path>, client: McpClient) -> Result<u8, Failure> {
    let target = Target::of(named, client)?;
    let path = target.path.display();
    match target.without_ours(&target.read()?)? {
        Some(Left::Text(text)) => {
            target.write(&text)?;
            say(&format!("{path}: removed `{NAME}`"));
        }
        // A link is the user's, whoever wrote the file behind it.
        Some(Left::Nothing) if target.path.is_symlink() => {
            target.write(EMPTY)?;
            say(&format!("{path}: removed `{NAME}`"));
        }
        Some(Left::Nothing) => {
            std::fs::remove_file(&target.path)
                .map_err(|error| Failure::cannot_write(&target.path, &error))?;
            target.remove_folder();
            say(&format!("{path}: removed; it held nothing but `{NAME}`"));
        }
        None => say(&format!("{path}: there is no `{NAME}`")),
    }
    Ok(0)
}

/// The rest of a file after removing everything that `install` created.
#[derive(Debug, PartialEq, Eq)]
enum Left {
    /// This text.
    Text(String),
    /// Nothing: `install` made the file.
    Nothing,
}

/// A client's file, and the path of keys to its servers.
struct Target {
    path: PathBuf,
    keys: &'static [&'static str],
    /// Of a new file: those in a repository are committed.
    mode: FileMode,
    /// The repository that holds the file, if one does.
    inside: Option<PathBuf>,
}

impl Target {
    fn of(named: Option<&Path>, client: McpClient) -> Result<Self, Failure> {
        let home = || etcetera::home_dir().map_err(|error| Failure::new(ExitCode::Usage, error));
        let root = || Ok::<_, Failure>(RepoContext::find(named)?.root().to_owned());
        let (path, keys): (_, &[&str]) = match client {
            McpClient::Claude => (root()?.join(".mcp.json"), &["mcpServers"]),
            McpClient::Vscode => (root()?.join(".vscode/mcp.json"), &["servers"]),
            McpClient::Copilot => {
                let copilot =
                    copilot_home().map_or_else(|| home().map(|it| it.join(".copilot")), Ok);
                (copilot?.join("mcp-config.json"), &["mcpServers"])
            }
            McpClient::Openclaw => (home()?.join(".openclaw/openclaw.json"), &["mcp", "servers"]),
        };
        let mode = match client {
            McpClient::Claude | McpClient::Vscode => FileMode::Umask,
            McpClient::Copilot | McpClient::Openclaw => FileMode::Owner,
        };
        let inside = match client {
            McpClient::Claude | McpClient::Vscode => Some(canonical(&root()?)),
            McpClient::Copilot | McpClient::Openclaw => None,
        };
        Ok(Self { path, keys, mode, inside })
    }

    /// The file's text, or that of an empty configuration if there is no file.
    fn read(&self) -> Result<String, Failure> {
        if std::fs::metadata(&self.path).is_ok_and(|meta| !meta.is_file()) {
            return Err(self.unusable("it is not a regular file"));
        }
        if self.inside.as_ref().is_some_and(|root| !canonical(&self.path).starts_with(root)) {
            return Err(self.unusable("it leads out of the repository"));
        }
        match std::fs::read_to_string(&self.path) {
            Ok(text) if text.trim().is_empty() => Ok(EMPTY.to_owned()),
            Ok(text) => Ok(text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(EMPTY.to_owned()),
            Err(error) => Err(self.unusable(&error.to_string())),
        }
    }

    fn write(&self, text: &str) -> Result<(), Failure> {
        // A link is the user's arrangement: the file behind it changes.
        let path = canonical(&self.path);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)
                .map_err(|error| Failure::cannot_write(folder, &error))?;
        }
        atomic::write(&path, text.as_bytes(), Durability::Machine, self.mode)?;
        Ok(())
    }

    /// Removes the folder that `write` may have made, if nothing is left in it.
    fn remove_folder(&self) {
        let folder = self.path.parent();
        if let Some(folder) = folder.filter(|folder| self.inside.as_deref() != Some(folder)) {
            // One with other content is kept, and so is a link.
            std::fs::remove_dir(folder).unwrap_or_default();
        }
    }

    fn unusable(&self, why: &str) -> Failure {
        let path = self.path.display();
        Failure::new(ExitCode::Invalid, format!("{path} was left as it is: {why}"))
            .hint("fix the file, or add the entry that `mcp install <client> --print` shows")
    }

    fn parse(&self, text: &str) -> Result<CstRootNode, Failure> {
        // The format of clients: JSON with comments and trailing commas.
        let options = ParseOptions {
            allow_comments: true,
            allow_trailing_commas: true,
            allow_loose_object_property_names: false,
            allow_missing_commas: false,
            allow_single_quoted_strings: false,
            allow_hexadecimal_numbers: false,
            allow_unary_plus_numbers: false,
            allow_bare_decimal_point_numbers: false,
            allow_non_finite_numbers: false,
            allow_extended_string_escapes: false,
        };
        CstRootNode::parse(text, &options).map_err(|error| self.unusable(&error.to_string()))
    }

    /// The text with our entry, in the place of an earlier one.
    fn with_entry(&self, text: &str, entry: CstInputValue) -> Result<String, Failure> {
        let root = self.parse(text)?;
        let whole = || self.unusable("it is not a JSON object");
        let mut servers = root.object_value().ok_or_else(whole)?;
        for key in self.keys {
            let inner = servers.object_value_or_create(key);
            servers =
                inner.ok_or_else(|| self.unusable(&format!("its `{key}` is not an object")))?;
        }
        match servers.get(NAME) {
            Some(there) => there.set_value(entry),
            None => drop(servers.append(NAME, entry)),
        }
        Ok(root.to_string())
    }

    /// The text without our entry, or none if it has none.
    fn without_entry(&self, text: &str) -> Result<Option<String>, Failure> {
        let root = self.parse(text)?;
        let mut servers = root.object_value();
        for key in self.keys {
            servers = servers.and_then(|object: CstObject| object.object_value(key));
        }
        let Some(there) = servers.and_then(|servers| servers.get(NAME)) else { return Ok(None) };
        there.remove();
        Ok(Some(root.to_string()))
    }

    /// The text without our entry and without the objects that `install` created for it, or none if
    /// there is no entry. It is ours only if `install` would write it again, byte for byte.
    fn without_ours(&self, text: &str) -> Result<Option<Left>, Failure> {
        let Some(bare) = self.without_entry(text)? else { return Ok(None) };
        let comes_from = |before: &str| {
            let with = self.with_entry(before, CstInputValue::Object(Vec::new()))?;
            Ok::<_, Failure>(self.without_entry(&with)?.as_ref() == Some(&bare))
        };
        if comes_from(EMPTY)? {
            return Ok(Some(Left::Nothing));
        }
        for depth in 0..self.keys.len() {
            if let Some(before) = self.without_key(&bare, depth)?
                && comes_from(&before)?
            {
                return Ok(Some(Left::Text(before)));
            }
        }
        Ok(Some(Left::Text(bare)))
    }

    /// The text without the key at this depth of the path to the servers, if it has it.
    fn without_key(&self, text: &str, depth: usize) -> Result<Option<String>, Failure> {
        let root = self.parse(text)?;
        let mut object = root.object_value();
        for key in &self.keys[..depth] {
            object = object.and_then(|object: CstObject| object.object_value(key));
        }
        let Some(there) = object.and_then(|object| object.get(self.keys[depth])) else {
            return Ok(None);
        };
        there.remove();
        Ok(Some(root.to_string()))
    }
}

/// The command that a client starts.
fn entry(
    named: Option<&Path>,
    client: McpClient,
    serve: &McpServeArgs,
) -> Result<CstInputValue, Failure> {
    let mut args = Vec::new();
    if !serve.allow_task.is_empty() {
        // The server would not start.
        AllowedTasks::read(named, &serve.allow_task)?;
    }
    // These clients start it in another folder, or the tasks belong to one repository.
    let elsewhere = client == McpClient::Copilot && !serve.allow_task.is_empty();
    if client == McpClient::Openclaw || elsewhere {
        args.extend(["-C".to_owned(), canonical(&directory(named)?).display().to_string()]);
    }
    args.extend(["mcp".to_owned(), "serve".to_owned()]);
    let usual: &[ToolSet] = match client {
        McpClient::Openclaw => &[ToolSet::Plugin, ToolSet::Bridge],
        McpClient::Claude | McpClient::Vscode | McpClient::Copilot => &[ToolSet::Loop],
    };
    let sets = if serve.tools.is_empty() { usual } else { &serve.tools };
    for set in sets {
        args.push("--tools".to_owned());
        args.push(word(*set).to_owned());
    }
    for task in &serve.allow_task {
        args.extend(["--allow-task".to_owned(), task.clone()]);
    }
    let text = |text: &str| CstInputValue::String(text.to_owned());
    let args = args.iter().map(|arg| text(arg)).collect();
    let mut fields = Vec::new();
    match client {
        McpClient::Vscode => fields.push(("type".to_owned(), text("stdio"))),
        McpClient::Copilot => {
            fields.push(("type".to_owned(), text("local")));
            fields.push(("tools".to_owned(), CstInputValue::Array(vec![text("*")])));
        }
        McpClient::Claude | McpClient::Openclaw => {}
    }
    fields.push(("command".to_owned(), text(&program()?)));
    fields.push(("args".to_owned(), CstInputValue::Array(args)));
    Ok(CstInputValue::Object(fields))
}

fn word(set: ToolSet) -> &'static str {
    match set {
        ToolSet::Loop => "loop",
        ToolSet::Plugin => "plugin",
        ToolSet::Bridge => "bridge",
        ToolSet::Memory => "memory",
    }
}

/// Our name if that starts this program, else its path.
fn program() -> Result<String, Failure> {
    let ours = own_program()?;
    let found = which::which(NAME).ok().and_then(|found| found.canonicalize().ok());
    let same = found.is_some() && found == ours.canonicalize().ok();
    Ok(if same { NAME.to_owned() } else { ours.display().to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target() -> Target {
        let (path, keys): (_, &[&str]) = ("/x/mcp.json".into(), &["mcp", "servers"]);
        Target { path, keys, mode: FileMode::Owner, inside: None }
    }

    fn value() -> CstInputValue {
        CstInputValue::Object(vec![("command".to_owned(), CstInputValue::String("r".to_owned()))])
    }

    const THEIRS: &str = "{\n  // mine\n  \"z\": [1, 2],\n  \"mcp\": {\n    \"servers\": {\n      \
                          \"other\": { \"command\": \"o\" }, // stays\n    }\n  }\n}\n";

    #[test]
    fn an_entry_comes_and_goes_and_everything_else_stays() {
        let added = target().with_entry(THEIRS, value()).expect("added");
        for line in ["// mine", "\"z\": [1, 2]", "\"other\": { \"command\": \"o\" }", "// stays"] {
            assert!(added.contains(line), "{added}");
        }
        assert!(added.contains("\"ralph-copilot\""), "{added}");
        let again = target().with_entry(&added, value()).expect("replaced");
        assert_eq!(again.matches("ralph-copilot").count(), 1, "{again}");
        let removed = target().without_entry(&added).expect("readable").expect("removed");
        assert!(!removed.contains("ralph-copilot") && removed.contains("// mine"), "{removed}");
        assert!(removed.contains("\"other\": { \"command\": \"o\" }"), "{removed}");
        assert_eq!(target().without_entry(THEIRS).expect("readable"), None);
    }

    #[test]
    fn what_install_made_around_the_entry_goes_with_it_and_nothing_else() {
        for before in [
            "{\n  // mine\n  \"z\": [1, 2]\n}\n",
            "{\n\t\"z\": 1,\n}",
            "{\"z\": 1}",
            "{\n  \"mcp\": { \"x\": 1 }\n}\n",
            "{\n  \"mcp\": {\n    \"x\": 1\n  },\n  \"z\": 2 // two\n}\n",
            "// mine\n{}\n",
            "{\"mcp\": {\"servers\": {}}, \"z\": 1}\n",
            THEIRS,
        ] {
            let added = target().with_entry(before, value()).expect("added");
            let left = target().without_ours(&added).expect("readable").expect("an entry");
            let Left::Text(left) = left else { panic!("{before} is gone") };
            let objects = |text: &str| -> String { text.split_whitespace().collect() };
            assert_eq!(objects(&left), objects(before), "{left}");
        }
        let added = target().with_entry(EMPTY, value()).expect("added");
        let left = target().without_ours(&added).expect("readable").expect("an entry");
        assert_eq!(left, Left::Nothing);
        assert_eq!(target().without_ours(THEIRS).expect("readable"), None);
    }

    #[test]
    fn a_file_that_is_not_understood_is_left_alone() {
        for text in ["{", "[]", "\"x\"", "{\"mcp\": 1}", "{\"mcp\": {\"servers\": []}}", "{'a': 1}"]
        {
            let failure = target().with_entry(text, value()).expect_err(text);
            assert_eq!(failure.code, ExitCode::Invalid);
            assert!(failure.to_string().contains("left as it is"), "{failure}");
        }
    }
}
