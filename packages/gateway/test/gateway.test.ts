import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "@hermes-memory/core/internal/lib";
import { describe, expect, it, onTestFinished } from "vitest";
import { tempDirectory } from "../../core/test/fakes/temp-directory.ts";
import { openGateway } from "../src/gateway.ts";
import type { GatewayEvent } from "../src/types.ts";

function gateway(home = tempDirectory()) {
  const warnings: string[] = [];
  const log = {
    debug() {},
    info() {},
    warn: (message: string) => void warnings.push(message),
    error() {},
    dropped: 0,
  };
  const metrics = { count() {}, observe() {}, gauge() {} };
  const system = { env: {}, platform: process.platform, userHome: home };
  const opened = openGateway({ home, log, env: { A: "1" }, clock: systemClock, metrics, system });
  onTestFinished(() => opened.close());
  return { opened, warnings, home };
}

const EVENT: GatewayEvent = {
  type: "turn-start",
  at: "2026-11-17T10:00:00Z",
  user: undefined,
  profile: undefined,
};

describe("the gateway's homes", () => {
  it("are opened once each: the served one, and those of profiles", () => {
    const { opened, home } = gateway();
    mkdirSync(join(home, "profiles", "work"), { recursive: true });
    expect(opened.memory(undefined).home).toBe(home);
    expect(opened.memory("work").home).toBe(join(home, "profiles", "work"));
    expect(opened.memory("work")).toBe(opened.memory("Work "));
  });

  it("find the other profiles when a profile is served", () => {
    const root = tempDirectory();
    for (const name of ["work", "play"]) mkdirSync(join(root, "profiles", name), { recursive: true });
    const { opened } = gateway(join(root, "profiles", "work"));
    expect(opened.memory("play").home).toBe(join(root, "profiles", "play"));
    expect(opened.memory("default").home).toBe(root);
  });
});

describe("events", () => {
  it("reach every listener until it leaves; one that fails disturbs nobody", () => {
    const { opened, warnings } = gateway();
    const heard: string[] = [];
    opened.events.listen(() => {
      throw new Error("broken");
    });
    const leave = opened.events.listen(({ type }) => void heard.push(type));
    opened.events.emit(EVENT);
    leave();
    opened.events.emit(EVENT);
    expect(heard).toEqual(["turn-start"]);
    expect(warnings).toHaveLength(2);
  });
});
