//! The keys of the public format of settings files, those that mean nothing to innerve among them.
//!
//! They are the names of Claude Code's documentation ("Settings" and "Settings reference", code.claude.com/docs/en/settings)
//! and of the JSON schema that editors check such files with (json.schemastore.org/claude-code-settings.json), deprecated
//! ones and those of its own configuration file included: none of them is a mistake.

/// Those that stand in the file itself.
#[rustfmt::skip]
pub(super) const KEYS: &[&str] = &[
    "additionalMarketplaces", "advisorModel", "agent", "agentPushNotifEnabled", "allowAllClaudeAiMcps",
    "allowClaudeInChromeWithManagedMcp", "allowManagedHooksOnly", "allowManagedMcpServersOnly",
    "allowManagedPermissionRulesOnly", "allowedChannelPlugins", "allowedHttpHookUrls", "allowedMarketplaces",
    "allowedMcpServers", "allowedProviders", "alwaysThinkingEnabled", "apiKeyHelper", "appendPlugins",
    "askUserQuestionTimeout", "attribution", "autoCompactEnabled", "autoCompactWindow", "autoConnectIde",
    "autoContinueAtUsageLimit", "autoDreamEnabled", "autoInstallIdeExtension", "autoMemoryDirectory", "autoMemoryEnabled",
    "autoMode", "autoScrollEnabled", "autoUpdates", "autoUpdatesChannel", "autoUploadSessions", "availableModels",
    "availableModelsMatch", "awaySummaryEnabled", "awsAuthRefresh", "awsCredentialExport", "axScreenReader",
    "bashEditDiffEnabled", "bashOutputMaxChars", "blockedMarketplaces", "browserExternalPageTools", "channelsEnabled",
    "claudeMd", "claudeMdExcludes", "cleanupPeriodDays", "companyAnnouncements", "crossSessionInbound", "daemonColdStart",
    "defaultShell", "defaultView", "deniedMcpServers", "deniedModels", "desktopSessionCleanupPeriodDays", "dialogExpiry",
    "disableAgentView", "disableAllHooks", "disableArtifact", "disableAutoMode", "disableBrowserExternalNavigation",
    "disableBundledSkills", "disableClaudeAiConnectors", "disableCommandPluginSources", "disableDeepLinkRegistration",
    "disableDesktopLocalSessions", "disableMobileSimulatorTools", "disableRemoteControl", "disableSideloadFlags",
    "disableSkillShellExecution", "disableWorkflows", "disabledMcpjsonServers", "editorMode", "effortLevel",
    "emojiCompletionEnabled", "enableAllProjectMcpServers", "enableArtifact", "enableWorkflows", "enabledMcpjsonServers",
    "enabledPlugins", "enforceAvailableModels", "env", "extraKnownMarketplaces", "fallbackModel", "fastMode",
    "fastModePerSessionOptIn", "feedbackDrafts", "feedbackSurveyRate", "fileCheckpointingEnabled", "fileSuggestion",
    "footerLinksRegexes", "forceLoginGatewayUrl", "forceLoginMethod", "forceLoginOrgUUID", "forceRemoteSettingsRefresh",
    "gatewayInternalNetworks", "gcpAuthRefresh", "hooks", "httpHookAllowedEnvVars", "ignorePatterns", "includeCoAuthoredBy",
    "includeGitInstructions", "inputNeededNotifEnabled", "isolatePeerMachines", "keybindingFlavor", "language",
    "managedSourcesBehavior", "maxEffortLevel", "maxProseWidth", "mcpServers", "minimumVersion", "model", "modelOverrides",
    "modelPicker", "modelPricing", "modelSettings", "otelHeadersHelper", "outputStyle", "parentSettingsBehavior",
    "permissionExplainerEnabled", "permissions", "plansDirectory", "pluginConfigs", "pluginSuggestionMarketplaces",
    "pluginTrustMessage", "policyHelper", "prUrlTemplate", "precomputeCompactionEnabled", "preferredNotifChannel",
    "prefersReducedMotion", "prependPlugins", "processWrapper", "promptCacheTtl", "promptSuggestionEnabled",
    "proxyAuthHelper", "remote", "remoteControlAtStartup", "requiredMaximumVersion", "requiredMinimumVersion",
    "respectGitignore", "respondToBashCommands", "sandbox", "showClearContextOnPlanAccept", "showMessageTimestamps",
    "showThinkingSummaries", "showTurnDuration", "skillListingBudgetFraction", "skillListingMaxDescChars", "skillOverrides",
    "skipAutoPermissionPrompt", "skipDangerousModePermissionPrompt", "skipWebFetchPreflight", "skippedMarketplaces",
    "skippedPlugins", "spellcheck", "spinnerTipsEnabled", "spinnerTipsOverride", "spinnerVerbs", "sshConfigs",
    "sshHostAllowlist", "statusLine", "strictKnownMarketplaces", "strictPluginOnlyCustomization", "subagentPromptCacheTtl",
    "subagentStatusLine", "switchModelsOnFlag", "syncClaudeAiPlugins", "syncClaudeAiSkills", "syntaxHighlightingDisabled",
    "teammateMode", "terminalProgressBarEnabled", "terminalTitleFromRename", "theme", "timeFormat", "timeZone",
    "todoFeatureEnabled", "tui", "ultracode", "useAutoModeDuringPlan", "verbose", "viewMode", "vimInsertModeRemaps", "voice",
    "voiceEnabled", "wheelScrollAccelerationEnabled", "workflowKeywordTriggerEnabled", "workflowSizeGuideline", "worktree",
    "wslInheritsWindowsSettings",
];

/// Those that stand under others, of objects of which all keys are known; joined by points.
#[rustfmt::skip]
pub(super) const NESTED: &[&str] = &[
    "autoMode.allow", "autoMode.classifyAllShell", "autoMode.environment", "autoMode.hard_deny", "autoMode.soft_deny",
    "permissions.additionalDirectories", "permissions.allow", "permissions.ask", "permissions.defaultMode",
    "permissions.deny", "permissions.disableAutoMode", "permissions.disableBypassPermissionsMode",
    "sandbox.allowAppleEvents", "sandbox.allowUnsandboxedCommands", "sandbox.autoAllowBashIfSandboxed", "sandbox.bwrapPath",
    "sandbox.credentials", "sandbox.enableWeakerNestedSandbox", "sandbox.enableWeakerNetworkIsolation", "sandbox.enabled",
    "sandbox.excludedCommands", "sandbox.failIfUnavailable", "sandbox.filesystem", "sandbox.ignoreViolations",
    "sandbox.network", "sandbox.ripgrep", "sandbox.socatPath", "sandbox.filesystem.allowManagedReadPathsOnly",
    "sandbox.filesystem.allowRead", "sandbox.filesystem.allowWrite", "sandbox.filesystem.denyRead",
    "sandbox.filesystem.denyWrite", "sandbox.filesystem.disabled", "sandbox.network.allowAllUnixSockets",
    "sandbox.network.allowLocalBinding", "sandbox.network.allowMachLookup", "sandbox.network.allowManagedDomainsOnly",
    "sandbox.network.allowUnixSockets", "sandbox.network.allowedDomains", "sandbox.network.deniedDomains",
    "sandbox.network.httpProxyPort", "sandbox.network.socksProxyPort", "sandbox.network.strictAllowlist",
    "sandbox.network.tlsTerminate",
];
