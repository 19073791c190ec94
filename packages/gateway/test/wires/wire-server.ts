// A tiny HTTP server that answers with what a wire writes, for the vendors' own clients.
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { isRecord, outsideJsonOr } from "@hermes-memory/core/internal/lib";
import { mergedReply } from "../../src/proxy/hidden-tools.ts";
import type { GatewayProblem, JsonObject } from "../../src/types.ts";
import { SseEvents } from "../../src/wires/sse.ts";
import type { Finish, ReplyEvent, ReplyMetadata, Wire, WireRequest } from "../../src/wires/wire.ts";
import { attempt } from "../attempt.ts";

type Body = Exclude<ReplyEvent, { type: "end" }>;

export type Script =
  | { readonly problem: GatewayProblem }
  | {
      readonly events: readonly Body[];
      readonly finish?: Finish;
      readonly usage?: Extract<ReplyEvent, { type: "end" }>["usage"];
    };

export const METADATA: ReplyMetadata = {
  sessionId: "s-1",
  notices: ["The conversation was compacted."],
  compactedFrom: "s-0",
};
export const USAGE = { input: 100, cacheRead: 40, cacheWrite: 7, output: 30, reasoning: 12 };
export const START = { id: "", model: "test-model", createdAtSeconds: 1_800_000_000 };

/** Reads a stream of a server as the proxy does. */
export function reading(wire: Wire) {
  const events = new SseEvents();
  const reply = mergedReply(wire.name, undefined, false);
  return {
    push(bytes: Uint8Array) {
      for (const event of events.push(bytes)) reply.push(event);
    },
    get isEnding() {
      return reply.isEnding;
    },
    end() {
      const rest = events.end();
      if (rest !== undefined) reply.push(rest);
      return reply.round().read;
    },
  };
}

export function readBody(wire: Wire, bytes: Uint8Array) {
  const collector = wire.collector();
  const body = outsideJsonOr(new TextDecoder().decode(bytes), undefined);
  if (!isRecord(body)) return undefined;
  collector.whole(body);
  return collector.end();
}

export type WireServer = AsyncDisposable & {
  readonly url: string;
  readonly bodies: JsonObject[];
  readonly requests: WireRequest[];
  next: Script;
};

/** Answers every POST with `next`: as a stream or as one body, as the request asks. */
export async function serveWire(wire: Wire, first: Script): Promise<WireServer> {
  const bodies: JsonObject[] = [];
  const requests: WireRequest[] = [];
  const state = { next: first };
  const server = createServer(async (incoming, outgoing) => {
    const body = JSON.parse(await textOf(incoming)) as JsonObject;
    bodies.push(body);
    const parsed = attempt(() => wire.parse(body));
    const problem = parsed.ok ? ("problem" in state.next ? state.next.problem : undefined) : parsed.error;
    if (problem !== undefined || !parsed.ok || "problem" in state.next) {
      outgoing.writeHead(problem?.status ?? 500, { "content-type": "application/json" });
      outgoing.end(JSON.stringify(problem && wire.renderProblem(problem)));
      return;
    }
    requests.push(parsed.value);
    const { isStream, whole, stream } = answer(wire, parsed.value, state.next);
    outgoing.writeHead(200, { "content-type": isStream ? "text/event-stream" : "application/json" });
    outgoing.end(isStream ? stream() : JSON.stringify(whole()));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    bodies,
    requests,
    get next() {
      return state.next;
    },
    set next(script) {
      state.next = script;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function answer(wire: Wire, request: WireRequest, script: Exclude<Script, { problem: unknown }>) {
  const { events, finish = "stop", usage } = script;
  const start = { ...START, id: wire.newReplyId() };
  return {
    isStream: request.isStream,
    whole: () => wire.render({ ...start, ...joined(events), finish, usage, metadata: METADATA }, request),
    stream: () => streamed(wire, request, { ...script, id: start.id }),
  };
}

export function streamed(
  wire: Wire,
  request: WireRequest,
  { events, finish = "stop", usage, id }: Exclude<Script, { problem: unknown }> & { readonly id: string },
): string {
  const writer = wire.writer({ ...START, id }, request);
  const pieces = [writer.open(), ...events.map((event) => writer.write(event))];
  return [...pieces, writer.write({ type: "end", finish, usage, metadata: METADATA })].join("");
}

export function joined(events: readonly Body[]) {
  const all = (type: "text" | "reasoning"): string =>
    events.map((event) => (event.type === type ? event.text : "")).join("");
  const toolCalls = events.flatMap((event) =>
    event.type === "tool-call" ? [{ id: event.id, name: event.name, arguments: event.arguments }] : [],
  );
  return { text: all("text"), reasoning: all("reasoning"), toolCalls };
}

async function textOf(incoming: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of incoming.setEncoding("utf8")) text += chunk;
  return text;
}

/** A request for what is not about parsing. */
export function requestOf(wire: Wire, body: JsonObject): WireRequest {
  return wire.parse(body);
}
