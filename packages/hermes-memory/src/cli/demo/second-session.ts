// Session 2: what was remembered is in the prompt, what was said is found, and a review writes down what nobody asked for.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { memoriesDirectory } from "@hermes-memory/core/home";
import { groupThousands, percentOf, pyStrip } from "@hermes-memory/core/lib";
import { promptHash } from "@hermes-memory/core/prompt";
import { short } from "./first-session.ts";
import { REVIEW_AFTER_TURNS } from "./home.ts";
import { journalLine, memoryHistory } from "./memory-commands.ts";
import type { Scene } from "./scene.ts";
import { USER_ENTRY } from "./script.ts";
import { lastUse, type Stage } from "./stage.ts";
import { needed } from "./step.ts";
import { recordOf } from "./wire.ts";

export async function secondSession(scene: Scene): Promise<void> {
  await scene.session(2, { kind: "long", about: "a new one, with what is known" }, async (stage) => {
    await scene.step(
      {
        id: "snapshot",
        session: 2,
        layer: "memory snapshot",
        title: "The prompt of the new session has the entry in it.",
      },
      () => snapshot(scene, stage),
    );
    await scene.step(
      {
        id: "search",
        session: 2,
        layer: "session search",
        title: "What was said, but never saved, is found in session 1 by its words.",
      },
      () => search(scene, stage),
    );
    await scene.step(
      {
        id: "review",
        session: 2,
        layer: "background review",
        title: `After the reply, unasked, a review saved a preference (here every ${REVIEW_AFTER_TURNS} turns).`,
      },
      () => review(scene, stage),
    );
  });
}

async function snapshot(scene: Scene, stage: Stage) {
  await stage.say("What did we say about the celadon that crawled?");
  const earlier = needed(scene.known.firstPrompt, "The prompt of session 1");
  const entry = needed(scene.known.entry, "The entry");
  const prompt = scene.conversation.at(-1)?.messages[0]?.text ?? "";
  const line = prompt.split("\n").find((each) => each.includes(entry));
  const [before, now] = [promptHash(earlier), promptHash(prompt)];
  return {
    checks: {
      "the prompt is another one": before !== now,
      "the entry is in it": line !== undefined,
      "it was not in the prompt of session 1": !earlier.includes(entry),
    },
    facts: { hash_session_1: before, hash_session_2: now, line: line ?? null },
    lines: [
      `sha256 ${short(now)}  (session 1: ${short(before)})`,
      `in the prompt: ${line ?? "nothing of it"}`,
    ],
  };
}

async function search(scene: Scene, stage: Stage) {
  const used = needed(lastUse(stage.agent, "session_search"), "The model's call of session_search");
  const results = Array.isArray(used.result.results) ? used.result.results.map(recordOf) : [];
  const hit = needed(results[0], "A hit");
  return {
    checks: {
      "the first hit is in session 1": hit.session_id === scene.known.firstSession,
      "the snippet shows the words": String(hit.snippet).includes(">>>celadon<<<"),
    },
    facts: {
      query: used.arguments.query,
      session_id: hit.session_id,
      title: hit.title,
      snippet: hit.snippet,
      stage: used.result.stage,
      count: used.result.count,
    },
    lines: [
      `session_search(query: ${String(used.arguments.query)})`,
      `session ${String(hit.session_id)}  "${String(hit.title)}"`,
      pyStrip(String(hit.snippet)),
    ],
  };
}

async function review(scene: Scene, stage: Stage) {
  await stage.say("I like short answers: I read them on my phone, beside the kiln.");
  needed(stage.all("review-start")[0], "The start of a review");
  const { summary, failed } = await stage.until("review-end");
  const change = (await memoryHistory(scene.home)).find(({ origin }) => origin === "review");
  if (change !== undefined) scene.known.reviewChange = change.id;
  const file = readFileSync(join(memoriesDirectory(scene.home), "USER.md"), "utf8");
  const asked = needed(scene.reviews[0], "The review's request");
  const talked = needed(scene.conversation.at(-1), "The conversation's last request");
  const { promptTokens, cachedTokens } = asked;
  const beginning = asked.messages.slice(0, talked.messages.length);
  return {
    checks: {
      "the review ended well": !failed,
      "the journal says origin review": change?.origin === "review",
      "and names this session": change?.session === stage.agent.sessionId,
      "the entry is in memories/USER.md": file.includes(USER_ENTRY),
      "its request begins with the conversation's own messages":
        JSON.stringify(beginning) === JSON.stringify(talked.messages),
    },
    facts: {
      origin: change?.origin ?? null,
      change_id: change?.id ?? null,
      session_id: change?.session ?? null,
      entry: change?.changes[0]?.after ?? null,
      summary,
      prompt_tokens: promptTokens,
      cached_tokens: cachedTokens,
    },
    lines: [
      `memories/USER.md  + ${change?.changes[0]?.after ?? "nothing"}`,
      `journal           ${journalLine(change)}`,
      `same prefix       ${groupThousands(cachedTokens)} of its ${groupThousands(promptTokens)} prompt tokens (${percentOf(cachedTokens, promptTokens)} %) were cached already`,
    ],
  };
}
