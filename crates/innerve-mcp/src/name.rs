//! Names: how a server's tool is called in front of a model and in permission rules.

/// The most characters a tool's name may have (Anthropic Messages API, `tools[].name`).
const LONGEST: usize = 64;

/// Hexadecimal digits that tell two shortened names apart.
const DIGITS: usize = 6;

/// The name of a server's tool: `mcp__<server>__<tool>`.
///
/// Every character outside `A-Z a-z 0-9 _ -` becomes `_`. A name that would be longer than 64 characters is cut and ends
/// in `_` and six digits of a hash of both original names, so that it is the same in every session and two long names
/// that begin alike stay apart.
pub fn tool_name(server: &str, tool: &str) -> String {
    let name = format!("mcp__{}__{}", plain(server), plain(tool));
    if name.len() > LONGEST { with_digits(name, server, tool) } else { name }
}

/// As [`tool_name`], and always with the digits: for a tool whose plain name another one of its server has.
pub(crate) fn distinct_name(server: &str, tool: &str) -> String {
    with_digits(format!("mcp__{}__{}", plain(server), plain(tool)), server, tool)
}

fn with_digits(mut name: String, server: &str, tool: &str) -> String {
    name.truncate(LONGEST - DIGITS - 1);
    name.push('_');
    name.push_str(&digits(server, tool));
    name
}

/// The text with one `_` for each character that names may not have; all that is left is ASCII.
fn plain(text: &str) -> String {
    let allowed = |character: char| character.is_ascii_alphanumeric() || "_-".contains(character);
    text.chars().map(|character| if allowed(character) { character } else { '_' }).collect()
}

fn digits(server: &str, tool: &str) -> String {
    let mut hasher = blake3::Hasher::new();
    // The length keeps `ab` + `c` apart from `a` + `bc`.
    hasher
        .update(&(server.len() as u64).to_le_bytes())
        .update(server.as_bytes())
        .update(tool.as_bytes());
    hasher.finalize().to_hex().chars().take(DIGITS).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_plain_name_is_kept_whole() {
        assert_eq!(tool_name("github", "create_issue"), "mcp__github__create_issue");
        assert_eq!(tool_name("my-server", "Read-File"), "mcp__my-server__Read-File");
    }

    #[test]
    fn each_other_character_becomes_one_underscore() {
        assert_eq!(tool_name("a b.c/d", "größe:😀"), "mcp__a_b_c_d__gr__e__");
    }

    #[test]
    fn a_name_of_64_characters_is_kept_and_one_more_is_cut() {
        let tool = "t".repeat(LONGEST - "mcp__s__".len());
        assert_eq!(tool_name("s", &tool), format!("mcp__s__{tool}"));
        let cut = tool_name("s", &format!("{tool}t"));
        assert_eq!(cut.len(), LONGEST);
        assert!(cut.starts_with("mcp__s__ttt"), "{cut}");
    }

    #[test]
    fn long_names_that_begin_alike_stay_apart() {
        let long = "t".repeat(80);
        let names = [
            tool_name("s", &format!("{long}1")),
            tool_name("s", &format!("{long}2")),
            tool_name("s", &format!("{long}.")),
            tool_name("s", &format!("{long}_")),
        ];
        for (index, name) in names.iter().enumerate() {
            assert!(!names[..index].contains(name), "{names:?}");
        }
    }

    #[test]
    fn a_shortened_name_never_changes() {
        // Rules and transcripts hold such names: another value here breaks them.
        assert_eq!(
            tool_name("server", &"tool".repeat(20)),
            "mcp__server__tooltooltooltooltooltooltooltooltooltooltool_64893e"
        );
    }

    #[test]
    fn two_tools_with_one_plain_name_are_told_apart_by_digits() {
        assert_eq!(tool_name("s", "a.b"), tool_name("s", "a_b"));
        let (one, other) = (distinct_name("s", "a.b"), distinct_name("s", "a_b"));
        assert_ne!(one, other);
        assert!(one.starts_with("mcp__s__a_b_") && one.len() == "mcp__s__a_b_".len() + DIGITS);
    }

    proptest! {
        #[test]
        fn every_name_is_one_that_a_model_may_be_shown(server in ".{0,80}", tool in ".{0,80}") {
            let name = tool_name(&server, &tool);
            prop_assert!(name.len() <= LONGEST);
            prop_assert!(name.starts_with("mcp__"));
            prop_assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)));
            prop_assert_eq!(&name, &tool_name(&server, &tool));
        }
    }
}
