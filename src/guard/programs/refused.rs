//! Programs that are refused whatever their words, each with its rule.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::guard::denial::Denial;

/// Why a group of programs is refused, and what passes instead.
pub(in crate::guard) struct Group {
    pub(in crate::guard) rule: &'static str,
    why: &'static str,
    instead: &'static str,
    pub(in crate::guard) names: &'static str,
}

/// The groups.
pub(in crate::guard) const GROUPS: &[Group] = &[
    Group {
        rule: "program.delete",
        why: "it deletes files, and an unattended run never deletes",
        instead: "archive it: `mkdir -p _archive && mv FILE _archive/`",
        names: "rm rmdir unlink shred wipe srm trash trash-put rimraf del erase",
    },
    Group {
        rule: "privilege",
        why: "it raises privileges or changes owners",
        instead: "do it without extra privileges",
        names: "sudo su doas pkexec runuser chroot unshare nsenter setpriv capsh chown chgrp setfacl \
            chattr setcap visudo passwd chpasswd useradd usermod userdel groupadd newgrp sg gosu \
            su-exec bwrap firejail umount mount",
    },
    Group {
        rule: "network",
        why: "it talks to the network",
        instead: "work with what is in the repository",
        names: "curl wget nc ncat netcat socat telnet ftp sftp ssh scp rsync ssh-keygen ssh-add \
            ssh-agent ssh-copy-id dig nslookup host whois ping ping6 traceroute nmap http https \
            httpie xh aria2c lynx links w3m elinks gh glab hub aws az gcloud gsutil doctl heroku \
            vercel netlify fly flyctl wrangler firebase rclone s3cmd ngrok cloudflared mail sendmail \
            mutt mosh openssl gpg psql mysql redis-cli mongo mongosh tftp finger axel youtube-dl",
    },
    Group {
        rule: "program.install",
        why: "it fetches and installs packages, and an unattended run never installs",
        instead: "use the dependencies that are installed",
        names: "pip pip3 pipx easy_install apt apt-get aptitude dpkg yum dnf rpm apk pacman yay zypper \
            brew port snap flatpak gem cpan cpanm conda mamba nix nix-env nix-shell asdf mise nvm \
            pyenv rbenv sdk choco winget scoop corepack luarocks opam ghcup rustup-init volta fnm",
    },
    Group {
        rule: "container",
        why: "it starts containers or reaches a cluster, beyond the workspace",
        instead: "run the project's own tests directly",
        names: "docker docker-compose podman buildah skopeo kubectl helm kind minikube k3s k3d nerdctl \
            ctr crictl lxc lxd vagrant terraform tofu pulumi ansible ansible-playbook packer virsh \
            qemu oc skaffold tilt act",
    },
    Group {
        rule: "system",
        why: "it changes or stops the machine or other processes, not the workspace",
        instead: "leave the machine as it is",
        names: "systemctl service crontab at batch kill pkill killall xkill shutdown reboot halt \
            poweroff init mkfs fdisk parted dd iptables nft ufw sysctl modprobe insmod rmmod \
            launchctl defaults osascript open xdg-open loginctl hostnamectl timedatectl swapoff \
            swapon mknod losetup cryptsetup ldconfig update-alternatives journalctl dmesg renice \
            chsh telinit networksetup scutil diskutil csrutil spctl security gdb lldb strace ltrace \
            ptrace screen tmux logger wall write busctl dbus-send gsettings dconf xattr",
    },
    Group {
        rule: "program.opaque",
        why: "it runs code that this line does not show",
        instead: "run the command itself, in a plain line",
        names: "source . alias unalias enable bind complete compgen fc history script watch \
            parallel entr expect unbuffer run-parts busybox toybox ex vi vim nvim emacs nano ed pico \
            sponge vipe m4 zsh fish csh tcsh ksh pwsh powershell cmd tclsh wish guile osh nu elvish \
            xonsh start-stop-daemon daemonize coproc patch rename csplit mkfifo cpio ar \
            sqlite3 gunzip bunzip2 unxz zstd unzip 7z unrar install logrotate \
            ralph-copilot copilot claude codex gemini aider opencode",
    },
];

