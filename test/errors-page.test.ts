// docs/errors.md names every code that the packages throw, and no other.
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";

const root = resolve(import.meta.dirname, "..");
const page = readFileSync(join(root, "docs", "errors.md"), "utf8");
const cells = [...page.matchAll(/^\| (`[^|]+`) \|/gm)].map(([, cell = ""]) => cell);
const documented = cells.flatMap((cell) => [...cell.matchAll(/`([a-z-]+)`/g)].map(([, code = ""]) => code));

const sources = readdirSync(join(root, "packages"), { recursive: true, encoding: "utf8" })
  .filter((name) => /^[^/\\]+[/\\](?:src|testing)[/\\].*\.ts$/.test(name))
  .map((name) => readFileSync(join(root, "packages", name), "utf8"));

/** The first argument of each error; `super` in files with a kind of error. A code with a `${...}` ends at it. */
const thrown = new Set(
  sources.flatMap((text) => {
    const calls = text.includes("extends HermesError")
      ? "HermesError|sessionError|super"
      : "HermesError|sessionError";
    const pattern = new RegExp(`\\b(?:${calls})\\(\\s*["\`]([a-z-]+)(\\$\\{)?`, "g");
    return [...text.matchAll(pattern)].map(([, code = "", isOpen]) => (isOpen ? `${code}*` : code));
  }),
);
/** The exits of a turn that can fail are codes of a UI message stream. */
const NEVER_FAIL = [
  "text_response",
  "client_tool_calls",
  "fallback_prior_turn_content",
  "interrupted_by_user",
];
const exits = /export type TurnExit =([^;]+);/.exec(sources.join("\n"))?.[1] ?? "";
for (const [, exit = ""] of exits.matchAll(/"([a-z_]+)"/g))
  if (!NEVER_FAIL.includes(exit)) thrown.add(exit.replaceAll("_", "-"));

const prefixes = [...thrown].filter((code) => code.endsWith("*")).map((code) => code.slice(0, -1));

it("names every code that is thrown", () => {
  expect(thrown.size).toBeGreaterThan(50);
  const missing = [...thrown].filter((code) => !code.endsWith("*") && !documented.includes(code));
  expect(missing).toEqual([]);
  expect(prefixes.filter((prefix) => !documented.some((code) => code.startsWith(prefix)))).toEqual([]);
});

it("names every kind of a refused write and of a missing model", () => {
  const types = sources.join("\n");
  const kinds = /export type MemoryErrorFields =([\s\S]*?);\n\n/.exec(types)?.[1] ?? "";
  const memory = [...kinds.matchAll(/"([a-z_]+)"/g)].map(
    ([, kind = ""]) => `memory-${kind.replaceAll("_", "-")}`,
  );
  const choice = /export type ModelChoiceError = \{\s*readonly kind: ([^;]+);/.exec(types)?.[1] ?? "";
  const model = [...choice.matchAll(/"([a-z_]+)"/g)].map(
    ([, kind = ""]) => `model-${kind.replaceAll("_", "-")}`,
  );
  expect(memory.length).toBeGreaterThan(8);
  expect(model.length).toBeGreaterThan(2);
  expect([...memory, ...model].filter((code) => !documented.includes(code))).toEqual([]);
});

it("names no code twice, and none that nothing throws", () => {
  expect(documented.filter((code, i) => documented.indexOf(code) !== i)).toEqual([]);
  const unknown = documented.filter(
    (code) => !thrown.has(code) && !prefixes.some((prefix) => code.startsWith(prefix)),
  );
  expect(unknown).toEqual([]);
});
