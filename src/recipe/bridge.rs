//! The bridge itself: finds and checks the runner, hands a recipe to it, and reads what
//! came of it.
//!
//! Invariant: a runner that a rule refuses is never started, not even for its version where
//! its permissions are the reason; spilled values are gone when a recipe's report is there.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Map;
use tokio_util::sync::CancellationToken;

use super::argv::{RecipeRequest, arguments};
use super::context::ContextValue;
use super::discover::{self, BINARY, FoundRunner, PATH_VARIABLE, RunnerCandidate, RunnerLookup};
use super::environment::{NestedLaunch, for_runner};
use super::error::{RecipeError, below};
use super::execute::{RunnerEnd, RunnerLaunch, RunnerOutput, execute};
use super::response::{Response, parse};
use super::spill::{self, Placement, Spilled};
use super::version::{Version, VersionProblem, check};
use crate::model::{RecipeStep, StepStatus};
use crate::sys::process::{CHILD_VARIABLE, RUN_VARIABLE};

/// How long `--version` may take.
const VERSION_LIMIT: Duration = Duration::from_secs(10);

/// How many failed steps an error names.
const NAMED: usize = 3;
/// How much of a step's own error is repeated, in characters.
const SHOWN: usize = 300;

/// Says whether a value must not stand on a command line.
pub type IsSecret = Arc<dyn Fn(&ContextValue) -> bool + Send + Sync>;

/// What stands around a recipe.
pub struct BridgeConfig {
    /// Our own environment.
    pub ours: Vec<(OsString, OsString)>,
    /// The user's home.
    pub home: Option<PathBuf>,
    /// What the launches inside are told.
    pub nested: NestedLaunch,
    /// The run whose name every process carries.
    pub run: String,
    /// Where large values are written.
    pub tmp: PathBuf,
    /// Which values are secret.
    pub secret: IsSecret,
}

/// Hands recipes to the runner.
pub struct Bridge {
    around: BridgeConfig,
}

/// A runner that may be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runner {
    /// The binary and the rule that found it.
    pub found: FoundRunner,
    /// Its version.
    pub version: Version,
}

/// What would be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecipePlan {
    /// The command, program first.
    pub argv: Vec<OsString>,
    /// The names of its environment, sorted.
    pub environment: Vec<String>,
    /// The keys whose values are written to files.
    pub spilled: Vec<String>,
}

/// What came of a recipe.
#[derive(Debug)]
pub struct RecipeReport {
    /// Its steps, as far as the runner told of them.
    pub steps: Vec<RecipeStep>,
    /// The values it ended with.
    pub context: Map<String, serde_json::Value>,
    /// Why it did not succeed, if it did not.
    pub error: Option<RecipeError>,
    /// Milliseconds it took.
    pub millis: u64,
}

impl RecipeReport {
    /// Of a recipe that was never begun.
    pub fn refused(error: RecipeError) -> Self {
        Self { steps: Vec::new(), context: Map::new(), error: Some(error), millis: 0 }
    }

    /// Whether the recipe succeeded.
    pub fn success(&self) -> bool {
        self.error.is_none()
    }
}

impl Bridge {
    /// A bridge in these surroundings.
    pub fn new(around: BridgeConfig) -> Self {
        Self { around }
    }

    fn variable(&self, name: &str) -> Option<&OsStr> {
        let found = self.around.ours.iter().find(|(it, _)| it == name);
        found.map(|(_, value)| value.as_os_str())
    }

    /// What each place for a runner has.
    pub fn looked(&self) -> Vec<RunnerCandidate> {
        let path = self.variable("PATH").map(OsStr::to_owned);
        let which = |wanted: &Path| {
            let here = std::env::current_dir().ok()?;
            let found = which::which_in(wanted, path.as_deref(), &here).ok()?;
            Some(if found.is_absolute() { found } else { here.join(found) })
        };
        discover::discover(&RunnerLookup {
            named: self.variable(PATH_VARIABLE).map(OsStr::to_owned),
            home: self.around.home.clone(),
            which: &which,
        })
    }

    /// The runner, if there is one that may be run.
    ///
    /// # Errors
    /// If there is none, anybody could replace it, or its version is not relied on.
    pub async fn runner(&self) -> Result<Runner, RecipeError> {
        let looked = self.looked();
        let Some(found) = FoundRunner::first(&looked) else {
            let looked = looked.iter().map(RunnerCandidate::describe).collect();
            return Err(RecipeError::NotFound { looked });
        };
        let version = self.version(&found.path).await?;
        Ok(Runner { found, version })
    }

    /// The permission bits and then the version of a binary, if both let it be run.
    async fn version(&self, path: &Path) -> Result<Version, RecipeError> {
        let mode = mode(path)?;
        if discover::is_world_writable(mode) {
            return Err(RecipeError::WorldWritable { path: path.to_owned(), mode });
        }
        let refused = |problem| RecipeError::Version { path: path.to_owned(), problem };
        let unknown = |why: String| refused(VersionProblem::Unknown { why });
        let launch = RunnerLaunch {
            program: path.to_owned(),
            arguments: vec!["--version".into()],
            environment: self.environment(Some(path), None),
            // Of all folders the one that is there for sure.
            dir: PathBuf::from("/"),
            limit: VERSION_LIMIT,
            run: self.around.run.clone(),
        };
        let ended = execute(launch, &CancellationToken::new(), &mut |_| {}).await;
        let ended = ended.map_err(|error| unknown(error.to_string()))?;
        match ended.end {
            RunnerEnd::Exited(0) => check(&String::from_utf8_lossy(&ended.stdout)).map_err(refused),
            RunnerEnd::Exited(code) => Err(unknown(format!("`--version` ended with {code}"))),
            RunnerEnd::Signalled(signal) => {
                Err(unknown(format!("`--version` was ended by signal {signal}")))
            }
            RunnerEnd::TimedOut => {
                let seconds = VERSION_LIMIT.as_secs();
                Err(unknown(format!("`--version` took longer than {seconds} s")))
            }
            RunnerEnd::Stopped => Err(RecipeError::Stopped),
        }
    }

