// The `memory` tool as models see it. A plain object schema: strict backends refuse anything more complex.
import type { ToolDefinition } from "../tools/index.ts";

const PROPERTIES = {
  action: {
    type: "string",
    enum: ["add", "replace", "remove"],
    description: "What to do. Leave it out when operations is given.",
  },
  target: {
    type: "string",
    enum: ["memory", "user"],
    description: "Which store: your notes, or the user's profile.",
  },
  content: { type: "string", description: "The entry's text. Needed by 'add' and 'replace'." },
  old_text: {
    type: "string",
    description: "A short piece of one existing entry. Needed by 'replace' and 'remove', unless id is given.",
  },
  operations: {
    type: "array",
    description: "Several changes in this order, instead of action, content and old_text.",
    items: {
      type: "object",
      properties: {
        action: { type: "string", enum: ["add", "replace", "remove"] },
        content: { type: "string" },
        old_text: { type: "string" },
      },
      required: ["action"],
    },
  },
  id: {
    type: "string",
    description: "The id of an entry, from entry_ids of an earlier answer; instead of old_text.",
  },
};

/** Name, description and JSON Schema of the memory tool, to offer it to a model. */
export const memoryToolSchema: ToolDefinition = {
  name: "memory",
  description: [
    "Keep durable facts that should survive this session. What you save is injected into the system prompt of later sessions, so keep it compact.",
    "",
    "Save without being asked when: the user corrects you or asks you to remember something; states a preference or a personal detail; you discover a fact about the environment, a convention, a quirk, or anything that will still hold next month.",
    "Preferences and corrections matter most, then facts about the environment, then procedures.",
    "Do NOT save task progress, outcomes, logs, TODO lists, trivia, raw dumps or temporary task state: past conversations are found with session_search. A new technique belongs in a skill.",
    "",
    "Targets: 'memory' holds your own notes (environment, conventions, lessons learned); 'user' holds who the user is (name, role, preferences, manner of speaking).",
    "Actions: 'add' a new entry; 'replace' or 'remove' the entry that contains old_text, a short piece that occurs in one entry only.",
    "To change several entries, pass operations instead of action: all are applied or none, and the limit is tested on the result.",
  ].join("\n"),
  parameters: {
    type: "object",
    properties: PROPERTIES,
    required: ["target"],
  },
};

/** Where there is an archive: with the action that reads it. */
export const memoryToolWithArchive: ToolDefinition = {
  ...memoryToolSchema,
  description: `${memoryToolSchema.description}
'search_archive' reads entries that made room for newer ones: by the words in query, or the newest. Look there before you say that something was never noted; 'add' brings an entry back.`,
  parameters: {
    ...memoryToolSchema.parameters,
    properties: {
      ...PROPERTIES,
      action: { ...PROPERTIES.action, enum: [...PROPERTIES.action.enum, "search_archive"] },
      query: {
        type: "string",
        description:
          "Words to look for in the archive, for 'search_archive'. Without it, the newest entries.",
      },
    },
  },
};
