// A model on this machine may take any time to answer. Node's own `fetch` gives up after five minutes; in these tests after a
// moment.
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { fetchWithoutTimeout } from "../../../src/models/access/fetch-without-timeout.ts";
import { type Gate, gate } from "../../fakes/wires/script.ts";
import { failureOf, replyOf, wireModel } from "./over-http.ts";

const HURRY_MS = 60;

type Dispatcher = { readonly constructor: new (options: object) => object };

/** Sets how long Node's `fetch` waits for the headers of an answer, and between two chunks of its body. */
async function hurryNode(): Promise<void> {
  await fetch("data:,"); // the first call creates its dispatcher
  const globals = globalThis as unknown as Record<symbol, Dispatcher>;
  const places = Object.getOwnPropertySymbols(globals).filter((each) =>
    /globalDispatcher/.test(String(each)),
  );
  for (const place of places) {
    const usual = globals[place];
    if (usual === undefined) continue;
    const hurried = new usual.constructor({ headersTimeout: HURRY_MS, bodyTimeout: HURRY_MS });
    Object.assign(globals, { [place]: hurried });
    onTestFinished(() => void Object.assign(globals, { [place]: usual }));
  }
}

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

describe("a server on this machine", () => {
  it.each([
    ["before its answer", (until: Gate) => ({ pauseBefore: until })],
    ["in the middle of it", (until: Gate) => ({ pauseAt: { chars: 4, until } })],
  ])("may be silent %s for longer than Node's fetch waits", async (_, pause) => {
    await hurryNode();
    const silence = gate();
    const slow = () => ({ text: "Forty metres.", ...pause(silence) });
    const patient = await wireModel("chat", slow);
    const hurried = await wireModel("chat", slow, { fetch: globalThis.fetch });
    const reply = replyOf(patient.model);
    await patient.wire.waitForRequest(0);
    expect((await failureOf(hurried.model)).kind).toBe("connection"); // the server was silent for longer
    silence.open();
    expect((await reply).message.content).toBe("Forty metres.");
  });
});

describe("the patient fetch", () => {
  it("follows no redirect, and accepts an answer without a body", async () => {
    const url = await serve((request, response) => {
      if (request.url === "/v1/empty") response.writeHead(204).end();
      else response.writeHead(307, { location: "http://models.example/" }).end("moved");
    });
    expect(await (await fetchWithoutTimeout(`${url}/empty`)).text()).toBe("");
    const moved = await fetchWithoutTimeout(url);
    expect([moved.status, await moved.text()]).toEqual([307, "moved"]);
  });

  it("ends with its signal: before it begins, while it waits, and while it is read", async () => {
    const gone: Promise<unknown>[] = [];
    const url = await serve((request, response) => {
      gone.push(new Promise((resolve) => request.socket.once("close", resolve)));
      if (request.url === "/v1/begun") response.write("data: 1\n\n");
    });
    const reason = new Error("enough");
    await expect(fetchWithoutTimeout(url, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(gone).toHaveLength(0);

    const waiting = new AbortController();
    const unanswered = fetchWithoutTimeout(url, { signal: waiting.signal });
    await vi.waitFor(() => expect(gone).toHaveLength(1));
    waiting.abort(reason);
    await expect(unanswered).rejects.toBe(reason);
    await gone[0];

    const reading = new AbortController();
    const begun = await fetchWithoutTimeout(`${url}/begun`, { signal: reading.signal });
    const rest = begun.text();
    reading.abort(reason);
    await expect(rest).rejects.toThrow();
    await gone[1];

    const unread = await fetchWithoutTimeout(`${url}/begun`);
    await unread.body?.cancel();
    await gone[2];
  });
});
