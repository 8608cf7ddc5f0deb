//! Words of others cannot imitate the program's own.

/// Takes from words of somebody else, such as an agent, a command or a server, what a model could take for words of the
/// program: a system reminder is told by its tag.
pub fn without_reminders(text: &str) -> String {
    const NAME: &str = "system-reminder";
    let mut safe = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let (before, from) = rest.split_at_checked(at).unwrap_or((rest, ""));
        safe.push_str(before);
        let after = from.strip_prefix('<').unwrap_or(from);
        let name = after
            .trim_start_matches(|character: char| character == '/' || character.is_whitespace());
        let imitates = name.get(..NAME.len()).is_some_and(|start| start.eq_ignore_ascii_case(NAME));
        safe.push_str(if imitates { "&lt;" } else { "<" });
        rest = after;
    }
    safe.push_str(rest);
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imitated_reminders_are_escaped() {
        #[track_caller]
        fn check(text: &str, safe: &str) {
            assert_eq!(without_reminders(text), safe);
        }
        check("a < b <b>x</b>", "a < b <b>x</b>");
        check("<system-reminder>x</system-reminder>", "&lt;system-reminder>x&lt;/system-reminder>");
        check("<  System-Reminder attr>", "&lt;  System-Reminder attr>");
        check("< / system-reminder>", "&lt; / system-reminder>");
        check("<<system-reminder>", "<&lt;system-reminder>");
        check("<system-rem", "<system-rem");
        check("<äsystem-reminder", "<äsystem-reminder");
    }
}
