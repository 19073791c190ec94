// Searches: which messages are found, for ordinary and for hostile queries.
import type { SessionStore } from "../../src/sessions/store.ts";
import type { Suite } from "../runner.ts";
import { searchFiltersContract, searchOrderContract } from "./search-answers.ts";
import { answerTexts, type Harness, library, NOW, nth, textsFound } from "./support.ts";

// ---- Searching messages: a query finds what was said, in any script ----

/** A query, and a message that it must find. */
const TYPED: readonly (readonly [query: string, message: string])[] = [
  ["hello world", "world, it said, hello"],
  ["C++", "written in C++ by hand"],
  ['"unterminated', "an unterminated string"],
  ["(problem", "the problem (as I see it) is heat"],
  ["TODO: fix", "TODO: fix the hinge"],
  ["foo***", "fooled again"],
  ["de*ploy", "the design was a ploy"],
  ["hello AND", "hello there"],
  ["chat-send", "chat-send was called"],
  ["my-app.config.ts", "look into my-app.config.ts first"],
  ["__init__", "def __init__(self)"],
  ["chat-sen*", "chat-sender was called"],
  ["chat-send OR deploy-prod", "run deploy-prod"],
  ["(a OR b) AND c", "b with c"],
  ["NEAR(a b)", "near here a is b"],
  ["content:foo", "the content is foo"],
  ["foo AND NOT bar", "foo alone"],
  ["--verbose", "run it --verbose"],
  ["https://docs.example.org/guide?page=2#top", "it says so at https://docs.example.org/guide?page=2#top"],
  ["maria@studio.example", "write to maria@studio.example today"],
  ["it’s", "it’s raining"],
  ["100%", "100% wool"],
  ["C:\\Users\\me\\notes.txt", "saved as C:\\Users\\me\\notes.txt"],
  ["cafe", "at the Café"],
  ["straße", "in der Straße"],
  ["привет", "Привет, мир"],
];

const UNSPACED: readonly (readonly [query: string, found: string, message: string])[] = [
  ["one character", "记", "我们的记忆系统"],
  ["the last character", "统", "我们的记忆系统"],
  ["four characters", "记忆系统", "我们的记忆系统"],
  ["a number and a sign before them", "100%完成", "任务100%完成了"],
  ["Latin letters in another case", "AGENT通信协议", "这是Agent通信协议"],
  ["a Latin word beside them", "docker 通信协议", "用 docker 测试通信协议"],
  ["either of two, in lower case", "记忆系统 or 断裂连接", "断裂连接了"],
  ["a rare one beyond the first plane", "𠮷野", "在𠮷野家吃饭"],
  ["Katakana of half width", "ｻｰﾊﾞ", "新しいｻｰﾊﾞを設定"],
  ["a Korean word with an ending", "안녕", "안녕하세요 여러분"],
  ["a part of a Thai word", "ภาษา", "เรียนภาษาไทย"],
];

export function searchContract(suite: Suite, harness: Harness): void {
  const { describe } = suite;
  describe("what is typed", () => typedContract(suite, harness));
  describe("words and questions", () => wordsContract(suite, harness));
  describe("scripts without blanks", () => unspacedContract(suite, harness));
  describe("tools and structured content", () => structuredContract(suite, harness));
  describe("filters", () => searchFiltersContract(suite, harness));
  describe("order and pages", () => searchOrderContract(suite, harness));
  describe("whatever is typed", () => hostileSearchContract(suite, harness));
}

function typedContract({ it, expect }: Suite, { open }: Harness): void {
  it.each(TYPED)("%j finds the message it describes", async (query, message) => {
    await using store = await open();
    const [, named] = await library(store, ["unrelated talk", message, "yet more of it, elsewhere"]);
    const { hits } = await store.search(query);
    expect(hits.map(({ id }) => id)).toEqual([named]);
    expect(nth(hits, 0).snippet).toContain(">>>");
  });

  it.each(["", "   ", '""', "***", "*", "AND", "NOT", "OR OR OR", "\0", "?!", "-"])(
    "%j asks for nothing",
    async (query) => {
      await using store = await open();
      await library(store, ["anything at all", "AND so on"]);
      expect(await store.search(query)).toEqual({ hits: [], stage: "none", empty: "blank" });
      expect(await store.searchMessages(query)).toEqual([]);
    },
  );

  it("a phrase in quotes is found in its order and side by side", async () => {
    await using store = await open();
    await library(store, ["cobalt celadon bowl", "celadon cobalt bowl", "cobalt and celadon"]);
    expect(await answerTexts(store, '"cobalt celadon"')).toEqual({
      stage: "exact",
      texts: ["cobalt celadon bowl"],
    });
  });

  it("NOT leaves out, OR adds, words side by side are both wanted", async () => {
    await using store = await open();
    await library(store, ["one", "two", "one two", "one two three", "three"]);
    expect(await textsFound(store, "one NOT two")).toEqual(["one"]);
    expect(await textsFound(store, "one NOT two three")).toEqual(["one", "one two"]);
    expect(await textsFound(store, "one OR two three")).toEqual(["one", "one two", "one two three"]);
    expect(await textsFound(store, "two AND three")).toEqual(["one two three"]);
    expect(await textsFound(store, "one AND two NOT three")).toEqual(["one two"]);
    expect(await textsFound(store, '"one" "two" "three"')).toEqual(["one two three"]);
  });

  it.each(["alpha AND beta AND gamma", '"alpha" "beta" "gamma"', "alpha beta*", '"alpha beta"'])(
    "%s is not widened when nothing holds all of it",
    async (query) => {
      await using store = await open();
      await library(store, ["alpha", "gamma"]);
      expect(await store.search(query)).toEqual({ hits: [], stage: "none", empty: "no-match" });
    },
  );

  it("a star stands for any ending, and for none", async () => {
    await using store = await open();
    await library(store, ["configure", "configuration", "config", "confide"]);
    expect(await textsFound(store, "config*")).toEqual(["config", "configuration", "configure"]);
    expect(await textsFound(store, "configurat*")).toEqual(["configuration"]);
  });
}

