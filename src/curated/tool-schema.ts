// What a language model is told about the `memory` tool. A plain object schema: strict backends refuse anything cleverer.

export const memoryToolSchema = {
  name: "memory",
  description: [
    "Keep durable facts that should survive this session. What you save is injected into the system prompt of later sessions, so keep it compact.",
    "",
    "Save without being asked when: the user corrects you or asks you to remember something; states a preference or a personal detail; you discover a fact about the environment, a project convention, an API quirk, or anything else that will still hold next month.",
    "Preferences and corrections matter most, then facts about the environment, then procedures. The best memory is the one that spares the user from repeating themselves.",
    "Do NOT save task progress, outcomes, work logs or TODO lists: past conversations are found with session_search. A new technique belongs in a skill.",
    "",
    "Targets: 'memory' holds your own notes (environment, conventions, lessons learned); 'user' holds who the user is (name, role, preferences, manner of speaking).",
    "Actions: 'add' a new entry; 'replace' the entry that contains old_text; 'remove' the entry that contains old_text. old_text is a short piece that occurs in one entry only.",
    "To change several entries, pass operations instead of action: all of them are applied, or none. The limit is tested on the result, so one call can remove stale entries and add a new one.",
    "'search_archive' reads entries that are no longer in the prompt because they made room for newer ones: by the words in query, or the newest without one. Look there before you say that something was never noted. 'add' the text again to bring an entry back.",
    "Skip trivia, facts that are easy to find again, raw dumps and temporary task state.",
  ].join("\n"),
  parameters: {
    type: "object",
    properties: {
      action: {
        type: "string",
        enum: ["add", "replace", "remove", "search_archive"],
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
        description:
          "A short piece of text that identifies one existing entry. Needed by 'replace' and 'remove', unless id is given.",
      },
      operations: {
        type: "array",
        description:
          "Several changes of the target in this order, applied all together or not at all. Instead of action, content and old_text.",
        items: {
          type: "object",
          properties: {
            action: { type: "string", enum: ["add", "replace", "remove"], description: "What to do." },
            content: { type: "string", description: "The entry's text, for 'add' and 'replace'." },
            old_text: {
              type: "string",
              description:
                "A short piece of text that identifies one existing entry, for 'replace' and 'remove'.",
            },
          },
          required: ["action"],
        },
      },
      id: {
        type: "string",
        description:
          "The id of an existing entry, from entry_ids of an earlier answer. Instead of old_text, for 'replace' and 'remove'.",
      },
      query: {
        type: "string",
        description:
          "Words to look for in the archive, for 'search_archive'. Without it, the newest entries.",
      },
    },
    required: ["target"],
  },
} as const;
