//! A session's sandbox, made of the programs that make it up in a run: what a call in it sees,
//! may and may not do, and how it ends. Passed over where bubblewrap or user namespaces are
//! missing; `.ci/run` installs bubblewrap.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use ralph_copilot::guard::{Redactor, secret_name};
use ralph_copilot::sandbox::{
    Calls, Network, Overlay, Programs, Room, Rooms, Secrets, View, Walls, full, partial, prepare,
    probe, tools,
};
use ralph_copilot::sys::open_up;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};

const RUNNER: &str = env!("CARGO_BIN_EXE_ralph-copilot");
/// After this something that should have happened has not.
const LIMIT: Duration = Duration::from_secs(20);

fn programs() -> Option<Programs> {
    let bubblewrap = which::which("bwrap").ok()?;
    Some(Programs { bubblewrap, ours: RUNNER.into() })
}

/// What a run knows of secrets.
fn with_secrets<T>(use_them: impl FnOnce(&Secrets<'_>) -> T) -> T {
    let redactor = Redactor::new(["hunter2".to_owned()]);
    let scrub = |text: &str| redactor.redact_str(text).into_owned();
    use_them(&Secrets { is_secret: &secret_name, scrub: &scrub })
}

/// A machine of its own: a HOME, a repository with a task, and a sandbox over both.
struct Scene {
    dir: tempfile::TempDir,
    calls: Calls,
}

impl Scene {
    fn new() -> Option<Self> {
        Self::with(|_, _| {})
    }

    /// `change` sees the folder of the scene, and may put another bubblewrap there.
    fn with(change: impl FnOnce(&Path, &mut View)) -> Option<Self> {
        let programs = programs()?;
        let dir = tempfile::tempdir().expect("temporary folder");
        let root = dir.path().canonicalize().expect("canonical");
        if let Err(error) = probe(&programs, &root.join("probe")) {
            // The harness shows this with --nocapture.
            drop(writeln!(std::io::stderr(), "passed over: {error}"));
            return None;
        }
        let at = |name: &str| root.join(name);
        for folder in ["home/.ssh", "home/Documents", "home/.cargo", "repo", "run/tmp", "run/var"] {
            fs::create_dir_all(at(folder)).expect("folder");
        }
        for (path, text) in [
            ("home/.ssh/id_rsa", "key"),
            ("home/Documents/letter", "private"),
            ("home/.profile", "export TOKEN=hunter2\n"),
            ("run/empty", ""),
            ("repo/tasks/job/TASK.md", "- [ ] one\n"),
            ("repo/tasks/job/progress.md", "# Progress\n"),
        ] {
            let path = at(path);
            fs::create_dir_all(path.parent().expect("parent")).expect("folder");
            fs::write(path, text).expect("write");
        }
        let repo = at("repo");
        let git = |args: &[&str]| {
            let output = Command::new("git").args(args).current_dir(&repo).output().expect("git");
            assert!(output.status.success(), "{output:?}");
        };
        git(&["init", "-qb", "main"]);
        for (key, value) in [("user.name", "Ada"), ("user.email", "ada@example.org")] {
            git(&["config", key, value]);
        }
        git(&["add", "-A"]);
        git(&["commit", "-qm", "first"]);
        let mut view = View {
            tree: repo.clone(),
            seen_at: repo.clone(),
            git: vec![repo.join(".git")],
            protected: vec![repo.join("tasks/job")],
            writable: vec![repo.join("tasks/job/progress.md")],
            tools: tools(&at("home"), &|name| {
                (name == "PATH").then(|| std::env::var_os("PATH")).flatten()
            }),
            home: at("home"),
            scratch: at("run"),
            tmp: at("run/tmp"),
            var_tmp: at("run/var"),
            empty: at("run/empty"),
            ..View::default()
        };
        change(&root, &mut view);
        let overlay = Overlay {
            lower: at("home"),
            upper: at("run/upper"),
            work: at("run/work"),
            merged: at("run/home"),
        };
        let socket = at("run/calls.sock");
        let client = [RUNNER, "sandbox", "call", socket.to_str().expect("text")];
        let calls = Calls::listen(&socket, &client).expect("listening");
        let online = {
            let walls = Walls::Namespaces(full(&view, overlay.clone())).online();
            let (programs, repo, log) = (programs.clone(), repo.clone(), at("run/online"));
            move |room: &Room| room.start_beside(&programs, &walls, &repo, &log)
        };
        let log = at("run/log");
        let other = Some(at("bwrap")).filter(|path| path.exists());
        let programs =
            Programs { bubblewrap: other.unwrap_or(programs.bubblewrap.clone()), ..programs };
        let own = move || {
            with_secrets(|secrets| prepare(&overlay, &view.tools, secrets)).expect("prepared");
            let walls = Walls::Namespaces(full(&view, overlay.clone()));
            Room::start(&programs, &walls, &repo, &log)
        };
        calls.begin(Rooms::start(Box::new(own), Some(Box::new(online))).expect("started"));
        Some(Self { dir, calls })
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().expect("canonical").join(name)
    }

    /// A shell as the CLI starts it, for a line that was replaced already.
    fn shell(&self, line: &str) -> Command {
        let mut shell = Command::new("/bin/bash");
        shell.args(["--norc", "--noprofile", "-c", line]).current_dir(self.at("repo"));
        shell.env("HOME", self.at("home")).env("TMPDIR", self.at("run/tmp"));
        shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        shell
    }

    fn start(&self, command: &str) -> Child {
        self.shell(&self.calls.replace(command, Network::Own)).spawn().expect("started")
    }

    fn run(&self, command: &str) -> Output {
        self.start(command).wait_with_output().expect("ended")
    }

    /// What a command that succeeds prints.
    #[track_caller]
    fn says(&self, command: &str) -> String {
        let output = self.run(command);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command}: {errors}");
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    #[track_caller]
    fn fails(&self, command: &str) -> String {
        let output = self.run(command);
        assert!(!output.status.success(), "{command} succeeded");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }
}

impl Drop for Scene {
    /// Only root enters the kernel's own folder of an overlay, and the scene's folder is removed.
    fn drop(&mut self) {
        open_up(self.dir.path());
    }
}

/// Waits for something that happens soon.
#[track_caller]
fn soon(what: &str, happened: impl Fn() -> bool) {
    let begun = Instant::now();
    while !happened() {
        assert!(begun.elapsed() < LIMIT, "{what} did not happen");
        std::thread::yield_now();
    }
}

#[test]
fn a_call_has_its_own_output_exit_code_and_signal() {
    let Some(scene) = Scene::new() else { return };
    let output = scene.run("echo out; echo err >&2; exit 7");
    assert_eq!((output.stdout, output.stderr), (b"out\n".to_vec(), b"err\n".to_vec()));
    assert_eq!(output.status.code(), Some(7));
    for signal in [15, 9, 6] {
        let status = scene.run(&format!("kill -{signal} $$")).status;
        assert_eq!(status.signal(), Some(signal), "{status}");
    }
    let bytes: Vec<u8> = (0..=255).collect();
    fs::write(scene.at("repo/bytes"), &bytes).expect("write");
    assert_eq!(scene.run("cat bytes").stdout, bytes, "binary, and no newline at the end");
    let large = scene.run("head -c 100000000 /dev/zero | tr '\\0' x").stdout;
    assert_eq!(large.len(), 100_000_000);
    let long = format!(": {}; echo $# $0 ended", "x".repeat(1 << 20));
    assert_eq!(scene.says(&long), "0 /bin/bash ended");
    let repo = scene.at("repo").display().to_string();
    assert_eq!(scene.says("pwd; A=1 env | grep ^A="), format!("{repo}\nA=1"));
}

#[test]
fn calls_of_a_session_share_processes_files_and_a_loopback() {
    let Some(scene) = Scene::new() else { return };
    scene.says("sleep 300 > /dev/null 2>&1 & echo $! > /tmp/pid");
    scene.says("kill -0 $(cat /tmp/pid) && kill $(cat /tmp/pid)");
    let serve = "python3 -c 'import socket; s = socket.create_server((\"127.0.0.1\", 8123)); \
                 open(\"/tmp/up\", \"w\"); s.accept()[0].send(b\"hello\")' > /dev/null 2>&1 &";
    scene.says(serve);
    scene.says("until test -e /tmp/up; do :; done");
    assert_eq!(scene.says("exec 3<> /dev/tcp/127.0.0.1/8123 && cat <&3"), "hello");
    assert!(!Path::new("/tmp/up").exists() && scene.at("run/tmp/up").exists());
}

#[test]
fn a_background_process_that_ended_is_gone() {
    let Some(scene) = Scene::new() else { return };
    scene.says("sleep 300 > /dev/null 2>&1 & echo $! > /tmp/pid");
    scene.says("pid=$(cat /tmp/pid); kill $pid; for i in $(seq 50); do kill -0 $pid || exit 0; sleep 0.1; done; exit 1");
}

#[test]
fn fifty_calls_at_once_keep_their_outputs_apart() {
    let Some(scene) = Scene::new() else { return };
    let calls: Vec<Child> = (0..50).map(|n| scene.start(&format!("sleep 0.1; echo {n}"))).collect();
    for (n, call) in calls.into_iter().enumerate() {
        let output = call.wait_with_output().expect("ended");
        assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{n}\n"));
    }
}

#[test]
fn a_call_that_is_signaled_or_killed_takes_its_processes_with_it() {
    let Some(scene) = Scene::new() else { return };
    for (signal, shown) in [(Signal::TERM, Some("ended\n")), (Signal::KILL, None)] {
        // A child that is signaled before it has a program of its own loses the signal.
        let mut call = scene
            .start("trap 'echo ended; exit 3' TERM; sh -c 'touch /tmp/up; exec sleep 300' & wait");
        soon("the command's start", || scene.at("run/tmp/up").exists());
        let pid = Pid::from_child(&call);
        kill_process(pid, signal).expect("sent");
        let mut said = String::new();
        // Without the end of all that hold it, this would never end.
        call.stdout.take().expect("stdout").read_to_string(&mut said).expect("read");
        let status = call.wait().expect("ended");
        match shown {
            Some(shown) => assert_eq!((said.as_str(), status.code()), (shown, Some(3))),
            None => assert_eq!(status.signal(), Some(9)),
        }
        soon("the end", || scene.run("pgrep -x sleep").status.code() == Some(1));
        fs::remove_file(scene.at("run/tmp/up")).expect("removed");
    }
}

#[test]
fn nothing_outside_the_workspace_is_changed_and_home_is_thrown_away() {
    let Some(scene) = Scene::new() else { return };
    scene.says("echo x > new && mkdir d && mv new d/ && ln -s /etc/passwd l && rm l");
    scene.says("echo x > ~/.cargo/new && echo x >> ~/.profile && cat ~/.cargo/new");
    scene.says("git add -A && git commit -qm 'by the agent' && git log --format=%an -1");
    for outside in ["/etc/x", "/usr/x", "/x", "/opt/x"] {
        let error = scene.fails(&format!("touch {outside}"));
        assert!(error.contains("Read-only file system"), "{error}");
    }
    let home = scene.at("home").display().to_string();
    assert_eq!(scene.says("cat ~/.profile"), "export TOKEN=[REDACTED]\nx");
    assert_eq!(
        scene.says("ls -A ~ ~/.ssh"),
        format!("{home}:\n.cargo\n.profile\n.ssh\n\n{home}/.ssh:")
    );
    assert!(!scene.at("home/.cargo/new").exists() && scene.at("repo/d/new").exists());
    let profile = fs::read_to_string(scene.at("home/.profile")).expect("profile");
    assert_eq!(profile, "export TOKEN=hunter2\n");
}

/// Files of HOME, with `SECRET` where a secret value stands.
const HOME_SECRETS: &str = include_str!("corpus/home_secrets.txt");

#[test]
fn no_secret_of_home_is_shown_however_many_there_are() {
    let mut files: Vec<(String, String)> = HOME_SECRETS
        .lines()
        .map(|line| line.split_once('\t').expect("a path and a text"))
        .map(|(path, text)| (path.to_owned(), text.replace("\\n", "\n")))
        .collect();
    let many =
        (0..450).map(|n| (format!(".tool-{n}/credentials"), "password = SECRET\n".to_owned()));
    files.extend(many);
    let mut readable = Vec::new();
    let scene = Scene::with(|root, view| {
        for (number, (path, text)) in files.iter().enumerate() {
            let path = root.join("home").join(path);
            fs::create_dir_all(path.parent().expect("parent")).expect("folder");
            fs::write(path, text.replace("SECRET", &value(number))).expect("write");
        }
        let limits = with_secrets(|secrets| partial(view, secrets)).expect("listed");
        readable = limits.readable.expect("limited");
    });
    let Some(scene) = scene else { return };
    let seen = scene.says("grep -ra '' ~/.[a-zA-Z]* || true");
    let is_shown = |number: usize| seen.contains(&value(number));
    let shown: Vec<_> = (0..files.len()).filter(|it| is_shown(*it)).map(|it| &files[it]).collect();
    assert_eq!(shown, Vec::<&(String, String)>::new());
    let home = scene.at("home");
    let is_readable = |path: &&String| readable.iter().any(|it| home.join(path).starts_with(it));
    let shown: Vec<_> = files.iter().map(|(path, _)| path).filter(is_readable).collect();
    assert_eq!(shown, Vec::<&String>::new(), "in partial");
}

/// A value that looks like a secret.
fn value(number: usize) -> String {
    format!("Zx98Yw76Vu54Ts32Rq10Po{number:04}Nm87")
}

#[test]
fn git_is_not_configured_and_the_task_is_not_changed() {
    let Some(scene) = Scene::new() else { return };
    for command in [
        "git config core.fsmonitor x",
        "echo x >> .git/config",
        "echo x > .git/hooks/post-commit",
        "echo x > .git/info/attributes",
        "echo /x > .git/objects/info/alternates",
        "mv .git .git2",
        "rm -rf .git/hooks",
        "echo x > tasks/job/TASK.md",
        "rm tasks/job/TASK.md",
        "mv tasks moved",
        "touch tasks/job/more",
        "umount .git/hooks",
    ] {
        scene.fails(command);
    }
    scene.says("echo '- done' >> tasks/job/progress.md");
    let text = |path: &str| fs::read_to_string(scene.at(path)).expect("read");
    assert_eq!(text("repo/tasks/job/TASK.md"), "- [ ] one\n");
    assert_eq!(text("repo/tasks/job/progress.md"), "# Progress\n- done\n");
    assert!(!scene.at("repo/.git/hooks/post-commit").exists());
}

#[test]
fn a_linked_working_tree_stays_linked_to_its_repository() {
    let scene = Scene::with(|root, view| {
        let (repo, tree) = (root.join("repo"), root.join("tree"));
        let mut git = Command::new("git");
        let output = git.args(["worktree", "add", "-q", "../tree"]).current_dir(&repo).output();
        assert!(output.expect("git").status.success());
        view.git = vec![repo.join(".git"), repo.join(".git/worktrees/tree")];
        (view.tree, view.seen_at) = (tree.clone(), tree.clone());
        view.protected = vec![tree.join("tasks/job")];
        view.writable.clear();
    });
    let Some(scene) = scene else { return };
    let tree = scene.at("tree").display().to_string();
    for command in [
        "mv .git moved",
        "rm -f .git",
        "echo 'gitdir: elsewhere' > .git",
        "echo .. > $(git rev-parse --git-dir)/commondir",
        "git config core.fsmonitor x",
    ] {
        scene.fails(&format!("cd '{tree}' && {command}"));
    }
    scene.says(&format!("cd '{tree}' && echo x > new && git add new && git commit -qm new"));
}

#[test]
fn a_path_that_configures_git_is_noticed_when_it_appears() {
    for path in ["commondir", "config.worktree"] {
        let Some(scene) = Scene::new() else { return };
        scene.says("echo x > new && git add new && git commit -qm new && git status");
        assert_eq!(scene.calls.planted(), None);
        scene.says(&format!("echo x > .git/{path}"));
        assert_eq!(scene.calls.planted(), Some(scene.at("repo/.git").join(path)));
    }
}

#[test]
fn the_kernel_s_keys_and_networks_without_a_namespace_are_out_of_reach() {
    let Some(scene) = Scene::new() else { return };
    let vsock = "import socket; socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)";
    let error = scene.fails(&format!("python3 -c '{vsock}'"));
    assert!(error.contains("not supported"), "{error}");
    let number = if cfg!(target_arch = "x86_64") { 248 } else { 217 };
    let key = format!(
        "import ctypes, errno; libc = ctypes.CDLL(None, use_errno=True); \
         assert libc.syscall({number}, b\"user\", b\"key\", b\"x\", 1, -3) == -1; \
         assert ctypes.get_errno() == errno.ENOSYS"
    );
    scene.says(&format!("python3 -c '{key}'"));
    let networks = "import socket; [socket.socket(it, socket.SOCK_STREAM) for it in (1, 2, 10)]; \
                    socket.socketpair(); socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)";
    scene.says(&format!("python3 -c '{networks}'"));
}

#[test]
fn a_sandbox_that_dies_in_the_middle_of_a_call_ends_it_and_runs_nothing_more() {
    let Some(scene) = Scene::new() else { return };
    let call = scene.start("touch /tmp/up; sleep 303");
    soon("the call's start", || scene.at("run/tmp/up").exists());
    let mut started = Vec::new();
    soon("its process", || !processes_that_name("303").is_empty());
    let mut pid = processes_that_name("303")[0];
    while pid > 1 {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("a process");
        if stat.contains("(bwrap)") {
            started.push(pid);
        }
        let after = stat.rsplit_once(')').expect("a name").1;
        pid = after.split_whitespace().nth(1).expect("a parent").parse().expect("a number");
    }
    let outer = Pid::from_raw(*started.last().expect("bubblewrap")).expect("a process");
    kill_process(outer, Signal::KILL).expect("killed");
    let output = call.wait_with_output().expect("ended");
    assert_eq!(output.status.code(), Some(125), "{output:?}");
    soon("the end of all in it", || processes_that_name("303").is_empty());
    let later = scene.run("echo ran");
    assert_eq!((later.status.code(), later.stdout), (Some(125), Vec::new()));
}

#[test]
fn what_protected_links_lead_to_is_not_changed() {
    let scene = Scene::with(|root, view| {
        let repo = root.join("repo");
        for (path, text) in [
            ("docs/agents.md", "be kind\n"),
            ("docs/other.md", "text\n"),
            ("ci/hooks/a.json", "{}\n"),
            ("scripts/check.sh", "true\n"),
            (".github/file", "x\n"),
        ] {
            let path = repo.join(path);
            fs::create_dir_all(path.parent().expect("parent")).expect("folder");
            fs::write(path, text).expect("write");
        }
        for (target, link) in [
            ("docs/agents.md", "AGENTS.md"),
            ("../ci/hooks", ".github/hooks"),
            ("scripts", "tools"),
            (".", ".claude"),
            ("../home/.profile", "outside"),
        ] {
            std::os::unix::fs::symlink(target, repo.join(link)).expect("linked");
        }
        let links = ["AGENTS.md", ".github/hooks", "tools/check.sh", ".claude", "outside"];
        view.protected.extend(links.map(|link| repo.join(link)));
    });
    let Some(scene) = scene else { return };
    for command in [
        "echo x >> AGENTS.md",
        "echo x >> docs/agents.md",
        "mv docs elsewhere",
        "echo x > .github/hooks/b.json",
        "echo x > ci/hooks/a.json",
        "echo x >> tools/check.sh",
        "rm scripts/check.sh",
        "mv scripts moved",
    ] {
        scene.fails(command);
    }
    scene.says("echo x >> docs/other.md; echo x > new; echo x > scripts/new");
    let text = |path: &str| fs::read_to_string(scene.at(path)).expect("read");
    assert_eq!(text("repo/docs/agents.md"), "be kind\n");
    assert_eq!(text("repo/ci/hooks/a.json"), "{}\n");
    assert_eq!(text("repo/scripts/check.sh"), "true\n");
}

#[test]
fn the_network_and_the_sockets_of_other_programs_are_out_of_reach() {
    let outside = TcpListener::bind("127.0.0.1:0").expect("port");
    outside.set_nonblocking(true).expect("nonblocking");
    let port = outside.local_addr().expect("address").port();
    let Some(scene) = Scene::with(|root, view| {
        let socket = root.join("agent.sock");
        drop(UnixListener::bind(&socket).expect("socket"));
        view.unreached.push(socket);
    }) else {
        return;
    };
    scene.fails(&format!("exec 3<> /dev/tcp/127.0.0.1/{port}"));
    scene.fails("exec 3<> /dev/tcp/1.1.1.1/53");
    assert!(outside.accept().is_err(), "somebody connected");
    let connect = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])";
    scene.fails(&format!("python3 -c '{connect}' {}", scene.at("agent.sock").display()));
    scene.fails(&format!("python3 -c '{connect}' {}", scene.at("run/calls.sock").display()));
}

