// Tool results longer than a quarter of the window: the turn goes on, and the model reads them in parts.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { Agent } from "../../src/agent/index.ts";
import { isSummaryRequest } from "../fakes/long-conversation.ts";
import { overflow, type RecordedRequest, type Step, type WireKind } from "../fakes/wires/script.ts";
import { type AgentHome, type AgentSetting, agentHome } from "./agent-home.ts";
import { delegate, delegationHome, requestsOf } from "./delegation-home.ts";
import { reviewHome, toolResults } from "./review-home.ts";

const WINDOW = 20_000;
const SMALL = { model: { context_length: WINDOW } };
const LINES = Array.from(
  { length: 3_000 },
  (_, at) => `${at}: the harbour has ${(at * 7919) % 1000} boats. 🚢`,
);
const LONG = [...LINES.join("\n")].slice(0, 95_000).join("");

const NOTE = /kept as result (\S+): read it in parts with read_result/;
const HEAD =
  /^\[Result \S+ of \w+: characters [\d,]+ to [\d,]+ of [\d,]+\. (?:The next part begins at offset (\d+)|This is the end of it)\.\]\n/;

function dump(text: string) {
  return tool({ inputSchema: z.object({}), execute: async () => text });
}

function call(name: string, args: Readonly<Record<string, unknown>> = {}, id?: string): Step {
  return { toolCalls: [{ name, arguments: args, id }] };
}

/** A server that counts four characters a token and refuses requests longer than its window. */
function strict(answer: (request: RecordedRequest) => Step): (request: RecordedRequest) => Step {
  return (request) => {
    if (JSON.stringify(request.body).length / 4 > WINDOW) return overflow(WINDOW);
    return isSummaryRequest(request) ? { text: "## Goal\nRead it all." } : answer(request);
  };
}

/** The text of the newest tool result, on any wire. */
function lastResult(agent: Agent | undefined): string {
  const last = agent?.messages.at(-1);
  return last?.role === "tool" ? String(last.content) : "";
}

type Reader = {
  readonly home: AgentHome;
  /** Results of the tools for a reply with these calls. */
  answers(step: Step, agent?: Agent): Promise<readonly string[]>;
  read(args: Readonly<Record<string, unknown>>, agent?: Agent): Promise<string>;
  /** The id of a long result, made now. */
  dumped(): Promise<string>;
};

/** An agent whose model gives these replies, each in its own turn. */
async function reader(setting: AgentSetting = {}): Promise<Reader> {
  let next: Step = { text: "" };
  const home = await agentHome(
    (request) => {
      const reply = next;
      next = { text: "Seen." };
      return isSummaryRequest(request) ? { text: "## Goal\nTo read." } : reply;
    },
    {
      ...setting,
      config: { ...SMALL, ...setting.config },
      options: { tools: { dump: dump(LONG) }, ...setting.options },
    },
  );
  const answers: Reader["answers"] = async (step, agent = home.agent) => {
    next = step;
    await agent.run("Go on.");
    const from = agent.messages.findLastIndex(({ role }) => role === "user");
    return agent.messages
      .slice(from)
      .filter(({ role }) => role === "tool")
      .map(({ content }) => String(content));
  };
  const one = async (step: Step, agent?: Agent): Promise<string> => (await answers(step, agent))[0] ?? "";
  return {
    home,
    answers,
    read: (args, agent) => one(call("read_result", args), agent),
    dumped: async () => NOTE.exec(await one(call("dump")))?.[1] ?? "",
  };
}

function keptFiles({ home }: AgentHome): readonly string[] {
  const directory = join(home, "tool-results");
  return existsSync(directory) ? readdirSync(directory) : [];
}

describe("a result of 95,000 characters in a window of 20,000 tokens", () => {
  it.each<WireKind>(["chat", "anthropic", "responses", "google"])(
    "does not end the turn, and the model can read all of it (%s)",
    async (kind) => {
      let [text, id, agent]: [string, string, Agent | undefined] = ["", "", undefined];
      const made = await agentHome(
        strict(() => {
          const last = lastResult(agent);
          if (last === "" && id === "") return call("dump");
          id ||= NOTE.exec(last)?.[1] ?? "";
          const [head = "", next] = HEAD.exec(last) ?? [];
          if (head !== "") text += last.slice(head.length);
          if (head !== "" && next === undefined) return { text: "I have read it." };
          return call("read_result", { id, offset: Number(next ?? 0) });
        }),
        { kind, config: SMALL, options: { tools: { dump: dump(LONG) } } },
      );
      agent = made.agent;
      const result = await agent.run("Read the dump to its end.");
      expect(result).toMatchObject({ completed: true, final_response: "I have read it." });
      expect([...LONG]).toHaveLength(95_000);
      expect(text === LONG).toBe(true);
      expect(made.events.some(({ type }) => type === "compaction-end")).toBe(true);
    },
  );
});

describe("the results of one reply", () => {
  it("from read_result that exceed it are left out, and no file is kept of them", async () => {
    const { home, answers, dumped } = await reader();
    const id = await dumped();
    const texts = await answers({
      toolCalls: [0, 20_000, 40_000, 60_000].map((offset) => ({
        name: "read_result",
        arguments: { id, offset, limit: 20_000 },
      })),
    });
    const isLeftOut = (text: string) => text.startsWith("[The answer is left out");
    expect(texts.map(isLeftOut)).toEqual([false, false, true, true]);
    expect(keptFiles(home)).toEqual([`${id}.txt`]);
  });
});

