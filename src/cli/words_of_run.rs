//! The words that a run passes on to its workers.

use std::ffi::OsString;

use clap::parser::ValueSource;
use clap::{Arg, ArgGroup, ArgMatches, Command, CommandFactory as _};

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
    all.extend(typed(found, run.get_arguments()));
    all
}

/// The settings of a run on this command line, as words.
pub(super) fn typed_settings(words: impl IntoIterator<Item = OsString>) -> Vec<String> {
    let command = Cli::command();
    let words = attached(leading_directory(words).1);
    let Ok(found) = command.clone().try_get_matches_from(words) else { return Vec::new() };
    let found = found.subcommand().map_or(&found, |(_, found)| found);
    let run = command.find_subcommand("run");
    let settings = run.and_then(|run| run.get_groups().find(|it| it.get_id() == "SettingArgs"));
    let ids: Vec<_> = settings.into_iter().flat_map(ArgGroup::get_args).collect();
    let args =
        run.into_iter().flat_map(Command::get_arguments).filter(|it| ids.contains(&it.get_id()));
    typed(found, args).map(|word| word.to_string_lossy().into_owned()).collect()
}

/// Those of the flags that were typed, each as one word.
fn typed<'a>(
    found: &'a ArgMatches,
    args: impl Iterator<Item = &'a Arg>,
) -> impl Iterator<Item = OsString> {
    let typed = |id: &str| {
        found.ids().any(|known| known.as_str() == id)
            && found.value_source(id) == Some(ValueSource::CommandLine)
    };
    args.filter(move |arg| typed(arg.get_id().as_str())).flat_map(|arg| {
        let long = arg.get_long().map(|long| OsString::from(format!("--{long}")));
        let values = found.get_raw(arg.get_id().as_str()).into_iter().flatten();
        long.into_iter().flat_map(move |long| {
            values.clone().map(move |value| {
                let mut word = long.clone();
                if arg.get_action().takes_values() {
                    word.push("=");
                    word.push(value);
                }
                word
            })
        })
    })
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
