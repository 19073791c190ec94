// Background reviews in agent mode: of the owner's conversations and of users', each with its own memory.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { silentLogger } from "@hermes-memory/core/internal/logger";
import { openMemory } from "@hermes-memory/core/internal/memory";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { isReview, NOTHING, remember } from "../../../agent/test/agent/review-home.ts";
import { badKey, gate, type RecordedRequest, type Step } from "../../../agent/test/fakes/wires/script.ts";
import { startWire } from "../../../agent/test/fakes/wires/wire-in-test.ts";
import type { TokenLimits, TokenRights } from "../../src/types.ts";
import { newToken, runningGateway } from "../running-gateway.ts";
import { modeHome } from "./mode-home.ts";

const ANA = { platform: "web", id: "ana" };
const BEN = { platform: "web", id: "ben" };
const NAMES_USERS: TokenRights = { kind: "names-users", platform: "web" };
const USAGE = { input: 90, output: 10 };
const SOON = { timeout: 5_000 };
const EVERY_TURN = { memory: { nudge_interval: 1 }, skills: { creation_nudge_interval: 1 } };

type Speaker = "Ana" | "Ben" | "Otto";

function speakerOf({ messages }: RecordedRequest): Speaker | undefined {
  const said = JSON.stringify(messages);
  return (["Ana", "Ben", "Otto"] as const).find((name) => said.includes(`I am ${name}.`));
}

/** Each turn is answered with `Hello.`; `review` answers the requests of the speaker's reviews. */
async function reviewed(
  review: (who: Speaker | undefined, nth: number) => Step | undefined,
  config: object = {},
) {
  const reviews: RecordedRequest[] = [];
  const server = await startWire("chat", (request): Step => {
    if (request.tools.length === 0) return { text: "A title" };
    if (!isReview(request)) return { text: "Hello.", usage: USAGE };
    reviews.push(request);
    const who = speakerOf(request);
    const nth = reviews.filter((each) => speakerOf(each) === who).length - 1;
    return review(who, nth) ?? { ...NOTHING, usage: USAGE };
  });
  const model = { default: "usual", base_url: server.url, api_key: "k" };
  const running = await runningGateway({ config: JSON.stringify({ model, ...EVERY_TURN, ...config }) });
  const made = async (rights: TokenRights, limits?: TokenLimits): Promise<string> => {
    const token = await newToken(running.home, rights, { limits });
    const headers = { authorization: `Bearer ${token}` };
    const isKnown = async () => (await running.call("/v1/models", { headers })).status;
    await expect.poll(isKnown, SOON).toBe(200);
    return token;
  };
  const ask = async (token: string, who: Speaker): Promise<number> => {
    const headers = {
      "content-type": "application/json",
      authorization: `Bearer ${token}`,
      "x-hermes-session-id": "kitchen",
      ...(who === "Otto" ? {} : { "x-hermes-user-id": who.toLowerCase() }),
    };
    const messages = [{ role: "user", content: `I am ${who}.` }];
    const body = JSON.stringify({ model: "usual", messages });
    const answer = await running.call("/agent/v1/chat/completions", { method: "POST", headers, body });
    await answer.text();
    return answer.status;
  };
  const memory = await openMemory({ home: running.home });
  onTestFinished(() => memory.close());
  const of = (who: Speaker) => (who === "Otto" ? memory.owner : memory.user(who === "Ana" ? ANA : BEN));
  const entries = async (who: Speaker) => (await of(who).list()).map(({ text }) => text);
  return { running, server, reviews, made, ask, of, entries };
}