#[test]
fn named_ports_of_the_host_s_loopback_are_reached() {
    let outside = TcpListener::bind("127.0.0.1:0").expect("port");
    let port = outside.local_addr().expect("address").port();
    let Some(scene) = Scene::with(|_, view| view.ports.push(port)) else { return };
    let host = std::thread::spawn(move || {
        let (mut stream, _) = outside.accept().expect("a connection");
        let mut asked = [0; 4];
        stream.read_exact(&mut asked).expect("read");
        stream.write_all(b"pong").expect("written");
        asked
    });
    let ask = format!(
        "for i in $(seq 100); do exec 3<> /dev/tcp/127.0.0.1/{port} && break; sleep 0.05; done 2>/dev/null; \
         printf ping >&3; head -c 4 <&3"
    );
    assert_eq!(scene.says(&ask), "pong");
    assert_eq!(&host.join().expect("host"), b"ping");
}

#[test]
fn named_sockets_and_paths_beside_the_repository_are_reached() {
    let Some(scene) = Scene::with(|root, view| {
        fs::create_dir_all(root.join("lib")).expect("folder");
        fs::write(root.join("lib/code"), "shared\n").expect("write");
        view.visible.push(root.join("lib"));
        let socket = root.join("service.sock");
        let listener = UnixListener::bind(&socket).expect("socket");
        std::thread::spawn(move || listener.accept().expect("accepted").0.write_all(b"pong"));
        view.sockets.push(socket);
        view.devices.push("/dev/full".into());
    }) else {
        return;
    };
    let lib = scene.at("lib").display().to_string();
    assert_eq!(scene.says(&format!("cat {lib}/code")), "shared");
    let error = scene.fails(&format!("echo x >> {lib}/code"));
    assert!(error.contains("Read-only file system"), "{error}");
    let connect = "import socket, sys; s = socket.socket(socket.AF_UNIX); \
                   s.connect(sys.argv[1]); print(s.recv(4).decode())";
    let socket = scene.at("service.sock");
    assert_eq!(scene.says(&format!("python3 -c '{connect}' {}", socket.display())), "pong");
    let error = scene.fails("echo x > /dev/full");
    assert!(error.contains("No space left"), "{error}");
}

