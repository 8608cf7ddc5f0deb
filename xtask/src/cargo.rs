//! Cargo as a person at a terminal would start it.

use xshell::Cmd;

/// Takes away what `cargo run` told this program about its own package.
///
/// Some build scripts (that of `ring`, for one) look at these variables. If they were passed on, such a crate and all that
/// depend on it would be built anew whenever `cargo xtask` and plain cargo take turns.
pub(crate) fn plain(command: Cmd<'_>) -> Cmd<'_> {
    std::env::vars_os()
        .filter_map(|(name, _)| name.into_string().ok())
        .filter(|name| is_about_a_package(name))
        .fold(command, Cmd::env_remove)
}

fn is_about_a_package(name: &str) -> bool {
    ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|prefix| name.starts_with(prefix))
        || ["CARGO_BIN_NAME", "CARGO_CRATE_NAME", "CARGO_PRIMARY_PACKAGE"].contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use xshell::{Shell, cmd};

    #[test]
    fn a_child_knows_nothing_of_this_package_and_all_else() {
        // The runner sets these for tests as `cargo run` does for programs.
        assert!(std::env::var_os("CARGO_PKG_NAME").is_some());
        let shell = Shell::new().unwrap();
        let seen = plain(cmd!(shell, "env")).quiet().read().unwrap();
        let names: Vec<&str> = seen.lines().filter_map(|line| line.split('=').next()).collect();
        assert!(!names.iter().any(|name| is_about_a_package(name)), "{names:?}");
        assert!(names.contains(&"PATH"));
    }

    #[test]
    fn settings_of_cargo_are_passed_on() {
        for name in ["CARGO_HOME", "CARGO_INCREMENTAL", "CARGO_TARGET_DIR", "CARGO_NET_RETRY"] {
            assert!(!is_about_a_package(name), "{name}");
        }
    }
}
