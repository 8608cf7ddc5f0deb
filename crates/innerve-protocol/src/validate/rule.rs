//! The rules by name, each with the API's own words for it.

/// One broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Violation {
    /// The rule.
    pub rule: ViolationRule,
    /// The message that breaks it, from 0; `None` when it is the request outside of its messages.
    pub message: Option<usize>,
    /// What is wrong, with the place in front, close to what the API would answer.
    pub text: String,
}

/// The rules; each doc quotes the `invalid_request_error` that breaking it gets from the Anthropic Messages API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ViolationRule {
    // Of a transcript.
    /// `` `tool_use` ids were found without `tool_result` blocks immediately after``
    UnansweredToolUse,
    /// The same text: results come first in their message, anything else after them.
    ResultNotFirst,
    /// ``unexpected `tool_use_id` found in `tool_result` blocks``
    OrphanToolResult,
    /// `` `tool_use` ids must be unique``
    DuplicateToolUseId,
    /// ``each tool_use must have a single result``
    DuplicateToolResult,
    /// ``tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'``
    IllegalToolUseId,
    /// ``tool_use.name: String should have at least 1 character``, ``… at most 200 characters``; OpenAI-compatible servers
    /// also demand `^[a-zA-Z0-9_-]+$`.
    IllegalToolName,
    /// ``tool_use.input: Input should be a valid dictionary``
    InputNotObject,
    /// ``text content blocks must be non-empty``
    EmptyText,
    /// ``text content blocks must contain non-whitespace text``
    BlankText,
    /// ``final assistant content cannot end with trailing whitespace``
    TrailingWhitespace,
    /// ``all messages must have non-empty content except for the optional final assistant message``
    EmptyMessage,
    /// ``Unexpected role "system"``
    SystemRole,
    /// A block where its kind is not allowed: a tool use or thinking of the user, a result or image of the model, a tool
    /// reference outside of a result, a tool use inside of one.
    MisplacedBlock,
    /// ``The final block in an assistant message cannot be `thinking` ``; a paused last message may.
    ThinkingLast,
    /// ``content cannot be empty if `is_error` is true``
    EmptyErrorResult,
    /// ``all content must be type "text" if `is_error` is true``
    MediaInErrorResult,
    /// ``A maximum of 4 blocks with cache_control may be provided``
    TooManyCacheMarkers,
    /// ``cache_control cannot be set for empty text blocks``, nor for thinking.
    MarkerNotAllowed,

    // Of a request.
    /// ``messages: at least one message is required``
    NoMessages,
    /// ``This model does not support assistant message prefill. The conversation must end with a user message.``
    EndsWithAssistant,
    /// ``max_tokens: … is the maximum allowed number of output tokens``
    MaxTokensTooLarge,
    /// ``tools: Tool names must be unique.``
    DuplicateToolName,
    /// ``input_schema.type: Input should be 'object'``
    SchemaNotObject,
    /// ``cache_control`` and ``defer_loading`` of one tool exclude each other.
    DeferredWithMarker,
    /// ``At least one tool must have defer_loading=false. All tools cannot be deferred.``
    AllToolsDeferred,
    /// ``Tool reference '…' not found in available tools``
    UnknownToolReference,
    /// ``tool use with id … was found without a corresponding … block`` of a tool that the provider runs.
    OpenServerToolUse,
    /// A forced tool that is not defined.
    UnknownToolChoice,
    /// ``"thinking.type.enabled" is not supported for this model``, ``adaptive thinking is not supported on this model``
    ThinkingNotSupported,
    /// ``thinking.enabled.budget_tokens: Input should be greater than or equal to 1024``, and below `max_tokens`.
    ThinkingBudget,
    /// ``Thinking may not be enabled when tool_choice forces tool use.``
    ThinkingWithForcedTool,
    /// ``When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`.``
    ThinkingWhileDisabled,
    /// More images than the model takes.
    TooManyImages,
}
