import { it } from "vitest";
import { expectNoViolation, homeWithModel } from "./histories.ts";
import { runningGateway } from "./running-gateway.ts";

/** `npm run soak:histories` sets them. */
const histories = Number(process.env.HERMES_HISTORIES ?? 24);
const seed = Number(process.env.HERMES_SEED ?? 33);

it("a chat is what its client shows, whatever it sends", {
  timeout: 60_000 + histories * 10_000,
}, async () => {
  const world = await homeWithModel();
  const gateways = [await runningGateway({ home: world.home }), await runningGateway({ home: world.home })];
  const url = async (number: number): Promise<string> => gateways[number]?.url ?? "";
  await expectNoViolation({ ...world, url }, { seed, histories, most: 8 });
});
