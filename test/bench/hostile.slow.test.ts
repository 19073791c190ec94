// Hostile clients beside ordinary users, for some seconds. `npm run -s bench -- hostile` does it for two minutes.
import { expect, it } from "vitest";
import { onlyLine, runBench } from "./run-bench.ts";

it("ordinary users are answered and stored beside clients that send what would stall the server", async () => {
  const { stdout, stderr, code } = await runBench([
    ...["hostile", "--users", "10", "--seconds", "20"],
    ...["--clients", "plain,packed,slow,deep,entries"],
  ]);
  expect([code, stderr]).toEqual([0, ""]);
  const figures = onlyLine(stdout) as {
    readonly alone_ms: { readonly p95: number };
    readonly beside_ms: { readonly p95: number };
    readonly hostile: Readonly<Record<string, Readonly<Record<string, number>>>>;
  };
  expect(figures).toMatchObject({ errors: 0, turns_lost: 0, foreign_markers: 0, exit_code: 0 });
  expect(figures.beside_ms.p95).toBeLessThan(6 * figures.alone_ms.p95);
  // None of them got anything done.
  for (const client of Object.values(figures.hostile)) expect(client).not.toHaveProperty("200");
  expect(Object.keys(figures.hostile)).toHaveLength(4);
}, 120_000);
