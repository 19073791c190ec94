// Session 1: something is remembered, and the prompt of the running session does not move.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { memoriesDirectory } from "@hermes-memory/core/home";
import { groupThousands } from "@hermes-memory/core/lib";
import { promptHash } from "@hermes-memory/core/prompt";
import { journalLine, memoryHistory } from "./memory-commands.ts";
import type { Scene } from "./scene.ts";
import { lastUse, type Stage } from "./stage.ts";
import { needed } from "./step.ts";

const FACT = "the Vesuvius kiln is fired to 1240 degrees, never higher";

export async function firstSession(scene: Scene): Promise<void> {
  await scene.session(1, { kind: "long", about: "something is remembered" }, async (stage) => {
    scene.known.firstSession = stage.agent.sessionId;
    await scene.step(
      {
        id: "memory-write",
        session: 1,
        layer: "curated memory",
        title: "The model called the memory tool; the entry is on disk and in the journal.",
      },
      () => memoryWrite(scene, stage),
    );
    await scene.step(
      {
        id: "frozen-prompt",
        session: 1,
        layer: "frozen prompt",
        title: "The running session's prompt did not move: the same bytes in every request.",
      },
      () => frozenPrompt(scene, stage),
    );
  });
}

async function memoryWrite(scene: Scene, stage: Stage) {
  const turn = await stage.say(`Remember that ${FACT}.`);
  const used = needed(lastUse(turn, "memory"), "The model's call of the memory tool");
  const entry = String(used.arguments.content);
  const file = readFileSync(join(memoriesDirectory(scene.home), "MEMORY.md"), "utf8");
  const line = (await memoryHistory(scene.home)).find(({ changes }) => changes[0]?.after === entry);
  scene.known.entry = entry;
  return {
    checks: {
      "the tool reported success": used.result.success === true,
      "the entry is in memories/MEMORY.md": file.includes(entry),
      "the journal names the session and the tool":
        line?.origin === "tool" && line.session === stage.agent.sessionId,
    },
    facts: {
      session_id: stage.agent.sessionId,
      tool_call: { name: "memory", arguments: used.arguments },
      tool_result: used.result,
      entry,
      file,
      change_id: line?.id ?? null,
      origin: line?.origin ?? null,
    },
    lines: [
      `memory(action: add, target: memory) -> ${String(used.result.message)}  ${String(used.result.usage)}`,
      `memories/MEMORY.md  + ${entry}`,
      `journal             ${journalLine(line)}`,
    ],
  };
}

async function frozenPrompt(scene: Scene, stage: Stage) {
  await stage.say("The celadon of Monday crawled, because the bisque was dusty.");
  const hashes = scene.conversation.map(({ messages }) => promptHash(messages[0]?.text ?? ""));
  const [before = "", after = "", next = ""] = hashes;
  const prompt = scene.conversation[0]?.messages[0]?.text ?? "";
  scene.known.firstPrompt = prompt;
  return {
    checks: {
      "three requests were made": hashes.length === 3,
      "the prompt is the same before and after the write": before === after && before !== "",
      "and in the next turn": before === next,
      "it does not hold the new entry": !prompt.includes(needed(scene.known.entry, "The entry")),
      "it is what the agent holds": promptHash(stage.agent.systemPrompt ?? "") === before,
    },
    facts: { hash_before: before, hash_after: after, hash_next_turn: next, prompt_chars: prompt.length },
    lines: [
      `sha256 ${short(before)}  before the write (${groupThousands(prompt.length)} characters, as the server got them)`,
      `sha256 ${short(after)}  after the write`,
      `sha256 ${short(next)}  next turn`,
    ],
  };
}

export function short(hash: string): string {
  return hash.slice(0, 16);
}
