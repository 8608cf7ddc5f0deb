//! Lines of JSON on standard input, each answered on standard output before the next one is read.

use std::io::{self, BufRead, Read as _, StdoutLock, Write as _};

use crate::output::line_error;

/// Bytes of a line at most; a longer one is answered by an error and never held in memory.
const MAX_LINE: u64 = 32 * 1024 * 1024;

/// A line, or what is left of one that was too long.
pub(crate) enum Line {
    Whole,
    TooLong,
}

/// Has every line that is not blank answered, in order, and sends each answer off at once.
pub(crate) fn answer_lines(
    mut answer: impl FnMut(&[u8], &mut StdoutLock<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let mut input = io::stdin().lock();
    let mut output = io::stdout().lock();
    let mut line = Vec::new();
    while let Some(read) = next_line(&mut input, &mut line, MAX_LINE)? {
        match read {
            Line::Whole if line.trim_ascii().is_empty() => continue,
            Line::Whole => answer(&line, &mut output)?,
            Line::TooLong => {
                let problem = format!("the line is longer than {} MiB", MAX_LINE >> 20);
                serde_json::to_writer(&mut output, &line_error(b"", &problem))?;
            }
        }
        output.write_all(b"\n")?;
        output.flush()?;
    }
    Ok(())
}

/// Reads a line without its end into `line`, or past a line of more than `limit` bytes.
pub(crate) fn next_line(
    input: &mut impl BufRead,
    line: &mut Vec<u8>,
    limit: u64,
) -> io::Result<Option<Line>> {
    line.clear();
    let count = input.by_ref().take(limit.saturating_add(1)).read_until(b'\n', line)?;
    if count == 0 {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
    } else if count as u64 > limit {
        line.clear();
        input.skip_until(b'\n')?;
        return Ok(Some(Line::TooLong));
    }
    Ok(Some(Line::Whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[Option<&str>]) {
        let mut input = text.as_bytes();
        let mut line = Vec::new();
        let mut found = Vec::new();
        while let Some(read) = next_line(&mut input, &mut line, 4).unwrap() {
            found.push(match read {
                Line::Whole => Some(String::from_utf8(line.clone()).unwrap()),
                Line::TooLong => None,
            });
        }
        let found: Vec<Option<&str>> = found.iter().map(Option::as_deref).collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn lines_are_whole_or_told_to_be_too_long() {
        check("", &[]);
        check("a\nb", &[Some("a"), Some("b")]);
        check("a\n\n", &[Some("a"), Some("")]);
        check("1234\n12345\n123\n", &[Some("1234"), None, Some("123")]);
        check("123456789", &[None]);
        check("12345\n", &[None]);
        check("1234", &[Some("1234")]);
    }
}
