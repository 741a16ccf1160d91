//! What a release is called, and where `cargo binstall` looks for it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::repo::Repo;

const TARGET: &str = "x86_64-unknown-linux-musl";
const ADDRESS: &str = "https://example.com/me/ralph-copilot";
/// In place of the build.
const CARGO: &str = "#!/bin/sh
mkdir -p \"target/$TARGET/release\" && echo built >\"target/$TARGET/release/ralph-copilot\"
";

/// Packs as the release of this tag does.
fn package(at: &Repo, tag: &str) -> Output {
    let path = format!("{}:{}", at.path("bin").display(), std::env::var("PATH").expect("a path"));
    let mut package = Command::new(at.path(".ci/package"));
    package.env("PATH", path).env("TARGET", TARGET).env("GITHUB_REF_NAME", tag);
    package.env("GITHUB_SERVER_URL", "https://example.com");
    package.env("GITHUB_REPOSITORY", "me/ralph-copilot").output().expect("it runs")
}

#[test]
fn a_release_is_where_binstall_looks_for_it() {
    let at = Repo::empty();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for name in [".ci/package", "Cargo.toml", "LICENSE", "README.md"] {
        fs::create_dir_all(at.path(name).parent().expect("a folder")).expect("made");
        fs::copy(root.join(name), at.path(name)).expect("copied");
    }
    at.write("bin/cargo", CARGO);
    let mode = fs::metadata(at.path(".ci/package")).expect("a file").permissions();
    fs::set_permissions(at.path("bin/cargo"), mode).expect("a program");
    let manifest = at.read("Cargo.toml");
    let version = env!("CARGO_PKG_VERSION");
    let tag = format!("v{version}");
    let refused = |tag: &str, why: &str| {
        let ran = package(&at, tag);
        let said = String::from_utf8(ran.stdout).expect("UTF-8");
        assert!(!ran.status.success() && said.contains(why), "{said}");
    };
    refused("v9.9.9", "the tag is v9.9.9");
    at.write("Cargo.toml", manifest.replace("\nrepository = ", "\nhomepage = "));
    refused(&tag, &format!("repository = \"{ADDRESS}\""));

    let named = format!("[package]\nrepository = \"{ADDRESS}\"\n");
    at.write("Cargo.toml", at.read("Cargo.toml").replacen("[package]\n", &named, 1));
    let ran = package(&at, &tag);
    assert!(ran.status.success(), "{ran:?}");
    let told = |key: &str| {
        let line =
            manifest.lines().find(|it| it.starts_with(&format!("{key} = "))).expect("a line");
        let mut text = line.split('"').nth(1).expect("a text").to_owned();
        for (name, value) in [
            ("repo", ADDRESS),
            ("name", "ralph-copilot"),
            ("bin", "ralph-copilot"),
            ("binary-ext", ""),
            ("target", TARGET),
            ("version", version),
            // One of two that it tries for `tgz`.
            ("archive-format", "tar.gz"),
        ] {
            text = text.replace(&format!("{{ {name} }}"), value);
        }
        text
    };
    let file = told("pkg-url").replace(&format!("{ADDRESS}/releases/download/{tag}/"), "dist/");
    let list = Command::new("tar").arg("-tzf").arg(at.path(&file)).output().expect("it runs");
    let list = String::from_utf8(list.stdout).expect("UTF-8");
    assert!(list.lines().any(|it| it == told("bin-dir")), "{file}: {list}");
    assert_eq!(fs::read_dir(at.path("dist")).expect("a folder").count(), 1);
}
