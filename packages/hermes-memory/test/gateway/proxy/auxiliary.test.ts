// Every sample of what clients send is recognised for what it is. A sample says where it comes from: none of them is a recording of ours.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { newMessage } from "@hermes-memory/core/internal/message";
import { describe, expect, it } from "vitest";
import { auxiliaryKind } from "../../../src/gateway/proxy/auxiliary.ts";
import { isInstruction, listOf, partsOf } from "../../../src/gateway/proxy/chain.ts";
import type { ClientName, JsonObject } from "../../../src/gateway/types.ts";
import type { WireName } from "../../../src/gateway/wires/wire.ts";

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

const kindOf = ({ client, wire, headers, body }: Sample) => {
  const text = (content: unknown) =>
    partsOf(content)
      .map((part) => String(part.text ?? ""))
      .join("\n");
  const list = listOf(wire, body);
  const system = [
    text(body.system ?? body.instructions),
    ...list.filter(isInstruction).map(({ content }) => text(content)),
  ];
  const messages = list
    .filter((message) => !isInstruction(message))
    .map(({ role, content }) =>
      role === "assistant"
        ? newMessage({ role: "assistant", content: text(content), toolCalls: [] })
        : newMessage({ role: "user", content: text(content) }),
    );
  const tools = Array.isArray(body.tools)
    ? body.tools.map(() => ({ name: "x", description: "", parameters: {} }))
    : [];
  const maxOutputTokens = typeof body.max_tokens === "number" ? body.max_tokens : undefined;
  const request = {
    system: system.filter((each) => each !== "").join("\n"),
    messages,
    tools,
    maxOutputTokens,
  };
  return auxiliaryKind(client, request, new Headers(headers), body);
};

describe("a request of a client", () => {
  it.each(samples.filter(([, { expected }]) => expected !== null))(
    "for itself is recognised: %s",
    (_, sample) => {
      expect(kindOf(sample)).toBe(sample.expected);
    },
  );

  it.each(samples.filter(([, { expected }]) => expected === null))(
    "for its user is none: %s",
    (_, sample) => {
      expect(kindOf(sample)).toBeUndefined();
    },
  );

  it("is in the samples with its version and where it comes from", () => {
    for (const [name, { client, version, source, note }] of samples) {
      expect([name, client, version, note].every((text) => text !== "")).toBe(true);
      expect(["recorded", "documented", "hand-written"]).toContain(source);
    }
  });

  it("in the words of one client is not auxiliary for another", () => {
    const foreign = samples.filter(
      ([, { client, expected }]) => expected !== null && ["claude-code", "codex"].includes(client),
    );
    for (const [name, sample] of foreign)
      expect([name, kindOf({ ...sample, client: "open-webui", headers: {} })]).toEqual([name, undefined]);
  });
});