#[test]
fn a_command_with_network_shares_files_and_home_and_nothing_else() {
    let outside = TcpListener::bind("127.0.0.1:0").expect("port");
    let port = outside.local_addr().expect("address").port();
    std::thread::spawn(move || outside.accept().expect("accepted").0.write_all(b"pong"));
    let Some(scene) = Scene::new() else { return };
    scene.says("echo 1 > ~/.cargo/first; echo 2 > /tmp/second; sleep 300 > /dev/null 2>&1 &");
    let online = |command: &str| {
        let line = scene.calls.replace(command, Network::Host);
        let output = scene.shell(&line).output().expect("ended");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command}: {errors}");
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    };
    assert_eq!(online(&format!("exec 3<> /dev/tcp/127.0.0.1/{port} && cat <&3")), "pong");
    assert_eq!(online("cat ~/.cargo/first /tmp/second; ! pgrep -x sleep"), "1\n2");
    online("echo 3 > ~/.cargo/third; echo 4 > fourth; sleep 300 > /dev/null 2>&1 &");
    assert_eq!(scene.says("cat ~/.cargo/third fourth; pgrep -xc sleep"), "3\n4\n1");
    scene.fails(&format!("exec 3<> /dev/tcp/127.0.0.1/{port}"));
    for command in ["touch /etc/x", "echo x > .git/config", "cat ~/.ssh/id_rsa"] {
        let line = scene.calls.replace(command, Network::Host);
        assert!(!scene.shell(&line).status().expect("ended").success(), "{command}");
    }
    scene.calls.end().expect("ended");
    assert!(!scene.at("home/.cargo/third").exists() && scene.at("repo/fourth").exists());
    assert!(!scene.at("run/upper").exists(), "what was written in HOME is left");
}

