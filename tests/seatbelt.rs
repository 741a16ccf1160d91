//! The limits of tier `partial` on macOS, put on real commands by `sandbox-exec`.
#![cfg(target_os = "macos")]

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use ralph_copilot::sandbox::{
    CommandEnd, LandlockRules, Network, Programs, Room, Walls, can_limit,
};

struct Scene {
    _dir: tempfile::TempDir,
    root: PathBuf,
    room: Room,
}

impl Scene {
    fn new() -> Self {
        can_limit().expect("macOS has sandbox-exec");
        let dir = tempfile::tempdir().expect("a folder");
        let root = dir.path().canonicalize().expect("canonical");
        for folder in ["repo", "tmp", "private", "outside"] {
            fs::create_dir(root.join(folder)).expect("a folder");
        }
        fs::write(root.join("private/key"), "s3cr3t").expect("a file");
        let readable = ["/bin", "/usr", "/System", "/Library", "/private/etc", "/private/var/db"];
        let ours = Path::new(env!("CARGO_BIN_EXE_ralph-copilot"));
        let limits = LandlockRules {
            writable: vec![root.join("repo"), root.join("tmp")],
            readable: Some(readable.iter().map(PathBuf::from).chain([ours.into()]).collect()),
            network: Network::Own,
            ports: Vec::new(),
            signals: false,
        };
        let programs = Programs { bubblewrap: "bwrap".into(), ours: ours.into() };
        let walls = Walls::Landlock(limits);
        let room = Room::start(&programs, &walls, &root.join("repo"), &root.join("log"));
        Self { _dir: dir, room: room.expect("a sandbox"), root }
    }

    /// How a command ended, and what it wrote.
    fn run(&self, command: &str) -> (CommandEnd, String) {
        let output = self.root.join("output");
        let file = File::create(&output).expect("a file");
        let environment = [OsString::from("PATH=/usr/bin:/bin:/usr/sbin:/sbin")];
        let cwd = self.root.join("repo");
        let end = self.room.run_alone(&cwd, OsStr::new(command), &environment, file.into());
        let text = fs::read_to_string(output).expect("text");
        (end.expect("the sandbox is there"), text)
    }
}

#[test]
fn a_command_works_in_the_workspace_and_nowhere_else() {
    let scene = Scene::new();
    let (end, text) = scene.run("echo work > a.txt && cat a.txt && exit 3");
    assert_eq!((end, text.as_str()), (CommandEnd::Exited(3), "work\n"));
    for line in
        ["echo x > ../outside/x", "cat ../private/key", "ln -s ../outside o && echo x > o/x"]
    {
        let (end, text) = scene.run(line);
        assert_ne!(end, CommandEnd::Exited(0), "{line}: {text}");
        assert!(!text.contains("s3cr3t"), "{line}: {text}");
    }
    assert_eq!(fs::read_dir(scene.root.join("outside")).expect("a folder").count(), 0);
}

#[test]
fn the_loopback_answers_and_other_processes_are_out_of_reach() {
    let scene = Scene::new();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let (end, text) = scene.run(&format!("nc -z 127.0.0.1 {port}"));
    assert_eq!(end, CommandEnd::Exited(0), "{text}");
    let (end, text) = scene.run("nc -z -G 2 192.0.2.1 80");
    assert_ne!(end, CommandEnd::Exited(0), "{text}");
    let (end, text) = scene.run(&format!("kill -0 {}", std::process::id()));
    assert_ne!(end, CommandEnd::Exited(0), "{text}");
}
