// A home whose model is a server on loopback that answers from a script.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { RecordedRequest, Step } from "../../../agent/test/fakes/wires/script.ts";
import { startWire, type Wire } from "../../../agent/test/fakes/wires/wire-in-test.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";

export const TITLE = "Harbour talk";

export type ChatHome = {
  readonly home: string;
  readonly wire: Wire;
  /** Requests of turns, without those for titles. */
  turns(): readonly RecordedRequest[];
};

/** `steps` answer the turns, in order; titles are answered separately, in any order. */
export async function chatHome(
  steps: readonly Step[],
  config: Readonly<Record<string, unknown>> = {},
): Promise<ChatHome> {
  const left = [...steps];
  const answer = (request: RecordedRequest): Step => {
    if (isForTitle(request)) return { text: TITLE };
    const step = left.shift();
    if (step === undefined) throw new Error("The script has no step left.");
    return step;
  };
  const wire = await startWire("chat", answer, { contextLength: 128_000 });
  const home = tempDirectory();
  const model = { default: "some-model", provider: "custom", base_url: wire.url };
  writeFileSync(join(home, "config.yaml"), JSON.stringify({ model, ...config })); // JSON is YAML
  return { home, wire, turns: () => wire.requests.filter((request) => !isForTitle(request)) };
}

/** Turns have tools, the call for a title has none. */
function isForTitle({ tools }: RecordedRequest): boolean {
  return tools.length === 0;
}

/** The texts of a request's messages, each with its role. */
export function said({ messages }: RecordedRequest): string[] {
  return messages.map(({ role, content }) => `${String(role)}: ${String(content)}`);
}
