//! The names that hold secrets: of files, folders, and variables. Names only; `redact` knows the
//! form of a secret inside a text.

use std::path::Path;

/// Templates without secrets that projects commit on purpose.
const ENV_TEMPLATES: &[&str] = &["example", "sample", "template", "dist", "defaults"];

/// File names that are secret wherever they stand, in lower case.
const NAMES: &[&str] = &[
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".htpasswd",
    ".git-credentials",
    ".dockercfg",
    ".s3cfg",
    ".boto",
    ".vault-token",
    ".terraformrc",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_ecdsa_sk",
    "id_ed25519_sk",
    "authorized_keys",
    "credentials",
    "master.key",
    "application_default_credentials.json",
    "gradle.properties.local",
    ".envrc",
    "shadow",
    "gshadow",
    ".bash_history",
    ".zsh_history",
    "kubeconfig",
    ".authinfo",
    ".provider-token",
    ".provider-token.lock",
    ".mcp-token",
    ".fetchmailrc",
    "terraform.tfvars",
    "terraform.tfvars.json",
    ".dockerconfigjson",
    "local.settings.json",
    "appsettings.production.json",
    ".dev.vars",
    "pip.conf",
    "token.txt",
    "wp-config.php",
    ".vault_pass",
    ".vault_pass.txt",
    "vault_pass.txt",
    ".github_token",
    "rclone.conf",
    ".psql_history",
    ".mysql_history",
    ".python_history",
    ".node_repl_history",
];

/// Endings of copies.
const COPIES: &[&str] = &[".bak", ".old", ".orig", ".save", "~"];

/// Of these, what a gateway leaves.
const GATEWAY: &[&str] = &[".provider-token", ".provider-token.lock", ".mcp-token"];

/// Extensions of keys and key stores, in lower case.
const EXTENSIONS: &[&str] = &[
    "pem", "key", "p12", "pfx", "pkcs12", "jks", "keystore", "kdbx", "ppk", "asc", "gpg", "tfstate",
];

/// Names without extension that are secret when they hold data, not code.
const STEMS: &[&str] = &[
    "secret",
    "secrets",
    "credential",
    "credentials",
    "creds",
    "service-account",
    "service_account",
    "client_secret",
    "client-secret",
    "api_key",
    "api-key",
    "apikey",
    "private_key",
    "private-key",
    "access_token",
    "access-token",
    "refresh_token",
    "kubeconfig",
];

/// Extensions of data.
const DATA: &[&str] =
    &["json", "yaml", "yml", "toml", "ini", "env", "txt", "properties", "xml", "cfg"];

/// Folders whose whole content is secret, in lower case.
const FOLDERS: &[&str] =
    &[".ssh", ".aws", ".gnupg", ".azure", ".kube", ".password-store", ".docker", ".secrets"];

/// Folders below `.config` whose content is secret.
const CONFIG_FOLDERS: &[&str] = &["gh", "gcloud", "github-copilot", "op", "hub", "rclone", "doctl"];

/// Names that a glob is tried on when the files it means cannot be listed.
pub(super) const EXAMPLES: &[&str] = &[
    ".env",
    ".env.local",
    ".env.production",
    ".env.prod",
    ".env.staging",
    ".env.development",
    ".env.dev",
    ".env.test",
    ".netrc",
    ".npmrc",
    ".git-credentials",
    "id_rsa",
    "id_ed25519",
    "server.key",
    "server.pem",
    "credentials",
    ".provider-token",
    ".mcp-token",
];

/// Whether a path holds secrets, by its components.
pub fn path(path: &Path) -> bool {
    let parts: Vec<String> =
        path.components().map(|part| part.as_os_str().to_string_lossy().to_lowercase()).collect();
    if parts.iter().any(|part| FOLDERS.contains(&part.as_str())) {
        return true;
    }
    let below_config = parts
        .windows(2)
        .any(|pair| pair[0] == ".config" && CONFIG_FOLDERS.contains(&pair[1].as_str()));
    let git_secret = parts
        .windows(2)
        .any(|pair| pair[0] == ".git" && (pair[1] == "config" || pair[1].starts_with("config.")));
    let process = parts.get(1).is_some_and(|part| part == "proc")
        && parts.last().is_some_and(|part| part == "environ");
    below_config
        || git_secret
        || in_gateway(&parts)
        || process
        || parts.last().is_some_and(|name| file_name(name))
}

