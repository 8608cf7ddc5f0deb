//! Where telemetry goes: a local log, and with the feature `otlp` a collector. Nowhere unless somebody says so.

mod file;
#[cfg(feature = "otlp")]
mod otlp;

use std::path::PathBuf;

use clap::Args;
use innerve_pipeline::Naming;
use innerve_settings::Locations;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{FilterExt as _, LevelFilter, Targets, filter_fn};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::args::named;
use crate::output::warn;

/// The variable that lets telemetry name tools of servers, calls and models as they are called.
const NAMES: &str = "INNERVE_TELEMETRY_NAMES";

/// What is counted, as opposed to what happens.
#[cfg(feature = "otlp")]
const METRICS: &str = "innerve::metrics";

/// Where the local log goes and what it holds.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct LogArguments {
    /// Keeps a log: a level (error, warn, info, debug, trace), or levels by crate such as `innerve_pipeline=debug`.
    #[arg(
        long,
        env = "INNERVE_LOG",
        value_parser = named::log(levels),
        hide_possible_values = true,
        value_name = "LEVEL",
        global = true,
        hide_env_values = true,
        help_heading = "Log"
    )]
    pub(crate) log: Option<Targets>,
    /// The log's file, `-` for standard error; default: `log/innerve.log` in the state directory.
    #[arg(
        long,
        env = "INNERVE_LOG_FILE",
        value_name = "FILE",
        global = true,
        hide_env_values = true,
        help_heading = "Log"
    )]
    pub(crate) log_file: Option<PathBuf>,
}

/// Sends what is left when it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Telemetry {
    #[cfg(feature = "otlp")]
    collector: Option<otlp::Collector>,
}

/// Starts to listen, if anybody wants to know. Must be called outside of a runtime.
///
/// What cannot be set up is told and left out: telemetry never keeps the program from its work.
pub(crate) fn start(arguments: &LogArguments) -> Telemetry {
    let log = arguments.log.as_ref().and_then(|levels| log(levels, arguments.log_file.as_ref()));
    #[cfg(feature = "otlp")]
    {
        let collector = otlp::Collector::from_env();
        let layers = collector.as_ref().map(otlp::Collector::layers);
        if log.is_some() || layers.is_some() {
            let listening = tracing_subscriber::registry().with(layers).with(log).try_init();
            drop(listening);
        }
        Telemetry { collector }
    }
    #[cfg(not(feature = "otlp"))]
    {
        if otlp_is_wanted() {
            warn(
                "OTEL_EXPORTER_OTLP_ENDPOINT is set, but this program was built without the feature `otlp`",
            );
        }
        if log.is_some() {
            let listening = tracing_subscriber::registry().with(log).try_init();
            drop(listening);
        }
        Telemetry::default()
    }
}

/// What telemetry calls tools, calls and models.
pub(crate) fn naming() -> Naming {
    let is_set = std::env::var_os(NAMES).is_some_and(|value| !value.is_empty() && value != "0");
    if is_set { Naming::Given } else { Naming::Classes }
}

fn levels(text: &str) -> Result<Targets, String> {
    let help = "write error, warn, info, debug or trace, or levels by crate such as `innerve_pipeline=debug,info`";
    let levels: Targets = text.parse().map_err(|_| help.to_owned())?;
    // A word that is no level is taken for the name of somebody who speaks, and only our own crates do.
    let all_ours = levels.iter().all(|(target, _)| target.starts_with("innerve"));
    if all_ours { Ok(levels) } else { Err(help.to_owned()) }
}

/// Whether a speaker is one of the modules that tell classes and numbers only. Whoever else speaks, in our own crates or in
/// libraries, might tell names, addresses and words: nobody listens.
fn is_safe(target: &str) -> bool {
    target.starts_with("innerve_") && target.ends_with("::telemetry")
}

/// The layer of the local log.
fn log<S>(
    levels: &Targets,
    file: Option<&PathBuf>,
) -> Option<Box<dyn tracing_subscriber::Layer<S> + Send + Sync>>
where
    S: tracing::Subscriber + for<'span> LookupSpan<'span>,
{
    let ours = filter_fn(|metadata| is_safe(metadata.target()));
    // Said once here, so that the other layers need not look at what nobody wants.
    let most = levels.iter().map(|(_, level)| level).chain(levels.default_level()).max();
    let filter = levels.clone().and(ours).and(most.unwrap_or(LevelFilter::OFF));
    let layer = tracing_subscriber::fmt::layer().with_ansi(false);
    if file.is_some_and(|file| file.as_os_str() == "-") {
        return Some(layer.with_writer(std::io::stderr).with_filter(filter).boxed());
    }
    let file = match file {
        Some(file) => file.clone(),
        None => match Locations::from_env() {
            Ok(locations) => locations.state_dir().join("log").join("innerve.log"),
            Err(error) => {
                warn(&format!("no log is kept: {error}"));
                return None;
            }
        },
    };
    match file::LogFile::open(&file) {
        Ok(file) => Some(layer.with_writer(file).with_filter(filter).boxed()),
        Err(error) => {
            warn(&format!("no log is kept in {}: {error}", file.display()));
            None
        }
    }
}

#[cfg(not(feature = "otlp"))]
fn otlp_is_wanted() -> bool {
    std::env::var_os("OTEL_EXPORTER_OTLP_ENDPOINT").is_some_and(|value| !value.is_empty())
}

impl Drop for Telemetry {
    fn drop(&mut self) {
        #[cfg(feature = "otlp")]
        if let Some(collector) = self.collector.take() {
            collector.close();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i11_only_the_modules_that_tell_classes_are_heard() {
        for target in ["innerve_pipeline::telemetry", "innerve_agent::telemetry"] {
            assert!(is_safe(target), "{target}");
        }
        for target in ["innerve_mcp::connect", "innerve", "hyper::proto", "evil_innerve::telemetry"]
        {
            assert!(!is_safe(target), "{target}");
        }
    }

    #[test]
    fn levels_are_levels_or_those_of_our_own_crates() {
        for good in ["info", "innerve_pipeline=debug", "warn,innerve_hooks=trace", "off"] {
            assert!(levels(good).is_ok(), "{good}");
        }
        for bad in ["loud", "hyper=debug", "innerve_pipeline=loud"] {
            assert!(levels(bad).is_err(), "{bad}");
        }
    }
}
