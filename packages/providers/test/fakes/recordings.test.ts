// The fakes answer what official clients sent to the real servers (golden/wires), in the recorded shape.
import { describe, expect, it } from "vitest";
import type { FakeServer } from "./servers/fake-server.ts";
import { FakeHindsight } from "./servers/hindsight.ts";
import { FakeHoncho } from "./servers/honcho.ts";
import { FakeMem0 } from "./servers/mem0.ts";
import { FakeOpenViking } from "./servers/openviking.ts";
import {
  type Recording,
  readRecordings,
  replay,
  request,
  shapeDifferences,
  successesOf,
} from "./servers/recordings.ts";
import { FakeRetainDb } from "./servers/retaindb.ts";
import { FakeSupermemory } from "./servers/supermemory.ts";

const KEY = "m0-test_key_0123456789";
const FIRST = "nanoid_00000000000001";
const UUID = "00000000-0000-4000-8000-000000000001";

type Case = {
  readonly provider: string;
  /** A fake with what this recording takes for granted. */
  readonly start: (recording: Recording) => FakeServer | Promise<FakeServer>;
  readonly least: number;
  /** Methods and paths that our provider uses; other recordings are not sent. */
  readonly uses: RegExp;
  /** The client sent them, the server refuses them. */
  readonly refused?: readonly string[];
  /** The recorder answered them in another way than the server does. */
  readonly otherShape?: readonly string[];
  /** Differences that do not count. */
  readonly ignored?: RegExp;
};

const CASES: readonly Case[] = [
  {
    provider: "honcho",
    least: 60,
    uses: /^(?:POST \/v3\/workspaces(?:\/[^/]+\/(?:peers|sessions|conclusions(?:\/list)?|peers\/[^/]+\/(?:sessions|representation|chat)|sessions\/[^/]+\/(?:peers|messages(?:\/list|\/upload)?)))?|GET \/v3\/workspaces\/[^/]+\/(?:peers\/[^/]+\/(?:context|card)|sessions\/[^/]+\/(?:context|peers(?:\/[^/]+\/config)?))|PUT \/v3\/workspaces\/[^/]+\/peers\/[^/]+\/card|DELETE \/v3\/workspaces\/[^/]+\/(?:sessions|conclusions)\/[^/]+)$/,
    refused: ["honcho-017"],
    otherShape: ["honcho-053", "honcho-101"],
    ignored: /\.(?:explicit|deductive|metadata\.\w+) is missing$/,
    start: () => {
      const fake = new FakeHoncho();
      for (const peer of ["user-1", "user-2", "hermes"]) fake.addPeer("hermes", peer);
      fake.addPeer("other", "someone");
      fake.addMessage("hermes", "s1", { id: FIRST, peer_id: "user-1", content: "I like tea" });
      fake.join("hermes", "s1", "user-1", { observe_me: true, observe_others: false });
      fake.setSummary("hermes", "s1", "They spoke about tea.");
      fake.chatAnswer = "They like tea.";
      for (const [observer_id, observed_id] of [
        ["hermes", "user-1"],
        ["user-1", "user-1"],
        ["user-1", "hermes"],
      ] as const) {
        fake.setCard("hermes", observer_id, observed_id, ["Name: Ann"]);
        fake.addConclusion("hermes", { observer_id, observed_id, content: "likes tea", session_id: "s1" });
      }
      const about = { observer_id: "hermes", observed_id: "user-1", content: "lives in Oslo" };
      fake.addConclusion("hermes", { id: FIRST, ...about });
      return fake;
    },
  },
  {
    provider: "mem0",
    least: 10,
    uses: /^(?:POST \/v3\/memories\/(?:add\/|search\/)?|GET \/v1\/(?:event\/[^/]+|ping)\/|DELETE \/v1\/memories\/(?:[^/]+\/)?)$/,
    refused: ["mem0-017", "mem0-018", "mem0-024"],
    otherShape: ["mem0-019", "mem0-027", "mem0-039", "mem0-055", "mem0-056"],
    start: () => {
      const fake = new FakeMem0();
      const metadata = { source: "x" };
      for (const id of [UUID, "a/b c"])
        fake.put({ id, memory: "Likes tea", user_id: "u1", metadata, categories: ["food"] });
      fake.put({ id: "other", memory: "Likes milk", user_id: "u 1", metadata, categories: ["food"] });
      return fake;
    },
  },
  {
    provider: "hindsight",
    least: 20,
    uses: /^GET \/version$|^GET \/v1\/default\/banks$|^(?:PUT|DELETE) \/v1\/default\/banks\/[^/]+$|^(?:POST \S+\/(?:memories(?:\/recall)?|reflect)|(?:GET|PATCH) \S+\/config|GET \S+\/(?:stats|memories\/list|documents)|(?:GET|DELETE) \S+\/(?:documents|operations)\/[^/]+)$/,
    refused: ["hindsight-008", "hindsight-015"],
    otherShape: ["hindsight-040", "hindsight-063", "hindsight-064"],
    start: async ({ request }) => {
      const fake = new FakeHindsight();
      const item = {
        content: "Ann likes tea",
        context: "chat",
        metadata: { source: "cli" },
        entities: [{ text: "Ann" }],
        tags: ["session:sess-1", "a", "t"],
      };
      fake.retain("hermes", { ...item, document_id: "sess-1" }, { ...item, document_id: "a/b c" });
      fake.retain("bank with space/slash", item);
      const operation = /\/operations\/(.+)/.exec(request?.path ?? "")?.[1];
      if (operation === undefined) return fake;
      await fake.start();
      fake.settleByHand = request?.method === "DELETE";
      await post(`${fake.url}/v1/default/banks/hermes/memories`, {
        items: [item],
        async: true,
        operation_id: operation,
      });
      return fake;
    },
  },
  {
    provider: "supermemory",
    least: 20,
    uses: /^(?:POST \/v3\/documents(?:\/list)?|(?:GET|DELETE) \/v3\/documents\/(?!bulk|processing)[^/]+|POST \/v4\/(?:conversations|search|profile)|DELETE \/v4\/memories|(?:GET|PATCH|DELETE) \/v3\/container-tags\/(?!list)[^/]+)$/,
    refused: ["supermemory-004", "supermemory-005", "supermemory-019"],
    otherShape: ["supermemory-042", "supermemory-076"],
    ignored: /metadata: null instead of object|\.(?:memory|version) is missing$/,
    start: () => {
      const fake = new FakeSupermemory();
      const containerTag = "hermes";
      fake.setProfile(containerTag, { static: ["Name is Ann"], dynamic: ["Planning a trip"] });
      fake.store.putDocument({ content: "I like tea", containerTags: [containerTag], title: "Tea" }, "doc_1");
      const memory = { containerTag, memory: "Likes tea", documentId: "doc_1" };
      fake.store.addMemory({ ...memory, id: "mem_1", metadata: { type: "preference" } });
      return fake;
    },
  },
  {
    provider: "openviking",
    least: 20,
    uses: /^(?:GET \/health|POST \/api\/v1\/(?:search\/(?:find|search)|content\/write|resources(?:\/temp_upload)?)|GET \/api\/v1\/(?:content\/(?:read|abstract|overview|write)|fs\/(?:ls|tree|stat)|sessions(?:\/[^/]+(?:\/context)?)?)|DELETE \/api\/v1\/(?:fs|sessions\/[^/]+)|POST \/api\/v1\/sessions\/[^/]+\/(?:messages(?:\/batch)?|commit))$/,
    otherShape: ["openviking-060", "openviking-062"],
    start: async ({ request }) => {
      const fake = new FakeOpenViking();
      for (const name of ["docs/x.md", "a.md", "a b.md"])
        fake.put(`viking://resources/${name}`, "full text about tea");
      fake.put("viking://user/default/memories/preferences/m.md", "likes tea");
      if (request?.method === "DELETE") fake.put("viking://resources/new/y.md", "y");
      if (request?.path.includes("/sessions/sess-1") !== true) return fake;
      await fake.start();
      const said = { role: "user", content: "I like tea" };
      await post(`${fake.url}/api/v1/sessions/sess-1/messages`, said);
      return fake;
    },
  },
  {
    provider: "retaindb",
    least: 20,
    uses: /^(?:GET \/health|POST \/v1\/(?:context\/query|memory(?:\/search|\/ingest\/session)?|memories|files(?:\/[^/]+\/ingest)?)|GET \/v1\/(?:memories|files(?:\/[^/]+(?:\/content)?)?)|DELETE \/v1\/(?:memory|memories|files)\/[^/]+|.* \/v1\/memory\/(?:profile\/[^/]+(?:\/ask)?|dialectic|agent\/.+))$/,
    otherShape: ["retaindb-015", "retaindb-016", "retaindb-026"],
    start: () => {
      const fake = new FakeRetainDb();
      fake.addMemory("hermes", { id: "mem_1", content: "likes tea", user_id: "u1", session_id: "s1" });
      const text = { name: "a.txt", mimeType: "text/plain", scope: "PROJECT", content: "hello" } as const;
      fake.addFile({ id: "file_1", path: "/a.txt", project: "hermes", ...text });
      return fake;
    },
  },
];