#[test]
fn files_and_folders_with_secrets_show_stand_ins_and_do_not_move() {
    let Some(scene) = Scene::with(|root, view| {
        for (path, text) in [
            ("repo/config/master.key", "secret"),
            ("repo/config/settings", "text"),
            ("repo/keys/one.key", "secret"),
            ("run/shown/master.key", ""),
            ("run/shown/keys/one.key", ""),
        ] {
            let path = root.join(path);
            fs::create_dir_all(path.parent().expect("parent")).expect("folder");
            fs::write(path, text).expect("write");
        }
        for (path, shown) in [("config/master.key", "master.key"), ("keys", "keys")] {
            let shown = root.join("run/shown").join(shown);
            view.replaced.push((root.join("repo").join(path), shown));
        }
    }) else {
        return;
    };
    assert_eq!(scene.says("cat config/* keys/*"), "text");
    scene.says("echo more >> config/settings");
    for command in ["mv config other", "rm -f config/master.key", "mv keys other", "echo > keys/x"]
    {
        scene.fails(command);
    }
    scene.calls.end().expect("ended");
    let text = |path: &str| fs::read_to_string(scene.at(path)).expect("read");
    for file in ["repo/config/master.key", "repo/keys/one.key"] {
        assert_eq!(text(file), "secret");
    }
}