/// Whether a path is the folder in which a gateway leaves its token, or lies in it, or is named as
/// the token. Even what is there is nothing for an agent.
pub(super) fn of_gateway(path: &Path) -> bool {
    let names = path.components().map(|part| part.as_os_str().to_string_lossy().to_lowercase());
    let names: Vec<String> = names.collect();
    in_gateway(&names) || names.last().is_some_and(|name| GATEWAY.contains(&name.as_str()))
}

fn in_gateway(names: &[String]) -> bool {
    names.windows(3).any(|names| *names == [".copilot", "extensions", "tap"])
}

/// Whether a file of this name holds secrets.
pub(super) fn file_name(name: &str) -> bool {
    let name = name.to_lowercase();
    if name == ".env" {
        return true;
    }
    if let Some(rest) = name.strip_prefix(".env.").or_else(|| name.strip_prefix(".env-")) {
        let last = rest.rsplit('.').next().unwrap_or(rest);
        return !ENV_TEMPLATES.contains(&last);
    }
    if name.starts_with(".env") && !name[4..].starts_with(|c: char| c.is_alphanumeric()) {
        // `.env~`, `.env_prod` and whatever else an editor or a human makes of it.
        return true;
    }
    if NAMES.contains(&name.as_str()) {
        return true;
    }
    if let Some(copied) = COPIES.iter().find_map(|ending| name.strip_suffix(ending)) {
        return file_name(copied);
    }
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name.as_str(), ""));
    if extension == "env" && !stem.is_empty() {
        return !ENV_TEMPLATES.contains(&stem);
    }
    EXTENSIONS.contains(&extension) && !stem.is_empty()
        || STEMS.contains(&stem) && DATA.contains(&extension)
        || extension == "json" && is_key_of_cloud(stem)
}

/// Whether a file of JSON is named as clouds name the keys of their accounts.
fn is_key_of_cloud(stem: &str) -> bool {
    stem.starts_with("service-account")
        || stem.contains("adminsdk")
        || stem.ends_with("-key") && !stem.ends_with("public-key")
}

/// The meaning of a name for the value behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Says {
    /// It is a secret.
    Secret,
    /// It is one if it looks like one.
    Perhaps,
    /// Nothing.
    Nothing,
}

/// Words that mean a secret at the end of a name, joined to what goes before or not.
const WORDS: &[&str] = &[
    "password",
    "passwords",
    "passwd",
    "passphrase",
    "passcode",
    "secret",
    "secrets",
    "token",
    "apikey",
    "credential",
    "credentials",
    "pwd",
];

/// Words that mean one behind any other word.
const BEHIND: &[&str] = &["pass", "auth"];

/// Words that mean one if the value looks like one, or behind a word of `KEYS`.
const PERHAPS: &[&str] = &["key", "pat"];

/// Words that mean one behind a word of `KEYS` only.
const MANY: &[&str] = &["keys", "tokens"];

/// The purpose of a secret key, or its owner.
const KEYS: &str = "access account admin aes api app auth cipher client deploy encryption hmac \
    instrumentation jwt license master private secret service session shared signing ssh \
    storage stream subscription algolia anthropic aws azure claude cloudflare cohere \
    datadog deepseek firebase gcp gemini github gitlab groq heroku huggingface langsmith \
    mailgun mistral netlify npm openai openrouter pinecone pypi rapidapi sendgrid sentry \
    slack stripe supabase tavily twilio vercel wandb";

