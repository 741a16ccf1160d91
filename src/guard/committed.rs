//! Files that are named like secrets, and that projects commit where none is in them: `.npmrc`,
//! `config/default.env`. Here their content decides.

use std::path::Path;

use super::redact::Redactor;
use super::secrets;

/// Whether a file with this content may hold a secret.
pub fn committed_secret(path: &Path, content: &[u8]) -> bool {
    if !secrets::path(path) {
        return false;
    }
    let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase());
    let name = name.unwrap_or_default();
    let is_usual = name == ".npmrc" || name.ends_with(".env") && name != ".env";
    match std::str::from_utf8(content) {
        Ok(text) if is_usual => {
            text.lines().any(sets_a_secret)
                || !Redactor::default().secret_values(path, text).is_empty()
        }
        _ => true,
    }
}

/// Whether a line gives a variable or a key of this name a value of its own.
fn sets_a_secret(line: &str) -> bool {
    let line = line.trim_start();
    let Some((name, value)) = line.split_once('=').filter(|_| !line.starts_with(['#', ';'])) else {
        return false;
    };
    let name = name.trim().trim_start_matches("export ");
    // `//registry.example.org/:_authToken`
    let name = name.rsplit([':', '/']).next().unwrap_or(name).trim();
    let value = value.trim().trim_matches(['"', '\'']);
    let is_address = value.contains("://") && !value.contains('@');
    let is_set = !value.is_empty() && !value.starts_with('$') && !is_address;
    is_set && (secrets::variable(name) || name.to_lowercase().trim_start_matches('_') == "auth")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_a_file_decides_where_projects_commit_it() {
        let holds = |path: &str, text: &str| committed_secret(Path::new(path), text.as_bytes());
        for (path, text) in [
            (".npmrc", "fund=false\nengine-strict=true\n"),
            ("web/.npmrc", "//registry.example.org/:_authToken=${NPM_TOKEN}\n"),
            ("config/default.env", "POWER=2\nAPI_KEY=\n# API_TOKEN=a\n"),
            ("dev.env", "DATABASE_URL=postgres://localhost/dev\nAPI_KEY=$KEY\n"),
            ("src/app.rs", "let token = \"Ab12Cd34Ef56Gh78\";\n"),
        ] {
            assert!(!holds(path, text), "{path}: {text}");
        }
        for (path, text) in [
            (".npmrc", "//registry.example.org/:_authToken=Ab12Cd34Ef56Gh78\n"),
            (".npmrc", "_auth = dTpw\n"),
            (".npmrc", "//r.example.org/:_password=\"cGFzcw==\"\n"),
            ("config/default.env", "export DB_PASSWORD='hunter2'\n"),
            ("prod.env", "API_KEY=short\n"),
            ("prod.env", "DATABASE_URL=postgres://app:s3cr3tPass99@db/app\n"),
            (".env", "POWER=2\n"),
            (".env.production", "POWER=2\n"),
            ("id_rsa", "nothing\n"),
        ] {
            assert!(holds(path, text), "{path}: {text}");
        }
        assert!(committed_secret(Path::new("a.env"), b"\xff\xfe"));
    }
}
