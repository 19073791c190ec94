// A directory of its own for each test, gone afterwards.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

export function tempDirectory(): string {
  const path = mkdtempSync(join(tmpdir(), "hermes-test-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}
