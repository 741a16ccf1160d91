//! Tasks of Gradle, sbt, and Rake that build, test, and format. Gradle takes `pub` for `publish`,
//! and sbt has a language of its own, so any other name may do anything.

use crate::guard::programs::lists;
use crate::guard::programs::verbs::camel_case;

/// Tasks of Gradle, and first and last words of their names.
const WHOLE: &str = "build assemble check test clean classes jar javadoc tasks projects dependencies help run \
    dependencyInsight buildEnvironment components outgoingVariants javaToolchains";
const FIRST: &str = "compile assemble lint spotless ktlint detekt checkstyle pmd spotbugs jacoco process kapt ksp \
    test check format verify bundle package";
const LAST: &str = "test tests classes check jar lint";

/// Commands of sbt; the second ones take a word.
const SBT: &str = "compile test testQuick clean doc package run projects tasks scalafmt scalafmtAll \
    scalafmtCheck scalafmtCheckAll scalafmtSbt scalafmtSbtCheck scalafix scalafixAll headerCheck headerCheckAll \
    coverage coverageReport coverageOff coverageAggregate mimaReportBinaryIssues testOnly project";
const SBT_WITH_WORD: &str = "testOnly testQuick project";

/// Is this a task of Gradle, with all of its name?
pub(super) fn is_of_gradle(task: &str) -> bool {
    let name = task.rsplit(':').next().unwrap_or(task);
    let words = camel_case(name);
    let is = |list, word: Option<&String>| word.is_some_and(|word| lists(list, word));
    lists(WHOLE, name) || is(FIRST, words.first()) || is(LAST, words.last())
}

/// Is this a command of sbt that stays in the project?
pub(super) fn is_of_sbt(command: &str) -> bool {
    let (verb, rest) = command.split_once(' ').unwrap_or((command, ""));
    let verb = verb.trim_start_matches('+').rsplit(['/', ':']).next().unwrap_or_default();
    lists(SBT, verb)
        && (rest.is_empty() || lists(SBT_WITH_WORD, verb) && !rest.contains([' ', '-']))
}

/// Does a task of Rake keep the data of the database?
pub(super) fn is_of_rake(task: &str) -> bool {
    const DB: &str = "db:migrate db:migrate:status db:version db:seed db:test:prepare \
        db:abort_if_pending_migrations";
    !task.starts_with("db:") || lists(DB, task)
}