/// Words before `pass` where nothing stands between the two.
const USERS: &[&str] = &["db", "user", "admin", "root", "smtp", "ftp", "ssh", "mail", "login"];

/// Other words that mean a secret together, at the end of a name.
const TOGETHER: &[(&str, &str)] = &[("connection", "string"), ("key", "base"), ("auth", "config")];

/// Keys that are not secret: keys of databases, of maps, of keyboards, public ones.
const PLAIN_KEYS: &str = "active alt any arrow attr attribute bucket cache candidate child column composite \
    config control ctrl current data dedup default dict distribution down enter entity \
    env escape event feature field file fingerprint first flag foreign function gpg \
    group hash header host hot id idempotency index issue item json label last left list \
    locale lookup map menu message meta modifier name natural new next node object old \
    option param parent partition path pgp prev previous primary project property pub \
    public query range record ref registry return right routing row setting shard shift \
    short shortcut sort source space state surrogate tag target test topic trace \
    translation tree type unique up verification verify yaml";

/// Words of a variable whose value shows by its own shape that it is a secret.
const SHAPED: &[&str] = &["signature", "cookie", "dsn", "webhook", "pat"];

/// Pairs of words of such a variable.
const SHAPED_PAIRS: &[(&str, &str)] =
    &[("database", "url"), ("redis", "url"), ("mongo", "url"), ("mongodb", "uri")];

/// The last words that any name of a secret ends with.
pub(super) fn last_words() -> impl Iterator<Item = &'static str> {
    let together = TOGETHER.iter().map(|(_, last)| last);
    WORDS.iter().chain(BEHIND).chain(PERHAPS).chain(MANY).chain(together).copied()
}

/// The meaning of a field's, an option's, or a variable's name, by its last words.
pub(super) fn name(name: &str) -> Says {
    // The shell's own folders.
    if matches!(name, "PWD" | "OLDPWD") {
        return Says::Nothing;
    }
    let words = words(name);
    let behind = words.last().filter(|last| BEHIND.contains(&last.as_str()));
    // `firstPass` and `serverAuth` are mostly code, `db_pass` and `_auth` are not.
    match behind {
        Some(last) if name[..name.len() - last.len()].ends_with(['_', '-', '.']) => Says::Secret,
        Some(_) if says(&words) == Says::Secret => Says::Perhaps,
        Some(_) | None => says(&words),
    }
}

/// The words of a name in lower case: `DB_PASS`, `db-pass` and `dbPass` have two.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut begun = false;
    let bytes = name.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        if !byte.is_ascii_alphanumeric() {
            begun = false;
            continue;
        }
        let before = at.checked_sub(1).map(|before| bytes[before]);
        let next = bytes.get(at + 1);
        // `dbPass` has a border before the P, `APIKey` before the K.
        let border = byte.is_ascii_uppercase()
            && (before.is_some_and(|before| !before.is_ascii_uppercase())
                || next.is_some_and(u8::is_ascii_lowercase));
        if begun
            && !border
            && let Some(word) = words.last_mut()
        {
            word.push(char::from(byte.to_ascii_lowercase()));
        } else {
            words.push(char::from(byte.to_ascii_lowercase()).to_string());
        }
        begun = true;
    }
    words
}

fn says(words: &[String]) -> Says {
    let Some((last, before)) = words.split_last() else { return Says::Nothing };
    let (last, before) = (last.as_str(), before.last().map(String::as_str));
    let among = |list: &str, word: &str| list.split(' ').any(|one| one == word);
    let of_key = |end: &str| last.strip_suffix(end).is_some_and(|head| among(KEYS, head));
    // What .NET calls the token of a public key is in the name of every assembly.
    if last == "token" && before == Some("key") && words.iter().any(|word| word == "public") {
        return Says::Nothing;
    }
    let secret = WORDS.iter().any(|word| last.ends_with(word))
        || before.is_some() && BEHIND.contains(&last)
        || before.is_some_and(|before| {
            (PERHAPS.contains(&last) || MANY.contains(&last)) && among(KEYS, before)
                || TOGETHER.contains(&(before, last))
        })
        || of_key("key")
        || of_key("keys")
        || last.strip_suffix("pass").is_some_and(|head| USERS.contains(&head))
        || last == "connectionstring";
    if secret {
        return Says::Secret;
    }
    match before {
        Some(before) if PERHAPS.contains(&last) && !among(PLAIN_KEYS, before) => Says::Perhaps,
        None if last == "pat" => Says::Perhaps,
        Some(_) | None => Says::Nothing,
    }
}

