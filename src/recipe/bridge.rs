//! The bridge itself: finds and checks the runner, runs a recipe with it, and turns its
//! output into a report.
//!
//! Invariant: a runner that others may replace is not started at all, not even for its
//! version; spilled values are deleted before a recipe's report is returned.

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
/// Length at which an error cuts off a step's own message, in characters.
const SHOWN: usize = 300;

/// Tells whether a value is secret and must not appear on a command line.
pub type IsSecret = Arc<dyn Fn(&ContextValue) -> bool + Send + Sync>;

/// The surroundings of recipes.
pub struct BridgeConfig {
    /// Our own environment.
    pub ours: Vec<(OsString, OsString)>,
    /// The user's home.
    pub home: Option<PathBuf>,
    /// Settings for the launches inside a recipe.
    pub nested: NestedLaunch,
    /// The id of the run, which marks every process.
    pub run: String,
    /// The folder for large and secret values.
    pub tmp: PathBuf,
    /// Which values are secret.
    pub secret: IsSecret,
}

/// Runs recipes with the runner.
pub struct Bridge {
    config: BridgeConfig,
}

/// A runner that passed all checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runner {
    /// The binary and the rule that found it.
    pub found: FoundRunner,
    /// Its version.
    pub version: Version,
}

/// A dry run of the bridge: the command that [`Bridge::run`] would start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecipePlan {
    /// The command, program first.
    pub argv: Vec<OsString>,
    /// The names of its environment variables, sorted.
    pub environment: Vec<String>,
    /// The keys whose values are written to files.
    pub spilled: Vec<String>,
}

/// The outcome of a recipe.
#[derive(Debug)]
pub struct RecipeReport {
    /// Its steps, as far as the runner reported them.
    pub steps: Vec<RecipeStep>,
    /// Its context values at the end.
    pub context: Map<String, serde_json::Value>,
    /// Why it failed; none for success.
    pub error: Option<RecipeError>,
    /// Milliseconds it took.
    pub millis: u64,
}

impl RecipeReport {
    /// A report of a recipe that never started.
    pub fn refused(error: RecipeError) -> Self {
        Self { steps: Vec::new(), context: Map::new(), error: Some(error), millis: 0 }
    }

    /// Whether the recipe succeeded.
    pub fn success(&self) -> bool {
        self.error.is_none()
    }
}

impl Bridge {
    /// Makes a bridge.
    pub fn new(config: BridgeConfig) -> Self {
        Self { config }
    }

    fn variable(&self, name: &str) -> Option<&OsStr> {
        let found = self.config.ours.iter().find(|(it, _)| it == name);
        found.map(|(_, value)| value.as_os_str())
    }

    /// Every place where a runner may be, and the result of looking there.
    pub fn candidates(&self) -> Vec<RunnerCandidate> {
        let path = self.variable("PATH").map(OsStr::to_owned);
        let which = |wanted: &Path| {
            let here = std::env::current_dir().ok()?;
            let found = which::which_in(wanted, path.as_deref(), &here).ok()?;
            Some(if found.is_absolute() { found } else { here.join(found) })
        };
        discover::discover(&RunnerLookup {
            named: self.variable(PATH_VARIABLE).map(OsStr::to_owned),
            home: self.config.home.clone(),
            which: &which,
        })
    }

    /// Finds and checks the runner.
    ///
    /// # Errors
    /// If no runner exists, if any user may replace it, or if its version is too old or
    /// unknown.
    pub async fn runner(&self) -> Result<Runner, RecipeError> {
        let candidates = self.candidates();
        let Some(found) = FoundRunner::first(&candidates) else {
            let looked = candidates.iter().map(RunnerCandidate::describe).collect();
            return Err(RecipeError::NotFound { looked });
        };
        let version = self.version(&found.path).await?;
        Ok(Runner { found, version })
    }

    /// Checks the permission bits of a binary, then its version, and returns the version.
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
            // The one folder that always exists.
            dir: PathBuf::from("/"),
            limit: VERSION_LIMIT,
            run: self.config.run.clone(),
        };
        let ended = execute(launch, &CancellationToken::new(), &mut |_| {}).await;
        let ended = ended.map_err(|error| unknown(error.to_string()))?;
        match ended.end {
            RunnerEnd::Exited(0) => check(&String::from_utf8_lossy(&ended.stdout)).map_err(refused),
            RunnerEnd::Exited(code) => Err(unknown(format!("`--version` exited {code}"))),
            RunnerEnd::Signalled(signal) => {
                Err(unknown(format!("`--version` was killed by signal {signal}")))
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
        let ours = self.config.ours.iter().cloned();
        for_runner(ours, runner.map(Path::as_os_str), project, &self.config.nested)
    }

    /// Shows the command that [`Self::run`] would start. Works without a runner, too.
    pub fn plan(&self, request: &RecipeRequest) -> RecipePlan {
        let found = FoundRunner::first(&self.candidates());
        let program = found.as_ref().map_or_else(|| BINARY.into(), |found| found.path.clone());
        let places = self.places(request);
        let mut argv = vec![program.into_os_string()];
        argv.extend(arguments(request, &places, &spill::example(&self.config.tmp)));
        let runner = found.as_ref().map(|found| found.path.as_path());
        let environment = self.environment(runner, Some(&request.dir));
        let names = environment.into_iter().map(|(name, _)| name.to_string_lossy().into_owned());
        // Every process that we start gets these marks.
        let marks = [RUN_VARIABLE, CHILD_VARIABLE].map(str::to_owned);
        let names: std::collections::BTreeSet<String> = names.chain(marks).collect();
        let spilled = places.iter().filter_map(|place| match place {
            Placement::File(value, _) => Some(value.key.clone()),
            Placement::Inline(_) => None,
        });
        RecipePlan { argv, environment: names.into_iter().collect(), spilled: spilled.collect() }
    }

    fn places<'r>(&self, request: &'r RecipeRequest) -> Vec<Placement<'r>> {
        let secret = &self.config.secret;
        spill::plan(&request.context, &|value| secret(value))
    }

    /// Runs a recipe until it ends, `limit` is over or `stop` is cancelled. `tell` gets every
    /// line that the runner writes to standard error.
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
        // Deleted when dropped: on every return, and if this future is dropped midway.
        let spilled = match Spilled::write(&places, &self.config.tmp) {
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
            run: self.config.run.clone(),
        };
        let mut report = match execute(launch, stop, tell).await {
            Ok(ended) => read(&ended, request, limit),
            Err(error) => RecipeReport::refused(error),
        };
        report.millis = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        report
    }
}

/// The permission bits of a file, following links.
fn mode(path: &Path) -> Result<u32, RecipeError> {
    let found = path.metadata().map_err(|source| {
        let program = path.display().to_string();
        RecipeError::Start(crate::sys::SysError::Spawn { program, source })
    })?;
    Ok(found.permissions().mode() & 0o7777)
}

/// Turns the runner's output into a report. An answer counts with any exit code. Without one, the
/// error names the exit code or, for exit 0, the error in the output.
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

/// The error of an answer, unless both the answer and the exit code report success.
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
        (true, true) => format!(": the runner reports success but exited {code}"),
        // No step names a reason; the last lines of standard error may.
        (true, false) => below(said),
    };
    Some(RecipeError::Failed { recipe: request.recipe.to_string(), why })
}
