// Gives a person something of everything that a home can keep, and finds a text in the bytes of a home.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stagePending } from "../../src/curated/approval/pending.ts";
import type { Home, Person } from "../../src/index.ts";
import type { NewMessage } from "../../src/message/index.ts";
import { resultNote, type SessionStore } from "../../src/sessions/index.ts";
import { liveOf, traceOf } from "../../testing/session-store/gateway-records.ts";
import { leafOf } from "../../testing/session-store/summary-nodes.ts";

/** What `erase` reports for a person filled once. */
export const FILLED = { entries: 2, archived: 0, changes: 5, pending: 1, sessions: 6, messages: 12 };

/** Every text contains `secret`; `name` makes the ids of the sessions. */
export async function fillPerson(home: Home, person: Person, name: string, secret: string): Promise<void> {
  await fillFiles(person, secret);
  const store = await person.sessions({ mode: "write", create: true });
  await fillSessions(store, name, secret, home.home);
}

async function fillFiles(person: Person, secret: string): Promise<void> {
  const curated = await person.curated();
  if (curated === undefined) throw new Error("memory is off");
  const write = (op: Parameters<typeof curated.apply>[1], target: "memory" | "user" = "memory") =>
    curated.apply(target, op).then((outcome) => {
      if (!outcome.ok) throw new Error(outcome.error.message);
    });
  await write({ action: "add", content: `Stays: ${secret}` });
  await write({ action: "add", content: `Goes: ${secret}` });
  await write({ action: "remove", oldText: `Goes: ${secret}` });
  await write({ action: "add", content: `Profile: ${secret}` }, "user");
  await write(
    { action: "replace", oldText: `Profile: ${secret}`, content: `New profile: ${secret}` },
    "user",
  );
  await curated.pin("memory", `Stays: ${secret}`, true);
  writeFileSync(join(person.directory, "MEMORY.md.bak.1770000000"), `backup ${secret}`);
  writeFileSync(join(person.directory, ".mem_memory_abc123.tmp"), `temporary ${secret}`);
  mkdirSync(join(person.directory, "files", "deep"), { recursive: true });
  writeFileSync(join(person.directory, "files", "deep", "note.md"), `a model's note: ${secret}`);
  const payload = { action: "add", target: "memory", content: `Staged: ${secret}`, old_text: null } as const;
  const draft = { action: "add", summary: secret, origin: "foreground", payload };
  stagePending(person.pendingDirectory, draft as never, new Date());
}

async function fillSessions(store: SessionStore, name: string, secret: string, home: string): Promise<void> {
  const of = (part: string) => `${name}.${part}`;
  const say = (number: number): NewMessage => ({
    role: "user",
    content: `Question ${number} about ${secret}`,
  });
  await store.createSession(of("root"), { source: "cli", systemPrompt: `Prompt with ${secret}` });
  const ids = await store.appendMany(of("root"), [say(1), say(2), say(3), kept(home, name, secret)]);
  await store.setSessionTitle(of("root"), `Title of ${name} with ${secret}`);
  await store.saveOwnPrompt(of("root"), `Own prompt with ${secret}`, 1);
  await store.summaries.insertSummaryNodes([
    { ...leafOf(of("root"), ids.slice(0, 2)), node_id: of("node"), summary: `Summary with ${secret}` },
  ]);
  await store.gateway.saveLiveSession(liveOf(of("root"), { key: `key ${secret}` }));
  await store.gateway.saveMarks(of("root"), [`prefix:${secret}`]);
  const found = JSON.stringify([{ source: "chats", ref: secret, chars: 1, outcome: "injected" }]);
  await store.turns.addRecall(
    traceOf(of("root"), { query: `Query ${secret}`, injected: `Recall ${secret}`, found }),
  );
  const items = JSON.stringify([`Round ${secret}`]);
  await store.gateway.saveRound({ session_id: of("root"), mark: `prefix:${secret}`, wire: "chat", items });
  await store.branchSession(of("root"), { id: of("branch") });
  await store.continueSession(of("root"), { id: of("next"), messages: [say(4)] });
  const run = {
    source: "subagent",
    parentSessionId: of("root"),
    modelConfig: { _delegate_from: of("root") },
  };
  await store.createSession(of("run"), run);
  await store.appendMessage(of("run"), { role: "assistant", content: `Result with ${secret}` });
  await store.createSession(of("archived"), { source: "cli" });
  await store.appendMessage(of("archived"), say(5));
  await store.setSessionArchived(of("archived"), true);
  await store.createSession(of("rewound"), { source: "cli" });
  await store.appendMessage(of("rewound"), say(6));
  await store.undoTurns(of("rewound"));
  await store.search(`about ${secret}`); // the messages are in the index now
  mkdirSync(join(home, "sessions"), { recursive: true });
  writeFileSync(join(home, "sessions", `session_${of("root")}.json`), JSON.stringify({ secret }));
}

function kept(home: string, name: string, secret: string): NewMessage {
  const callId = `call_${name}`;
  const id = `${callId}-00000001`;
  mkdirSync(join(home, "tool-results"), { recursive: true });
  writeFileSync(join(home, "tool-results", `${id}.txt`), `Long result with ${secret}`);
  const note = resultNote({ id, chars: 5000, shownChars: 20, reader: undefined });
  return { role: "tool", toolCallId: callId, toolName: "fetch", content: `Long result\n${note}` };
}

/** The files of a home that is not open whose bytes or names contain the text, in any case and as UTF-16 too. */
export function holders(home: string, text: string): string[] {
  const wanted = [Buffer.from(text.toLowerCase()), Buffer.from(text.toLowerCase(), "utf16le")];
  return readdirSync(home, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => {
      const bytes = Buffer.from(readFileSync(path).toString("latin1").toLowerCase(), "latin1");
      return path.toLowerCase().includes(text.toLowerCase()) || wanted.some((each) => bytes.includes(each));
    })
    .map((path) => path.slice(home.length + 1))
    .sort();
}