/// Whether a variable of this name holds a secret.
pub(super) fn variable(variable: &str) -> bool {
    if matches!(variable, "PWD" | "OLDPWD") {
        return false;
    }
    let words = words(variable);
    let capitals = !variable.bytes().any(|byte| byte.is_ascii_lowercase());
    // `TOKEN_FILE` names a secret as `TOKEN` does, but `PASS_COUNT` and `AUTH_URL` do not.
    let secret_before = |end: usize| {
        let last = words[end - 1].as_str();
        says(&words[..end]) == Says::Secret && !BEHIND.contains(&last) && last != "pwd"
    };
    let whole = says(&words);
    whole == Says::Secret
        || (1..words.len()).any(secret_before)
        || capitals && (whole == Says::Perhaps || variable == "PASS")
        || words.iter().any(|word| SHAPED.contains(&word.as_str()))
        || words.windows(2).any(|pair| SHAPED_PAIRS.contains(&(pair[0].as_str(), pair[1].as_str())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_secrets_are_known_and_others_are_not() {
        let secret = "DB_PASS SMTP_PASS PASS MYSQL_PWD REDISCLI_AUTH DOCKER_AUTH_CONFIG OPENAI_KEY STRIPE_KEY \
            AZURE_STORAGE_KEY APP_KEY JWT_KEY ACME_KEY SLACK_WEBHOOK SLACK_WEBHOOK_URL SENTRY_DSN NPM_AUTH API_TOKENS \
            SECRETKEY GITHUB_TOKEN token MY_SECRET_NAME AWS_ACCESS_KEY_ID PGPASSWORD dbPass apiKey GH_PAT DATABASE_URL \
            SESSION_COOKIE SECRET_KEY_BASE ConnectionString CONNECTION_STRING SIGNATURE SSH_KEY MYTOKEN";
        let plain = "KEY i PWD OLDPWD MONKEY KEYBOARD PRIMARY_KEY FOREIGN_KEY SORT_KEY CACHE_KEY PUBLIC_KEY PASSED COMPASS \
            MAX_TOKENS TOKENS PATH HOME key sort_key some_key AUTHOR USER_NAME BYPASS COMPAT GPG_KEY HOTKEY KEYS \
            TOKENIZER PATTERN PASS_COUNT AUTH_URL GIT_AUTHOR_NAME PWD_DIR";
        for name in secret.split_whitespace() {
            assert!(variable(name), "{name}");
        }
        for name in plain.split_whitespace() {
            assert!(!variable(name), "{name}");
        }
    }

    #[test]
    fn files_of_accounts_are_secret() {
        for name in [
            "infra/terraform.tfvars",
            "gcp-key.json",
            "app-firebase-adminsdk-x1.json",
            ".dockerconfigjson",
            ".secrets/token",
            "api/local.settings.json",
        ] {
            assert!(path(Path::new(name)), "{name}");
        }
        for name in ["dev.tfvars", "public-key.json", "src/keys.json", "settings.json", "key.json"]
        {
            assert!(!path(Path::new(name)), "{name}");
        }
    }

    #[test]
    fn words_are_told_apart_in_every_way_of_writing() {
        for name in ["DB_API_KEY", "db-api-key", "dbApiKey", "DbAPIKey", "db.api_Key"] {
            assert_eq!(words(name), ["db", "api", "key"], "{name}");
        }
        assert_eq!(words("PGPASSWORD"), ["pgpassword"]);
    }
}
