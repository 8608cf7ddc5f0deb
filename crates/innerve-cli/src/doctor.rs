//! `innerve doctor`: what innerve finds where it is started, and how to mend what is wrong.

mod finding;
mod keys;
mod model;
mod place;
mod servers;
mod settings;

use std::io::Write as _;

use crate::args::DoctorArguments;
use crate::exit::{Exit, Failure};
use crate::output::{self, BOLD, DIM, GREEN, RED, YELLOW, plain};
use finding::{Finding, State};

/// Looks at everything and prints what it found; an area with a problem does not keep the others from being looked at.
pub(crate) async fn doctor(arguments: &DoctorArguments) -> Result<Exit, Failure> {
    let mut findings = settings::look(&arguments.policy);
    findings.extend(place::look());
    findings.extend(servers::look(&arguments.policy, arguments.offline).await);
    findings.extend(model::look(&arguments.model, arguments.offline).await);
    let problems = findings.iter().filter(|finding| finding.state == State::Problem).count();
    let printed = if arguments.json {
        output::print_json(&findings)
    } else {
        anstream::stdout().write_all(for_people(&findings, problems).as_bytes())
    };
    let exit = output::broken_pipe_is_success(printed)?;
    Ok(if problems > 0 { Exit::Failure } else { exit })
}

fn for_people(findings: &[Finding], problems: usize) -> String {
    let mut text = String::new();
    let mut area = "";
    for finding in findings {
        if finding.area != area {
            area = finding.area;
            text.push_str(&format!("{BOLD}{area}{BOLD:#}\n"));
        }
        let (style, mark) = match finding.state {
            State::Fine => (GREEN, "✓"),
            State::Note => (YELLOW, "·"),
            State::Problem => (RED, "✗"),
        };
        text.push_str(&format!("  {style}{mark}{style:#} {}\n", plain(&finding.text)));
        if let Some(mend) = &finding.mend {
            text.push_str(&format!("    {DIM}{}{DIM:#}\n", plain(mend)));
        }
    }
    match problems {
        0 => text.push_str("\nNo problem found.\n"),
        1 => text.push_str("\n1 problem.\n"),
        more => text.push_str(&format!("\n{more} problems.\n")),
    }
    text
}
