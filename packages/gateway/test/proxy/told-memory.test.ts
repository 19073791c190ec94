// Memory that the model repeats, that a hook has told already, and that a client's own summary needs again.

import { Readable } from "node:stream";
import { fenceFrozenBlocks } from "@hermes-memory/core/internal/frozen-blocks";
import { describe, expect, it } from "vitest";
import { startWire } from "../../../agent/test/fakes/wires/wire-in-test.ts";
import { cleanEvents } from "../../src/proxy/scrub-reply.ts";
import { sseEvent } from "../../src/wires/sse.ts";
import type { WireName } from "../../src/wires/wire.ts";
import { bodyOf, FAKES, ProxyHome, replyItems, withDoor } from "./proxy-home.ts";
import { rawServer } from "./raw-server.ts";

const ALL: readonly WireName[] = ["chat", "messages", "responses"];
const HELLO = [{ role: "user", content: "Hello there, kiln" }];
const SAID = "Sure: <memory-context>\n- a secret\n</memory-context>\nBye";

describe("a fence in the middle of a line", () => {
  it.each(ALL.flatMap((wire) => [true, false].map((isStream) => [wire, isStream] as const)))(
    "is neither relayed nor stored (%s, stream: %s)",
    async (wire, isStream) => {
      for (const tools of ["on", "off"]) {
        const server = await startWire(FAKES[wire], () => ({ text: SAID }));
        const home = await ProxyHome.open({ wire, url: server.url, gateway: { proxy_tools: tools } });
        const text = await (await home.send(bodyOf(wire, HELLO, { stream: isStream }))).text();
        expect(text).not.toContain("secret");
        expect(JSON.stringify(replyItems(wire, text, isStream))).toContain(String.raw`Sure: \nBye`);
        expect(await home.stored()).toEqual(["user: Hello there, kiln", "assistant: Sure: \nBye"]);
      }
    },
  );

  it.each(ALL.filter((wire) => wire !== "chat"))("is not translated (chat to %s)", async (wire) => {
    const server = await startWire(FAKES[wire], () => ({ text: SAID }));
    const home = await ProxyHome.open({ wire, url: server.url });
    for (const stream of [true, false]) {
      const sent = { wire: "chat", chatId: `chat-${stream}` } as const;
      const text = await (await home.send(bodyOf("chat", HELLO, { stream }), sent)).text();
      expect(text).not.toContain("secret");
      expect(JSON.stringify(replyItems("chat", text, stream))).toContain(String.raw`Sure: \nBye`);
      expect((await home.stored(sent.chatId)).at(-1)).toBe("assistant: Sure: \nBye");
    }
  });

  it("is hidden however the text is divided into events and the bytes into chunks", async () => {
    const mention = "Write <memory-context> so, or `<memory-context>\n- x`: 1 < 2 <";
    for (const [said, shown] of [
      [SAID, "Sure: \nBye"],
      [mention, mention],
    ] as const)
      for (let size = 1; size <= said.length; size += 1) {
        const deltas = said.match(new RegExp(`[^]{1,${size}}`, "g")) ?? [];
        const events = [...deltas.map(chatDelta), ": ping\n\n", chatDelta(undefined), "data: [DONE]\n\n"];
        const stream = Buffer.from(events.join(""));
        const chunks = Readable.from(
          Array.from({ length: Math.ceil(stream.length / 37) }, (_, at) =>
            stream.subarray(37 * at, 37 * at + 37),
          ),
        );
        const cleaned: Uint8Array[] = [];
        for await (const { bytes } of cleanEvents(chunks, false)) cleaned.push(bytes);
        const text = Buffer.concat(cleaned).toString("utf8");
        expect(replyItems("chat", text, true)).toEqual([{ role: "assistant", content: shown }]);
        expect(text.split("\n\n")).toHaveLength(events.length + 1);
        if (size === said.length && said === shown) expect(text).toBe(stream.toString("utf8"));
      }
  });
});

function chatDelta(content: string | undefined): string {
  return sseEvent({
    choices: [{ index: 0, delta: { content }, finish_reason: content === undefined ? "stop" : null }],
  });
}

describe("a block that the client's hook has told", () => {
  it.each(ALL)("is not inserted again (%s)", async (wire) => {
    const server = await startWire(FAKES[wire], () => ({ text: "Hi" }));
    const home = await ProxyHome.open({ wire, url: server.url, door: withDoor });
    const block = await home.memory.block("chat-1");
    const times = async (told: string): Promise<number> => {
      const list = [{ role: "user", content: told }, ...HELLO];
      await (await home.send(bodyOf(wire, list), { chatId: `chat-${told.length}` })).text();
      return JSON.stringify(server.requests.at(-1)?.body).split("The kiln is in room 4.").length - 1;
    };
    expect(await times(fenceFrozenBlocks([block]) ?? "")).toBe(1);
    expect(await times("The kiln is in room 4.")).toBe(2); // the user's own words
    expect(await times(fenceFrozenBlocks(["Another home's memory."]) ?? "")).toBe(1); // ours, beside the other one
  });
});

describe("a client's summary of its conversation", () => {
  it.each(ALL)("begins as the conversation did, and stores nothing (%s)", async (wire) => {
    const server = await rawServer((response) => {
      response.setHeader("content-type", "application/json");
      response.end("{}");
    });
    const home = await ProxyHome.open({
      wire,
      url: server.url,
      gateway: { proxy_tools: "off" },
      door: withDoor,
    });
    await (await home.send(bodyOf(wire, HELLO))).text();
    const before = await home.stored();
    const later = [...HELLO, { role: "assistant", content: "Hi" }, { role: "user", content: "Summarize" }];
    await (await home.mode.answerAuxiliary(home.turn(bodyOf(wire, later)))).text();
    const [conversation = "", summary = ""] = server.requests.map(({ body }) => body);
    expect(conversation).toContain("recall 1");
    const end = conversation.lastIndexOf("</memory-context>");
    expect(summary.slice(0, end)).toBe(conversation.slice(0, end));
    expect(summary).not.toContain("recall 2");
    expect(await home.stored()).toEqual(before);
  });
});
