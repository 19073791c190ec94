// A window that a server states in an error: when it is used, and for how long.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { windowCachePath } from "../../src/models/index.ts";
import { isSummaryRequest } from "../fakes/long-conversation.ts";
import { overflow, type RecordedRequest, type Step } from "../fakes/wires/script.ts";
import { history } from "./compaction-home.ts";
import { turnHome } from "./turns.ts";

/** Steps for the conversation, in turn; summaries are answered beside them. */
function steps(...list: readonly Step[]): (request: RecordedRequest) => Step {
  let at = 0;
  return (request) => {
    if (isSummaryRequest(request)) return { text: "## Goal\nA summary." };
    at += 1;
    return list[at - 1] ?? { text: "Fine." };
  };
}

const WINDOW = 100_000;
const configured = { model: { context_length: WINDOW } };

describe("a smaller window in an error", () => {
  it("counts for the session and for no other one after a single sighting", async () => {
    const home = await turnHome(steps(overflow(24_000)), {
      wire: { contextLength: WINDOW },
      options: { history: history(40) },
    });
    expect(await home.agent.run("colour?")).toMatchObject({ final_response: "Fine.", completed: true });
    expect(home.agent.window).toMatchObject({ tokens: 24_000, source: "server" });
    expect(home.events).toContainEqual(expect.objectContaining({ type: "notice", cause: "smaller-window" }));
    expect(existsSync(windowCachePath(home.home))).toBe(false);
    expect((await home.another({ history: [] })).window.tokens).toBe(WINDOW);
  });

  it("is obeyed where config says more, and config is what counts the next time, however often it was stated", async () => {
    const home = await turnHome(steps(overflow(24_000), { text: "One." }, overflow(24_000)), {
      config: configured,
      options: { history: history(40) },
    });
    const before = readFileSync(join(home.home, "config.yaml"), "utf8");
    await home.agent.run("colour?");
    expect(home.agent.window.tokens).toBe(24_000);
    const second = await home.another();
    await second.run("colour?");
    expect(second.window.tokens).toBe(24_000);
    expect((await home.another({ history: [] })).window).toMatchObject({ tokens: WINDOW, source: "config" });
    expect(existsSync(windowCachePath(home.home))).toBe(false);
    expect(readFileSync(join(home.home, "config.yaml"), "utf8")).toBe(before);
  });

  it("is not believed by a session in which the server has taken more", async () => {
    const taken: Step = { text: "Long.", usage: { input: 40_000, output: 10 } };
    const home = await turnHome(steps(taken, overflow(24_000)), {
      config: configured,
      options: { history: history(40) },
    });
    await home.agent.run("one");
    expect(await home.agent.run("two")).toMatchObject({ final_response: "Fine.", completed: true });
    expect(home.agent.window.tokens).toBe(WINDOW);
  });

  it("that cannot even hold the prompt costs no turn", async () => {
    const home = await turnHome(steps(overflow(2_048)), {
      config: configured,
      options: { history: history(40) },
    });
    expect(await home.agent.run("one")).toMatchObject({ final_response: "Fine.", completed: true });
    expect(await home.agent.run("two")).toMatchObject({ final_response: "Fine.", completed: true });
    expect(home.agent.window.tokens).toBe(WINDOW);
  });
});