describe("a background review", () => {
  it("of a user's chat writes to the user's memory, and knows nothing of the owner's and of other users'", async () => {
    const { running, reviews, made, ask, of, entries } = await reviewed((who, nth) => {
      const content = `---\nname: ${who?.toLowerCase()}s-tea\ndescription: Tea\n---\n\nBoil water.\n`;
      const args = { action: "create", name: `${who?.toLowerCase()}s-tea`, content };
      return [{ toolCalls: [{ name: "skill_manage", arguments: args }] }, remember(`${who} likes tea.`)][nth];
    });
    for (const who of ["Ana", "Ben", "Otto"] as const)
      await of(who).add(`${who} keeps a secret.`, { target: "memory" });
    const [users, owner] = [await made(NAMES_USERS), await made({ kind: "owner" })];
    for (const who of ["Ana", "Ben", "Otto"] as const)
      expect(await ask(who === "Otto" ? owner : users, who)).toBe(200);
    for (const who of ["Ana", "Ben", "Otto"] as const) {
      await expect.poll(() => entries(who), SOON).toEqual([`${who} keeps a secret.`, `${who} likes tea.`]);
      const mine = reviews.filter((request) => speakerOf(request) === who);
      const others = ["Ana", "Ben", "Otto"].filter((name) => name !== who);
      for (const { body, tools } of mine) {
        const sent = JSON.stringify(body);
        expect(others.filter((name) => sent.includes(name))).toEqual([]);
        expect(sent).toContain(`${who} keeps a secret.`);
        expect(tools.includes("skill_manage")).toBe(who === "Otto");
        expect(sent.includes("put it into a skill")).toBe(who === "Otto");
      }
    }
    expect(await of("Ana").history()).toMatchObject([{ origin: "review" }, { origin: "library" }]);
    const skills = ["anas-tea", "bens-tea", "ottos-tea"].filter((name) =>
      existsSync(join(running.home, "skills", name)),
    );
    expect(skills).toEqual(["ottos-tea"]);
    const owners = readFileSync(join(running.home, "memories", "USER.md"), "utf8");
    expect(owners.trim()).toBe("Otto likes tea.");
  });

  it("counts for the budgets of the turn that began it, also one that the stop of the server breaks off", async () => {
    const { running, reviews, made, ask } = await reviewed((who, nth) => {
      if (who === "Ben") return { text: "x", pauseBefore: "forever" };
      return [{ ...remember("Likes tea."), usage: USAGE }][nth];
    });
    const token = await made(NAMES_USERS, { tokens_per_day: 350 });
    const spent = () => {
      using database = new DatabaseSync(join(running.home, "state.db"), { readOnly: true });
      return database.prepare("SELECT sum(tokens) AS tokens FROM hermes_memory_spend").get()?.tokens;
    };
    expect(await ask(token, "Ana")).toBe(200);
    await expect.poll(spent, SOON).toBe(300); // the turn, and two calls of its review
    expect(await ask(token, "Ben")).toBe(200);
    await expect.poll(() => reviews.length, SOON).toBe(3);
    expect(await ask(token, "Ana")).toBe(429);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    let isClosed = false;
    const closed = running.close().finally(() => {
      isClosed = true;
    });
    while (!isClosed) {
      await vi.advanceTimersByTimeAsync(1_000);
      await new Promise(setImmediate); // sockets are real
    }
    await closed;
    expect(spent()).toBe(400);
  });

  it("that failed is told to the owner, and to users only in the log", async () => {
    for (const user of [ANA, undefined]) {
      const [began, failed] = [gate(), gate()];
      const made = await modeHome(
        async (request): Promise<Step> => {
          if (isReview(request)) return began.opened.then(badKey);
          if (!JSON.stringify(request.messages).includes("again")) return { text: "Hello." };
          began.open();
          return { text: "Hello.", pauseBefore: failed };
        },
        { config: EVERY_TURN, deps: { agent: { review: true } } },
      );
      const warn = (message: string) => message.startsWith("The background review failed") && failed.open();
      Object.assign(made.gateway, { log: { ...silentLogger, warn } });
      await made.ask({ text: "hi", user });
      const { notices } = (await made.ask({ text: "again", user })).reply.metadata;
      expect(notices).toEqual(user ? [] : [expect.stringContaining("background review failed")]);
    }
  });

  it("saves nothing of a user who was erased meanwhile", async () => {
    const open = gate();
    const { reviews, made, ask, of, entries } = await reviewed(
      (_who, nth) => [{ ...remember("Ana likes tea."), pauseBefore: open }][nth],
    );
    await ask(await made(NAMES_USERS), "Ana");
    await expect.poll(() => reviews.length, SOON).toBe(1);
    await of("Ana").erase();
    open.open();
    await expect.poll(() => reviews.length, SOON).toBe(2);
    expect(JSON.stringify(reviews[1]?.messages.at(-1))).toContain("The conversation was deleted");
    expect(await entries("Ana")).toEqual([]);
  });
});
