//! One reader for each runner's lines.

mod cargo;
mod ctest;
mod dotnet;
mod empty;
mod go;
mod jest;
mod jvm;
mod line;
mod mocha;
mod nextest;
mod node;
mod php;
mod python;
mod ruby;
mod vitest;

pub(super) use self::empty::AnySummary;
pub(super) use self::line::LineReader;
use super::report::TestRunner;

pub(super) fn reader(runner: TestRunner) -> Box<dyn LineReader> {
    match runner {
        TestRunner::Cargo => Box::new(cargo::Cargo::default()),
        TestRunner::Nextest => Box::new(nextest::Nextest::default()),
        TestRunner::Pytest => Box::new(python::Pytest::default()),
        TestRunner::Unittest => Box::new(python::Unittest::default()),
        TestRunner::Go => Box::new(go::Go::default()),
        TestRunner::Jest => Box::new(jest::Jest),
        TestRunner::Vitest => Box::new(vitest::Vitest),
        TestRunner::Mocha => Box::new(mocha::Mocha::default()),
        TestRunner::Node => Box::new(node::Node::default()),
        TestRunner::Maven => Box::new(jvm::Maven),
        TestRunner::Gradle => Box::new(jvm::Gradle),
        TestRunner::Ctest => Box::new(ctest::Ctest::default()),
        TestRunner::Rspec => Box::new(ruby::Rspec::default()),
        TestRunner::Minitest => Box::new(ruby::Minitest),
        TestRunner::Phpunit => Box::new(php::Phpunit::default()),
        TestRunner::Dotnet => Box::new(dotnet::Dotnet::default()),
    }
}