describe("read_result in an agent", () => {
  it("reaches a result after the session was compacted and resumed, and not from another session", async () => {
    const { home, read, dumped } = await reader({ config: { compression: { protect_last_n: 2 } } });
    const id = await dumped();
    for (let turn = 0; turn < 4; turn += 1) await home.agent.run(`Turn ${turn} ${"boats ".repeat(300)}`);
    const before = home.agent.sessionId;
    await home.agent.compress({ kind: "full" });
    expect(home.agent.sessionId).not.toBe(before);
    expect(await read({ id, limit: 20 })).toContain(LONG.slice(0, 20));
    const session = home.agent.sessionId;
    await home.agent.close();
    const again = await home.another({ resume: session });
    expect(await read({ id, offset: 50_000, limit: 20 }, again)).toContain(`characters 50,000 to 50,020`);
    await again.newSession();
    expect(await read({ id }, again)).toContain("There is no result");
    expect(await read({}, again)).toBe("[No result of this conversation is kept.]");
  });

  it("is in every table with tools of the agent, unless it is switched off; the note then does not name it", async () => {
    const names = async (setting: AgentSetting) => {
      const { agent, wire } = await agentHome([{ text: "ok" }], setting);
      await agent.run("hello");
      return wire.requests[0]?.tools;
    };
    expect(await names({})).toContain("read_result");
    expect(await names({ options: { toolsets: ["memory"] } })).toEqual(["memory", "read_result"]);
    expect(await names({ options: { toolsets: [] } })).toEqual([]);
    const off = { config: { agent: { disabled_toolsets: ["results"] } } };
    expect(await names(off)).not.toContain("read_result");
    const { answers } = await reader(off);
    const [text = ""] = await answers(call("dump"));
    expect(text).toContain("no tool of yours reads it");
    expect(text).not.toContain("read_result");
  });

  it("gives a subagent its own results, and not its parent's", async () => {
    const seen: string[] = [];
    const made = await delegationHome({
      config: SMALL,
      options: { tools: { dump: dump(LONG) } },
      parent: [call("dump", {}, "parent1"), delegate({ goal: "read" })],
      child: (_goal, nth, request) => {
        const last = toolResults(request).at(-1) ?? "";
        seen.push(last);
        if (nth === 0) return call("dump", {}, "child1");
        if (nth === 1) return call("read_result", { id: NOTE.exec(last)?.[1], limit: 30 });
        if (nth === 2)
          return call("read_result", {
            id: keptFiles(made)
              .find((name) => name.startsWith("parent1"))
              ?.slice(0, -4),
          });
        return { text: "Read." };
      },
    });
    await made.agent.run("delegate");
    expect(requestsOf(made, "read")).toHaveLength(4);
    expect(seen[2]).toContain(LONG.slice(0, 30));
    expect(seen[3]).toMatch(/There is no result 'parent1-.* The newest that can be read: child1-/);
  });

  it("lets a review read its own long results, which go when it is over", async () => {
    const seen: string[] = [];
    const made = await reviewHome({
      config: { ...SMALL, memory: { memory_char_limit: 60_000 } },
      review: (request, nth) => {
        seen.push(toolResults(request).at(-1) ?? "");
        if (nth === 0)
          return call("memory", { action: "add", target: "memory", content: "boats ".repeat(4_500).trim() });
        if (nth === 1) return call("read_result", {});
        return { text: "Nothing to save." };
      },
    });
    await made.agent.run("go");
    await made.reviewed();
    expect(seen[1]).toMatch(NOTE);
    expect(seen[2]).toContain("Results of this conversation");
    expect(keptFiles(made)).toEqual([]);
  });
});

describe("the files of a conversation", () => {
  it("go when it is deleted, with its snapshot, and stay when it is only closed", async () => {
    const { home, dumped } = await reader({ config: { sessions: { write_json_snapshots: true } } });
    await dumped();
    const session = home.agent.sessionId;
    expect(readdirSync(join(home.home, "sessions"))).toEqual([`session_${session}.json`]);
    await home.agent.close();
    expect(keptFiles(home)).toHaveLength(1);
    const again = await home.another({ resume: session });
    await again.close({ deleteSession: true });
    expect(keptFiles(home)).toEqual([]);
    expect(readdirSync(join(home.home, "sessions"))).toEqual([]);
  });
});

describe("a result of another user", () => {
  const ANN = { user: { platform: "telegram", id: "7" } };
  const BO = { user: { platform: "telegram", id: "8" } };

  it.each<[string, { readonly store?: null }]>([
    ["is not read through a history that names it", {}],
    ["is not read where nothing is stored", { store: null }],
  ])("%s", async (_case, option) => {
    const { home, read, answers } = await reader();
    const ann = await home.another({ ...ANN, ...option });
    const [shown = ""] = await answers(call("dump", {}, "callA"), ann);
    const id = NOTE.exec(shown)?.[1] ?? "";
    expect(await read({ id }, ann)).toContain("the harbour has");
    const asked = { id: "callA", type: "function" as const, function: { name: "dump", arguments: "{}" } };
    const rows = [
      { role: "user" as const, content: "q" },
      { role: "assistant" as const, content: "", tool_calls: [asked] },
      { role: "tool" as const, tool_call_id: "callA", content: shown },
      { role: "assistant" as const, content: "ok" },
    ];
    const forms = [rows, ann.messages.slice(0, 4)];
    for (const history of forms) {
      const bo = await home.another({ ...BO, ...option, history });
      expect(JSON.parse(await read({ id }, bo)).error).toContain("There is no result");
      expect(await read({}, bo)).toContain("No result of this conversation is kept");
      await bo.newSession();
    }
    await ann.store?.deleteSession(ann.sessionId, { resultsDir: join(home.home, "tool-results") });
    expect(keptFiles(home)).toEqual(option.store === null ? [`${id}.txt`] : []);
  });
});
