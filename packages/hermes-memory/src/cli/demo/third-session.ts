// Session 3: a window that is soon full. What leaves it can be had back word for word, and so can what memory was before.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { memoriesDirectory } from "@hermes-memory/core/home";
import { codePointLength, groupThousands, sha256 } from "@hermes-memory/core/lib";
import { firingLog } from "./firing-log.ts";
import { short } from "./first-session.ts";
import { SMALL_WINDOW } from "./home.ts";
import { memoryHistory, memoryUndo } from "./memory-commands.ts";
import type { Scene } from "./scene.ts";
import { USER_ENTRY } from "./script.ts";
import { lastUse, type Stage } from "./stage.ts";
import { needed } from "./step.ts";

/** More than the small window holds. */
const MOST_LOGS = 40;

export async function thirdSession(scene: Scene): Promise<void> {
  const about = `a window of ${groupThousands(SMALL_WINDOW)} tokens, engine lcm`;
  await scene.session(3, { kind: "small", about }, async (stage) => {
    const logs: string[] = [];
    await scene.step(
      {
        id: "compaction",
        session: 3,
        layer: "compaction",
        title: "The window was full, so the conversation went on in a continuation.",
      },
      () => compaction(stage, logs),
    );
    await scene.step(
      {
        id: "expand",
        session: 3,
        layer: "lossless context",
        title: "A message that had left the conversation came back word for word.",
      },
      () => expand(stage, logs),
    );
  });
  await scene.step(
    {
      id: "undo",
      session: 3,
      layer: "undo",
      title: "What the review wrote in session 2 is taken back.",
    },
    () => undo(scene),
  );
}

async function compaction(stage: Stage, logs: string[]) {
  const { agent } = stage;
  while (stage.all("compaction-end").length === 0 && logs.length < MOST_LOGS) {
    const log = firingLog(logs.length + 1);
    logs.push(log);
    await stage.say(log, { isTold: false });
    if (logs.length === 1) await stage.until("title-set"); // in the background; a continuation is named after it
  }
  const hundreds = Math.round(codePointLength(logs[0] ?? "") / 100);
  stage.tell(
    "you",
    `(${logs.length} firing logs, one a turn, about ${groupThousands(hundreds * 100)} characters each)`,
  );
  const [end] = stage.all("compaction-end");
  const told = needed(end, `A compaction within ${MOST_LOGS} logs`);
  const { kind, oldSessionId, sessionId, messagesBefore, messagesAfter, tokensBefore, tokensAfter } = told;
  const row = await agent.store?.getSession(sessionId);
  const before = await agent.store?.getSession(oldSessionId);
  const stored = await agent.store?.getMessages(oldSessionId);
  const continued = await agent.store?.getMessages(sessionId);
  return {
    checks: {
      "the engine compacted": kind === "compacted",
      "the conversation has a new session id": sessionId !== oldSessionId && agent.sessionId === sessionId,
      "whose parent is the old one": row?.parent_session_id === oldSessionId,
      "its title goes on counting": row?.title === `${before?.title} #2`,
      "it is shorter": tokensAfter < tokensBefore,
      "the old session still has every message": (stored?.length ?? 0) >= messagesBefore,
      "the continuation is stored as it goes on": continued?.length === agent.messages.length,
    },
    facts: {
      kind,
      logs: logs.length,
      tokens_before: tokensBefore,
      tokens_after: tokensAfter,
      messages_before: messagesBefore,
      messages_after: messagesAfter,
      old_session_id: oldSessionId,
      session_id: sessionId,
      parent_session_id: row?.parent_session_id ?? null,
      old_title: before?.title ?? null,
      title: row?.title ?? null,
      stored_messages: stored?.length ?? 0,
    },
    lines: [
      `tokens    ${groupThousands(tokensBefore)} -> ${groupThousands(tokensAfter)}, messages ${messagesBefore} -> ${messagesAfter}; all ${stored?.length} stay in the database`,
      `session   ${oldSessionId} -> ${sessionId}`,
      `title     ${before?.title} -> ${row?.title}`,
    ],
  };
}

async function expand(stage: Stage, logs: readonly string[]) {
  const { agent } = stage;
  const isLive = (log: string): boolean =>
    agent.messages.some(({ content }) => typeof content === "string" && content.includes(log));
  const original = needed(
    logs.find((log) => !isLive(log)),
    "A log that was compacted",
  );
  const name = `firing log ${logs.indexOf(original) + 1}`;
  const turn = await stage.say(`What did ${name} say, word for word?`);
  const found = needed(lastUse(turn, "lcm_grep"), "The model's call of lcm_grep");
  const used = needed(lastUse(turn, "lcm_expand"), "The model's call of lcm_expand");
  const expanded = String(used.result.content);
  return {
    checks: {
      "what came back is the original": expanded === original,
      "a summary stands for it": typeof used.result.covered_by === "string",
    },
    facts: {
      query: found.arguments.query,
      store_id: used.arguments.store_id,
      node_id: used.result.covered_by ?? null,
      original,
      expanded,
    },
    lines: [
      `lcm_grep(query: ${String(found.arguments.query)}) -> store_id ${String(used.arguments.store_id)}, covered by ${String(used.result.covered_by)}`,
      `lcm_expand(store_id: ${String(used.arguments.store_id)}) -> ${groupThousands(codePointLength(expanded))} characters`,
      `sha256 ${short(sha256(expanded))}  (as it was typed: ${short(sha256(original))})`,
    ],
  };
}

async function undo(scene: Scene) {
  const id = needed(scene.known.reviewChange, "The review's change");
  const path = join(memoriesDirectory(scene.home), "USER.md");
  const before = readFileSync(path, "utf8");
  const { lines } = await memoryUndo(scene.home, id);
  const after = readFileSync(path, "utf8");
  const history = await memoryHistory(scene.home);
  const change = history.find((line) => line.id === id);
  return {
    checks: {
      "the entry was in memories/USER.md": before.includes(USER_ENTRY),
      "it is there no longer": !after.includes(USER_ENTRY),
      "the journal still has the change, as undone": change?.status === "undone",
      "what session 1 saved is untouched": readFileSync(
        join(memoriesDirectory(scene.home), "MEMORY.md"),
        "utf8",
      ).includes(needed(scene.known.entry, "The entry")),
    },
    facts: {
      undone: id,
      undone_by: change?.undone_by ?? null,
      status: change?.status ?? null,
      file_before: before,
      file_after: after,
      history: history.map(({ id: change_id, origin, action, status }) => ({
        change_id,
        origin,
        action,
        status,
      })),
    },
    lines: [`$ hermes memory undo ${id}`, ...lines],
  };
}
