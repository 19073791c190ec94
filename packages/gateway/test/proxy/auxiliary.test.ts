// Every sample of what clients send is recognised for what it is. A sample says where it comes from: none of them is a recording of ours.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { auxiliaryKind } from "../../src/proxy/auxiliary.ts";
import type { ClientName, JsonObject } from "../../src/types.ts";
import { chatWire } from "../../src/wires/chat.ts";
import { messagesWire } from "../../src/wires/messages.ts";
import { responsesWire } from "../../src/wires/responses.ts";
import type { WireName } from "../../src/wires/wire.ts";

type Sample = {
  readonly client: ClientName;
  readonly version: string;
  readonly source: "recorded" | "documented" | "hand-written";
  readonly note: string;
  readonly wire: WireName;
  readonly expected: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonObject;
};

const FOLDER = join(import.meta.dirname, "../samples");
const samples = readdirSync(FOLDER)
  .filter((name) => name.endsWith(".json"))
  .map((name): [string, Sample] => [
    name.slice(0, -".json".length),
    JSON.parse(readFileSync(join(FOLDER, name), "utf8")) as Sample,
  ]);

const WIRES = { chat: chatWire, messages: messagesWire, responses: responsesWire };

const kindOf = ({ client, wire, headers, body }: Sample) => {
  return auxiliaryKind(client, WIRES[wire].parse(body), new Headers(headers), body);
};

describe("a request of a client", () => {
  it.each(samples.filter(([, { expected }]) => expected !== null))(
    "for itself is recognised: %s",
    (_, sample) => {
      expect(kindOf(sample)).toBe(sample.expected === "summary" ? "summary" : "other");
    },
  );

  it.each(samples.filter(([, { expected }]) => expected === null))(
    "for its user is none: %s",
    (_, sample) => {
      expect(kindOf(sample)).toBeUndefined();
    },
  );

  it("in the words of one client is not auxiliary for another", () => {
    const foreign = samples.filter(
      ([, { client, expected }]) => expected !== null && ["claude-code", "codex"].includes(client),
    );
    for (const [name, sample] of foreign)
      expect([name, kindOf({ ...sample, client: "open-webui", headers: {} })]).toEqual([name, undefined]);
  });
});
