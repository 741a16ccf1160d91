//! docs/recipes.md: its commands run, and its lists are those of the code.

use std::collections::BTreeSet;

use ralph_copilot::recipe::{ALLOWED, ALLOWED_PREFIXES, REFUSED};

use crate::repo::finish;
use crate::scene::{DONE, Scene};

const PAGE: &str = include_str!("../../docs/recipes.md");

#[test]
fn every_command_of_the_page_does_what_it_says() {
    let scene = Scene::new(DONE);
    scene.repo.write("values.json", r#"{"who":"you"}"#);
    scene.repo.write("sub/here", "");
    scene.repo.write("recipes/hello.yaml", "name: hello\n");
    let blocks = PAGE.split("```console\n").skip(1).filter_map(|rest| rest.split("```").next());
    let commands: Vec<&str> =
        blocks.flat_map(str::lines).filter_map(|line| line.strip_prefix("$ ")).collect();
    assert!(commands.len() >= 9, "{commands:?}");
    for typed in commands {
        let words = shlex::split(typed).expect("words");
        assert_eq!(words[..2], ["ralph-copilot", "recipe"], "{typed}");
        let args: Vec<&str> = words[2..].iter().map(String::as_str).collect();
        let ran = finish(scene.command(&args));
        assert_eq!(ran.code, Some(0), "{typed}: {}", ran.stderr);
        if args.contains(&"--json") || args.contains(&"--print") {
            ran.json();
        }
    }
}

/// The words in backticks between a mark and its end.
fn listed(mark: &str) -> BTreeSet<&'static str> {
    let after = PAGE.split_once(&format!("<!-- {mark} -->")).expect("the mark").1;
    let list = after.split_once("<!-- end -->").expect("the end").0;
    list.split('`').skip(1).step_by(2).collect()
}

#[test]
fn the_lists_of_variables_are_those_of_the_code() {
    for (mark, code) in [("allowed", ALLOWED), ("prefixes", ALLOWED_PREFIXES), ("refused", REFUSED)]
    {
        assert_eq!(listed(mark), code.iter().copied().collect(), "{mark}");
    }
}