describe.each(CASES)(
  "the fake of $provider",
  ({ provider, start, least, uses, refused, otherShape, ignored }) => {
    const recordings = (readRecordings(provider) ?? []).filter((each) => {
      const sent = successesOf(each).map(({ request }) => `${request.method} ${request.path}`);
      return sent.length > 0 && sent.every((call) => uses.test(call));
    });

    it.skipIf(recordings.length === 0)("answers every recorded request in the recorded shape", async () => {
      expect(recordings.length).toBeGreaterThan(least);
      const problems: string[] = [];
      for (const recording of recordings) {
        const fake = await start(recording);
        if (!fake.isListening) await fake.start();
        for (const { request, status, body } of successesOf(recording)) {
          const hasKey = "authorization" in request.headers || "x-api-key" in request.headers;
          fake.requireAuth(hasKey ? KEY : undefined);
          const answer = await replay(fake.url, request, KEY);
          const report = (problem: string) => problems.push(`${recording.id} ${recording.op}: ${problem}`);
          const isRefused = refused?.includes(recording.id) === true;
          // The client makes `{}` of the form: no server can accept an upload without a file.
          const isBroken =
            provider === "retaindb" && request.method === "POST" && request.path === "/v1/files";
          const wanted = isRefused || isBroken ? 4 : Math.floor(status / 100);
          if (Math.floor(answer.status / 100) !== wanted)
            report(`${answer.status} ${JSON.stringify(answer.body)}`);
          else if (wanted !== 4 && otherShape?.includes(recording.id) !== true)
            for (const difference of shapeDifferences(body, answer.body))
              if (ignored?.test(difference) !== true) report(difference);
        }
        await fake.stop();
      }
      expect(problems).toEqual([]);
    });
  },
);

async function post(url: string, body: object): Promise<void> {
  const headers = { "content-type": "application/json" };
  await request(url, { method: "POST", headers, body: JSON.stringify(body) });
}
