//! `recipe list`: the folders in which the runner looks, and the recipes in them.
//!
//! We read the files ourselves, so no runner is needed to list the recipes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::cli::args::ListArgs;
use crate::cli::failure::Failure;
use crate::cli::paths;
use crate::cli::print::{say, say_json};
use crate::recipe::{ENDINGS, folders};

/// Lists them.
pub(super) fn list(directory: Option<&Path>, args: &ListArgs) -> Result<u8, Failure> {
    let dir = paths::directory(directory)?;
    let home = etcetera::home_dir().ok();
    let variable = |name: &str| std::env::var(name).ok();
    let folders = folders(&args.recipe_dirs, &dir, home.as_deref(), &variable);
    let recipes = recipes(&folders);
    if args.json {
        let folders: Vec<_> = folders
            .iter()
            .map(|folder| json!({ "path": folder, "exists": folder.is_dir() }))
            .collect();
        let recipes: Vec<_> =
            recipes.iter().map(|(name, path)| json!({ "name": name, "path": path })).collect();
        say_json(&json!({ "folders": folders, "recipes": recipes }));
        return Ok(0);
    }
    say("Searched in this order:");
    for folder in &folders {
        let there = if folder.is_dir() { "" } else { "  (missing)" };
        say(&format!("  {}{there}", folder.display()));
    }
    if recipes.is_empty() {
        say("\nNo recipes found");
        return Ok(0);
    }
    say("");
    for (name, path) in &recipes {
        say(&format!("{name:<30} {}", path.display()));
    }
    Ok(0)
}

/// The recipes by name, each from the first folder that has one of that name.
fn recipes(folders: &[PathBuf]) -> BTreeMap<String, PathBuf> {
    let mut found = BTreeMap::new();
    for folder in folders {
        for ending in ENDINGS {
            // A folder that cannot be read has nothing for the runner either.
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                let fits = path.extension().is_some_and(|it| it == ending) && path.is_file();
                let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
                if let Some(name) = name.filter(|name| fits && !name.starts_with('.')) {
                    found.entry(name).or_insert(path);
                }
            }
        }
    }
    found
}
