// Our requests equal those that the official client sends: method, path, query and body. Differences that are wanted are named.
import { describe, expect, it, onTestFinished } from "vitest";
import { Breaker } from "../../../core/src/providers/kit/breaker.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { readHonchoSettings } from "../../src/honcho/settings.ts";
import { HonchoWire, honchoHttpOptions } from "../../src/honcho/wire.ts";
import { createHttpClient } from "../../src/kit/http.ts";
import type { SeenRequest } from "../fakes/servers/fake-server.ts";
import { FakeHoncho } from "../fakes/servers/honcho.ts";
import { readRecordings } from "../fakes/servers/recordings.ts";

const signal = AbortSignal.timeout(30_000);
const recordings = readRecordings("honcho");

async function start(key = "key-of-the-test"): Promise<{ server: FakeHoncho; wire: HonchoWire }> {
  const server = await new FakeHoncho().start();
  onTestFinished(() => server.stop());
  const home = tempDirectory();
  const env = { HONCHO_BASE_URL: server.url, HONCHO_API_KEY: key };
  const settings = { ...readHonchoSettings({ home, env, userHome: home }), bearer: key };
  const http = createHttpClient({
    ...honchoHttpOptions(settings),
    service: "Honcho",
    breaker: new Breaker({ failures: 100 }),
    closing: new AbortController().signal,
  });
  server.join("hermes", "s1", "user-1");
  server.join("hermes", "s1", "hermes");
  server.addConclusion("hermes", {
    id: "nanoid_00000000000001",
    content: "likes tea",
    observer_id: "hermes",
    observed_id: "user-1",
  });
  return { server, wire: new HonchoWire(http, "hermes") };
}

const bothTalk = {
  "user-1": { observeMe: true, observeOthers: false },
  hermes: { observeMe: false, observeOthers: true },
};
const aboutUser = { observer: "hermes", target: "user-1" };

type Case = {
  readonly id: string;
  readonly send: (wire: HonchoWire) => Promise<unknown>;
  /** Fields of ours in the query. */
  readonly query?: Readonly<Record<string, string>>;
};

const CASES: readonly Case[] = [
  { id: "honcho-072", send: (wire) => wire.ensureWorkspace(signal) },
  { id: "honcho-002", send: (wire) => wire.ensurePeer("user-1", signal) },
  { id: "honcho-005", send: (wire) => wire.ensureSession("s1", signal) },
  { id: "honcho-007", send: (wire) => wire.addPeers("s1", bothTalk, signal) },
  { id: "honcho-011", send: (wire) => wire.peersIn("s1", signal) },
  { id: "honcho-012", send: (wire) => wire.peerFlags("s1", "user-1", bothTalk["user-1"], signal) },
  {
    id: "honcho-014",
    send: (wire) =>
      wire.addMessages(
        "s1",
        [
          { peer_id: "user-1", content: "hello" },
          { peer_id: "hermes", content: "hi there" },
        ],
        signal,
      ),
  },
  // The official client leaves page and size to the server; we ask for full pages, newest first.
  {
    id: "honcho-020",
    send: (wire) => wire.newestMessages("s1", 1, signal),
    query: { page: "1", size: "100", reverse: "true" },
  },
  { id: "honcho-020", send: (wire) => wire.countMessages("s1", signal), query: { size: "1" } },
  {
    id: "honcho-027",
    send: (wire) => wire.sessionContext("s1", { tokens: 1000 }, signal),
  },
  {
    id: "honcho-038",
    send: (wire) => wire.impression({ observer: "user-1", target: undefined }, undefined, signal),
  },
  { id: "honcho-066", send: (wire) => wire.representation(aboutUser, "tea", signal) },
  {
    id: "honcho-040",
    send: (wire) => wire.representation({ observer: "user-1", target: undefined }, undefined, signal),
  },
  { id: "honcho-042", send: (wire) => wire.card({ observer: "user-1", target: undefined }, signal) },
  { id: "honcho-043", send: (wire) => wire.card(aboutUser, signal) },
  { id: "honcho-045", send: (wire) => wire.setCard(aboutUser, ["Name: Ann"], signal) },
  {
    id: "honcho-047",
    send: (wire) => wire.chat(aboutUser, { query: "What matters?", session: "s1", level: "low" }, signal),
  },
  { id: "honcho-055", send: (wire) => wire.sessionsOf("user-1", signal), query: { page: "1", size: "100" } },
  { id: "honcho-058", send: (wire) => wire.addConclusion(aboutUser, "likes tea", { session: "s1", signal }) },
  {
    id: "honcho-061",
    send: (wire) => wire.conclusions(aboutUser, signal),
    query: { page: "1", size: "100" },
  },
  { id: "honcho-065", send: (wire) => wire.deleteConclusion("nanoid_00000000000001", signal) },
  { id: "honcho-076", send: (wire) => wire.deleteSession("s1", signal) },
];

function sent({ method, path, query, body }: SeenRequest): object {
  return { method, path, query, body: body ?? null };
}

describe.skipIf(recordings === undefined)("our request equals the recorded one", () => {
  for (const { id, send, query } of CASES)
    it(`${id} ${recordings?.find((each) => each.id === id)?.op}`, async () => {
      const recorded = recordings?.find((each) => each.id === id)?.request;
      const { server, wire } = await start();
      await send(wire);
      expect(server.requests.map(sent)).toEqual([
        {
          method: recorded?.method,
          path: recorded?.path,
          query: query ?? recorded?.query,
          body: recorded?.body,
        },
      ]);
      expect(server.requests[0]?.headers.authorization).toBe("Bearer key-of-the-test");
      expect(server.requests[0]?.headers["x-honcho-host"]).toMatch(/^hermes-memory\/\d/);
    });

  it("honcho-024 session.uploadFile, without a time", async () => {
    const recorded = recordings?.find((each) => each.id === "honcho-024")?.request;
    const { server, wire } = await start();
    const metadata = { source: "local_memory", original_file: "USER.md", target_peer: "user" };
    const text = "# Notes\nlikes tea\n";
    await wire.upload("s1", { peerId: "user-1", fileName: "user_profile.md", text, metadata }, signal);
    const parts = (body: unknown): unknown[] =>
      ((body as { multipart?: Record<string, unknown>[] } | undefined)?.multipart ?? []).map((part) => ({
        name: part.name,
        filename: part.filename,
        type: part.contentType ?? part.content_type,
        value: part.value,
      }));
    expect(server.requests[0]?.path).toBe(recorded?.path);
    expect(parts(server.requests[0]?.body)).toEqual(parts(recorded?.body).slice(0, 3));
  });
});

describe("answers", () => {
  it("about unknown peers and sessions are empty, and every page of a list is read", async () => {
    const { server, wire } = await start();
    expect(await wire.impression({ observer: "nobody", target: undefined }, "tea", signal)).toEqual({
      representation: "",
      card: [],
    });
    expect(await wire.newestMessages("nowhere", 3, signal)).toEqual([]);
    for (let number = 0; number < 250; number += 1)
      server.addConclusion("hermes", {
        content: `fact ${number}`,
        observer_id: "hermes",
        observed_id: "user-1",
      });
    expect(await wire.conclusions(aboutUser, signal)).toHaveLength(251);
    expect(await wire.deleteConclusion("unknown", signal)).toBe(false);
  });
});
