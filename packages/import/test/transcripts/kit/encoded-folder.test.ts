import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { folderEncodedAs } from "../../../src/transcripts/kit/encoded-folder.ts";

let base = "";
beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), "hermes-encoded-"));
});
afterEach(() => rm(base, { recursive: true, force: true }));

it("finds the one folder that a name stands for", async () => {
  await mkdir(join(base, "ana", "my.shop", "web-app"), { recursive: true });
  expect(await folderEncodedAs("ana-my-shop-web-app", { base })).toBe(
    join(base, "ana", "my.shop", "web-app"),
  );
  expect(await folderEncodedAs("-ana-my-shop", { base })).toBe(join(base, "ana", "my.shop"));
});

it("gives nothing for a name that two folders have, or none", async () => {
  await mkdir(join(base, "ana", "web-app"), { recursive: true });
  await mkdir(join(base, "ana", "web", "app"), { recursive: true });
  expect(await folderEncodedAs("ana-web-app", { base })).toBeUndefined();
  expect(await folderEncodedAs("ana-desktop", { base })).toBeUndefined();
});
