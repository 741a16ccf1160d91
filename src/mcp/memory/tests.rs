//! Search, reading and containment, on real files.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use super::*;

struct Scene {
    folder: TempDir,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(folder.path().join("repo/.ralph/memory")).expect("made");
        fs::create_dir_all(folder.path().join("user/memory")).expect("made");
        Self { folder }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        fs::write(self.path(path), text).expect("written");
    }

    fn tools(&self) -> MemoryTools {
        let sources = usual_places(&self.path("repo"), Some(self.path("user")));
        MemoryTools::new(sources, Arc::new(Redactor::new(Vec::<String>::new())), 0)
    }

    fn call(&self, name: &str, arguments: Value) -> (bool, String) {
        answer(&self.tools(), name, arguments).expect("a tool")
    }
}

fn answer(tools: &MemoryTools, name: &str, arguments: Value) -> Option<(bool, String)> {
    let Value::Object(arguments) = arguments else { panic!("no object") };
    let call = Call {
        name: name.to_owned(),
        arguments,
        cancel: tokio_util::sync::CancellationToken::new(),
        progress: crate::mcp::Progress::default(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let answer = runtime.block_on(tools.call(call))?;
    Some((answer.is_error, answer.text))
}

fn ok(text: &str) -> (bool, String) {
    (false, text.to_owned())
}

fn error(text: &str) -> (bool, String) {
    (true, text.to_owned())
}

#[test]
fn search_ranks_lines_by_the_share_of_words_over_all_folders() {
    let scene = Scene::new();
    scene.write("repo/.ralph/memory/b.md", "use pnpm\nTests need a Database\n");
    scene.write("user/memory/a.md", "the database of the tests is postgres\n  pnpm, never npm\n");
    scene.write("repo/.ralph/memory/notes.txt", "tests database\n");
    let found = scene.call("memory_search", json!({"query": "database TESTS pnpm"}));
    let lines = "[b.md] (score: 0.67) Tests need a Database\n\
                 [a.md] (score: 0.67) the database of the tests is postgres\n\
                 [b.md] (score: 0.33) use pnpm\n\
                 [a.md] (score: 0.33)   pnpm, never npm";
    assert_eq!(found, ok(lines));
    let one = scene.call("memory_search", json!({"query": "database pnpm", "limit": 1}));
    assert_eq!(one, ok("[b.md] (score: 0.50) use pnpm"));
}

#[test]
fn nothing_found_and_no_folder_are_no_errors() {
    let scene = Scene::new();
    let found = scene.call("memory_search", json!({"query": "zebra"}));
    assert_eq!(found, ok("No memory entries found for \"zebra\""));
    fs::remove_dir_all(scene.path("repo/.ralph")).expect("removed");
    fs::remove_dir_all(scene.path("user")).expect("removed");
    let (is_error, text) = scene.call("memory_search", json!({"query": "zebra"}));
    assert!(!is_error && text.starts_with("No memory directory"), "{text}");
    for odd in [json!({}), json!({"query": " "}), json!({"query": 1})] {
        assert!(scene.call("memory_search", odd).0);
    }
    for limit in [json!(0), json!(51), json!("5"), json!(1.5)] {
        assert!(scene.call("memory_search", json!({"query": "a", "limit": limit})).0);
    }
}

#[test]
fn the_first_folder_with_a_file_is_read_byte_for_byte() {
    let scene = Scene::new();
    scene.write("user/memory/MEMORY.md", "mine\r\n\n  last");
    assert_eq!(scene.call("memory_read", json!({})), ok("mine\r\n\n  last"));
    scene.write("repo/.ralph/memory/MEMORY.md", "the repository's\n");
    assert_eq!(scene.call("memory_read", json!({})), ok("the repository's\n"));
    let missing = scene.call("memory_read", json!({"file": "x.md"}));
    assert_eq!(missing, error("Memory file not found: x.md"));
}

#[test]
fn no_path_leads_out_of_the_memory() {
    let scene = Scene::new();
    scene.write("repo/secret.md", "needle\n");
    let memory = scene.path("repo/.ralph/memory");
    symlink(scene.path("repo/secret.md"), memory.join("link.md")).expect("a link");
    symlink(scene.path("repo"), memory.join("folder")).expect("a link");
    symlink("/nonexistent/x.md", memory.join("dangling.md")).expect("a link");
    let absolute = scene.path("repo/secret.md");
    let absolute = absolute.to_str().expect("text");
    for name in [
        "../../secret.md",
        "a/../../../secret.md",
        absolute,
        "link.md",
        "folder/secret.md",
        "dangling.md",
        "MEMORY.md\0.md",
        "..",
    ] {
        let (is_error, text) = scene.call("memory_read", json!({"file": name}));
        assert!(is_error && text.contains("denied"), "{name:?}: {text}");
    }
    let found = scene.call("memory_search", json!({"query": "needle"}));
    assert_eq!(found, ok("No memory entries found for \"needle\""));
}

#[test]
fn a_memory_folder_that_is_a_link_out_of_the_repository_is_none() {
    let scene = Scene::new();
    fs::remove_dir(scene.path("repo/.ralph/memory")).expect("removed");
    fs::create_dir(scene.path("outside")).expect("made");
    scene.write("outside/MEMORY.md", "needle\n");
    symlink(scene.path("outside"), scene.path("repo/.ralph/memory")).expect("a link");
    assert_eq!(scene.call("memory_read", json!({})), error("Memory file not found: MEMORY.md"));
    let outside = Path::new("../../outside/MEMORY.md");
    symlink(outside, scene.path("repo/.ralph/USER.md")).expect("a link");
    let (is_error, text) = scene.call("user_prefs", json!({}));
    assert!(is_error && text.contains("denied"), "{text}");
}

#[test]
fn no_name_of_the_repository_leads_to_a_secret_or_to_git() {
    let scene = Scene::new();
    let (root, user) = (scene.path("repo"), scene.path("user"));
    for folder in [".git", ".ssh", "notes"] {
        fs::create_dir(root.join(folder)).expect("made");
    }
    for file in [".git/config", ".git/hidden.md", ".ssh/hidden.md", ".env", "notes/a.md", "x.txt"] {
        fs::write(root.join(file), "needle\n").expect("written");
    }
    let prefs = |place: MemoryPlace| {
        let sources = MemorySources { prefs: vec![place], ..MemorySources::default() };
        let found = sources.exist();
        let tools = MemoryTools::new(sources, Arc::new(Redactor::new(Vec::<String>::new())), 0);
        let (is_error, text) = answer(&tools, "user_prefs", json!({})).expect("a tool");
        assert_eq!(found, !is_error, "{text}");
        (is_error, text)
    };
    let named = [".git/config", ".git/hidden.md", ".ssh/hidden.md", ".env", "x.txt", "notes"];
    for name in named {
        let (is_error, text) = prefs(MemoryPlace::inside(root.join(name), &root));
        assert!(is_error && text.contains("denied"), "{name}: {text}");
    }
    for (number, to) in [".git/config", ".git/hidden.md", ".env", "notes/a.md"].iter().enumerate() {
        let link = root.join(format!("link{number}.md"));
        symlink(root.join(to), &link).expect("a link");
        let (is_error, text) = prefs(MemoryPlace::inside(link, &root));
        assert!(is_error && text.contains("denied"), "{to}: {text}");
    }
    assert_eq!(prefs(MemoryPlace::inside(root.join("notes/a.md"), &root)), ok("needle\n"));
    // The user's own folder may be full of links, and still shows Markdown only.
    symlink(root.join("notes/a.md"), user.join("USER.md")).expect("a link");
    assert_eq!(prefs(MemoryPlace::trusted(user.join("USER.md"))), ok("needle\n"));
    symlink(root.join(".env"), user.join("env.md")).expect("a link");
    for path in [user.join("env.md"), root.join(".env"), root.join(".git/hidden.md")] {
        assert!(prefs(MemoryPlace::trusted(path)).0);
    }
}

#[test]
fn a_memory_folder_shows_neither_secrets_nor_what_is_gits() {
    let scene = Scene::new();
    let root = scene.path("repo");
    for folder in [".git", ".ssh", "notes"] {
        fs::create_dir(root.join(folder)).expect("made");
        fs::write(root.join(folder).join("a.md"), "needle\n").expect("written");
    }
    symlink(root.join(".git"), root.join("link")).expect("a link");
    let tools = |folder: &str| {
        let folders = vec![MemoryPlace::inside(root.join(folder), &root)];
        let sources = MemorySources { folders, ..MemorySources::default() };
        MemoryTools::new(sources, Arc::new(Redactor::new(Vec::<String>::new())), 0)
    };
    let read = |folder: &str, file: &str| {
        answer(&tools(folder), "memory_read", json!({"file": file})).expect("a tool")
    };
    for (folder, file) in [
        (".git", "a.md"),
        (".ssh", "a.md"),
        ("link", "a.md"),
        (".", ".git/a.md"),
        (".", ".ssh/a.md"),
    ] {
        let (is_error, text) = read(folder, file);
        assert!(is_error && !text.contains("needle"), "{folder} {file}: {text}");
        let query = json!({"query": "needle"});
        let (_, found) = answer(&tools(folder), "memory_search", query).expect("a tool");
        assert!(!found.contains("[a.md]"), "{folder}: {found}");
    }
    assert_eq!(read("notes", "a.md"), ok("needle\n"));
    assert_eq!(read(".", "notes/a.md"), ok("needle\n"));
}

#[test]
fn preferences_are_the_first_file_that_exists() {
    let scene = Scene::new();
    assert_eq!(scene.call("user_prefs", json!({})), error("USER.md not found"));
    scene.write("user/USER.md", "tabs\n");
    assert_eq!(scene.call("user_prefs", json!({})), ok("tabs\n"));
    scene.write("repo/.ralph/USER.md", "spaces\n");
    assert_eq!(scene.call("user_prefs", json!({})), ok("spaces\n"));
}

#[test]
fn long_texts_are_cut_and_secrets_redacted() {
    let scene = Scene::new();
    let token = ["ghp", "0123456789abcdefghijABCDEFGHIJ012345"].join("_");
    scene.write("repo/.ralph/memory/MEMORY.md", &format!("token: {token}\n{}", "ä".repeat(20_000)));
    let (is_error, text) = scene.call("memory_read", json!({}));
    assert!(!is_error && !text.contains(&token) && text.contains("[REDACTED]"));
    assert_eq!(text.chars().count(), 10_000 + "\n[truncated]".len());
    assert!(text.ends_with("ä\n[truncated]"));
}

#[test]
fn the_names_of_the_bridge_are_offered_on_demand() {
    let scene = Scene::new();
    scene.write("repo/.ralph/memory/MEMORY.md", "here\n");
    let mut tools = scene.tools();
    let names =
        |tools: &MemoryTools| tools.list().into_iter().map(|tool| tool.name).collect::<Vec<_>>();
    let plain = ["memory_search", "memory_read", "user_prefs"];
    assert_eq!(names(&tools), plain);
    assert_eq!(answer(&tools, "openclaw_memory_read", json!({})), None);
    tools.sources.bridge_names = true;
    let bridge = plain.map(|name| format!("openclaw_{name}"));
    assert_eq!(names(&tools)[3..], bridge);
    assert_eq!(answer(&tools, "openclaw_memory_read", json!({})), Some(ok("here\n")));
    assert!(tools.list().iter().all(|tool| tool.read_only));
    assert!(names(&tools).iter().all(|name| crate::mcp::TOOL_NAMES.contains(&name.as_str())));
}
