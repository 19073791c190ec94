// The `todo` tool and the list behind it.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TodoStore, todoEntry } from "../../../src/agent/tools/todo.ts";
import { callContext } from "../../fakes/agent-tools.ts";
import { message, messages } from "../../messages.ts";

const task = (id: string, content = `do ${id}`, status = "pending"): Record<string, unknown> => ({
  id,
  content,
  status,
});

function storeWith(...todos: readonly unknown[]): TodoStore {
  const store = new TodoStore();
  store.write(todos);
  return store;
}

async function run(store: TodoStore, args: Record<string, unknown>): Promise<Record<string, unknown>> {
  return JSON.parse((await todoEntry(store).run(args, callContext())).text) as Record<string, unknown>;
}

describe("the tool", () => {
  it("answers with the whole list and how it stands", async () => {
    const answer = await run(new TodoStore(), {
      todos: [
        task("1", "read", "completed"),
        task("2", "write", "in_progress"),
        task("3", "rest", "cancelled"),
        task("4"),
      ],
    });
    expect(answer).toEqual({
      todos: [
        { id: "1", content: "read", status: "completed" },
        { id: "2", content: "write", status: "in_progress" },
        { id: "3", content: "rest", status: "cancelled" },
        { id: "4", content: "do 4", status: "pending" },
      ],
      summary: { total: 4, pending: 1, in_progress: 1, completed: 1, cancelled: 1 },
    });
  });

  it("replaces the list, or changes it with merge", async () => {
    const store = storeWith(task("1"), task("2"));
    await run(store, { todos: [{ id: "2", status: "completed" }, task("3")], merge: true });
    expect(store.items).toEqual([task("1"), task("2", "do 2", "completed"), task("3")]);
    await run(store, { todos: [task("9")] });
    expect(store.items).toEqual([task("9")]);
  });

  it("takes a list that was written as text", async () => {
    expect(await run(new TodoStore(), { todos: JSON.stringify([task("1")]) })).toMatchObject({
      summary: { total: 1 },
    });
  });

  it.each([5, "no list", { id: "1" }])("refuses %j and keeps the list", async (todos) => {
    const store = storeWith(task("1"));
    const outcome = await todoEntry(store).run({ todos }, callContext());
    expect(outcome.isError).toBe(true);
    expect(JSON.parse(outcome.text)).toHaveProperty("error");
    expect(store.items).toEqual([task("1")]);
  });
});

describe("the list", () => {
  it("keeps what a merge does not mention", () => {
    const store = storeWith(task("1", "text", "in_progress"));
    store.write([{ id: "1", content: "  " }], true);
    expect(store.items).toEqual([task("1", "text", "in_progress")]);
    store.write([{ id: "1", status: "nonsense" }], true);
    expect(store.items).toEqual([task("1", "text", "pending")]);
  });

  it("holds 256 tasks of 4000 characters, counted in code points", () => {
    const store = storeWith(
      ...Array.from({ length: 300 }, (_, place) => task(String(place), "🌱".repeat(4_001))),
    );
    expect(store.items).toHaveLength(256);
    expect([...(store.items[0]?.content ?? "")]).toHaveLength(4_000);
    store.write([task("new")], true);
    expect(store.items).toHaveLength(256);
    expect(
      [...(storeWith(task("1", "🌱".repeat(4_000))).items[0]?.content ?? "")].every((char) => char === "🌱"),
    ).toBe(true);
  });

  it("is a usable one whatever is written, and merging it with itself changes nothing", () => {
    const entry = fc.oneof(
      fc.record(
        {
          id: fc.oneof(fc.constantFrom("1", "2", " 3 "), fc.integer(), fc.jsonValue()),
          content: fc.jsonValue(),
          status: fc.jsonValue(),
        },
        { requiredKeys: [] },
      ),
      fc.jsonValue(),
    );
    fc.assert(
      fc.property(fc.array(entry), fc.array(entry), fc.boolean(), (first, second, merge) => {
        const store = storeWith(...first);
        const items = store.write(second, merge);
        expect(new Set(items.map(({ id }) => id)).size).toBe(items.length);
        for (const { id, content, status } of items) {
          expect(id).not.toBe("");
          expect(content).not.toBe("");
          expect(["pending", "in_progress", "completed", "cancelled"]).toContain(status);
        }
        const { total, ...parts } = store.summary();
        expect(Object.values(parts).reduce((sum, count) => sum + count, 0)).toBe(total);
        expect(store.write(items, true)).toEqual(items);
        expect(store.write(items)).toEqual(items);
      }),
    );
  });
});

describe("a resumed session", () => {
  const result = (id: string, name = "todo"): Record<string, unknown> & { role: string } => ({
    role: "tool",
    tool_name: name,
    content: JSON.stringify({ todos: [task(id)], summary: {} }),
  });

  it("takes up the newest list of its history", () => {
    const store = new TodoStore();
    const history = [
      result("old"),
      { role: "user", content: '{"todos":[{"id":"not this"}]}' },
      result("new"),
      { role: "tool", content: "x" },
    ];
    store.hydrate(messages(...history));
    expect(store.items).toEqual([task("new")]);
  });

  it("takes no other tool's list, and none that cannot be read", () => {
    const store = new TodoStore();
    const broken = { role: "tool", tool_name: "todo", content: '{"todos": [{"id"' };
    store.hydrate(messages(result("other", "mcp_x_list"), broken, { role: "tool", content: '{"todos": 5}' }));
    expect(store.isEmpty).toBe(true);
  });
});

describe("the snapshot for a compaction", () => {
  it("lists what is open", () => {
    const store = storeWith(
      task("1", "a", "completed"),
      task("2", "b"),
      task("3", "c", "in_progress"),
      task("4", "d", "cancelled"),
    );
    expect(store.snapshotText()).toBe(
      "[Your active task list was preserved across context compression]\n- [ ] 2. b (pending)\n- [>] 3. c (in_progress)",
    );
  });

  it("is known to the context engine as the task list", async () => {
    const { isTaskList } = await import("../../../../core/src/context/compressor/handoff.ts");
    expect(isTaskList(message({ role: "user", content: storeWith(task("1")).snapshotText() }))).toBe(true);
  });
});
