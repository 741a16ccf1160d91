//! Manifests: the parts that determine how things run are put back, the rest is kept.

mod cmake;
mod compiler_flags;
mod env;
mod gemfile;
mod go_mod;
mod gradle;
mod ini;
pub(super) mod json_text;
pub(super) mod justfile;
mod make_merge;
pub(super) mod makefile;
mod manifests;
mod meson;
pub(super) mod package_json;
mod parts;
mod pom;
mod rakefile;
mod requirements;
mod solution;
mod statements;
pub(super) mod toml;
mod xml;

pub(super) use self::cmake::{command as cmake_command, parsed as cmake_statements};
pub(super) use self::manifests::{Manifests, Merged};
pub(super) use self::meson::parsed as meson_statements;
use super::paths::file_name;

/// Puts back the parts of a manifest. `start` is `None` for a new one.
pub(super) fn put_back(around: &Manifests<'_>, start: Option<&str>, now: &str) -> Merged {
    let name = file_name(around.path);
    match name {
        "GNUmakefile" | "makefile" | "Makefile" => make_merge::put_back(around, start, now),
        _ if name.ends_with(".mk") => make_merge::put_back(around, start, now),
        "justfile" | "Justfile" | ".justfile" => justfile::put_back(around, start, now),
        "package.json" => package_json::put_back(around, start, now),
        "tsconfig.json" => package_json::put_back_tsconfig(around, start, now),
        _ if name.starts_with("tsconfig.") => package_json::put_back_tsconfig(around, start, now),
        "composer.json" => package_json::put_back_composer(around, start, now),
        "Cargo.toml" => toml::cargo(around, start, now),
        "config.toml" | "config" => toml::cargo_config(around, start, now),
        "pyproject.toml" => toml::pyproject(around, start, now),
        "go.mod" | "go.work" => go_mod::put_back(around, start, now),
        "Gemfile" | "gems.rb" => gemfile::put_back(around, start, now),
        "CMakeLists.txt" => cmake::put_back(around, start, now),
        _ if name.ends_with(".cmake") => cmake::put_back(around, start, now),
        "meson.build" => meson::put_back(around, start, now),
        ".env" => env::put_back(start, now),
        "pom.xml" => pom::put_back(around, start, now),
        "build.gradle" | "build.gradle.kts" => gradle::put_back(around, start, now),
        "settings.gradle" | "settings.gradle.kts" => gradle::put_back_settings(around, start, now),
        "setup.cfg" | "tox.ini" => ini::put_back(around, start, now),
        "rakefile" | "Rakefile" | "rakefile.rb" | "Rakefile.rb" => {
            rakefile::put_back(around, start, now)
        }
        _ if name.ends_with(".rake") => rakefile::put_back(around, start, now),
        _ if name.starts_with("requirements") => requirements::put_back(around, start, now),
        _ if name.ends_with(".sln") => solution::put_back(around, start, now),
        _ => start.map_or(Merged::Same, |start| Merged::Text(start.to_owned())),
    }
}
