//! Which names hold secrets: files, folders and variables. Names only; what
//! a secret looks like inside a text is the business of `redact`.

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
    ".fetchmailrc",
];

/// Extensions of keys and key stores, in lower case.
const EXTENSIONS: &[&str] = &[
    "pem", "key", "p12", "pfx", "pkcs12", "jks", "keystore", "kdbx", "ppk", "asc", "gpg", "tfstate",
];

/// Names without extension that are secret when they hold data, not code.
const STEMS: &[&str] =
    &["secret", "secrets", "credential", "credentials", "service-account", "service_account"];

/// Extensions of data.
const DATA: &[&str] =
    &["json", "yaml", "yml", "toml", "ini", "env", "txt", "properties", "xml", "cfg"];

/// Folders whose whole content is secret, in lower case.
const FOLDERS: &[&str] =
    &[".ssh", ".aws", ".gnupg", ".azure", ".kube", ".password-store", ".docker"];

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
    below_config || git_secret || process || parts.last().is_some_and(|name| file_name(name))
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
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name.as_str(), ""));
    if extension == "env" && !stem.is_empty() {
        return !ENV_TEMPLATES.contains(&stem);
    }
    EXTENSIONS.contains(&extension) && !stem.is_empty()
        || STEMS.contains(&stem) && DATA.contains(&extension)
        || stem.starts_with("service-account") && extension == "json"
}

/// Words that make a variable's name mean a secret.
const VARIABLE_WORDS: &[&str] = &[
    "TOKEN",
    "SECRET",
    "SECRETS",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "PWD0",
    "CREDENTIAL",
    "CREDENTIALS",
    "APIKEY",
    "PAT",
    "SIGNATURE",
    "COOKIE",
    "PGPASSWORD",
];

/// Pairs of words that do so together.
const VARIABLE_PAIRS: &[(&str, &str)] = &[
    ("API", "KEY"),
    ("ACCESS", "KEY"),
    ("PRIVATE", "KEY"),
    ("SIGNING", "KEY"),
    ("ENCRYPTION", "KEY"),
    ("AUTH", "KEY"),
    ("SSH", "KEY"),
    ("ACCOUNT", "KEY"),
    ("MASTER", "KEY"),
    ("CONNECTION", "STRING"),
    ("DATABASE", "URL"),
    ("REDIS", "URL"),
    ("MONGO", "URL"),
    ("MONGODB", "URI"),
    ("WEBHOOK", "URL"),
];

/// Whether a variable of this name holds a secret.
pub(super) fn variable(name: &str) -> bool {
    let upper = name.to_uppercase();
    let words: Vec<&str> = upper.split('_').collect();
    words.iter().any(|word| VARIABLE_WORDS.contains(word))
        || words.windows(2).any(|pair| VARIABLE_PAIRS.contains(&(pair[0], pair[1])))
        || ["TOKEN", "PASSWORD", "APIKEY", "SECRET"].iter().any(|end| upper.ends_with(end))
}
