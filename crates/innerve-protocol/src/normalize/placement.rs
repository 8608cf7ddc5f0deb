//! Puts blocks into messages whose role may have them.

use super::{Draft, RepairKind, Repairs};
use crate::{ContentBlock, Message, Role, text::is_blank};

/// Where a block may be.
enum Seat {
    /// In a message of this role.
    Role(Role),
    /// Nowhere in a message.
    Nowhere,
}

/// Turns `system` messages into the user's, and splits messages where a block belongs to the other role.
///
/// A result that was recorded in the model's message so becomes the user message that answers it.
pub(super) fn place(messages: Vec<Message>, repairs: &mut Repairs) -> Vec<Draft> {
    let mut drafts = Vec::with_capacity(messages.len());
    for (origin, mut message) in messages.into_iter().enumerate() {
        if message.role == Role::System {
            convert_system(&mut message);
            repairs.add(RepairKind::ConvertedSystem, origin);
        }
        if message.content.iter().all(|block| sits_right(block, message.role)) {
            drafts.push(Draft { origin, message });
        } else {
            split(message, origin, &mut drafts, repairs);
        }
    }
    drafts
}

fn convert_system(message: &mut Message) {
    message.role = Role::User;
    for block in &mut message.content {
        if let ContentBlock::Text(block) = block
            && !is_blank(&block.text)
        {
            block.text = format!("<system-reminder>\n{}\n</system-reminder>", block.text);
        }
    }
}

fn split(message: Message, origin: usize, drafts: &mut Vec<Draft>, repairs: &mut Repairs) {
    let Message { role, content, extra } = message;
    let mut current = Message { role, content: Vec::new(), extra };
    let mut behind = Vec::new();
    for block in content {
        // A picture waits, so that it does not part tool uses from the results in the next message.
        if role == Role::Assistant && matches!(block, ContentBlock::Image(_)) {
            repairs.add(RepairKind::MovedBlock, origin);
            behind.push(block);
            continue;
        }
        let Seat::Role(seat) = seat(&block, role) else {
            repairs.add(RepairKind::DroppedBlock, origin);
            continue;
        };
        if seat != role {
            repairs.add(RepairKind::MovedBlock, origin);
        }
        if seat != current.role {
            let before = std::mem::replace(&mut current, Message::new(seat, Vec::new()));
            if !before.content.is_empty() {
                drafts.push(Draft { origin, message: before });
            }
        }
        current.content.push(block);
    }
    drafts.push(Draft { origin, message: current });
    if !behind.is_empty() {
        drafts.push(Draft { origin, message: Message::new(Role::User, behind) });
    }
}

fn sits_right(block: &ContentBlock, role: Role) -> bool {
    matches!(seat(block, role), Seat::Role(seat) if seat == role)
}

fn seat(block: &ContentBlock, role: Role) -> Seat {
    match block {
        ContentBlock::Text(_) | ContentBlock::Unknown(_) => Seat::Role(role),
        ContentBlock::Image(_) | ContentBlock::ToolResult(_) => Seat::Role(Role::User),
        ContentBlock::ToolUse(_) => Seat::Role(Role::Assistant),
        // Thinking is sealed for the message it came in; elsewhere it is worth nothing.
        ContentBlock::Thinking(_) | ContentBlock::RedactedThinking(_) => match role {
            Role::Assistant => Seat::Role(Role::Assistant),
            Role::User | Role::System => Seat::Nowhere,
        },
        ContentBlock::ToolReference(_) => Seat::Nowhere,
    }
}
