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
    /// Variables; `URL` stands for the model's address, `KEY` for its key.
    pub(crate) variables: &'static [(&'static str, &'static str)],
    /// Its settings below HOME, with the same words.
    pub(crate) files: &'static [(&'static str, &'static str)],
}

impl Setup {
    /// A text with the model's address and key.
    pub(crate) fn filled(text: &str, url: &str) -> String {
        text.replace("URL", url).replace("KEY", KEY)
    }
}

const BIN: &str = "node_modules/.bin";
const VENV: &str = "venv/bin";
const ANTHROPIC: &[(&str, &str)] = &[("ANTHROPIC_BASE_URL", "URL"), ("ANTHROPIC_API_KEY", "KEY")];
/// The setting is for a run by root: there Codex's own sandbox does not start in another one.
const CODEX: &[(&str, &str)] = &[(
    ".codex/config.toml",
    "model = \"gpt-5.4\"\nmodel_provider = \"scripted\"\n\
     [model_providers.scripted]\nname = \"scripted\"\nbase_url = \"URL/v1\"\n\
     wire_api = \"responses\"\nenv_key = \"MY_API_KEY\"\n\
     [features]\nuse_legacy_landlock = true\n",
)];
const CODEX_KEY: &[(&str, &str)] = &[("MY_API_KEY", "KEY"), ("OPENAI_API_KEY", "KEY")];

/// Every agent that is driven.
pub(crate) const SETUPS: &[Setup] = &[
    Setup {
        name: "codex-acp-0.16",
        known: "Codex",
        command: "codex-acp",
        flags: &[],
        programs: BIN,
        variables: CODEX_KEY,
        files: CODEX,
    },
    Setup {
        name: "codex-acp",
        known: "Codex",
        command: "codex-acp",
        flags: &[],
        programs: BIN,
        variables: CODEX_KEY,
        files: CODEX,
    },
    Setup {
        name: "goose",
        known: "Goose",
        command: "goose acp",
        flags: &[],
        programs: "node_modules/@aaif/goose-binary-linux-x64/bin",
        variables: &[("OPENAI_API_KEY", "KEY")],
        files: &[(
            ".config/goose/config.yaml",
            "GOOSE_PROVIDER: openai\nGOOSE_MODEL: scripted\nGOOSE_MODE: approve\n\
             OPENAI_HOST: URL\nextensions:\n  developer:\n    enabled: true\n    \
             type: builtin\n    name: developer\n",
        )],
    },
    Setup {
        name: "claude-agent-acp",
        known: "Claude Code",
        command: "claude-agent-acp",
        flags: &[],
        programs: BIN,
        variables: ANTHROPIC,
        files: &[],
    },
    Setup {
        name: "claude-code-acp",
        known: "Claude Code",
        command: "claude-code-acp",
        flags: &[],
        programs: BIN,
        variables: ANTHROPIC,
        files: &[],
    },
    Setup {
        name: "gemini",
        known: "Gemini CLI",
        command: "gemini --acp",
        flags: &[],
        programs: BIN,
        variables: &[("GEMINI_API_KEY", "KEY"), ("GOOGLE_GEMINI_BASE_URL", "URL")],
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
        variables: &[
            ("OPENAI_API_KEY", "KEY"),
            ("OPENAI_BASE_URL", "URL/v1"),
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
        variables: &[],
        files: &[(
            ".config/opencode/opencode.json",
            r#"{"autoupdate": false, "model": "scripted/scripted",
                "permission": {"edit": "ask", "bash": "ask"},
                "provider": {"scripted": {
                    "npm": "@ai-sdk/openai-compatible",
                    "options": {"baseURL": "URL/v1", "apiKey": "KEY"},
                    "models": {"scripted": {"tool_call": true}}}}}"#,
        )],
    },
    Setup {
        name: "kimi-code",
        known: "Kimi Code",
        command: "kimi acp",
        flags: &["--unasked", "allow"],
        programs: BIN,
        variables: &[],
        files: &[(
            ".kimi-code/config.toml",
            "default_model = \"scripted\"\n[providers.scripted]\ntype = \"openai\"\n\
             base_url = \"URL/v1\"\napi_key = \"KEY\"\n[models.scripted]\n\
             provider = \"scripted\"\nmodel = \"scripted\"\nmax_context_size = 100000\n",
        )],
    },
    Setup {
        name: "vibe",
        known: "Mistral Vibe",
        command: "vibe-acp",
        flags: &[],
        programs: VENV,
        variables: &[("MISTRAL_API_KEY", "KEY")],
        files: &[(
            ".vibe/config.toml",
            "active_model = \"scripted\"\nenable_update_checks = false\n\
             [[providers]]\nname = \"scripted\"\napi_base = \"URL/v1\"\n\
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
        variables: &[],
        files: &[(
            ".hermes/config.yaml",
            "model:\n  default: scripted\n  provider: custom\n  base_url: URL/v1\n  \
             api_key: KEY\n  context_length: 200000\n",
        )],
    },
    Setup {
        name: "fast-agent",
        known: "fast-agent",
        command: "fast-agent-acp --shell --model generic.scripted",
        flags: &["--unasked", "allow"],
        programs: VENV,
        variables: &[("GENERIC_API_KEY", "KEY"), ("GENERIC_BASE_URL", "URL/v1")],
        files: &[],
    },
];
