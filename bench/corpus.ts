// Agent conversations to fill a session store with: made up from a seed, or read from JSONL files.
// The made-up ones follow what full-text indexes are sensitive to: word frequencies like those of a natural language,
// rare tokens (paths, hashes, numbers), lengths with a long tail, and every tenth message in Chinese.
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { z } from "zod";
import { describeCause, errnoCode, HermesError } from "../src/lib/index.ts";

export type CorpusMessage = z.infer<typeof corpusMessage>;

/** The seed decides everything; a shorter corpus is the beginning of a longer one. Nothing is kept in memory. */
export function* generateCorpus(options: { messages: number; seed: number }): Generator<CorpusMessage> {
  const random = randomNumbers(options.seed);
  const text = textWriter(random);
  let left = options.messages;
  let now = FIRST_SECOND;
  while (left > 0) {
    now += 30 + Math.floor(random() * 3600);
    const length = Math.floor(SHORTEST_SESSION * ((LONGEST_SESSION + 1) / SHORTEST_SESSION) ** random());
    const s = sessionId(now, random);
    let written = 0;
    for (const message of conversation(text, random)) {
      if (written === length || left === 0) break;
      now += 1 + Math.floor(random() * 40);
      yield { s, ts: now, ...message };
      written += 1;
      left -= 1;
    }
  }
}

/** One message a line, blank lines skipped. A line that is no message is an error that names file and line. */
export async function* readCorpus(files: readonly string[]): AsyncGenerator<CorpusMessage> {
  for (const file of files) {
    const lines = createInterface({ input: createReadStream(file, "utf8"), crlfDelay: Infinity });
    let number = 0;
    try {
      for await (const line of lines) {
        number += 1;
        if (line.trim() !== "") yield parseLine(line, `${file}:${number}`);
      }
    } catch (cause) {
      if (errnoCode(cause) === undefined || cause instanceof HermesError) throw cause;
      throw new HermesError("unreadable-corpus", `Cannot read ${file}: ${describeCause(cause)}.`, { cause });
    }
  }
}

/** Where a session came from. A corpus does not say, so the id decides: the same for every run over the same corpus. */
export function sourceOf(sessionId: string): string {
  if (sessionId.startsWith("cron_")) return "cron";
  let hash = 0;
  for (let i = 0; i < sessionId.length; i += 1)
    hash = Math.imul(hash ^ sessionId.charCodeAt(i), 0x01000193) >>> 0;
  return SOURCES[(hash >>> 8) % SOURCES.length] ?? "cli";
}

/** Cron runs have ids of their own; in the rest, one in twenty is the work of another agent or a tool. */
const SOURCES = [
  ...["cli", "cli", "cli", "cli", "cli", "cli", "cli", "tui", "tui", "acp"],
  ...["telegram", "telegram", "telegram", "telegram", "discord", "discord", "slack", "whatsapp"],
  ...["subagent", "subagent", "tool"],
];
const CRON_SHARE = 0.06;
/** A little over a tenth, because messages that only call tools have no text: a tenth of all comes out Chinese. */
const CHINESE_SHARE = 0.11;
const SHORTEST_SESSION = 5;
const LONGEST_SESSION = 200;
const FIRST_SECOND = Date.UTC(2025, 0, 6) / 1000;

const corpusMessage = z.object({
  s: z.string().min(1),
  role: z.string().min(1),
  content: z.union([z.string(), z.null(), z.array(z.unknown()), z.record(z.string(), z.unknown())]),
  ts: z.number(),
  tool_calls: z.array(z.unknown()).nullish(),
  tool_name: z.string().nullish(),
  tool_call_id: z.string().nullish(),
  finish_reason: z.string().nullish(),
});

