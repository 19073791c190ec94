// `/api/events` for a reader of any speed.
import { describe, expect, it } from "vitest";
import { streamEvents } from "../src/api/api-routes.ts";
import type { Caller, Gateway, GatewayEvent, RouteRequest, UserRef } from "../src/types.ts";

const ANA = { platform: "api", id: "ana" };
const BEN = { platform: "api", id: "ben" };

async function reader(user: UserRef | undefined, caller: Caller = { kind: "local" }) {
  const listeners = new Set<(event: GatewayEvent) => void>();
  const gone = new AbortController();
  const person = async () => ({ user, profile: undefined });
  const events: Partial<Gateway["events"]> = {
    listen(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const request = { person, caller, signal: gone.signal } as unknown as RouteRequest;
  const response = await streamEvents(request, { events } as Gateway);
  const emit = (of: UserRef | undefined, index = 0): void => {
    for (const listener of listeners)
      listener({ type: "notice", at: "2026-01-01T00:00:00.000Z", user: of, profile: undefined, index });
  };
  const read = async (): Promise<readonly Record<string, unknown>[]> => {
    gone.abort();
    const lines = (await response.text()).split("\n").filter((line) => line.startsWith("data: "));
    return lines.map((line) => JSON.parse(line.slice("data: ".length)) as Record<string, unknown>);
  };
  return { listeners, response, emit, read };
}

describe("the stream of events", () => {
  it("has a person's own events, and all of them for an administrator who names nobody", async () => {
    const admin: Caller = { kind: "token", id: "t", rights: { kind: "admin" } };
    const users = async (...who: Parameters<typeof reader>) => {
      const { emit, read } = await reader(...who);
      for (const user of [ANA, BEN, undefined]) emit(user);
      return (await read()).map((event) => event.user);
    };
    expect(await users(ANA)).toEqual([ANA]);
    expect(await users(undefined)).toEqual([null]);
    expect(await users(ANA, admin)).toEqual([ANA]);
    expect(await users(undefined, admin)).toEqual([ANA, BEN, null]);
  });

  it("tells a slow reader how many events it has lost", async () => {
    const { emit, response, listeners } = await reader(ANA);
    for (let index = 0; index < 700; index += 1) emit(ANA, index);
    const body = response.body?.getReader();
    for (let chunk = 0; chunk < 10; chunk += 1) await body?.read();
    emit(ANA, 700);
    const decoder = new TextDecoder();
    let rest = "";
    while (!rest.includes('"index":700')) rest += decoder.decode((await body?.read())?.value);
    expect(rest).toContain('data: {"type":"lost","count":201}');
    expect(rest.indexOf('"lost"')).toBeGreaterThan(rest.indexOf('"index":498'));
    await body?.cancel();
    expect(listeners.size).toBe(0);
  });
});
