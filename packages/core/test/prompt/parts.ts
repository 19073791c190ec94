// Parts of a prompt for tests: the minimum, and all of them.
import type { PromptParts } from "../../src/prompt/index.ts";

const noon = new Date("2026-11-05T12:00:00Z");

export const fewest: PromptParts = {
  tools: [],
  profile: { name: "default", root: "/home/ada/.hermes" },
  date: { now: noon, timeZone: "UTC" },
};

export const everything: PromptParts = {
  identity: "You are Ada's assistant.",
  tools: ["memory", "session_search", "todo", "skills_list", "skill_view", "skill_manage"],
  model: "gpt-5.5",
  provider: "openrouter",
  docsAddress: "https://docs.example",
  skillsIndex:
    "Load a matching skill before you answer.\n<available_skills>\n  ops:\n    - ship: release\n</available_skills>",
  environment: ["Working directory: /srv/shop.", "Tools found: git 2.51, node 24."],
  profile: { name: "work", root: "/home/ada/.hermes" },
  platform: "telegram",
  systemMessage: "Answer in Italian.",
  contextFiles: "# Project Context\n\nFollow these.\n\n## AGENTS.md\n\nUse tabs.",
  memoryBlock: "MEMORY BLOCK ═ § ünïcödé 🎈",
  userBlock: "USER BLOCK",
  providerBlock: "PROVIDER BLOCK",
  date: { now: noon, timeZone: "UTC" },
  sessionId: "20261105_120000_abc123",
};
