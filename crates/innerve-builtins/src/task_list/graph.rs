//! What waits for what: looks for a cycle before an edge is added.

use std::collections::{BTreeMap, VecDeque};

use super::list::{TaskList, TaskNumber};

/// The shortest cycle that would be there if `waiting` waited for `first`: it begins and ends with `waiting`, and each
/// waits for the next one. `None` if there would be none.
pub(super) fn cycle(
    list: &TaskList,
    waiting: TaskNumber,
    first: TaskNumber,
) -> Option<Vec<TaskNumber>> {
    let mut came_from: BTreeMap<TaskNumber, TaskNumber> = BTreeMap::new();
    let mut queue = VecDeque::from([first]);
    while let Some(id) = queue.pop_front() {
        if id == waiting {
            return Some(path(&came_from, waiting, first));
        }
        for next in list.get(id).into_iter().flat_map(|task| task.blocked_by.iter().copied()) {
            if next != first && !came_from.contains_key(&next) {
                came_from.insert(next, id);
                queue.push_back(next);
            }
        }
    }
    None
}

fn path(
    came_from: &BTreeMap<TaskNumber, TaskNumber>,
    waiting: TaskNumber,
    first: TaskNumber,
) -> Vec<TaskNumber> {
    let mut back = vec![waiting];
    let mut at = waiting;
    while at != first {
        let Some(before) = came_from.get(&at) else { break };
        at = *before;
        back.push(at);
    }
    back.push(waiting);
    back.reverse();
    back
}