#[test]
fn a_command_runs_once_and_never_outside_of_its_session() {
    let Some(scene) = Scene::new() else { return };
    let line = scene.calls.replace("echo ran", Network::Own);
    assert_eq!(scene.calls.replaced(&line).as_deref(), Some("echo ran"));
    let run = |line: &str| scene.shell(line).output().expect("ended");
    assert_eq!(run(&line).stdout, b"ran\n");
    let again = run(&line);
    assert_eq!((again.status.code(), again.stdout), (Some(125), Vec::new()));
    let last = scene.calls.replace("echo ran", Network::Own);
    scene.calls.end().expect("ended");
    for line in [&last, &scene.calls.replace("echo ran", Network::Own)] {
        let late = run(line);
        assert_eq!((late.status.code(), late.stdout), (Some(125), Vec::new()));
        let said = String::from_utf8_lossy(&late.stderr);
        assert!(said.contains("its session is over"), "{said}");
    }
}

#[test]
fn the_end_of_a_session_ends_daemons_and_calls_that_are_going_on() {
    let Some(scene) = Scene::new() else { return };
    scene.says("setsid -f sleep 301 > /dev/null 2>&1; setsid -f bash -c 'trap \"\" TERM; touch /tmp/up; while :; do :; done' > /dev/null 2>&1");
    soon("the daemon's start", || scene.at("run/tmp/up").exists());
    let call = scene.start("touch /tmp/two; sleep 302");
    soon("the call's start", || scene.at("run/tmp/two").exists());
    // The shell becomes the program a moment later.
    soon("both programs", || processes_that_name("30[12]").len() >= 2);
    let alive = processes_that_name("30[12]");
    scene.calls.end().expect("ended");
    for pid in alive {
        let pid = Pid::from_raw(pid).expect("pid");
        assert!(test_kill_process(pid).is_err(), "{pid:?} is alive");
    }
    let output = call.wait_with_output().expect("ended");
    assert_eq!(output.status.code(), Some(125));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("the sandbox ended before the command did"), "{said}");
}