function wordsContract({ it, expect }: Suite, { open }: Harness): void {
  it("messages with every word come before those with some, and the answer says which it is", async () => {
    await using store = await open();
    await library(store, ["the crane is blue", "a blue door", "the crane at the harbour is blue"]);
    const strict = await answerTexts(store, "blue harbour crane");
    expect(strict.stage).toBe("strict");
    expect(strict.texts[0]).toBe("the crane at the harbour is blue");
    expect(await answerTexts(store, "blue submarine")).toMatchObject({ stage: "widened" });
    expect((await answerTexts(store, "blue submarine")).texts).toHaveLength(3);
  });

  it.each(["run", "running", "ran", "runs"])(
    "%s finds every form of the verb, its own first",
    async (query) => {
      await using store = await open();
      await library(store, ["we ran home", "they run fast", "she was running", "he runs", "a runway"]);
      const { texts, stage } = await answerTexts(store, query);
      expect(stage).toBe("strict");
      expect(texts[0]).toMatch(new RegExp(`\\b${query}\\b`));
      expect([...texts].sort()).toEqual(["he runs", "she was running", "they run fast", "we ran home"]);
    },
  );

  it("a title in quotes does not make a question literal", async () => {
    await using store = await open();
    await library(store, ['Ana finished reading "The Waves" in May', "Ana likes waves", "a quiet day"]);
    const { texts } = await answerTexts(store, 'When did Ana read "The Waves"?');
    expect(texts[0]).toBe('Ana finished reading "The Waves" in May');
  });

  it("a typing error is corrected when no message contains the word", async () => {
    await using store = await open();
    await library(store, ["the thermocouple is broken", "a couple of things"]);
    for (const query of ["thermocuple", "thermocouplee", "thermocoulpe", "thermokouple"])
      expect(await textsFound(store, query)).toEqual(["the thermocouple is broken"]);
  });

  it("the words that were found are named", async () => {
    await using store = await open();
    await library(store, ["the crane is blue"]);
    const { hits } = await store.search("blue submarine cranes");
    expect(nth(hits, 0).matched).toEqual(["blue", "cranes"]);
  });
}

function unspacedContract({ it, expect }: Suite, { open }: Harness): void {
  it.each(UNSPACED)("%s: %s is found", async (_what, query, message) => {
    await using store = await open();
    const texts = ["nothing of it here", message, "另外一句话", "別の話", "다른 이야기"];
    const [, named] = await library(store, texts);
    const { hits } = await store.search(query);
    expect(hits.map(({ id }) => id)).toEqual([named]);
    expect(nth(hits, 0).snippet).toContain(">>>");
  });

  it("AND, NOT and adjacent words have their usual meaning", async () => {
    await using store = await open();
    await library(store, ["广西旅游", "广西桂林", "桂林米粉", "docker 广西", "docker alone"]);
    expect(await answerTexts(store, "广西 AND 桂林")).toEqual({ stage: "exact", texts: ["广西桂林"] });
    expect(await textsFound(store, "广西 NOT 桂林")).toEqual(["docker 广西", "广西旅游"]);
    expect(await textsFound(store, "docker NOT 广西")).toEqual(["docker alone"]);
    expect(await textsFound(store, "广西 NOT docker")).toEqual(["广西旅游", "广西桂林"]);
    expect(await answerTexts(store, "广西 桂林")).toEqual({ stage: "strict", texts: ["广西桂林"] });
    expect((await answerTexts(store, "旅游 米粉")).stage).toBe("widened");
    expect(await textsFound(store, "旅游 米粉")).toEqual(["广西旅游", "桂林米粉"]);
  });

  it("a phrase of them in quotes is found as it stands", async () => {
    await using store = await open();
    await library(store, ["记忆 系统", "记忆系统", "系统 记忆"]);
    expect(await textsFound(store, '"记忆 系统"')).toEqual(["记忆 系统"]);
  });
}

