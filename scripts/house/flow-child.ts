// Prepares one library flow and runs it between two readings of V8's coverage counters:
//   node flow-child.ts FLOW DOOR COVERAGE_FOLDER
// DOOR is the module of the measured checkout that the flow imports. Types come from this checkout and are erased.
import { writeFileSync } from "node:fs";
import { Session } from "node:inspector/promises";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import type { CoverageFile } from "./flows.ts";

type AgentDoor = typeof import("@hermes-memory/agent/internal/agent");
type SessionsDoor = typeof import("@hermes-memory/core/internal/sessions");
type ChatModel = import("@hermes-memory/agent/internal/models").ChatModel;

/** Throws unless the flow did its work: the figures of a failed flow would look plausible too. */
type Prepared = { readonly run: () => Promise<void>; readonly close: () => Promise<void> };

const PREPARE: Readonly<Record<string, (door: unknown) => Promise<Prepared>>> = {
  "later-turn": (door) => laterTurn(door as AgentDoor),
  compaction: (door) => compaction(door as AgentDoor),
  discover: (door) => discover(door as SessionsDoor),
};

const [, , name = "", door = "", folder = ""] = process.argv;
const home = process.env.HERMES_HOME ?? "";
const prepare = PREPARE[name];
if (prepare === undefined || home === "")
  throw new Error(`There is no flow '${name}', or HERMES_HOME is not set.`);

const inspector = new Session();
inspector.connect();
await inspector.post("Profiler.enable");
await inspector.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
const flow = await prepare(await import(pathToFileURL(door).href));
// Wait for background work of the preparation, such as tidying up sessions.
await wait(300);
const before = await inspector.post("Profiler.takePreciseCoverage"); // also sets the counters to 0
await flow.run();
const { result } = await inspector.post("Profiler.takePreciseCoverage");
const file: CoverageFile = { result, loadedBefore: before.result.map(({ url }) => url) };
writeFileSync(join(folder, "flow.json"), JSON.stringify(file));
await flow.close();

async function laterTurn({ createAgent }: AgentDoor): Promise<Prepared> {
  const tools: string[] = [];
  const agent = await createAgent({
    home,
    model: scriptedModel(),
    titles: false,
    onEvent: (event) => void (event.type === "tool-end" && !event.isError && tools.push(event.name)),
  });
  await agent.run("Which machine do we deploy to first?");
  return {
    run: async () => {
      const { exit, api_calls } = await agent.run("Remember that the staging machine is in the hall.");
      const seen = JSON.stringify({ exit, api_calls, tools });
      if (seen !== '{"exit":"text_response","api_calls":2,"tools":["memory"]}')
        throw new Error(`The turn was to make one call of the memory tool: ${seen}`);
    },
    close: () => agent.close(),
  };
}

/**
 * `agent.compress()`, not `ContextCompressor` alone: it locks and stores the session, asks for a summary, and goes on in a new
 * session, as the compaction within a turn does (both call `compactSession`), without the files of a turn around it.
 */
async function compaction({ createAgent }: AgentDoor): Promise<Prepared> {
  const agent = await createAgent({ home, model: scriptedModel(), titles: false, history: longHistory() });
  await agent.run("Which machine do we deploy to first?"); // stores the history
  return {
    run: async () => {
      const old = agent.sessionId;
      const { kind, notices } = await agent.compress();
      if (kind !== "compacted" || notices.length > 0 || agent.sessionId === old)
        throw new Error(`The session was to be compacted: ${kind}. ${notices.join(" ")}`);
    },
    close: () => agent.close(),
  };
}

async function discover({ openSessionStore, sessionSearchTool }: SessionsDoor): Promise<Prepared> {
  const store = await openSessionStore({ path: join(home, "state.db") });
  for (const [id, text] of [
    ["session-1", "The harbour crane is blue and lifts 40 tonnes"],
    ["session-2", "Lunch was soup"],
    ["session-3", "The crane driver starts at six"],
  ] as const) {
    await store.createSession(id, { source: "cli" });
    await store.appendMessage(id, { role: "user", content: text });
    await store.appendMessage(id, { role: "assistant", content: "Noted." });
  }
  await sessionSearchTool(store, { query: "soup" }); // brings the index up to date
  return {
    run: async () => {
      const answer = JSON.stringify(await sessionSearchTool(store, { query: "harbour crane" }));
      if (!answer.includes('"mode":"discover"') || !answer.includes("session-1"))
        throw new Error(`The search was to find session-1: ${answer}`);
    },
    close: async () => store.close(),
  };
}

/** Calls the memory tool when the user says "Remember", and answers everything else, requests for a summary included, with text. */
function scriptedModel(): ChatModel {
  return {
    identity: { model: "scripted", provider: "custom", apiMode: "chat_completions", baseUrl: "" },
    async stream({ messages, tools = [], onDelta }) {
      const last = messages.at(-1);
      const isCall = tools.length > 0 && last?.role === "user" && String(last.content).startsWith("Remember");
      const text = isCall ? "" : "The first deployment goes to the staging machine in the hall.";
      if (text !== "") onDelta?.({ kind: "text", text });
      const args = JSON.stringify({
        action: "add",
        target: "memory",
        content: "The staging machine is in the hall",
      });
      const call = { id: "call_1", type: "function", function: { name: "memory", arguments: args } };
      return {
        ok: true,
        value: {
          message: { role: "assistant", content: text, ...(isCall ? { tool_calls: [call] } : {}) },
          finishReason: isCall ? "tool_calls" : "stop",
          usage: undefined,
          model: undefined,
        },
      };
    },
  };
}

/** 60 exchanges, each with a tool call and its result; about 60,000 tokens at four characters each. */
function longHistory() {
  return Array.from({ length: 60 }, (_, index) => {
    const id = `call_${index}`;
    const args = JSON.stringify({ query: `deployment ${index}` });
    return [
      { role: "user", content: `What happened in deployment ${index}?` },
      {
        role: "assistant",
        content: "",
        tool_calls: [{ id, type: "function", function: { name: "session_search", arguments: args } }],
      },
      { role: "tool", tool_call_id: id, content: `Log of deployment ${index}: ${"step done. ".repeat(300)}` },
      { role: "assistant", content: `Deployment ${index} ended well. ${"All checks passed. ".repeat(40)}` },
    ];
  }).flat();
}