/// Processes of this machine whose command line is `sleep` and a number like this.
fn processes_that_name(number: &str) -> Vec<i32> {
    let output = Command::new("pgrep").args(["-f", &format!("^sleep {number}$")]).output();
    let output = String::from_utf8(output.expect("pgrep").stdout).expect("text");
    output.lines().map(|line| line.parse().expect("a process")).collect()
}

#[test]
fn a_sandbox_that_cannot_start_runs_nothing_and_says_why() {
    let Some(programs) = programs() else { return };
    let dir = tempfile::tempdir().expect("temporary folder");
    let broken = dir.path().join("bwrap");
    fs::write(&broken, "#!/bin/sh\necho 'bwrap: no permissions' >&2\nexit 1\n").expect("write");
    fs::set_permissions(&broken, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("mode");
    let programs = Programs { bubblewrap: broken, ..programs };
    let error = probe(&programs, &dir.path().join("probe")).expect_err("broken");
    assert!(error.to_string().ends_with("bwrap: no permissions"), "{error}");
}

/// A bubblewrap that fails this often.
fn fails(times: usize) -> impl FnOnce(&Path, &mut View) {
    move |root, _| {
        let real = which::which("bwrap").expect("bubblewrap");
        let (path, left) = (root.join("bwrap"), root.join("left"));
        fs::write(&left, "x\n".repeat(times)).expect("written");
        let text = format!(
            "#!/bin/sh\nif test -s '{left}'; then sed -i 1d '{left}'; echo gone >&2; exit 1; fi\n\
             exec '{real}' \"$@\"\n",
            left = left.display(),
            real = real.display()
        );
        fs::write(&path, text).expect("written");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&path, mode).expect("mode");
    }
}

