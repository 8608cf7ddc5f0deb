//! When queued tool uses may start: a pure state machine without time or threads.

/// Decides which queued calls may start. Safe calls run together, up to a limit; an unsafe one runs alone, and nothing
/// that was queued after an unsafe call starts before it has ended.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    slots: Vec<(bool, SlotState)>,
    limit: usize,
}

/// How far a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum SlotState {
    /// It waits.
    Queued,
    /// It runs.
    Running,
    /// It has its result.
    Done,
}

impl Schedule {
    /// An empty schedule; `limit` safe calls run together at most (one at least).
    pub(crate) fn new(limit: usize) -> Self {
        Self { slots: Vec::new(), limit: limit.max(1) }
    }

    /// Queues a call and returns its number.
    pub(crate) fn add(&mut self, safe: bool) -> usize {
        self.slots.push((safe, SlotState::Queued));
        self.slots.len() - 1
    }

    /// Marks the calls that may start now as running and returns their numbers, in order.
    pub(crate) fn start(&mut self) -> Vec<usize> {
        let mut running = self.running();
        let mut only_safe_running =
            self.slots.iter().all(|(safe, state)| *state != SlotState::Running || *safe);
        let mut started = Vec::new();
        for (index, (safe, state)) in self.slots.iter_mut().enumerate() {
            if *state != SlotState::Queued {
                continue;
            }
            let may_start = running == 0 || (*safe && only_safe_running && running < self.limit);
            if may_start {
                *state = SlotState::Running;
                running += 1;
                only_safe_running &= *safe;
                started.push(index);
            } else if !*safe {
                break;
            }
        }
        started
    }

    /// Marks a call as done.
    pub(crate) fn finish(&mut self, index: usize) {
        if let Some((_, state)) = self.slots.get_mut(index) {
            *state = SlotState::Done;
        }
    }

    /// How many calls run.
    pub(crate) fn running(&self) -> usize {
        self.slots.iter().filter(|(_, state)| *state == SlotState::Running).count()
    }

    /// Whether every call has its result.
    #[cfg(test)]
    pub(crate) fn is_done(&self) -> bool {
        self.slots.iter().all(|(_, state)| *state == SlotState::Done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Starts calls of this safety (`s` safe, `u` unsafe) and ends them in order of their numbers; each group is what
    /// started together.
    #[track_caller]
    fn check(calls: &str, limit: usize, expected: &[&[usize]]) {
        let mut schedule = Schedule::new(limit);
        for call in calls.chars() {
            schedule.add(call == 's');
        }
        let mut groups = Vec::new();
        loop {
            let group = schedule.start();
            if group.is_empty() {
                break;
            }
            for index in &group {
                schedule.finish(*index);
            }
            groups.push(group);
        }
        assert_eq!(groups, expected, "{calls}");
        assert!(schedule.is_done());
    }

    #[test]
    fn safe_calls_run_together_and_unsafe_ones_alone() {
        check("sssus", 10, &[&[0, 1, 2], &[3], &[4]]);
        check("uu", 10, &[&[0], &[1]]);
        check("us", 10, &[&[0], &[1]]);
        check("", 10, &[]);
    }

    #[test]
    fn no_more_than_the_limit_run_at_once() {
        check("sssss", 2, &[&[0, 1], &[2, 3], &[4]]);
        check("ss", 0, &[&[0], &[1]]);
    }

    /// Every order of arrivals and endings of up to five calls.
    #[test]
    fn no_interleaving_breaks_the_rules() {
        fn explore(calls: &[bool], added: usize, schedule: &Schedule, seen: &mut usize) {
            *seen += 1;
            let running: Vec<usize> =
                (0..added).filter(|index| schedule.slots[*index].1 == SlotState::Running).collect();
            let unsafe_runs = running.iter().any(|index| !calls[*index]);
            assert!(!unsafe_runs || running.len() == 1, "an unsafe call has company: {schedule:?}");
            for index in &running {
                let earlier_unsafe_waits = (0..*index)
                    .any(|earlier| !calls[earlier] && schedule.slots[earlier].1 != SlotState::Done);
                assert!(!earlier_unsafe_waits, "{index} overtook an unsafe call: {schedule:?}");
            }
            if running.is_empty() {
                assert!(schedule.is_done() || added == 0, "stuck: {schedule:?}");
            }
            for index in running {
                let mut next = schedule.clone();
                next.finish(index);
                next.start();
                explore(calls, added, &next, seen);
            }
            if added < calls.len() {
                let mut next = schedule.clone();
                next.add(calls[added]);
                next.start();
                explore(calls, added + 1, &next, seen);
            }
        }
        let mut seen = 0;
        for bits in 0..32_u8 {
            let calls: Vec<bool> = (0..5).map(|bit| bits & (1 << bit) != 0).collect();
            explore(&calls, 0, &Schedule::new(3), &mut seen);
        }
        assert!(seen > 1_000, "{seen}");
    }
}
