// The Markdown history of Aider: what its writer puts in comes out again.
import { appendFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
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

it("takes the time of a launch as local time and says that messages have none", async () => {
  await writeFile(
    join(home, ".aider.chat.history.md"),
    "# aider chat started at 2026-09-01 09:05:07\n#### hello  \n",
  );
  const [session] = (await readHome(aider, home)).sessions;
  const startedAt = new Date(2026, 8, 1, 9, 5, 7).getTime() / 1000;
  expect(session?.facts).toMatchObject({ startedAt, hasSyntheticTimes: true });
  expect(session?.messages).toEqual([{ role: "user", text: "hello", line: 2 }]);
});

it("finds the histories below a folder that the user names, and a file of any name", async () => {
  const project = join(home, "code", "shop");
  await mkdir(join(project, "node_modules", "x"), { recursive: true });
  for (const name of [
    ".aider.chat.history.md",
    "node_modules/x/.aider.chat.history.md",
    ".aider.llm.history",
    "notes.md",
  ])
    await writeFile(join(project, name), "# aider chat started at 2026-09-01 09:00:00\n\n#### hello  \n");
  const below = await readHome(aider, home, { path: join(home, "code") });
  expect(below.sessions.map(({ facts }) => facts.cwd)).toEqual(["~/code/shop"]);
  expect((await readHome(aider, home, { path: join(project, "notes.md") })).sessions).toHaveLength(1);
});

it("looks in the home and at the file that the environment names", () => {
  const place = { home: "/home/ana", cwd: "/home/ana/shop", platform: "linux" as const };
  expect(aider.roots({ ...place, env: {} })).toEqual(["/home/ana/.aider.chat.history.md"]);
  expect(aider.roots({ ...place, env: { AIDER_CHAT_HISTORY_FILE: "log.md" } })).toEqual([
    "/home/ana/.aider.chat.history.md",
    "/home/ana/shop/log.md",
  ]);
});

it("reads many fences without an end in a moment", async () => {
  const fences = Array.from({ length: 20_000 }, (_, index) => (index % 2 ? "```" : "````go")).join("\n");
  await writeFile(join(home, ".aider.chat.history.md"), `#### hello  \n\n${fences}\n\n#### still here  \n`);
  expect((await read())[0]?.at(-1)).toEqual({ role: "user", text: "still here" });
});

it("takes <blank> for an empty line of the user", async () => {
  const path = join(home, ".aider.chat.history.md");
  await writeFile(
    path,
    "# aider chat started at 2026-09-01 09:00:00\n\n#### <blank>  \n\n#### why?  \n#### <blank>  \n#### and how?  \n",
  );
  const { sessions } = await readHome(aider, home, { path });
  expect(sessions[0]?.messages.map(({ text }) => text)).toEqual(["why?\n\nand how?"]);
});
