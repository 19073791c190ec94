// `hermes serve`: starts the gateway, says where it is, what is configured and what is missing, and drains it at Ctrl-C.
import { type RunningGateway, startGateway } from "@hermes-memory/gateway";
import type { CommandBody, CommandContext, Terminal } from "../command.ts";
import { resolveModel } from "../model/resolution.ts";
import { counted, printable } from "../printing.ts";
import { render } from "../render.ts";
import { untilStopped } from "../until-stopped.ts";
import { baseUrls } from "./token.ts";

/** The parser has checked them. */
type ServeFlags = { readonly host?: string; readonly port?: number; readonly mode?: "agent" | "proxy" };

/** Ctrl-C is how a server is stopped, so it ends with exit code 0. */
export const serve: CommandBody = async ({ flags }, context) => {
  const { home, io, isJson } = context;
  await untilStopped(io, async (signal) => {
    const running = await startGateway({ home: home.home, env: io.env, ...(flags as ServeFlags) });
    // The process ends then, and its service starts it again; the log says why.
    const logCrash = (cause: unknown): void => running.gateway.log.error("The gateway crashed", { cause });
    process.on("uncaughtExceptionMonitor", logCrash);
    try {
      const json = await describe(running, context);
      io.out(isJson ? `${JSON.stringify(json)}\n` : `${toLines(json, running, io).join("\n")}\n`);
      await stopped(signal);
      const left = running.requestsRunning;
      if (left > 0 && !isJson)
        io.note(`Finishing ${counted(left, "request")}, for up to 30 s. Ctrl-C again ends at once.\n`);
    } finally {
      await running.close();
      process.off("uncaughtExceptionMonitor", logCrash);
    }
  });
  return { json: undefined, lines: [] };
};

function stopped(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

/** Something that is not set, what does not work without it, and the command that sets it. */
type Missing = { readonly what: string; readonly command: string };

async function describe(running: RunningGateway, { home, io }: CommandContext) {
  const { url, host, port, portTaken, tokens } = running;
  const config = await running.gateway.config();
  const resolved = resolveModel({ env: running.gateway.env, config });
  const model = resolved.ok ? resolved.value : undefined;
  const missing: Missing[] = [];
  if (model === undefined)
    missing.push({
      what: "No model is chosen. Memory, search, /api and /mcp work without one; a client that brings its own key is proxied.",
      command: "hermes setup",
    });
  else if (!model.hasKey)
    missing.push({ what: `${model.problem.message} ${model.problem.hint}`, command: "hermes setup" });
  if (running.localToken === undefined)
    missing.push({
      what: "The local token of your own programs cannot be used; the log says why. This command replaces it.",
      command: "hermes token local --new",
    });
  if (tokens === 0)
    missing.push({
      what: "The local token has your rights. This makes one for other people, or for Open WebUI's users.",
      command: "hermes token create --name open-webui --names-users --platform open-webui",
    });
  return {
    ...{ url, host, port, port_taken: portTaken ?? null, pid: process.pid },
    ...{ home: home.home, profile: home.profile, mode: config.gateway.mode },
    model: model?.identity.model ?? null,
    provider: model?.identity.provider ?? null,
    has_key: model?.hasKey ?? false,
    memory_provider: config.memory.provider.trim() || null,
    tokens,
    base_urls: { openai: `${url}/v1`, anthropic: url, mcp: `${url}/mcp` },
    missing: missing.map(({ what, command }) => ({
      what: printable(what),
      command: asTyped(command, io.env),
    })),
  };
}

function toLines(
  report: Awaited<ReturnType<typeof describe>>,
  { isLoopback, localToken }: RunningGateway,
  { paint, env, isOutTerminal }: Terminal,
): string[] {
  const { url, tokens } = report;
  const others = tokens === 0 ? "" : ` or ${counted(tokens, "other")}`;
  // Never into a file or a service's log.
  const isShown = localToken !== undefined && isOutTerminal;
  const told = {
    message: `The gateway answers at ${url}`,
    ...report,
    access: `${isLoopback ? "this machine" : "the network"}, with a token: the local one${others}`,
    api_key: isShown ? localToken : `'${asTyped("hermes token local", env)}' prints it`,
    base_urls_that_carry_the_key: isShown ? baseUrls(url, localToken) : undefined,
  };
  return [...render(told, paint), "", paint("dim", "Ctrl-C stops it; running replies are finished first.")];
}

/** In a checkout, `npm start` runs this and there is no `hermes` command. */
function asTyped(command: string, env: Terminal["env"]): string {
  return env.npm_lifecycle_event === "start" ? command.replace(/^hermes/, "npm run -s hermes --") : command;
}
