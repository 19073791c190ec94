// The Markdown history of Aider: what its writer puts in comes out again.
import { appendFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, expect, it } from "vitest";
import { aider } from "../../../src/transcripts/formats/aider.ts";
import { readHome } from "../read-fixture.ts";

let home = "";
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "hermes-aider-"));
});
afterEach(() => rm(home, { recursive: true, force: true }));

/** A line with a word in it, as Aider strips messages at both ends. */
const line = fc
  .tuple(fc.constantFrom("", "- ", "a ", "> ", "#### ", "# ", "`", "the "), fc.string({ maxLength: 12 }))
  .map(([start, rest]) => `${start}w${rest.replace(/[\r\n\u2028\u2029\u0085\v\f]/g, "")}w`);
const plainLine = line.filter((text) => !/^(?:> | {0,3}[`~]{3})/.test(text));
const code = fc
  .tuple(
    fc.constantFrom("```", "````", "~~~"),
    fc.constantFrom("", "go", "sh title"),
    fc.array(line, { maxLength: 3 }),
  )
  .map(([mark, info, lines]) => [`${mark}${info}`, ...lines.map((text) => `${text}  `), "", mark].join("\n"));
const answer = fc
  .array(fc.oneof(plainLine, code), { minLength: 1, maxLength: 4 })
  .map((parts) => parts.join("\n\n"));
const question = fc
  .array(fc.oneof(line, fc.constant("")), { maxLength: 3 })
  .chain((lines) => line.map((last) => ["w", ...lines, last].join("\n")));
const message = fc.oneof(
  fc.record({ role: fc.constant("user"), text: question }),
  fc.record({ role: fc.constant("assistant"), text: answer }),
  fc.record({ role: fc.constant("tool"), text: line }),
);
type Message = { readonly role: string; readonly text: string };

/** As Aider writes it. */
function written({ role, text }: Message): string {
  if (role === "user")
    return `\n${text
      .split("\n")
      .map((one) => `#### ${one}  \n`)
      .join("")}`;
  return role === "tool" ? `> ${text}  \n` : `\n${text}\n\n`;
}

/** Outputs of tools and answers that follow each other look like one. */
function merged(messages: readonly Message[]): Message[] {
  const result: Message[] = [];
  for (const next of messages) {
    const last = result.at(-1);
    if (last?.role !== next.role || next.role === "user") result.push(next);
    else {
      const between = next.role === "tool" ? "\n" : "\n\n\n";
      result[result.length - 1] = { role: last.role, text: last.text + between + next.text };
    }
  }
  return result;
}

async function read() {
  const { sessions } = await readHome(aider, home);
  return sessions.map(({ messages }) => messages.map(({ role, text }) => ({ role, text })));
}

it("gives back every message of every launch", async () => {
  const launch = fc
    .array(message, { maxLength: 6 })
    .map((rest) => [{ role: "user", text: "begin" }, ...rest]);
  await fc.assert(
    fc.asyncProperty(fc.array(launch, { maxLength: 3 }), async (launches) => {
      const text = launches
        .map(
          (messages) => `\n# aider chat started at 2026-09-01 09:00:00\n\n${messages.map(written).join("")}`,
        )
        .join("");
      await writeFile(join(home, ".aider.chat.history.md"), text);
      expect(await read()).toEqual(launches.map(merged));
    }),
    { numRuns: 50 },
  );
});

it("keeps the ids of the launches when the file grows", async () => {
  const file = join(home, ".aider.chat.history.md");
  const launch = "\n# aider chat started at 2026-09-01 09:00:00\n\n\n#### hello  \n\nHi.\n\n";
  await writeFile(file, launch);
  const [before] = (await readHome(aider, home)).sessions;
  await appendFile(file, launch);
  const after = (await readHome(aider, home)).sessions;
  expect(after[0]).toEqual(before);
  expect(after[1]?.facts.nativeId).not.toBe(before?.facts.nativeId);
});

it("reads many fences without an end in a moment", async () => {
  const fences = Array.from({ length: 20_000 }, (_, index) => (index % 2 ? "```" : "````go")).join("\n");
  await writeFile(join(home, ".aider.chat.history.md"), `#### hello  \n\n${fences}\n\n#### still here  \n`);
  expect((await read())[0]?.at(-1)).toEqual({ role: "user", text: "still here" });
});
