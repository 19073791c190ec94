// gptme: the project of a conversation is known by a link.
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { gptme } from "../../../src/import/formats/gptme.ts";
import { readHome } from "../read-fixture.ts";

it("takes the working directory from the link, without walking into it", async () => {
  const home = await mkdtemp(join(tmpdir(), "hermes-gptme-"));
  const folder = join(home, ".local", "share", "gptme", "logs", "2026-09-01-lake");
  const project = join(home, "shop");
  await mkdir(folder, { recursive: true });
  await mkdir(project);
  const line = `${JSON.stringify({ role: "user", content: "hello", timestamp: "2026-09-01T08:00:00Z" })}\n`;
  for (const place of [folder, project]) await writeFile(join(place, "conversation.jsonl"), line);
  await symlink(project, join(folder, "workspace"));
  const { sessions } = await readHome(gptme, home);
  await rm(home, { recursive: true, force: true });
  expect(sessions).toMatchObject([{ facts: { nativeId: "2026-09-01-lake", cwd: "~/shop" } }]);
});