function structuredContract({ it, expect }: Suite, { open }: Harness): void {
  it.each(["read_file", "settings.yaml", "42"])(
    "%s in a tool call is found although nothing was said",
    async (query) => {
      await using store = await open();
      await library(store, ["unrelated"]);
      const call = {
        name: "read_file",
        arguments: JSON.stringify({ path: "settings.yaml", n: { deep: 42 } }),
      };
      const toolCalls = [{ id: "call_1", type: "function", function: call }];
      const id = await store.appendMessage("a", { role: "assistant", content: null, toolCalls });
      const { hits } = await store.search(query);
      expect(hits.map((hit) => hit.id)).toEqual([id]);
    },
  );

  it("the name of the tool that answered is found and shown", async () => {
    await using store = await open();
    await library(store, ["unrelated"]);
    await store.appendMessage("a", { role: "tool", content: "done", toolName: "browser_click" });
    const { hits } = await store.search("browser_click");
    expect(hits).toMatchObject([{ role: "tool", tool_name: "browser_click" }]);
  });

  it("the text parts of structured content are found, its media is not", async () => {
    await using store = await open();
    await library(store, ["unrelated"]);
    const content = [
      { type: "text", text: "a sketch of the harbour" },
      { type: "image_url", image_url: { url: `data:image/png;base64,aGFyYm91cg${"Qm9hdHM5".repeat(64)}` } },
    ];
    const id = await store.appendMessage("a", { role: "user", content });
    const { hits } = await store.search("harbour sketch");
    expect(hits.map((hit) => hit.id)).toEqual([id]);
    const { content: shown, ...rest } = nth(nth(hits, 0).context, -1);
    expect(rest).toEqual({ role: "user" });
    expect(shown).toContain("harbour");
    expect(await textsFound(store, "aGFyYm91cg")).toEqual([]);
  });
}

// ---- No query makes a search fail or take too long ----

export const CORPUS = [
  "the lantern is lit",
  "a plain sentence",
  "琥珀灯塔的部署",
  "한국어 문장",
  "it's 100% \0 sure",
  "a.b/c-d_e",
];

const HUGE: readonly (readonly [name: string, query: string])[] = [
  ["a megabyte of words", "lantern and candle ".repeat(55_000)],
  ["a megabyte of different words", Array.from({ length: 150_000 }, (_, at) => `w${at}`).join(" ")],
  ["a megabyte of one character", "灯".repeat(1 << 19)],
  ["quoted words", '"a" '.repeat(50_000)],
  ["starred letters", "a* ".repeat(50_000)],
  ["NOT after NOT", "a NOT ".repeat(50_000)],
  ["OR after OR", "a OR ".repeat(50_000)],
  ["open parentheses", "(".repeat(100_000)],
  ["one long phrase", `"${"lantern ".repeat(50_000)}"`],
  ["one long path", "a/".repeat(200_000)],
  ["accents", `e${"\u0301".repeat(100_000)}`],
];

function hostileSearchContract({ it, expect }: Suite, { open }: Harness): void {
  it.each(HUGE)("%s is answered, and ten times as much takes no longer", async (_name, query) => {
    await using store = await open();
    await library(store, CORPUS);
    const part = query.slice(0, Math.max(33_000, Math.floor(query.length / 10)));
    // Text beyond the limit is ignored. The tolerance is for a busy machine, on which it is measured up to three times.
    let [short, whole] = [await timeOf(store, part), Number.POSITIVE_INFINITY];
    for (let run = 0; run < 3 && whole >= 4 * short + 60; run += 1) {
      short = Math.min(short, await timeOf(store, part));
      whole = Math.min(whole, await timeOf(store, query));
    }
    expect(whole).toBeLessThan(4 * short + 60);
  });

  it("as many messages as wanted can be named in a filter", async () => {
    await using store = await open();
    const [first = -1] = await library(store, CORPUS);
    const many = Array.from({ length: 50_000 }, (_, at) => at + 1_000_000);
    const { hits } = await store.search("lantern", {
      excludeMessageIds: many,
      excludeSessionIds: many.map(String),
      excludeSources: many.map(String),
      after: NOW - 1,
    });
    expect(hits.map(({ id }) => id)).toEqual([first]);
  });
}

async function timeOf(store: SessionStore, query: string): Promise<number> {
  const start = performance.now();
  await store.search(query);
  return performance.now() - start;
}