function parseLine(line: string, place: string): CorpusMessage {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (cause) {
    throw new HermesError("bad-corpus-line", `${place} is not JSON.`, { hint: LINE_HINT, cause });
  }
  const parsed = corpusMessage.safeParse(value);
  if (parsed.success) return parsed.data;
  const wrong = parsed.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`).join("; ");
  throw new HermesError("bad-corpus-line", `${place} is not a message (${wrong}).`, { hint: LINE_HINT });
}

const LINE_HINT =
  "Every line of a corpus is one JSON object with at least s, role, content and ts (seconds).";

type Random = () => number;
type Body = Omit<CorpusMessage, "s" | "ts">;

/** Turns without end: a question, some rounds of tool calls with their results, an answer. */
function* conversation(text: TextWriter, random: Random): Generator<Body> {
  for (;;) {
    yield { role: "user", content: text.prose(lengthAround(LENGTHS.user, random)) };
    const rounds = Math.floor(random() ** 2 * 4);
    for (let round = 0; round < rounds; round += 1) {
      const calls = Array.from({ length: random() < 0.15 ? 2 : 1 }, () => toolCall(text, random));
      const remark = random() < 0.4 ? "" : text.prose(lengthAround(LENGTHS.remark, random));
      yield { role: "assistant", content: remark, tool_calls: calls, finish_reason: "tool_calls" };
      for (const {
        id,
        function: { name },
      } of calls) {
        const content = text.toolOutput(lengthAround(LENGTHS.toolOutput, random));
        yield { role: "tool", content, tool_name: name, tool_call_id: id };
      }
    }
    yield {
      role: "assistant",
      content: text.answer(lengthAround(LENGTHS.answer, random)),
      finish_reason: "stop",
    };
  }
}

/** Means in characters, chosen so that all messages together come to 533. */
const LENGTHS = { user: 276, remark: 159, toolOutput: 1062, answer: 658 } as const;
const LONGEST_MESSAGE = 9000;

/** Log-normal: many short ones and a few very long ones, as in real transcripts. */
function lengthAround(mean: number, random: Random): number {
  const sigma = 0.8;
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const length = Math.round(mean * Math.exp(sigma * normal - (sigma * sigma) / 2));
  return Math.min(LONGEST_MESSAGE, Math.max(4, length));
}

const TOOLS = [
  "terminal",
  "read_file",
  "search_files",
  "patch",
  "write_file",
  "web_search",
  "browser_navigate",
];

function toolCall(text: TextWriter, random: Random) {
  const name = pick(TOOLS, random);
  const args =
    name === "terminal"
      ? { command: text.command(), timeout: 60 }
      : name === "patch" || name === "write_file"
        ? { path: text.path(), content: text.code(80 + Math.floor(random() * 300)) }
        : { query: text.prose(20 + Math.floor(random() * 60)), path: text.path() };
  return {
    id: `call_${hex(random, 12)}`,
    type: "function",
    function: { name, arguments: JSON.stringify(args) },
  };
}

function sessionId(second: number, random: Random): string {
  const stamp = new Date(second * 1000).toISOString().slice(0, 19).replace(/[-:]/g, "").replace("T", "_");
  return random() < CRON_SHARE ? `cron_${hex(random, 4)}_${stamp}` : `${stamp}_${hex(random, 6)}`;
}

type TextWriter = ReturnType<typeof textWriter>;

function textWriter(random: Random) {
  const word = zipf(ENGLISH, random);
  const hanWord = zipf(CHINESE, random);
  const number = () => String(Math.floor(10 ** (random() * 5)));
  const path = () =>
    `${pick(["src", "test", "docs", "~/projects", "/var/log", "/usr/lib"], random)}/${word()}/${word()}_${word()}.${pick(FILE_ENDINGS, random)}`;
  const name = () => {
    const second = word();
    return random() < 0.5 ? `${word()}_${second}` : `${word()}${capital(second)}`;
  };
  /** What a search is often for and what fills an index: tokens that occur once or a few times. */
  const rare = () => {
    const kind = random();
    if (kind < 0.35) return name();
    if (kind < 0.55) return path();
    if (kind < 0.8) return number();
    if (kind < 0.9) return `v${number()}.${Math.floor(random() * 20)}`;
    return hex(random, 8);
  };
  const words = (count: number) => Array.from({ length: count }, () => (random() < 0.05 ? rare() : word()));
  const sentence = () => {
    const list = words(5 + Math.floor(random() * 14));
    if (list.length > 11) list[5] = `${list[5]},`;
    return `${capital(list.join(" "))}${random() < 0.12 ? "?" : "."}${random() < 0.15 ? "\n\n" : " "}`;
  };
  const hanSentence = () => {
    let out = "";
    const count = 4 + Math.floor(random() * 12);
    for (let i = 0; i < count; i += 1) {
      if (i > 0 && random() < 0.12) out += "，";
      out += random() < 0.02 ? ` ${rare()} ` : hanWord();
    }
    return `${out}${random() < 0.12 ? "？" : "。"}${random() < 0.1 ? "\n" : ""}`;
  };
  const codeLine = () =>
    pick(
      [
        () => `const ${name()} = ${name()}(${word()}, ${number()});\n`,
        () => `  if (${word()}.${name()} === "${word()}") return ${name()};\n`,
        () => `  // ${words(7).join(" ")}\n`,
        () => `import { ${name()} } from "${path()}";\n`,
        () => `    self.${name()} = ${name()}[${number()}]\n`,
      ],
      random,
    )();
  const logLine = () =>
    pick(
      [
        () => `${path()}:${number()}: ${words(6).join(" ")}\n`,
        () => `[INFO] ${name()} ${words(5).join(" ")} took ${number()} ms\n`,
        () => `-rw-r--r-- 1 agent agent ${number()} ${path()}\n`,
        () => `commit ${hex(random, 40)} ${words(6).join(" ")}\n`,
      ],
      random,
    )();
  const field = () => `"${name()}": ${random() < 0.4 ? number() : `"${words(5).join(" ")}"`}, `;
  const bullet = () => (random() < 0.2 ? `- **${name()}**: ${sentence()}\n` : sentence());

  const isChinese = () => random() < CHINESE_SHARE;
  return {
    path,
    code: (length: number) => fill(length, codeLine),
    command: () =>
      `${pick(["git log", "npm test", "rg -n", "ls -la", "python3 -m"], random)} ${name()} ${path()}`,
    prose: (length: number) => fill(length, isChinese() ? hanSentence : sentence),
    answer(length: number) {
      if (isChinese()) return fill(length, hanSentence);
      if (length < 400 || random() < 0.7) return fill(length, bullet);
      const code = `\n\`\`\`ts\n${fill(length / 3, codeLine)}\n\`\`\`\n`;
      return `${fill(length - code.length, bullet)}${code}`;
    },
    toolOutput: (length: number) =>
      fill(
        length,
        isChinese() ? hanSentence : pick([logLine, logLine, codeLine, codeLine, field, sentence], random),
      ),
  };
}

