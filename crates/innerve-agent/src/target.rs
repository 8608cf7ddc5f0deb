//! The output tokens that a person gives a run to use, and how far it is on its way to them.

/// Output tokens of a continuation that is worth another one.
const WORTHWHILE: u64 = 500;

/// How far a run is on its way to the tokens that it should use.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Target {
    /// How many output tokens it should use, if anybody said so.
    wanted: Option<u64>,
    /// How many it has used, without sub-agents.
    used: u64,
    continuations: u32,
    /// Output tokens when the model was last asked to go on.
    before: u64,
    /// Continuations in a row that brought next to nothing.
    idle: u32,
}

impl Target {
    /// A run that has used nothing yet.
    pub(crate) fn new(wanted: Option<u64>) -> Self {
        Self { wanted, ..Self::default() }
    }

    /// Takes the number that a prompt names, if it does.
    pub(crate) fn hear(&mut self, prompt: &str) {
        self.wanted = asked_tokens(prompt).or(self.wanted);
    }

    /// Counts the output tokens of a response.
    pub(crate) fn used(&mut self, tokens: u64) {
        self.used = self.used.saturating_add(tokens);
    }

    /// How many tokens are used of how many, if the model should go on.
    pub(crate) fn goes_on(&mut self) -> Option<(u64, u64)> {
        let (used, wanted) = (self.used, self.wanted?);
        if self.continuations > 0 {
            let is_idle = used.saturating_sub(self.before) < WORTHWHILE;
            self.idle = if is_idle { self.idle + 1 } else { 0 };
        }
        self.before = used;
        let has_dried_up = self.continuations >= 3 && self.idle >= 2;
        // Nine tenths are enough.
        if used.saturating_mul(10) >= wanted.saturating_mul(9) || has_dried_up {
            return None;
        }
        self.continuations += 1;
        Some((used, wanted))
    }
}

/// The output tokens that a person asks for in a prompt: `+500k` or `+2m` as its first or last word.
fn asked_tokens(prompt: &str) -> Option<u64> {
    let mut words = prompt.split_whitespace();
    let first = words.next();
    [first, words.next_back()].into_iter().flatten().find_map(|word| {
        let number = word.strip_prefix('+')?;
        let split = number.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
        let (number, unit) = number.split_at_checked(split)?;
        let unit: u32 = match unit {
            "k" | "K" => 1_000,
            "m" | "M" => 1_000_000,
            _ => return None,
        };
        let tokens = number.parse::<f64>().ok()? * f64::from(unit);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a float becomes the nearest number there is"
        )]
        (tokens >= 1.0).then_some(tokens as u64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn goes_on(used: u64) -> bool {
        let mut target = Target::new(Some(500_000));
        target.used(used);
        target.goes_on().is_some()
    }

    #[test]
    fn f48_nine_tenths_of_the_tokens_are_enough_and_less_goes_on() {
        assert!(!goes_on(450_001));
        assert!(!goes_on(450_000));
        assert!(goes_on(449_999));
    }

    #[test]
    fn without_a_number_from_anybody_a_run_ends_when_the_model_is_done() {
        assert_eq!(Target::new(None).goes_on(), None);
        let mut target = Target::new(None);
        target.hear("mend all of it +500k");
        target.hear("and the tests");
        assert_eq!(target.goes_on(), Some((0, 500_000)));
    }

    #[test]
    fn a_prompt_may_say_how_many_tokens_it_is_worth() {
        for (prompt, tokens) in [
            ("mend all of it +500k", Some(500_000)),
            ("+1.5m mend all of it", Some(1_500_000)),
            ("+20K", Some(20_000)),
            ("what is 1 +1", None),
            ("the +500k in the middle does not count", None),
            ("+k", None),
            ("+0k", None),
            ("+5x", None),
            ("", None),
        ] {
            assert_eq!(asked_tokens(prompt), tokens, "{prompt}");
        }
    }

    #[test]
    fn a_model_that_has_nothing_more_to_say_is_left_alone() {
        let mut target = Target::new(Some(500_000));
        let goes_on = [10_000, 10_000, 10_000, 100, 100].map(|more| {
            target.used(more);
            target.goes_on().is_some()
        });
        assert_eq!(goes_on, [true, true, true, true, false]);
    }
}