    /// The environment of a runner whose recipe works in `project`.
    pub fn environment(
        &self,
        runner: Option<&Path>,
        project: Option<&Path>,
    ) -> Vec<(OsString, OsString)> {
        let ours = self.around.ours.iter().cloned();
        for_runner(ours, runner.map(Path::as_os_str), project, &self.around.nested)
    }

    /// What would be run, without running anything, whether there is a runner or not.
    pub fn plan(&self, request: &RecipeRequest) -> RecipePlan {
        let found = FoundRunner::first(&self.looked());
        let program = found.as_ref().map_or_else(|| BINARY.into(), |found| found.path.clone());
        let places = self.places(request);
        let mut argv = vec![program.into_os_string()];
        argv.extend(arguments(request, &places, &spill::example(&self.around.tmp)));
        let runner = found.as_ref().map(|found| found.path.as_path());
        let environment = self.environment(runner, Some(&request.dir));
        let names = environment.into_iter().map(|(name, _)| name.to_string_lossy().into_owned());
        // Every process of ours is marked with these when it is started.
        let marks = [RUN_VARIABLE, CHILD_VARIABLE].map(str::to_owned);
        let names: std::collections::BTreeSet<String> = names.chain(marks).collect();
        let spilled = places.iter().filter_map(|place| match place {
            Placement::File(value, _) => Some(value.key.clone()),
            Placement::Inline(_) => None,
        });
        RecipePlan { argv, environment: names.into_iter().collect(), spilled: spilled.collect() }
    }

    fn places<'r>(&self, request: &'r RecipeRequest) -> Vec<Placement<'r>> {
        let secret = &self.around.secret;
        spill::plan(&request.context, &|value| secret(value))
    }

    /// Runs a recipe to its end, its limit's or `stop`'s. `tell` gets every line that the
    /// runner writes to standard error.
    pub async fn run(
        &self,
        request: &RecipeRequest,
        runner: &Runner,
        limit: Duration,
        stop: &CancellationToken,
        tell: &mut (dyn FnMut(&str) + Send),
    ) -> RecipeReport {
        let started = Instant::now();
        let places = self.places(request);
        // Dropped on every way out of here, and with the future where it is not waited for.
        let spilled = match Spilled::write(&places, &self.around.tmp) {
            Ok(spilled) => spilled,
            Err(error) => return RecipeReport::refused(error),
        };
        let folder = spilled.as_ref().map_or_else(PathBuf::new, |it| it.folder().to_owned());
        let launch = RunnerLaunch {
            program: runner.found.path.clone(),
            arguments: arguments(request, &places, &folder),
            environment: self.environment(Some(&runner.found.path), Some(&request.dir)),
            dir: request.dir.clone(),
            limit,
            run: self.around.run.clone(),
        };
        let mut report = match execute(launch, stop, tell).await {
            Ok(ended) => read(&ended, request, limit),
            Err(error) => RecipeReport::refused(error),
        };
        report.millis = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        report
    }
}

/// The permission bits of a file, links followed.
fn mode(path: &Path) -> Result<u32, RecipeError> {
    let found = path.metadata().map_err(|source| {
        let program = path.display().to_string();
        RecipeError::Start(crate::sys::SysError::Spawn { program, source })
    })?;
    Ok(found.permissions().mode() & 0o7777)
}

/// What an ended runner's output comes to. An answer is an answer whatever the exit code;
/// without one the code, the signal or the odd output is the reason, in that order.
fn read(ended: &RunnerOutput, request: &RecipeRequest, limit: Duration) -> RecipeReport {
    let answer = parse(&ended.stdout);
    let said = ended.said.last();
    let error = match (ended.end, &answer) {
        (RunnerEnd::TimedOut, _) => Some(RecipeError::TimedOut { seconds: limit.as_secs() }),
        (RunnerEnd::Stopped, _) => Some(RecipeError::Stopped),
        (RunnerEnd::Signalled(signal), _) => Some(RecipeError::Signal { signal, said }),
        (RunnerEnd::Exited(code), Ok(response)) => failed(request, code, response, &said),
        (RunnerEnd::Exited(0), Err(why)) => {
            Some(RecipeError::Unparseable { code: 0, why: why.clone(), said })
        }
        (RunnerEnd::Exited(code), Err(_)) => Some(RecipeError::Exit { code, said }),
    };
    let Response { steps, context, .. } = answer.unwrap_or_default();
    RecipeReport { steps, context, error, millis: 0 }
}

/// A recipe succeeded only if the runner says so in both of its ways.
fn failed(
    request: &RecipeRequest,
    code: i32,
    response: &Response,
    said: &Option<String>,
) -> Option<RecipeError> {
    if response.success && code == 0 {
        return None;
    }
    let failed = response.steps.iter().filter(|step| step.status == StepStatus::Failed);
    let steps: Vec<String> = failed
        .take(NAMED)
        .map(|step| {
            let why: String = step.error.trim().chars().take(SHOWN).collect();
            if why.is_empty() { step.step_id.clone() } else { format!("{}: {why}", step.step_id) }
        })
        .collect();
    let why = match (steps.is_empty(), response.success) {
        (false, _) => format!(" at {}", steps.join("; ")),
        (true, true) => format!(": the runner says success and ended with {code}"),
        // No step tells why: what was said last may.
        (true, false) => below(said),
    };
    Some(RecipeError::Failed { recipe: request.recipe.to_string(), why })
}
