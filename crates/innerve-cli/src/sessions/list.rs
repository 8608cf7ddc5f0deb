//! `innerve sessions list`: when, where, what was asked first, and how many turns.

use std::io::{self, Write as _};

use innerve_agent::SessionSummary;

use super::{by_last_use, projects};
use crate::args::SessionsListArguments;
use crate::calendar::date_and_time;
use crate::exit::{Exit, Failure};
use crate::output::{BOLD, DIM, broken_pipe_is_success, headline, plain};
use crate::wire::sessions_folder;

/// Characters of the first prompt that are shown.
const WIDTH: usize = 60;

/// Lists sessions.
pub(super) fn list(arguments: &SessionsListArguments) -> Result<Exit, Failure> {
    let here = sessions_folder()?;
    let folders = if arguments.all { projects(&here) } else { vec![here] };
    let all = by_last_use(folders);
    let limit = if arguments.limit == 0 { usize::MAX } else { arguments.limit };
    // Only the names of the others were looked at.
    let summaries =
        all.iter().take(limit).filter_map(|(_, folder)| SessionSummary::read(folder).ok());
    if arguments.json {
        return broken_pipe_is_success(print_array(summaries));
    }
    let printed = print_table(summaries, arguments.all, all.len().saturating_sub(limit));
    broken_pipe_is_success(printed)
}

/// One array, written as it is read.
fn print_array(summaries: impl Iterator<Item = SessionSummary>) -> io::Result<()> {
    let mut output = io::BufWriter::new(io::stdout().lock());
    output.write_all(b"[")?;
    for (number, summary) in summaries.enumerate() {
        if number > 0 {
            output.write_all(b",")?;
        }
        serde_json::to_writer(&mut output, &summary)?;
    }
    output.write_all(b"]\n")?;
    output.flush()
}

fn print_table(
    summaries: impl Iterator<Item = SessionSummary>,
    with_directory: bool,
    more: usize,
) -> io::Result<()> {
    let mut output = anstream::stdout();
    let mut count = 0;
    for summary in summaries {
        count += 1;
        let turns = if summary.turns == 1 { "turn" } else { "turns" };
        let prompt = if summary.first_prompt.is_empty() {
            "–".to_owned()
        } else {
            headline(&summary.first_prompt, WIDTH)
        };
        writeln!(
            output,
            "{BOLD}{}{BOLD:#}  {}  {:>3} {turns:<5}  {prompt}",
            summary.id,
            date_and_time(summary.last_used),
            summary.turns
        )?;
        if with_directory {
            writeln!(output, "{DIM}    {}{DIM:#}", plain(&summary.cwd.display().to_string()))?;
        }
    }
    if count == 0 {
        let place = if with_directory { "" } else { " of this directory; see --all" };
        return writeln!(anstream::stderr(), "there are no sessions{place}");
    }
    if more > 0 {
        writeln!(anstream::stderr(), "{more} more; see --limit")?;
    }
    Ok(())
}