#[test]
fn a_sandbox_that_does_not_start_is_started_again() {
    let Some(scene) = Scene::with(fails(2)) else { return };
    assert_eq!(scene.says("echo here"), "here");
    assert!(scene.calls.end().is_ok());
    let Some(scene) = Scene::with(fails(100)) else { return };
    assert!(scene.fails("echo here").contains("the sandbox did not start: gone"));
    let error = scene.calls.end().expect_err("a command did not run");
    assert!(error.to_string().contains("did not start: gone"), "{error}");
}

#[test]
fn a_human_who_changes_git_s_settings_meanwhile_opens_no_way_to_them() {
    let Some(scene) = Scene::new() else { return };
    scene.fails("echo x >> .git/config");
    scene.says("(sleep 1000 > left 2>&1 &)");
    // git writes another file and renames it: the mount over the first one is gone.
    let mut git = Command::new("git");
    git.args(["config", "color.ui", "false"]);
    let output = git.current_dir(scene.at("repo")).output().expect("git");
    assert!(output.status.success(), "{output:?}");
    scene.fails("echo x >> .git/config");
    assert_eq!(scene.says("git config color.ui"), "false");
    let config = fs::read_to_string(scene.at("repo/.git/config")).expect("config");
    assert!(!config.contains("x\n"), "{config}");
}

