// Histories with gateways that are killed and stopped. `npm run soak:histories` runs more of them.
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import {
  Chat,
  expectNoViolation,
  homeWithModel,
  type Op,
  violationOf,
  type World,
} from "../../../gateway/test/histories.ts";
import { type Server, serve } from "./served-process.ts";

const setting = (name: string, usual: number): number => Number(process.env[`HERMES_${name}`] ?? usual);
const kills = setting("KILLS", 10);
const histories = setting("PROCESS_HISTORIES", 20);
/** The same histories each time; the soak draws others. Known: seed 1906198903 makes a second session of a chat without any id. */
const seed = setting("SEED", 7);
/** Longer than a lease (60 s), and an agent's chat goes on at the other gateway. */
const stoppedMs = setting("STOPPED_MS", 2_000);

type Served = World & Required<Pick<World, "processes">>;

async function served(count: number, pieceDelayMs?: number): Promise<Served> {
  const world = await homeWithModel(pieceDelayMs);
  const servers: Promise<Server>[] = [];
  for (let number = 0; number < count; number += 1) {
    servers.push(serve(world.home));
    await servers[number];
  }
  const server = (number: number): Promise<Server> => servers[number % count] as Promise<Server>;
  const kill = async (number: number): Promise<void> => {
    const { child, exit } = await server(number);
    child.kill("SIGKILL");
    await exit;
    servers[number % count] = serve(world.home);
  };
  const signal = async (number: number, name: NodeJS.Signals): Promise<void> =>
    void (await server(number)).child.kill(name);
  const url = async (number: number): Promise<string> => (await server(number)).url;
  return { ...world, url, processes: { kill, signal, stoppedMs } };
}

const timeout = 300_000 + histories * (20_000 + 4 * stoppedMs);
it("a chat is what its client shows, with kills and stops of two gateways", { timeout }, async () => {
  await expectNoViolation(await served(2), { seed, histories, most: 10 });
});

// ---- Many clients, many kills ----

const CLIENTS = (["proxy", "agent"] as const).flatMap((mode) =>
  (["session", "client", "none"] as const).map((naming) => ({ mode, naming })),
);
const TURNS_OF_A_CHAT = 10;

function upTo(most: number): number {
  return Math.floor(Math.random() * (most + 1));
}

function answeredIn(chats: readonly Chat[]): number {
  return chats.reduce((sum, { answered }) => sum + answered, 0);
}

/** Clients without keys send the same list again until they have the answer. */
async function talkAndKill(world: Served, gateways: number): Promise<readonly Chat[]> {
  const chats: Chat[] = [];
  let isOver = false;
  const talk = async (of: (typeof CLIENTS)[number]): Promise<void> => {
    while (!isOver) {
      const chat = new Chat(world, { ...of, wire: "chat", isStream: true, hasKeys: false });
      chats.push(chat);
      for (let turn = 0; turn < TURNS_OF_A_CHAT && !isOver; turn += 1) {
        const how: Op["how"] = upTo(6) === 0 ? "hang-up" : "whole";
        const at = (["start", "middle", "end"] as const)[upTo(2)] ?? "end";
        const where = { at, gateways: [upTo(1), upTo(1)] as [number, number] };
        await chat.play({ what: "send", how, next: "resend", ...where, pick: upTo(63) });
      }
    }
  };
  const talking = Promise.all(CLIENTS.map(talk)).finally(() => {
    isOver = true;
  });
  const killing = async (): Promise<void> => {
    for (let killed = 0; killed < kills && !isOver; killed += 1) {
      // A gateway that has just started answers its first requests slowly: some, so that no client waits for all kills.
      const enough = answeredIn(chats) + upTo(10);
      for (let waits = 0; waits < 500 && answeredIn(chats) < enough; waits += 1) await sleep(20);
      const almostWhole = Promise.withResolvers<void>();
      world.onAlmostWhole = almostWhole.resolve;
      if (killed % 2 === 0) await Promise.race([almostWhole.promise, sleep(2_000)]);
      await sleep(upTo(killed % 2 === 0 ? 20 : 200));
      const number = upTo(gateways - 1);
      await world.processes.kill(number);
      if (gateways === 1) await world.url(number); // else the other one answers while it starts
    }
  };
  await Promise.race([killing(), talking]);
  isOver = true;
  await talking;
  await sleep(500); // for what comes late
  return chats;
}

describe.each([1, 2])("gateways of one home that are killed while they answer: %i", (gateways) => {
  it("store what was acknowledged, once and in order", { timeout: 120_000 + kills * 15_000 }, async () => {
    const chats = await talkAndKill(await served(gateways, 15), gateways);
    const found = chats.flatMap((chat) => {
      const violation = violationOf(chat);
      return violation === undefined ? [] : [{ ...violation, of: chat.variant, trace: chat.trace }];
    });
    const hang_ups = chats.reduce((sum, { hangUps }) => sum + hangUps, 0);
    const count = (wanted: string): number => found.filter(({ kind }) => kind === wanted).length;
    const report = {
      ...{ gateways, kills, chats: chats.length },
      ...{ acknowledged: answeredIn(chats), hang_ups },
      ...{ lost: count("lost"), doubled: count("doubled"), out_of_order: count("out-of-order") },
      ...{ stray: count("stray"), second_session: count("second-session") },
    };
    console.log(JSON.stringify(report));
    expect(found).toEqual([]);
  });
});
