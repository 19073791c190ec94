// Droid (Factory): `sessions/<folder>/<id>.jsonl` with Anthropic blocks, and `<id>.settings.json` beside it.
import { basename, join } from "node:path";
import { format } from "../declare.ts";
import { blocksOf } from "../kit/blocks.ts";
import { recordAt } from "../kit/json-array.ts";
import { jsonLines } from "../kit/json-lines.ts";
import { usageOf } from "../kit/parts.ts";
import { names, recordOf, recordsOf, textOf, timeOf } from "../kit/values.ts";
import { unitsOf } from "../kit/walk.ts";

const SILENT_TYPES = names("todo_state compaction_state compaction session_end");

export const droid = format({
  source: "droid",
  title: "Droid",
  evidence: "P",
  isExperimental: true,
  version: 2,
  roots: ({ home, env }) => [join(textOf(env.FACTORY_DIR) ?? join(home, ".factory"), "sessions")],
  units: unitsOf((path) => path.endsWith(".jsonl"), { stamps: (path) => [path, settingsOf(path)] }),
  recognises: ({ first }) => first.type === "session_start" && textOf(first.id) !== undefined,
  async *read({ path }, reading) {
    const stem = basename(path, ".jsonl");
    let nativeId: string | undefined;
    for await (const { line, value } of jsonLines(path, reading)) {
      const type = textOf(value.type) ?? "";
      if (type === "session_start") {
        nativeId = textOf(value.id) ?? stem;
        const title = textOf(value.title);
        yield {
          nativeId,
          title: textOf(value.sessionTitle) ?? title,
          visibility: title?.startsWith("# Task Tool Invocation") ? "subagent" : undefined,
          cwd: textOf(value.cwd),
        };
        // Sessions that the product holds with itself work in its own folder.
        if (/(?:^|[\\/])\.factory[\\/]?$/.test(textOf(value.cwd) ?? ""))
          return yield { kind: "skip", reason: "internal session" };
      } else if (type === "message") {
        if (nativeId === undefined) yield { nativeId: stem };
        nativeId ??= stem;
        const message = recordOf(value.message);
        if (message === undefined) reading.malformed(line, "a message record without a message");
        // The others are context for the model that the user never sees.
        else if (value.visibility !== "llm_only")
          yield {
            ...{ id: textOf(value.id), role: message.role, at: timeOf(value.timestamp), line },
            ...blocksOf(message.content, reading.unknown),
          };
      } else if (!SILENT_TYPES.has(type)) reading.unknown(type === "" ? "record without type" : type);
    }
    if (nativeId === undefined) return;
    const settings = await recordAt(settingsOf(path));
    const callers = recordsOf(settings?.tags).map((tag) => textOf(recordOf(tag.metadata)?.callingSessionId));
    yield {
      nativeId,
      model: textOf(settings?.model),
      parent: callers.find((caller) => caller !== undefined),
      usage: usageOf(settings?.tokenUsage, [
        "inputTokens",
        "outputTokens",
        "cacheReadTokens",
        "cacheCreationTokens",
        "thinkingTokens",
      ]),
    };
  },
});

function settingsOf(path: string): string {
  return path.replace(/\.jsonl$/, ".settings.json");
}