/// Harmless queries of refused programs: the first word, and the words behind it are names.
const QUESTIONS: &[(&str, &str)] = &[
    ("pip pip3", "list show freeze check inspect -V"),
    ("terraform tofu", "fmt validate version"),
    ("openssl", "version"),
    ("helm", "lint"),
    ("conda mamba", "list info"),
    ("gem", "list"),
    ("brew", "list --prefix"),
    ("unzip", "-l -Z"),
    ("7z", "l"),
    ("dpkg", "-l -s -L"),
];

/// Builtins of the shell: with them a first word is a file, never a question.
const NEVER_ASKED: &str = "source . alias unalias enable bind complete compgen fc history";

/// Whether a command of a refused program only asks for its version or what it knows.
pub(in crate::guard) fn only_asks(name: &str, words: &[Option<&str>]) -> bool {
    let Some(first) = words.first().copied().flatten() else { return false };
    if first == "--version" && words.len() == 1 {
        return !lists(NEVER_ASKED, name);
    }
    QUESTIONS.iter().any(|(names, questions)| lists(names, name) && lists(questions, first))
}

/// The group of a program. On some machines `RM` is `rm`.
pub(in crate::guard) fn group(name: &str) -> Option<&'static Group> {
    let lower = name.to_lowercase();
    INDEX.get(lower.as_str()).map(|at| &GROUPS[*at])
}

static INDEX: LazyLock<HashMap<&'static str, usize>> = LazyLock::new(|| {
    let mut index = HashMap::new();
    for (at, group) in GROUPS.iter().enumerate() {
        for name in group.names.split_whitespace() {
            index.entry(name).or_insert(at);
        }
    }
    index
});

/// Does a program talk to another machine, as far as its words show? A word that the shell fills in
/// may name this one.
pub(in crate::guard) fn is_foreign(name: &str, words: &[Option<&str>]) -> bool {
    const CLIENTS: &str = "curl wget http https xh nc ncat netcat telnet psql mysql redis-cli mongo \
        mongosh ping";
    const COPIES: &str = "rsync scp";
    const OFFLINE: &str = "openssl gpg ssh-keygen";
    const HERE: [&str; 4] = ["localhost", "127.0.0.1", "[::1]", "0.0.0.0"];
    let mut named = words.iter().flatten().filter(|word| !word.starts_with('-'));
    if lists(OFFLINE, name) {
        return named.any(|word| *word == "s_client");
    }
    if lists(COPIES, name) {
        return named.any(|word| word.contains(':'));
    }
    let is_here = |word: &str| {
        let rest = word.split_once("://").map_or(word, |(_, rest)| rest);
        let rest = rest.rsplit_once('@').map_or(rest, |(_, rest)| rest);
        HERE.iter().any(|here| {
            rest.strip_prefix(here)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '/', '?']))
        })
    };
    let asks = words.iter().flatten().all(|word| matches!(*word, "-V" | "--version" | "--help"));
    let all_here = words.iter().any(|word| word.is_none_or(is_here))
        && !named.any(|word| (word.contains("://") || word.starts_with("www.")) && !is_here(word));
    !(lists(CLIENTS, name) && (asks || all_here))
}

/// Does a package or version manager only show, choose or build?
pub(in crate::guard) fn installs_nothing(name: &str, words: &[Option<&str>]) -> bool {
    const MANAGERS: &str = "nvm pyenv rbenv asdf mise sdk volta fnm conda mamba gem";
    const VERBS: &str = "install i uninstall update upgrade add remove create push yank self-update \
        selfupdate reinstall fetch plugin plugins cleanup owner signin run";
    lists(MANAGERS, name) && words.iter().all(|word| word.is_some_and(|word| !lists(VERBS, word)))
}

/// Is a program of the group `system` a tool for programs, which reaches no further than the
/// sandbox?
pub(in crate::guard) fn is_harmless_in_a_sandbox(name: &str) -> bool {
    lists("gdb lldb strace ltrace dd", name)
}

/// Whether a word is one of the words of a string.
pub(in crate::guard) fn lists(words: &str, word: &str) -> bool {
    words.split_whitespace().any(|known| known == word)
}

impl Group {
    /// The denial of one of its programs.
    pub(in crate::guard) fn denial(&self) -> Denial {
        Denial::new(self.rule, self.why).instead(self.instead)
    }
}
