//! Values of flags with well-known names that shells complete, and perhaps others beside them.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command, Error};
use innerve_agent::ToolSearchMode;
use innerve_permission::{PermissionMode, UnknownMode};

/// Reads a value; its names are offered, and it alone decides what else is one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named<T> {
    names: fn() -> Vec<&'static str>,
    read: fn(&str) -> Result<T, String>,
}

impl<T: Clone + Send + Sync + 'static> TypedValueParser for Named<T> {
    type Value = T;

    fn parse_ref(&self, command: &Command, flag: Option<&Arg>, value: &OsStr) -> Result<T, Error> {
        self.read.parse_ref(command, flag, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.names)().into_iter().map(PossibleValue::new)))
    }
}

/// Permission modes.
pub(super) fn mode() -> Named<PermissionMode> {
    Named {
        names: || {
            use PermissionMode::{AcceptEdits, Auto, BypassPermissions, Default, DontAsk, Plan};
            [Default, AcceptEdits, Plan, Auto, DontAsk, BypassPermissions]
                .map(PermissionMode::name)
                .to_vec()
        },
        read: |text| text.parse().map_err(|error: UnknownMode| error.to_string()),
    }
}

/// The names of models; a server may have any others.
pub(super) fn model() -> Named<String> {
    Named { names: || innerve_model::current_models().collect(), read: |text| Ok(text.to_owned()) }
}

/// When tools are searched for.
pub(super) fn tool_search() -> Named<ToolSearchMode> {
    Named {
        names: || vec!["off", "on", "auto"],
        read: |text| {
            text.parse().map_err(|error: innerve_agent::UnknownToolSearchMode| error.to_string())
        },
    }
}

/// How much is logged.
pub(crate) fn log<T>(read: fn(&str) -> Result<T, String>) -> Named<T> {
    Named { names: || vec!["error", "warn", "info", "debug", "trace"], read }
}
