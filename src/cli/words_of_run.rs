//! The words that a run passes on to its workers.

use std::ffi::OsString;

use clap::CommandFactory as _;
use clap::parser::ValueSource;

use super::args::{Cli, attached, leading_directory};

/// The words behind `run`: those of this process. If it carries out a plan, the flags among them that
/// a run has, too.
pub(super) fn words_of_run(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let (_, mut words) = leading_directory(words);
    if words.get(1).is_none_or(|word| word != "orchestrate") {
        let is_named = words.get(1).is_some_and(|word| word == "run");
        return words.split_off(if is_named { 2 } else { 1 });
    }
    let mut all = vec![OsString::from("planned")];
    let command = Cli::command();
    let (Ok(found), Some(run)) =
        (command.clone().try_get_matches_from(attached(words)), command.find_subcommand("run"))
    else {
        return all;
    };
    let Some(("orchestrate", found)) = found.subcommand() else { return all };
    let typed = |id: &str| {
        found.ids().any(|known| known.as_str() == id)
            && found.value_source(id) == Some(ValueSource::CommandLine)
    };
    for arg in run.get_arguments().filter(|arg| typed(arg.get_id().as_str())) {
        let Some(long) = arg.get_long() else { continue };
        let takes = arg.get_action().takes_values();
        for value in found.get_raw(arg.get_id().as_str()).into_iter().flatten() {
            let mut word = OsString::from(format!("--{long}"));
            if takes {
                word.push("=");
                word.push(value);
            }
            all.push(word);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_gets_the_words_of_its_run() {
        for (words, wanted) in [
            ("r t --jobs 2", &["t", "--jobs", "2"][..]),
            ("r run t --lenient", &["t", "--lenient"]),
            ("r -C d run t", &["t"]),
            ("r orchestrate g", &["planned"]),
            (
                "r -C d orchestrate g --name n --sandbox full --allow-dirty -j 2 --allow a \
                 --json --accept-checks",
                &["planned", "--jobs=2", "--allow-dirty", "--sandbox=full", "--allow=a", "--json"],
            ),
        ] {
            let words = words_of_run(words.split(' ').map(OsString::from));
            assert_eq!(words, wanted, "{words:?}");
        }
    }
}
