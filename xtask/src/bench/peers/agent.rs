//! Agents that people use, and how each is pointed at a server on this machine and run without a person: from their own
//! documentation on configuration and their `--help`.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::Result;
use crate::bench::without_wishes;

/// What every agent is asked to do; the model does not listen.
const PROMPT: &str = "Do what the script says.";

/// An agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Agent {
    /// This one.
    Innerve,
    /// OpenAI's Codex CLI.
    Codex,
    /// Google's Gemini CLI.
    Gemini,
    /// opencode.
    OpenCode,
    /// pi.
    Pi,
}

impl Agent {
    /// All but innerve.
    pub(super) const OTHERS: [Self; 4] = [Self::Codex, Self::Gemini, Self::OpenCode, Self::Pi];

    /// The name of its program.
    pub(super) const fn program(self) -> &'static str {
        match self {
            Self::Innerve => "innerve",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::OpenCode => "opencode",
            Self::Pi => "pi",
        }
    }

    /// Where on the `PATH` it is.
    pub(super) fn find(self) -> Option<PathBuf> {
        let path = env::var_os("PATH")?;
        env::split_paths(&path)
            .map(|folder| folder.join(self.program()))
            .find(|file| file.is_file())
    }

    /// The program, set up below `home`, with leave to run every command, for a model at `address`.
    pub(super) fn command(self, program: &Path, home: &Path, address: &str) -> Result<Command> {
        let mut command = Command::new(program);
        without_wishes(&mut command);
        command.env("HOME", home);
        for (variable, folder) in [
            ("XDG_CONFIG_HOME", "config"),
            ("XDG_DATA_HOME", "data"),
            ("XDG_STATE_HOME", "state"),
            ("XDG_CACHE_HOME", "cache"),
        ] {
            command.env(variable, home.join(folder));
        }
        match self {
            Self::Innerve => {
                // Without a question even as root: what the script runs is known.
                command.args(["run", "--permission-mode", "bypassPermissions", "--model", "bench"]);
                command.env("IS_SANDBOX", "1");
                command.env("ANTHROPIC_BASE_URL", address).env("ANTHROPIC_API_KEY", "none");
            }
            Self::Codex => {
                write(&home.join("config.toml"), &codex(address))?;
                command.env("CODEX_HOME", home).env("BENCH_KEY", "none");
                command.args(["exec", "--skip-git-repo-check"]);
                command.arg("--dangerously-bypass-approvals-and-sandbox");
            }
            Self::Gemini => {
                let settings = json!({
                    "security": { "auth": { "selectedType": "gemini-api-key" } },
                    "privacy": { "usageStatisticsEnabled": false },
                    "telemetry": { "enabled": false },
                    "general": { "enableAutoUpdate": false },
                });
                write(&home.join(".gemini/settings.json"), &settings.to_string())?;
                command.env("GEMINI_API_KEY", "none").env("GOOGLE_GEMINI_BASE_URL", address);
                command.args(["-y", "--skip-trust", "-m", "gemini-2.5-pro", "-p"]);
            }
            Self::OpenCode => {
                let model =
                    json!({ "name": "bench", "limit": { "context": 1_000_000, "output": 8_000 } });
                let options = json!({ "baseURL": format!("{address}/v1"), "apiKey": "none" });
                let settings = json!({
                    "autoupdate": false, "share": "disabled", "permission": { "*": "allow" },
                    "provider": { "bench": { "npm": "@ai-sdk/anthropic", "options": options, "models": { "bench": model } } },
                });
                write(&home.join("config/opencode/opencode.json"), &settings.to_string())?;
                command.env("OPENCODE_DISABLE_MODELS_FETCH", "1");
                command.env("OPENCODE_DISABLE_AUTOUPDATE", "1");
                command.args(["run", "-m", "bench/bench"]);
            }
            Self::Pi => {
                let cost = json!({ "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0 });
                let model = json!({ "id": "bench", "name": "bench", "reasoning": false, "input": ["text"],
                    "contextWindow": 1_000_000, "maxTokens": 8_000, "cost": cost });
                let settings = json!({ "providers": { "bench": {
                    "baseUrl": address, "api": "anthropic-messages", "apiKey": "none", "models": [model] } } });
                write(&home.join("agent/models.json"), &settings.to_string())?;
                command.env("PI_CODING_AGENT_DIR", home.join("agent")).env("PI_OFFLINE", "1");
                command.args(["-p", "--provider", "bench", "--model", "bench"]);
            }
        }
        command.arg(PROMPT);
        Ok(command)
    }
}

fn codex(address: &str) -> String {
    format!(
        "model = \"bench\"\nmodel_provider = \"bench\"\ncheck_for_update_on_startup = false\n\
         [model_providers.bench]\nname = \"bench\"\nbase_url = \"{address}/v1\"\nenv_key = \"BENCH_KEY\"\nwire_api = \"responses\"\n\
         [analytics]\nenabled = false\n"
    )
}

fn write(file: &Path, text: &str) -> Result {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    Ok(fs::write(file, text)?)
}
