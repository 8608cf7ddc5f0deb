//! What else commands and tools depend on: the sandbox around commands, and servers of tools.

use innerve_mcp::ServerState;

use super::finding::Finding;
use crate::args::{McpArguments, PolicyArguments};
use crate::exit::{Failure, Lack};
use crate::wire::{PATIENCE, Workplace};

const SANDBOX: &str = "sandbox";
const SERVERS: &str = "servers";
const WITHOUT: &str = "install bubblewrap, or take `sandbox` out of the settings";

/// What is there. Servers are started to see how they are, unless nothing outside is to be asked.
pub(super) async fn look(arguments: &PolicyArguments, offline: bool) -> Vec<Finding> {
    let workplace = match Workplace::find(arguments) {
        Ok(workplace) => workplace,
        // What is broken in the settings was told of already.
        Err(failure) => return lacking(failure).into_iter().collect(),
    };
    let mut findings = vec![sandbox(&workplace)];
    let listed = match workplace.listed_servers(&McpArguments::default()) {
        Ok(listed) => listed,
        Err(failure) => {
            findings.push(Finding::problem(SERVERS, failure.message));
            return findings;
        }
    };
    for listed in &listed {
        match &listed.outcome {
            Ok(_) if offline => findings
                .push(Finding::note(SERVERS, format!("{}: not started (--offline)", listed.name))),
            Ok(_) => {}
            Err(hindrance) => {
                let text = format!("{} ({}): {hindrance}", listed.name, listed.origin);
                let finding = match hindrance.state() {
                    "failed" => Finding::problem(SERVERS, text),
                    _ => Finding::note(SERVERS, text),
                };
                findings.push(finding.mend(hindrance.mend()));
            }
        }
    }
    if offline {
        return findings;
    }
    if let Some(servers) = workplace.start_servers(&workplace.sessions.join("calls"), listed) {
        servers.settled(PATIENCE).await;
        for status in servers.statuses() {
            let name = &status.name;
            findings.push(match (&status.problem, status.state) {
                (Some(problem), state) if state != ServerState::Connected => {
                    Finding::problem(SERVERS, format!("{name}: {}", problem.text))
                        .mend(problem.mend.clone())
                }
                (_, state) => {
                    let count = status.tools.len();
                    Finding::fine(SERVERS, format!("{name}: {}, {count} tools", state.name()))
                }
            });
        }
    }
    workplace.end_servers().await;
    findings
}

/// The sandbox that settings demand and the machine lacks.
fn lacking(failure: Failure) -> Option<Finding> {
    (failure.lack == Some(Lack::Sandbox))
        .then(|| Finding::problem(SANDBOX, failure.message).mend(WITHOUT))
}

fn sandbox(workplace: &Workplace) -> Finding {
    let Some(name) = workplace.sandbox_name() else {
        return without_sandbox(workplace.sandbox_trouble());
    };
    let reach = workplace.sandbox_reach();
    let reach = reach.as_deref().unwrap_or("no host");
    let mut words = format!("commands run in a sandbox ({name}) and reach {reach}");
    if let Some(kept) = workplace.sandbox_keeps() {
        words.push_str(&format!("; kept from them besides: {kept}"));
    }
    Finding::fine(SANDBOX, words)
}

fn without_sandbox(trouble: Option<&str>) -> Finding {
    match trouble {
        Some(why) => Finding::problem(SANDBOX, why).mend(WITHOUT),
        None => Finding::note(SANDBOX, "commands run without a sandbox").mend(
            "where programs that you allow must not do whatever they like: \
             {\"sandbox\": {\"enabled\": true}} in the settings",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::State;
    use super::*;

    #[test]
    fn a_sandbox_that_is_missing_is_a_problem_only_where_it_was_asked_for() {
        assert_eq!(without_sandbox(Some("it is not there")).state, State::Problem);
        assert_eq!(without_sandbox(None).state, State::Note);
        let demanded = lacking(Failure::lacking(Lack::Sandbox, "in whatever words")).unwrap();
        assert_eq!(demanded.state, State::Problem);
        assert!(lacking(Failure::new("settings demand a sandbox")).is_none());
    }
}
