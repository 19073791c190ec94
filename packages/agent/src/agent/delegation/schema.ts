// What the model is told about delegation.

export const delegateToolSchema = {
  name: "delegate_task",
  description: [
    "Hand a piece of work to a fresh agent with a context of its own and get back its summary. Worth it for work that needs many steps or much reading whose details you do not need afterwards, and for several independent pieces at once (tasks).",
    "The child knows nothing of this conversation: put everything it needs into goal and context, and say what the answer should contain. It cannot ask back, cannot delegate any further unless its role is orchestrator, and cannot write to memory.",
    "Give either goal (one task) or tasks (several, which run side by side).",
  ].join("\n"),
  parameters: {
    type: "object",
    properties: {
      goal: { type: "string", description: "What is to be done, and what the answer should say." },
      context: {
        type: "string",
        description: "What the child has to know: paths, facts, decisions, limits.",
      },
      toolsets: {
        type: "array",
        items: { type: "string" },
        description: "Toolsets the child may use. Left out: yours, without those a child never gets.",
      },
      tasks: {
        type: "array",
        description: "Several tasks instead of one.",
        items: {
          type: "object",
          properties: {
            goal: { type: "string" },
            context: { type: "string" },
            toolsets: { type: "array", items: { type: "string" } },
            role: { type: "string", enum: ["leaf", "orchestrator"] },
          },
          required: ["goal"],
        },
      },
      role: {
        type: "string",
        enum: ["leaf", "orchestrator"],
        description: "orchestrator: it may delegate too, where the depth limit allows. Default leaf.",
      },
    },
    required: [],
  },
} as const;
