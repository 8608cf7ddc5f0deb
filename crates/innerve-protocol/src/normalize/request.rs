//! Repairs a whole request: its transcript, and the cache markers of tools, instructions and messages together.

use super::{Draft, Repair, RepairKind, Repairs, keep_last_markers, repair_transcript};
use crate::{Request, SharedMessage, marker, text::is_blank};

/// Repairs the transcript as [`normalize`](crate::normalize) does, then what the request as a whole must keep to.
///
/// At most four cache markers stay: the automatic one, the last one of the tools, of the instructions and of the messages,
/// then the latest others of the messages. Deferred tools lose their markers; if every tool is deferred, all are loaded,
/// since nothing could find them. Instructions without text are dropped.
pub fn normalize_request(request: &mut Request) -> Vec<Repair> {
    let mut repairs = Repairs::default();
    let messages = std::mem::take(&mut request.messages);
    let messages = messages.into_iter().map(SharedMessage::into_message).collect();
    let mut drafts = repair_transcript(messages, &mut repairs);
    repair_tools(request, &mut repairs);
    request.system.retain(|block| {
        let is_blank = is_blank(&block.text);
        if is_blank {
            repairs.add_outside(RepairKind::DroppedEmptyText);
        }
        !is_blank
    });
    limit_markers(request, &mut drafts, &mut repairs);
    request.messages.extend(drafts.into_iter().map(|draft| draft.message.into()));
    repairs.into_list()
}

fn repair_tools(request: &mut Request, repairs: &mut Repairs) {
    for tool in &mut request.tools {
        if tool.defer_loading && tool.cache_control.take().is_some() {
            repairs.add_outside(RepairKind::DroppedCacheMarker);
        }
    }
    if !request.tools.is_empty() && request.tools.iter().all(|tool| tool.defer_loading) {
        request.tools.iter_mut().for_each(|tool| tool.defer_loading = false);
        repairs.add_outside(RepairKind::LoadedTools);
    }
}

fn limit_markers(request: &mut Request, drafts: &mut [Draft], repairs: &mut Repairs) {
    let is_automatic = request.extra.get(marker::FIELD).is_some_and(|value| !value.is_null());
    let mut left = marker::MAX_MARKERS - usize::from(is_automatic);
    let mut grant = |wanted: usize| {
        let granted = wanted.min(left);
        left -= granted;
        granted
    };
    let tools = request.tools.iter().filter(|tool| tool.cache_control.is_some()).count();
    let system = request.system.iter().filter(|block| block.cache_control.is_some()).count();
    let messages: usize = drafts.iter().map(|draft| marker::count(&draft.message)).sum();
    let mut keep_tools = grant(tools.min(1));
    let mut keep_system = grant(system.min(1));
    let keep_messages = grant(messages);
    keep_system += grant(system - keep_system);
    keep_tools += grant(tools - keep_tools);

    let mut strip = |marker: &mut Option<_>, surplus: &mut usize| {
        if *surplus > 0 && marker.take().is_some() {
            *surplus -= 1;
            repairs.add_outside(RepairKind::DroppedCacheMarker);
        }
    };
    let mut surplus = tools - keep_tools;
    request.tools.iter_mut().for_each(|tool| strip(&mut tool.cache_control, &mut surplus));
    surplus = system - keep_system;
    request.system.iter_mut().for_each(|block| strip(&mut block.cache_control, &mut surplus));
    keep_last_markers(drafts, keep_messages, repairs);
}
