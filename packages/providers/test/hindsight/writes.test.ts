// A delivery that is repeated after its process was killed, on a server without operation ids.
import { expect, it } from "vitest";
import { silentLogger } from "../../../core/src/lib/logger.ts";
import { Breaker } from "../../../core/src/providers/kit/breaker.ts";
import { tempDirectory } from "../../../core/test/fakes/temp-directory.ts";
import { HindsightApi } from "../../src/hindsight/api.ts";
import { HINDSIGHT_SETTINGS } from "../../src/hindsight/settings.ts";
import { Writes } from "../../src/hindsight/writes.ts";
import { createHttpClient } from "../../src/kit/http.ts";
import type { Batch } from "../../src/kit/outbox/outbox.ts";
import type { FakeHindsight } from "../fakes/servers/hindsight.ts";
import { KEY, startFake, storedTexts } from "./support.ts";

const signal = AbortSignal.timeout(30_000);

function writesTo(fake: FakeHindsight): Writes {
  const place = { home: tempDirectory(), env: { HOME: "/nowhere" } };
  const http = createHttpClient({
    service: "Hindsight",
    baseUrl: fake.url,
    headers: () => ({ authorization: `Bearer ${KEY}` }),
    timeoutMs: 10_000,
    breaker: new Breaker({ failures: 100 }),
    closing: new AbortController().signal,
  });
  const api = new HindsightApi(http, 10_000, () => {});
  return new Writes(api, HINDSIGHT_SETTINGS.read(place), silentLogger);
}

function batch(attempt: number, text: string): Batch {
  const messages = [{ role: "user", content: `User: ${text}`, timestamp: "2026-01-02T03:04:05.000Z" }];
  const body = { bank: "hermes", key: text, messages, tags: [], metadata: {} };
  const item = { id: 1, kind: "turn", sessionId: "s1", body, createdAt: "2026-01-02T03:04:05.000Z" };
  return {
    id: "11111111-2222-4333-8444-555555555555",
    kind: "turn",
    sessionId: "s1",
    items: [item],
    attempt,
  };
}

it("waits until the request of the killed process has arrived", async () => {
  const fake = await startFake({ version: "0.6.2" });
  const [killed, successor] = [writesTo(fake), writesTo(fake)];
  for (const each of [killed, successor]) await each.sendTurns(batch(1, "zero"), signal); // both know the version
  fake.delayNext(500);
  const late = killed.sendTurns(batch(1, "one"), signal);
  await successor.sendTurns(batch(2, "one"), signal);
  await late;
  expect(storedTexts(fake).filter((text) => text === "User: one")).toHaveLength(1);
});
