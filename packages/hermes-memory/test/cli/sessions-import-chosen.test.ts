// What `hermes sessions import` reads only when the user chose it.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { runHere } from "./run.ts";

const from = { from: "Ana", from_id: "user1" };
const message = { id: 1, type: "message", date_unixtime: "1788250000", ...from, text: "hi" };

it("imports a messenger only when the user says who they are and which chat they mean", async () => {
  const home = tempDirectory();
  const file = join(tempDirectory(), "result.json");
  writeFileSync(file, JSON.stringify({ name: "Team", id: 5, messages: [message] }));
  const run = (...flags: string[]) => runHere(["sessions", "import", file, ...flags, "--json"], { home });
  for (const [flags, missing] of [
    [[], ["me", "chat"]],
    [["--me", "user1"], ["chat"]],
    [["--chat", "Team"], ["me"]],
  ] as const) {
    const { stdout, code } = await run(...flags);
    expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: 2, kind: "chat-not-chosen", missing });
  }
  const { stdout } = await run("--me", "user1", "--chat", "Team");
  expect(JSON.parse(stdout)).toMatchObject({ success: true, sources: [{ sessions_added: 1 }] });
});

it("finds experimental formats only when asked, also where a product has an older one beside the known one", async () => {
  const user = tempDirectory();
  const kimiCode = { type: "context.append_message", message: { role: "user", content: "hi" } };
  const kimiCli = {
    timestamp: 1_788_250_000,
    message: { type: "TurnBegin", payload: { user_input: "hello" } },
  };
  for (const [name, record] of Object.entries({
    ".kimi-code/sessions/wd_shop_0123456789ab/k1/agents/main/wire.jsonl": kimiCode,
    ".kimi/sessions/0123/c1/wire.jsonl": kimiCli,
    ".local/share/amp/threads/T-1.json": { id: "T-1", messages: [{ role: "user", content: "ask" }] },
  })) {
    mkdirSync(dirname(join(user, name)), { recursive: true });
    writeFileSync(join(user, name), `${JSON.stringify(record)}\n`);
  }
  const run = (...flags: string[]) => {
    const args = ["sessions", "import", "--from", "auto", "--yes", "--json", ...flags];
    return runHere(args, { home: tempDirectory(), env: { HOME: user } });
  };
  const kimi = { source: "kimi" };
  expect(JSON.parse((await run()).stdout).sources).toMatchObject([{ ...kimi, files: 1, sessions_added: 1 }]);
  expect(JSON.parse((await run("--experimental")).stdout).sources).toMatchObject([
    { ...kimi, files: 2, sessions_added: 2 },
    { source: "amp", files: 1, sessions_added: 1 },
  ]);
});
