// The `todo` tool and the list behind it: the tasks that a model sets itself for this session.
import {
  codePointLength,
  isRecord,
  outsideJsonOr,
  pyStrip,
  takeCodePoints,
} from "@hermes-memory/core/internal/lib";
import type { Message } from "@hermes-memory/core/internal/message";
import {
  described,
  errorOutcome,
  jsonOutcome,
  type Tool,
  type ToolArguments,
} from "@hermes-memory/core/internal/tools";

type TodoStatus = "pending" | "in_progress" | "completed" | "cancelled";
type TodoItem = { readonly id: string; readonly content: string; readonly status: TodoStatus };
type TodoSummary = Readonly<Record<"total" | TodoStatus, number>>;

const TODO_STATUSES: readonly TodoStatus[] = ["pending", "in_progress", "completed", "cancelled"];

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
    run: async (args, { messages }) => {
      store.hydrate(messages);
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

/** Undefined when no list was given. Some models write the list as JSON text. */
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

// The list. Whatever a model writes ends up as a usable list.

const MAX_TODO_ITEMS = 256;
const MAX_TODO_CHARS = 4_000;

/** The context engine and other programs recognise the list by this line. */
const SNAPSHOT_HEADER = "[Your active task list was preserved across context compression]";
const CUT = "... [cut]";

export class TodoStore {
  /** Undefined: none was found in the messages of the session yet. */
  #items: readonly TodoItem[] | undefined;

  get items(): readonly TodoItem[] {
    return this.#items ?? [];
  }

  get isEmpty(): boolean {
    return this.items.length === 0;
  }

  /** The list of another session, or of a shorter one, is read from its messages. */
  clear(): void {
    this.#items = undefined;
  }

  /** Replaces the list; with `merge`, updates the tasks whose ids are known and appends the others. */
  write(todos: readonly unknown[], merge = false): readonly TodoItem[] {
    const given = newestById(todos.filter(isRecord));
    const items = merge ? merged(this.items, given) : given.map((entry) => toItem(entry));
    this.#items = items.slice(0, MAX_TODO_ITEMS);
    return this.#items;
  }

  summary(): TodoSummary {
    const counts = TODO_STATUSES.map((status) => [
      status,
      this.items.filter((item) => item.status === status).length,
    ]);
    return { total: this.items.length, ...Object.fromEntries(counts) };
  }

  /** Takes the newest list in these messages, unless there is one already. */
  hydrate(messages: readonly Message[]): void {
    if (this.#items !== undefined) return;
    const message = messages.findLast((each) => todosIn(each) !== undefined);
    const todos = message && todosIn(message);
    if (todos !== undefined) this.write(todos);
  }

  /** The open tasks as the text of a user message after a compaction; undefined when there are none. */
  snapshotText(): string | undefined {
    const open = this.items.filter(({ status }) => status === "pending" || status === "in_progress");
    if (open.length === 0) return undefined;
    const lines = open.map(
      ({ id, content, status }) => `- ${status === "pending" ? "[ ]" : "[>]"} ${id}. ${content} (${status})`,
    );
    return [SNAPSHOT_HEADER, ...lines].join("\n");
  }
}

type Entry = Readonly<Record<string, unknown>>;

/** Of several entries with the same id only the last is kept. */
function newestById(entries: readonly Entry[]): readonly Entry[] {
  const last = new Map<string, number>();
  for (const [place, entry] of entries.entries()) last.set(idOf(entry), place);
  return entries.filter((entry, place) => last.get(idOf(entry)) === place);
}

function merged(items: readonly TodoItem[], given: readonly Entry[]): readonly TodoItem[] {
  const changes = new Map(given.map((entry) => [idOf(entry), entry]));
  const updated = items.map((item) => {
    const change = changes.get(item.id);
    changes.delete(item.id);
    return change === undefined ? item : toItem(change, item);
  });
  return [...updated, ...[...changes.values()].map((entry) => toItem(entry))];
}

function toItem(entry: Entry, before?: TodoItem): TodoItem {
  return {
    id: idOf(entry),
    content: contentOf(entry.content) ?? before?.content ?? "(no description)",
    status: statusOf(entry.status) ?? before?.status ?? "pending",
  };
}

function idOf({ id }: Entry): string {
  return textOf(id) ?? "?";
}

function contentOf(value: unknown): string | undefined {
  const text = textOf(value);
  if (text === undefined || codePointLength(text) <= MAX_TODO_CHARS) return text;
  return `${takeCodePoints(text, MAX_TODO_CHARS - CUT.length)}${CUT}`;
}

function statusOf(value: unknown): TodoStatus | undefined {
  const text = textOf(value)?.toLowerCase();
  return text === undefined ? undefined : (TODO_STATUSES.find((status) => status === text) ?? "pending");
}

function textOf(value: unknown): string | undefined {
  if (typeof value !== "string" && typeof value !== "number") return undefined;
  return pyStrip(String(value)) || undefined;
}

function todosIn(message: Message): readonly unknown[] | undefined {
  const { role, content } = message;
  if (role === "user" && typeof content === "string" && content.startsWith(SNAPSHOT_HEADER))
    return snapshotItems(content);
  if (role !== "tool" || typeof content !== "string" || !content.includes('"todos"')) return undefined;
  if (message.toolName !== undefined && message.toolName !== "todo") return undefined;
  const value = outsideJsonOr(content, undefined); // not JSON when a compaction has shortened it
  return isRecord(value) && Array.isArray(value.todos) ? value.todos : undefined;
}

/** Parses the text that `snapshotText` wrote: after a compaction nothing else is left of the list. */
function snapshotItems(text: string): readonly unknown[] | undefined {
  const items = text.split(/\n(?=- \[[ >]\] )/).flatMap((line) => {
    const [, id, content, status] =
      /^- \[[ >]\] (.*?)\. (.*) \((pending|in_progress)\)\s*$/s.exec(line) ?? [];
    return id === undefined ? [] : [{ id, content, status }];
  });
  return items.length === 0 ? undefined : items;
}