/** Exactly `length` characters: every character used here is one UTF-16 unit, so that no cut breaks one. */
function fill(length: number, piece: () => string): string {
  let out = "";
  while (out.length < length) out += piece();
  return out.slice(0, length);
}

const FILE_ENDINGS = ["ts", "py", "md", "json", "log", "rs", "go", "yaml"];

const FUNCTION_WORDS = (
  "the to of and a in is it you that for on with this as be are we can not i have from or at by if an was will use " +
  "but all your what so when there then which do has should one my more no up out need file they about also just any " +
  "how its into now only some run see would get make set new could our time first like than other where after here " +
  "add does each same them next before want because check work over let error using these both change however still " +
  "try please already found below without while since done"
).split(" ");

const ENGLISH = [...FUNCTION_WORDS, ...madeUpWords(7000)];
const CHINESE = chineseWords(6000);

/** Words that sound like words, the short ones first, as frequent words are. */
function madeUpWords(count: number): string[] {
  const random = randomNumbers(11);
  const syllable = () =>
    pick(
      "b c d f g h l m n p r s t v w br ch cl cr dr fl gr pl pr qu sh sl st str th tr".split(" "),
      random,
    ) +
    pick("a e i o u a e i o ai ea ou".split(" "), random) +
    pick(["", "", "", "n", "r", "s", "l"], random);
  const words = new Set<string>();
  while (words.size < count) {
    const syllables = 1 + Math.floor((words.size / count) * 2 + random() * 1.5);
    words.add(Array.from({ length: syllables }, syllable).join(""));
  }
  return [...words];
}

/** Mostly of two characters. The first plane of GB 2312 holds the 3,755 common ones, so the decoder has the list. */
function chineseWords(count: number): string[] {
  const random = randomNumbers(12);
  const bytes: number[] = [];
  for (let row = 0xb0; row <= 0xd7; row += 1)
    for (let cell = 0xa1; cell <= (row === 0xd7 ? 0xf9 : 0xfe); cell += 1) bytes.push(row, cell);
  const characters = [...new TextDecoder("gb18030").decode(Uint8Array.from(bytes))];
  for (let i = characters.length - 1; i > 0; i -= 1) {
    const other = Math.floor(random() * (i + 1));
    [characters[i], characters[other]] = [characters[other] ?? "", characters[i] ?? ""];
  }
  const character = zipf(characters, random);
  const words = new Set(characters.slice(0, 60));
  while (words.size < count) {
    const length = random() < 0.15 ? 1 : random() < 0.85 ? 2 : 3;
    words.add(Array.from({ length }, character).join(""));
  }
  return [...words];
}

/** Picks by Zipf's law with Mandelbrot's shift: the item of rank r about 1 / (r + 2.7) of the time. */
function zipf(items: readonly string[], random: Random): () => string {
  const upTo = new Float64Array(items.length);
  let sum = 0;
  for (let rank = 0; rank < items.length; rank += 1) {
    sum += 1 / (rank + 2.7);
    upTo[rank] = sum;
  }
  return () => {
    const wanted = random() * sum;
    let low = 0;
    let high = items.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((upTo[middle] ?? 0) < wanted) low = middle + 1;
      else high = middle;
    }
    return items[low] ?? "";
  };
}

/** Marsaglia's xorshift with 128 bits of state: small, quick, and the same on every machine. */
function randomNumbers(seed: number): Random {
  const state = new Uint32Array(4);
  for (let i = 0; i < 4; i += 1) state[i] = Math.imul((seed >>> 0) + i + 1, 0x9e3779b1) ^ (seed + 0x5bd1 * i);
  const next = () => {
    const [a = 0, b = 0, c = 0, d = 0] = state;
    const mixed = a ^ (a << 11);
    state[0] = b;
    state[1] = c;
    state[2] = d;
    state[3] = d ^ (d >>> 19) ^ mixed ^ (mixed >>> 8);
    return (state[3] ?? 0) / 2 ** 32;
  };
  // Seeds that differ in one bit give similar first numbers.
  for (let i = 0; i < 20; i += 1) next();
  return next;
}

function hex(random: Random, digits: number): string {
  let out = "";
  while (out.length < digits) out += Math.floor(random() * 16).toString(16);
  return out;
}

function pick<T>(items: readonly T[], random: Random): T {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new Error("Nothing to pick from.");
  return item;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
