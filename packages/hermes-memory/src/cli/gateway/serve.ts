// `hermes serve`: starts the gateway, says where it is, what is configured and what is missing, and drains it at Ctrl-C.
import { type RunningGateway, startGateway } from "@hermes-memory/gateway";
import type { CommandBody, CommandContext, Terminal } from "../command.ts";
import { resolveModel } from "../model/resolution.ts";
import { counted, oneLine, printable } from "../printing.ts";
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
      what: "The local token of your own programs cannot be used; the log says why. To replace it:",
      command: "hermes token local --new",
    });
  if (tokens === 0)
    missing.push({
      what: "The local token has your rights. For other people, or for Open WebUI's users:",
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
  const { url, home, profile, mode, model, provider, port_taken: taken, tokens } = report;
  const address = (path: string): string => `${url}${path}`.padEnd(url.length + 7);
  const reach = isLoopback ? "this machine" : "the network";
  // Never into a file or a service's log.
  const isShown = localToken !== undefined && isOutTerminal;
  const command = paint("bold", asTyped("hermes token local", env));
  const external = report.memory_provider === null ? "" : ` and ${printable(report.memory_provider)}`;
  return [
    `${paint("bold", "The gateway answers at")} ${paint("cyan", url)}${taken === null ? "" : paint("dim", `  (port ${taken} is taken)`)}`,
    row("home", `${printable(home)}  ${paint("dim", `profile ${profile}`)}`),
    row(
      "mode",
      mode === "agent" ? "agent: our loop and tools answer" : "proxy: memory for the client's own requests",
    ),
    row(
      "model",
      model === null ? paint("yellow", "none") : `${oneLine(model)}, by ${oneLine(provider ?? "")}`,
    ),
    row("memory", `built-in${external}`),
    row(
      "access",
      `${reach}, with a token: the local one${tokens === 0 ? "" : ` or ${counted(tokens, "other")}`}`,
    ),
    "",
    row("OpenAI", `${address("/v1")}base URL for OpenAI clients`),
    row("Anthropic", `${address("")}base URL for Anthropic clients, Claude Code among them`),
    row("MCP", `${address("/mcp")}address for MCP clients`),
    row("API key", isShown ? localToken : `${command}  prints it`),
    ...(isShown
      ? [
          "",
          "Where only the base URL can be changed, it carries the key:",
          `  ${baseUrls(url, localToken).openai}`,
        ]
      : []),
    ...report.missing.flatMap(({ what, command: typed }) => ["", what, `  ${paint("bold", typed)}`]),
    "",
    paint("dim", "Ctrl-C stops it; running replies are finished first."),
  ];
}

function row(name: string, text: string): string {
  return `  ${name.padEnd(9)} ${text}`;
}

/** In a checkout, `npm start` runs this and there is no `hermes` command. */
function asTyped(command: string, env: Terminal["env"]): string {
  return env.npm_lifecycle_event === "start" ? command.replace(/^hermes/, "npm run -s hermes --") : command;
}