#[test]
fn a_replaced_setting_of_git_is_a_human_s_only_if_nothing_ran() {
    let Some(scene) = Scene::new() else { return };
    let by_hand = |name: &str, value: &str| {
        let mut git = Command::new("git");
        git.args(["config", name, value]).current_dir(scene.at("repo"));
        assert!(git.status().expect("git").success());
    };
    scene.says("echo one");
    assert!(scene.calls.spared_git());
    by_hand("color.ui", "false");
    by_hand("color.diff", "false");
    assert!(scene.calls.spared_git());
    // The sandbox starts again, and what a human adds to a folder is seen in it.
    fs::write(scene.at("repo/.git/hooks/post-merge"), "").expect("write");
    assert_eq!(scene.says("git config color.diff; ls .git/hooks/post-merge | wc -l"), "false\n1");
    assert!(scene.calls.spared_git());
    scene.says("(sleep 1000 > left 2>&1 &)");
    assert!(scene.calls.spared_git());
    by_hand("color.ui", "true");
    assert!(!scene.calls.spared_git());
    scene.says("echo two");
    assert!(!scene.calls.end().expect("ended"), "what was in doubt once stays so");
}

#[test]
fn a_flood_of_processes_ends_the_call_and_not_the_session() {
    let Some(scene) = Scene::new() else { return };
    // Bounded: more than a sandbox may hold, fewer than hurt.
    let output = scene.run("for i in $(seq 3000); do sleep 1000 & done; wait");
    assert!(!output.status.success(), "{output:?}");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("too many processes"), "{told}");
    assert_eq!(scene.says("echo still here"), "still here");
}

#[test]
fn an_archive_of_another_owner_is_unpacked() {
    let Some(scene) = Scene::new() else { return };
    scene.says("echo x > file && tar --owner=4711 --group=4711 -cf a.tar file && rm file");
    assert_eq!(scene.says("tar -xf a.tar && cat file"), "x");
}
