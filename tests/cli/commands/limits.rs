//! Values that no setting can take are refused where they are written.

use crate::repo::{Repo, finish};
use crate::runs::{HONEST, THREE};

#[test]
fn a_limit_of_zero_is_a_usage_error() {
    let repo = Repo::new(THREE);
    for flag in ["--max-iterations", "--stuck-threshold"] {
        for command in ["run", "doctor"] {
            let ran = repo.ralph(&[command, "demo", flag, "0"]);
            assert_eq!(ran.code, Some(2), "{command} {flag}: {}", ran.stdout);
            let says =
                format!("invalid value '0' for '{flag} <N>': not a whole number of at least 1");
            assert!(ran.stderr.contains(&says), "{}", ran.stderr);
        }
    }
    assert!(!repo.path(".ralph").exists());
}

#[test]
fn a_limit_of_zero_in_the_environment_or_a_file_is_invalid() {
    let repo = Repo::new(THREE);
    for name in [
        "RALPH_COPILOT_MAX_ITERATIONS",
        "RALPH_COPILOT_STUCK_THRESHOLD",
        "RALPH_COPILOT_MAX_RETRIES",
        "COPILOT_MAX_RETRIES",
    ] {
        let mut command = repo.run_command(HONEST, &[]);
        command.env(name, "0");
        let ran = finish(command);
        assert_eq!(ran.code, Some(7), "{name}: {}", ran.stdout);
        assert_eq!(ran.stderr, format!("error: {name}=0: not a whole number of at least 1\n"));
    }
    for key in ["max_iterations", "stuck_threshold", "max_retries"] {
        repo.write(".ralph/config.toml", format!("{key} = 0\n"));
        repo.commit("configure");
        let ran = finish(repo.run_command(HONEST, &[]));
        assert_eq!(ran.code, Some(7), "{key}: {}", ran.stdout);
        assert!(ran.stderr.contains("config.toml: ") && ran.stderr.contains("line 1"), "{key}");
    }
    assert_eq!(repo.subjects().len(), 3, "no run began");
}
