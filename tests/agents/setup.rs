//! The agents as this machine's user would have set them up, with the scripted model for a
//! provider.

use crate::scene::KEY;

/// One agent of `tests/agents/packages`.
pub(crate) struct Setup {
    /// Its name there.
    pub(crate) name: &'static str,
    /// Its name in the table of known agents.
    pub(crate) known: &'static str,
    /// The command, as `--agent` takes it.
    pub(crate) command: &'static str,
    /// Flags of the run.
    pub(crate) flags: &'static [&'static str],
    /// Where its programs are, below its folder.
    pub(crate) programs: &'static str,
    /// Variables; `{url}` stands for the model's address, `{key}` for its key.
    pub(crate) variables: &'static [(&'static str, &'static str)],
    /// What a run says where it is not logged in.
    pub(crate) logged_out: &'static [&'static str],
    /// Its settings below HOME, with the same words.
    pub(crate) files: &'static [(&'static str, &'static str)],
}

impl Setup {
    /// A text with the model's address and key.
    pub(crate) fn filled(text: &str, url: &str) -> String {
        text.replace("{url}", url).replace("{key}", KEY)
    }
}

const BIN: &str = "node_modules/.bin";
const VENV: &str = "venv/bin";
const ANTHROPIC: &[(&str, &str)] =
    &[("ANTHROPIC_BASE_URL", "{url}"), ("ANTHROPIC_API_KEY", "{key}")];
/// The setting is for a run by root: there Codex's own sandbox does not start in another one.
const CODEX: &[(&str, &str)] = &[(
    ".codex/config.toml",
    "model = \"gpt-5.5\"\nmodel_provider = \"scripted\"\n\
     [model_providers.scripted]\nname = \"scripted\"\nbase_url = \"{url}/v1\"\n\
     wire_api = \"responses\"\nenv_key = \"MY_API_KEY\"\n\
     [features]\nuse_legacy_landlock = true\n",
)];
const CODEX_KEY: &[(&str, &str)] = &[("MY_API_KEY", "{key}"), ("OPENAI_API_KEY", "{key}")];

/// Every agent that is driven.
pub(crate) const SETUPS: &[Setup] = &[
    Setup {
        name: "codex-acp-0.16",
        known: "Codex",
        command: "codex-acp",
        flags: &[],
        programs: BIN,
        logged_out: &["Authentication required", "Login with ChatGPT", "`codex login`"],
        variables: CODEX_KEY,
        files: CODEX,
    },
    Setup {
        name: "codex-acp",
        known: "Codex",
        command: "codex-acp",
        flags: &[],
        programs: BIN,
        logged_out: &[],
        variables: CODEX_KEY,
        files: CODEX,
    },
    Setup {
        name: "goose",
        known: "Goose",
        command: "goose acp",
        flags: &[],
        programs: "node_modules/@aaif/goose-binary-linux-x64/bin",
        logged_out: &[],
        variables: &[("OPENAI_API_KEY", "{key}")],
        files: &[(
            ".config/goose/config.yaml",
            "GOOSE_PROVIDER: openai\nGOOSE_MODEL: scripted\nGOOSE_MODE: approve\n\
             OPENAI_HOST: {url}\nextensions:\n  developer:\n    enabled: true\n    \
             type: builtin\n    name: developer\n",
        )],
    },
    Setup {
        name: "claude-agent-acp",
        known: "Claude Code",
        command: "claude-agent-acp",
        flags: &[],
        programs: BIN,
        logged_out: &["Authentication required", "`/login`"],
        variables: ANTHROPIC,
        files: &[],
    },
    Setup {
        name: "claude-code-acp",
        known: "Claude Code",
        command: "claude-code-acp",
        flags: &[],
        programs: BIN,
        logged_out: &[],
        variables: ANTHROPIC,
        files: &[],
    },
    Setup {
        name: "gemini",
        known: "Gemini CLI",
        command: "gemini --acp",
        flags: &[],
        programs: BIN,
        logged_out: &["Log in with Google", "`gemini` once"],
        variables: &[("GEMINI_API_KEY", "{key}"), ("GOOGLE_GEMINI_BASE_URL", "{url}")],
        files: &[(
            ".gemini/settings.json",
            r#"{"security": {"auth": {"selectedType": "gemini-api-key"}}}"#,
        )],
    },
    Setup {
        name: "qwen",
        known: "Qwen Code",
        command: "qwen --acp",
        flags: &[],
        programs: BIN,
        logged_out: &["Authentication required", "`qwen` once"],
        variables: &[
            ("OPENAI_API_KEY", "{key}"),
            ("OPENAI_BASE_URL", "{url}/v1"),
            ("OPENAI_MODEL", "scripted"),
        ],
        files: &[(".qwen/settings.json", r#"{"security": {"auth": {"selectedType": "openai"}}}"#)],
    },
    Setup {
        name: "opencode",
        known: "OpenCode",
        command: "opencode acp",
        flags: &[],
        programs: "node_modules/opencode-linux-x64/bin",
        logged_out: &[],
        variables: &[],
        files: &[(
            ".config/opencode/opencode.json",
            r#"{"autoupdate": false, "model": "scripted/scripted",
                "permission": {"edit": "ask", "bash": "ask"},
                "provider": {"scripted": {
                    "npm": "@ai-sdk/openai-compatible",
                    "options": {"baseURL": "{url}/v1", "apiKey": "{key}"},
                    "models": {"scripted": {"tool_call": true}}}}}"#,
        )],
    },
    Setup {
        name: "kimi-code",
        known: "Kimi Code",
        command: "kimi acp",
        flags: &["--unasked", "allow"],
        programs: BIN,
        logged_out: &[],
        variables: &[],
        files: &[(
            ".kimi-code/config.toml",
            "default_model = \"scripted\"\n[providers.scripted]\ntype = \"openai\"\n\
             base_url = \"{url}/v1\"\napi_key = \"{key}\"\n[models.scripted]\n\
             provider = \"scripted\"\nmodel = \"scripted\"\nmax_context_size = 100000\n",
        )],
    },
    Setup {
        name: "vibe",
        known: "Mistral Vibe",
        command: "vibe-acp",
        flags: &[],
        programs: VENV,
        logged_out: &[],
        variables: &[("MISTRAL_API_KEY", "{key}")],
        files: &[(
            ".vibe/config.toml",
            "active_model = \"scripted\"\nenable_update_checks = false\n\
             [[providers]]\nname = \"scripted\"\napi_base = \"{url}/v1\"\n\
             api_key_env_var = \"MISTRAL_API_KEY\"\napi_style = \"openai\"\n\
             backend = \"generic\"\n[[models]]\nname = \"scripted\"\n\
             provider = \"scripted\"\nalias = \"scripted\"\n",
        )],
    },
    Setup {
        name: "hermes",
        known: "Hermes",
        command: "hermes-acp",
        flags: &["--unasked", "allow"],
        programs: VENV,
        logged_out: &[],
        variables: &[],
        files: &[(
            ".hermes/config.yaml",
            "model:\n  default: scripted\n  provider: custom\n  base_url: {url}/v1\n  \
             api_key: {key}\n  context_length: 200000\n",
        )],
    },
    Setup {
        name: "fast-agent",
        known: "fast-agent",
        command: "fast-agent acp --workspace . --home $HOME/.fast-agent --shell --model generic.scripted",
        flags: &["--unasked", "allow"],
        programs: VENV,
        logged_out: &[],
        variables: &[("GENERIC_API_KEY", "{key}"), ("GENERIC_BASE_URL", "{url}/v1")],
        files: &[],
    },
];
