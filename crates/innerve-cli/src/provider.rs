//! Chooses who answers: Anthropic, an OpenAI-compatible server, or a recording.

use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use innerve_agent::ToolSearchMode;
use innerve_model::{
    Anthropic, Dialect, Endpoint, Model, OpenAi, Recorder, Recording, Replay, RetryPolicy,
    Retrying, Windowed,
};

use crate::args::{ModelArguments, ProviderName};
use crate::exit::Failure;

/// The model that is asked when none is named and Anthropic answers.
const DEFAULT_MODEL: &str = "claude-sonnet-5";
/// Overloads in a row after which another model is asked, if there is one.
const OVERLOADS: u32 = 3;
/// A recording of more bytes is not read.
const MAX_RECORDING: u64 = 256 * 1024 * 1024;

/// A model and its name.
pub(crate) struct Chosen {
    pub(crate) model: Arc<dyn Model>,
    pub(crate) name: String,
}

/// A provider that was chosen by flags and environment.
pub(crate) enum Connection {
    Anthropic { model: Anthropic, name: String },
    OpenAi { model: OpenAi, name: String },
    Replay(Recording),
}

/// Chooses by flags and environment; `None` if nothing says who should answer.
pub(crate) fn choose(arguments: &ModelArguments) -> Result<Option<Chosen>, Failure> {
    let Some(connection) = connect(arguments)? else { return Ok(None) };
    let mut chosen = match connection {
        Connection::Anthropic { model, name } => {
            Chosen { model: Arc::new(Retrying::new(model).with_policy(retries(arguments))), name }
        }
        Connection::OpenAi { model, name } => {
            Chosen { model: Arc::new(Retrying::new(model).with_policy(retries(arguments))), name }
        }
        Connection::Replay(recording) => {
            let name = recording.model().to_owned();
            Chosen { model: Arc::new(Replay::new(recording)), name }
        }
    };
    if let Some(tokens) = arguments.context_window {
        chosen.model = Arc::new(Windowed::new(chosen.model, tokens));
    }
    match &arguments.record {
        None => Ok(Some(chosen)),
        Some(path) => {
            let file = new_file(path)?;
            Ok(Some(Chosen {
                model: Arc::new(Recorder::new(chosen.model, Box::new(file))),
                name: chosen.name,
            }))
        }
    }
}

/// Who would answer if nothing but the environment said so; `None` also where it says too little.
pub(crate) fn from_environment() -> Option<Chosen> {
    let model = variable("INNERVE_MODEL");
    choose(&ModelArguments { model, ..ModelArguments::default() }).ok().flatten()
}

/// The provider itself, without retries and recorder.
pub(crate) fn connect(arguments: &ModelArguments) -> Result<Option<Connection>, Failure> {
    Ok(match provider(arguments)? {
        None => None,
        Some(ProviderName::Replay) => Some(replay(arguments)?),
        Some(ProviderName::Anthropic) => Some(anthropic(arguments)?),
        Some(ProviderName::Openai) => Some(openai(arguments)?),
    })
}

fn provider(arguments: &ModelArguments) -> Result<Option<ProviderName>, Failure> {
    let replays = arguments.replay.is_some();
    match arguments.provider {
        Some(ProviderName::Replay) if !replays => {
            Err(Failure::usage("--provider replay needs a recording: --replay FILE"))
        }
        Some(ProviderName::Anthropic | ProviderName::Openai) if replays => {
            Err(Failure::usage("--replay plays a recording; leave --provider out"))
        }
        Some(provider) => Ok(Some(provider)),
        None if replays => Ok(Some(ProviderName::Replay)),
        None => Ok(guess(arguments)),
    }
}

/// The provider whose key or address is set; Anthropic first.
fn guess(arguments: &ModelArguments) -> Option<ProviderName> {
    if variable("ANTHROPIC_API_KEY").or_else(|| variable("ANTHROPIC_AUTH_TOKEN")).is_some() {
        return Some(ProviderName::Anthropic);
    }
    if variable("OPENAI_API_KEY").is_some() {
        return Some(ProviderName::Openai);
    }
    if variable("ANTHROPIC_BASE_URL").is_some() {
        return Some(ProviderName::Anthropic);
    }
    if variable("OPENAI_BASE_URL").is_some() || arguments.base_url.is_some() {
        return Some(ProviderName::Openai);
    }
    None
}

fn anthropic(arguments: &ModelArguments) -> Result<Connection, Failure> {
    let address = arguments.base_url.clone().or_else(|| variable("ANTHROPIC_BASE_URL"));
    let mut endpoint = Endpoint::new(address.unwrap_or_else(|| Anthropic::BASE_URL.to_owned()));
    if let Some(key) = variable("ANTHROPIC_API_KEY") {
        endpoint = endpoint.api_key(key, "ANTHROPIC_API_KEY");
    } else if let Some(token) = variable("ANTHROPIC_AUTH_TOKEN") {
        endpoint = endpoint.bearer(token, "ANTHROPIC_AUTH_TOKEN");
    }
    if arguments.tool_search == Some(ToolSearchMode::On) {
        endpoint = endpoint.tool_references();
    }
    let model = Anthropic::new(endpoint).map_err(|error| Failure::usage(error.to_string()))?;
    let name = arguments.model.clone().unwrap_or_else(|| DEFAULT_MODEL.to_owned());
    Ok(Connection::Anthropic { model, name })
}

fn openai(arguments: &ModelArguments) -> Result<Connection, Failure> {
    let address = arguments.base_url.clone().or_else(|| variable("OPENAI_BASE_URL"));
    let mut endpoint = Endpoint::new(address.unwrap_or_else(|| OpenAi::BASE_URL.to_owned()));
    if let Some(key) = variable("OPENAI_API_KEY") {
        endpoint = endpoint.api_key(key, "OPENAI_API_KEY");
    }
    let model =
        OpenAi::new(endpoint, Dialect::new()).map_err(|error| Failure::usage(error.to_string()))?;
    let name = arguments.model.clone().ok_or_else(|| {
        Failure::usage(
            "an OpenAI-compatible server needs a model's name: --model NAME or INNERVE_MODEL",
        )
    })?;
    Ok(Connection::OpenAi { model, name })
}

/// Another model takes over before a person has waited long for an overloaded one.
fn retries(arguments: &ModelArguments) -> RetryPolicy {
    let policy = RetryPolicy::new();
    if arguments.fallback_model.is_empty() { policy } else { policy.overloaded_limit(OVERLOADS) }
}

fn replay(arguments: &ModelArguments) -> Result<Connection, Failure> {
    let path = arguments.replay.as_deref().unwrap_or(Path::new(""));
    let mut text = String::new();
    File::open(path).and_then(|file| file.take(MAX_RECORDING).read_to_string(&mut text)).map_err(
        |error| Failure::new(format!("the recording {} cannot be read: {error}", path.display())),
    )?;
    let recording = Recording::parse(&text)
        .map_err(|error| Failure::new(format!("{}: {error}", path.display())))?;
    Ok(Connection::Replay(recording))
}

/// A recording holds what was said, which is nobody else's business; an old one is not overwritten.
fn new_file(path: &Path) -> Result<File, Failure> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options.open(path).map_err(|error| {
        Failure::new(format!(
            "the recording {} cannot be started: {error}; name a new file",
            path.display()
        ))
    })
}

/// A variable that is set to something.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}
