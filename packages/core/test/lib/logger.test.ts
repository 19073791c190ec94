import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createLogger } from "../../src/lib/logger.ts";
import { redactSecrets } from "../../src/security/redaction.ts";

let directory: string;
let path: string;
const clock = { now: () => new Date("2026-06-01T10:00:00.000Z") };
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "logger-"));
  path = join(directory, "logs", "hermes.log");
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

function lines(file = path): { message: string; fields?: unknown }[] {
  return readFileSync(file, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}

describe("logger", () => {
  it("appends one JSON line per event to a private file", () => {
    const logger = createLogger({ path, clock });
    logger.debug("not written");
    logger.info("started", { count: 2 });
    logger.error("two\nlines");
    expect(lines()).toEqual([
      { time: "2026-06-01T10:00:00.000Z", level: "info", message: "started", fields: { count: 2 } },
      { time: "2026-06-01T10:00:00.000Z", level: "error", message: "two\nlines" },
    ]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(dirname(path)).mode & 0o777).toBe(0o700);
    expect(logger.dropped).toBe(0);
  });

  it("masks secrets in messages, nested fields, errors, and behind telling names", () => {
    const logger = createLogger({ path, redact: redactSecrets });
    const secret = "ghp_0123456789abcdefghijABCDEFGHIJ";
    logger.info(`token ${secret}`, {
      nested: [{ header: `Bearer ${secret}` }],
      error: new Error(`refused ${secret}`, { cause: { password: "opensesame" } }),
      password: 'wal"rus7',
      note: "line\nAPI_KEY=abcdef\nnext",
    });
    const text = readFileSync(path, "utf8");
    for (const leaked of [secret, "opensesame", "rus7", "abcdef"]) expect(text).not.toContain(leaked);
    expect(lines()[0]?.fields).toMatchObject({ note: "line\nAPI_KEY=***\nnext", password: "***" });
  });

  it("leaves the fields out when redaction would break the line", () => {
    const logger = createLogger({ path, redact: (text) => text.replaceAll('"', "") });
    logger.info("odd", { a: "b" });
    expect(lines()[0]).toMatchObject({ message: "odd", fields: "[left out by redaction]" });
  });

  it("writes values JSON does not know", () => {
    const cycle: Record<string, unknown> = {
      when: new Date(0),
      bad: new Date(Number.NaN),
      big: 5n,
      none: undefined,
    };
    cycle.self = cycle;
    createLogger({ path }).info("odd", cycle);
    expect(lines()[0]?.fields).toMatchObject({ when: "1970-01-01T00:00:00.000Z", big: "5" });
  });

  it("moves a full file to .1 and keeps only that one", () => {
    const logger = createLogger({ path, maxBytes: 200 });
    for (let i = 0; i < 10; i += 1) logger.info(`message ${i} ${"x".repeat(60)}`);
    expect(statSync(path).size).toBeLessThanOrEqual(200);
    expect(statSync(`${path}.1`).size).toBeLessThanOrEqual(200);
    expect(lines().at(-1)?.message).toContain("message 9");
    expect(() => statSync(`${path}.2`)).toThrow();
  });

  it("counts what it could not write and never throws or prints", () => {
    const out = vi.spyOn(process.stdout, "write");
    const errors = vi.spyOn(process.stderr, "write");
    writeFileSync(join(directory, "logs"), "a file where the directory should be");
    const logger = createLogger({ path });
    logger.info("lost");
    logger.info("lost", {
      get trap() {
        throw new Error("getter");
      },
    });
    mkdirSync(join(directory, "is-a-directory"));
    const other = createLogger({ path: join(directory, "is-a-directory") });
    other.error("lost");
    expect([logger.dropped, other.dropped]).toEqual([2, 1]);
    expect(out).not.toHaveBeenCalled();
    expect(errors).not.toHaveBeenCalled();
    vi.restoreAllMocks();
  });
});
