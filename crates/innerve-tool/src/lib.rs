//! What a tool is: Tool, DynTool, ToolPool, CallContext, SessionChange and the capability ports.
