// The `todo` tool: a model's own list of tasks for the work at hand.
import { outsideJsonOr } from "@hermes-memory/core/lib";
import {
  described,
  errorOutcome,
  jsonOutcome,
  type Tool,
  type ToolArguments,
} from "@hermes-memory/core/tools";
import { TODO_STATUSES, type TodoStore } from "./todo-store.ts";

export const todoToolSchema = {
  name: "todo",
  description: [
    "Keep a list of tasks for the work at hand. Use it when a request has three or more steps, or when the user asks for several things at once; a simple request needs none.",
    "Called without todos it shows the list. With todos it replaces the list; with merge: true it updates the tasks whose id is known and appends the others.",
    "Put the most important task first, keep one task in_progress at a time, and mark a task completed as soon as it is done. What turns out not to be needed is cancelled, and what failed becomes a new task that says what to do about it.",
    "The answer always holds the whole list. The list lasts for this session only: facts worth keeping belong in memory.",
  ].join("\n"),
  parameters: {
    type: "object",
    properties: {
      todos: {
        type: "array",
        description: "The tasks. Leave it out to see the list.",
        items: {
          type: "object",
          properties: {
            id: { type: "string", description: "Short and unique; stays with the task." },
            content: { type: "string", description: "What is to be done." },
            status: { type: "string", enum: TODO_STATUSES, description: "Where the task stands." },
          },
          required: ["id", "content", "status"],
        },
      },
      merge: {
        type: "boolean",
        description: "true: change the list there is. false (default): replace it.",
      },
    },
    required: [],
  },
} as const;

export function todoEntry(store: TodoStore): Tool {
  return {
    ...described(todoToolSchema),
    owner: { kind: "own" },
    policy: { toolset: "todo", effect: "write", isHousekeeping: true },
    preview: todoPreview,
    run: async (args) => {
      const todos = listOf(args.todos);
      if (todos === "unusable")
        return errorOutcome(
          "todos must be a list of objects with id, content and status. The list was not changed.",
        );
      if (todos !== undefined) store.write(todos, isTrue(args.merge));
      return jsonOutcome({ todos: store.items, summary: store.summary() });
    },
  };
}

function todoPreview(args: ToolArguments): string {
  const todos = listOf(args.todos);
  if (todos === undefined || todos === "unusable") return "read the task list";
  const tasks = `${todos.length} ${todos.length === 1 ? "task" : "tasks"}`;
  return isTrue(args.merge) ? `update ${tasks}` : `plan ${tasks}`;
}

/** Undefined for none. Some models write the list as JSON text. */
function listOf(value: unknown): readonly unknown[] | "unusable" | undefined {
  if (value === undefined || value === null) return undefined;
  if (Array.isArray(value)) return value;
  if (typeof value !== "string") return "unusable";
  const parsed = outsideJsonOr(value, undefined);
  return Array.isArray(parsed) ? parsed : "unusable";
}

function isTrue(value: unknown): boolean {
  return value === true || (typeof value === "string" && value.toLowerCase() === "true");
}
