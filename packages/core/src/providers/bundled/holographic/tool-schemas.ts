// The two tools as models see them.
import type { ToolDefinition } from "../../../tools/index.ts";

const CATEGORIES = ["user_pref", "project", "tool", "general"];

const FACT_STORE: ToolDefinition = {
  name: "fact_store",
  description: [
    "Long-term facts with entities and trust. The always-on `memory` tool keeps the few things every turn needs; this keeps everything else worth knowing later.",
    "Actions, from simple to powerful:",
    "add - keep one fact, a full sentence with the names it is about;",
    "search - find facts by words;",
    "probe - all that is known about one entity (a person, project, tool);",
    "related - facts that have to do with an entity, also where it is only part of the text;",
    "reason - facts that connect several entities;",
    "contradict - pairs of facts about the same thing that disagree;",
    "update - correct a fact, its tags or category, or move its trust by trust_delta;",
    "remove - delete a fact;",
    "list - facts by trust, most trusted first.",
    "Before you answer a question about the user or their work, probe or reason first.",
  ].join("\n"),
  parameters: {
    type: "object",
    properties: {
      action: {
        type: "string",
        enum: ["add", "search", "probe", "related", "reason", "contradict", "update", "remove", "list"],
      },
      content: { type: "string", description: "The fact, for add; its new text, for update." },
      query: { type: "string", description: "Words to look for, for search." },
      entity: { type: "string", description: "A name, for probe and related." },
      entities: { type: "array", items: { type: "string" }, description: "Names, for reason." },
      fact_id: { type: "integer", description: "Which fact, for update and remove." },
      category: { type: "string", enum: CATEGORIES },
      tags: { type: "string", description: "Comma separated." },
      trust_delta: { type: "number", description: "How far to move the trust, for update." },
      min_trust: { type: "number", description: "Leave out facts with less trust, for search and list." },
      limit: { type: "integer", description: "At most this many results, 10 unless given." },
    },
    required: ["action"],
  },
};

const FACT_FEEDBACK: ToolDefinition = {
  name: "fact_feedback",
  description:
    "Rate a fact after you have used it: helpful when it was right, unhelpful when it was wrong or out of date. Accurate facts rise, outdated ones sink.",
  parameters: {
    type: "object",
    properties: {
      action: { type: "string", enum: ["helpful", "unhelpful"] },
      fact_id: { type: "integer" },
    },
    required: ["action", "fact_id"],
  },
};

export const TOOL_SCHEMAS: readonly ToolDefinition[] = [FACT_STORE, FACT_FEEDBACK];
