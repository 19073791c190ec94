// A gateway on a free port of this machine, in a home of its own, gone after the test.
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "@hermes-memory/core/internal/lib";
import { type Logger, silentLogger } from "@hermes-memory/core/internal/logger";
import { onTestFinished } from "vitest";
import { tempDirectory } from "../../core/test/fakes/temp-directory.ts";
import { createMetrics } from "../src/metrics.ts";
import { openRoutes, opsRoutes } from "../src/routes.ts";
import { type RunningGateway, type StartOptions, startGateway } from "../src/serve.ts";
import { openTokens, type Tokens } from "../src/tokens.ts";
import type { Route, TokenLimits, TokenRights } from "../src/types.ts";

type LogLine = { readonly level: string; readonly message: string; readonly fields?: unknown };

export type TestGateway = RunningGateway & {
  readonly home: string;
  readonly logged: readonly LogLine[];
  /** `fetch` of a path, with the local token unless the request has one or the test made others. */
  call(path: string, init?: RequestInit): Promise<Response>;
};

export async function runningGateway({
  config,
  ...options
}: Partial<StartOptions> & { readonly config?: string } = {}): Promise<TestGateway> {
  const home = options.home ?? tempDirectory();
  if (config !== undefined) writeFileSync(join(home, "config.yaml"), config);
  const logged: LogLine[] = [];
  const write =
    (level: string) =>
    (message: string, fields?: unknown): void =>
      void logged.push({ level, message, fields });
  const log: Logger = {
    debug: write("debug"),
    info: write("info"),
    warn: write("warn"),
    error: write("error"),
    dropped: 0,
  };
  const system = { env: {}, platform: process.platform, userHome: home };
  const running = await startGateway({ port: 0, env: {}, log, system, ...options, home });
  onTestFinished(() => running.close());
  const call = (path: string, init?: RequestInit): Promise<Response> => {
    const headers = new Headers(init?.headers);
    const hasToken = [...headers.values()].some((value) => /\bhm_/.test(value));
    if (!hasToken && !headers.has("x-hermes-token") && !existsSync(join(home, "gateway", "tokens.json")))
      headers.set("x-hermes-token", running.localToken ?? "");
    return fetch(`${running.url}${path}`, { ...init, headers });
  };
  return Object.defineProperties(
    { home, logged, call } as unknown as TestGateway,
    Object.getOwnPropertyDescriptors(running),
  );
}

/** Of a home, as another process opens them. */
export function tokensOf(home: string): Tokens {
  return openTokens({ home, clock: systemClock, log: silentLogger });
}

/** A server that runs already knows it after half a second. */
export async function newToken(
  home: string,
  rights: TokenRights,
  more: { readonly limits?: TokenLimits; readonly expiresAt?: Date } = {},
): Promise<string> {
  const made = await tokensOf(home).create({ rights, ...more });
  if (!made.ok) throw new Error(made.error.message);
  return made.value.token;
}

/** `model` of config.yaml: one on a fake server. */
export function modelOn(
  url: string | undefined,
  api_mode: "chat_completions" | "responses" | "anthropic_messages" = "chat_completions",
) {
  return { default: "m", base_url: url, api_key: "k", api_mode, context_length: 200_000 };
}

/** A route of a test. */
export function route(
  path: string,
  handle: Route["handle"],
  rest: Partial<Omit<Route, "path" | "handle">> = {},
): Route {
  return { method: "POST", access: "user", shape: "api", summary: "A test's.", path, handle, ...rest };
}

/** The whole table, as a server of this gateway would serve it. */
export async function allRoutes({ gateway }: Pick<RunningGateway, "gateway">): Promise<readonly Route[]> {
  const metrics = createMetrics();
  const served = openRoutes(gateway);
  await served.close();
  metrics.close();
  return [...opsRoutes(metrics), ...served.routes];
}
