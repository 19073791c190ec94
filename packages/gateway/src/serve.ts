// The life of the server: settings, port, listen, drain, close. Nothing in memory has to survive: sessions, live ones too, are in the
// database, and a restart goes on with them.
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { type HomeContext, logPath, systemHomeContext } from "@hermes-memory/core/internal/home";
import {
  type Clock,
  errnoCode,
  HermesError,
  systemClock,
  withoutUndefined,
} from "@hermes-memory/core/internal/lib";
import { createLogger, type Logger } from "@hermes-memory/core/internal/logger";
import { redactSecrets } from "@hermes-memory/core/internal/security";
import { accessLogPath, openAccessLog } from "./access-log.ts";
import { type App, createApp, RunningRequests } from "./app.ts";
import { openGateway } from "./gateway.ts";
import { createLimits, isLoopbackName, urlHost } from "./guard.ts";
import { startMemoryMonitor } from "./memory-monitor.ts";
import { createMetrics } from "./metrics.ts";
import { type AdapterLimits, nodeListener } from "./node-adapter.ts";
import { openRoutes, opsRoutes } from "./routes.ts";
import { openTokens } from "./tokens.ts";
import type { Gateway, GatewaySettings, Route } from "./types.ts";

/** Which home is served, and where. */
export type StartOptions = {
  readonly home: string;
  /** These three count more than config.yaml. */
  readonly host?: string;
  readonly port?: number;
  readonly mode?: GatewaySettings["mode"];
  readonly log?: Logger;
  readonly env?: Gateway["env"];
  readonly clock?: Clock;
  readonly system?: HomeContext;
  /** Routes besides those of routes.ts, for tests. */
  readonly routes?: readonly Route[];
  readonly limits?: Partial<ServerLimits>;
};

/** A gateway that answers requests. */
export type RunningGateway = {
  readonly url: string;
  readonly host: string;
  readonly port: number;
  /** The port that was asked for, if it was taken. */
  readonly portTaken: number | undefined;
  /** Reachable from this machine only. */
  readonly isLoopback: boolean;
  /** Undefined if its file cannot be used. */
  readonly localToken: string | undefined;
  /** Number of tokens when it started, without the local one. */
  readonly tokens: number;
  readonly gateway: Gateway;
  readonly requestsRunning: number;
  /** Lets running requests finish for up to 30 s, then stops them. May be called twice. */
  close(): Promise<void>;
};

/** Guards against clients that are slow on purpose. Times are for receiving a request: a reply may stream for hours. */
export type ServerLimits = AdapterLimits & {
  readonly headersMs: number;
  readonly requestMs: number;
  readonly bodyMs: number;
  readonly keepAliveMs: number;
  readonly checkEveryMs: number;
  readonly maxHeaderBytes: number;
  readonly maxConnections: number;
  readonly drainMs: number;
  /** After their signal was aborted, requests have this long to store what they have. */
  readonly abortedMs: number;
};

const LIMITS: ServerLimits = {
  headersMs: 20_000,
  requestMs: 130_000,
  bodyMs: 120_000, // before the server ends the connection, so that the client gets an answer
  keepAliveMs: 65_000, // longer than the 60 s for which proxies in front of us keep connections
  checkEveryMs: 2_000,
  maxHeaderBytes: 32 * 1024, // signed user headers and vendors' betas are a few kB
  maxConnections: 4_096,
  drainMs: 30_000,
  abortedMs: 5_000,
  stalledMs: 120_000,
  lingerMs: 500,
};
const PORTS_TO_TRY = 20;

/** Starts the gateway of a home. Resolves when requests are answered. Rejects with a `HermesError`. */
export async function startGateway(options: StartOptions): Promise<RunningGateway> {
  const { home, env = process.env, clock = systemClock, system = systemHomeContext() } = options;
  const limits: ServerLimits = { ...LIMITS, ...options.limits };
  const log = options.log ?? createLogger({ path: logPath(home), redact: redactSecrets, clock });
  await using undo = new AsyncDisposableStack();
  const metrics = undo.adopt(createMetrics(), (each) => each.close());
  const overrides = withoutUndefined({ host: options.host, port: options.port, mode: options.mode });
  const gateway = undo.adopt(openGateway({ home, log, env, clock, metrics, system, overrides }), (each) =>
    each.close(),
  );
  const config = await gateway.config();
  const { host, port } = config.gateway;
  const tokens = openTokens({ home, clock, log });
  const tokenCount = tokens.list().length;
  // Without it, other tokens still work.
  const localToken = await tokens.local().catch((cause: unknown) => {
    log.error("There is no usable local token.", { cause });
    return undefined;
  });
  const served = undo.adopt(openRoutes(gateway), (each) => each.close());
  const accessLog = undo.adopt(openAccessLog(accessLogPath(home)), (each) => each.flush());
  const requests = new RunningRequests();
  let listening = 0;
  const app = createApp(gateway, {
    tokens,
    limits: createLimits({ clock }),
    address: () => ({ boundHost: host, port: listening }),
    routes: [...opsRoutes(metrics), ...(options.routes ?? []), ...served.routes],
    accessLog,
    bodyTimeoutMs: limits.bodyMs,
    running: requests,
  });
  const server = newServer(app, limits, gateway);
  listening = await listen(server.http, host, port);
  const { enabled: isWatched, intervalSeconds } = config.logging.memoryMonitor;
  if (isWatched) undo.defer(startMemoryMonitor(log, intervalSeconds));
  metrics.gauge("requests_running", () => server.running.size);
  metrics.gauge("log_lines_dropped", () => log.dropped + accessLog.dropped);
  log.info("The gateway answers", { host, port: listening });
  const parts = undo.move();

  let closing: Promise<void> | undefined;
  async function close(): Promise<void> {
    gateway.beginStopping();
    log.info("The gateway stops", { running: server.running.size });
    const closed = new Promise<void>((resolve) => server.http.close(() => resolve()));
    requests.end("subscription");
    await server.emptied(limits.drainMs);
    if (server.running.size > 0) log.warn("Requests are stopped", { running: server.running.size });
    requests.end();
    await server.emptied(limits.abortedMs);
    server.http.closeAllConnections();
    await closed;
    await parts.disposeAsync();
    log.info("The gateway has stopped");
  }

  return {
    url: `http://${urlHost(host)}:${listening}`,
    host,
    port: listening,
    portTaken: listening === port || port === 0 ? undefined : port,
    isLoopback: isLoopbackName(host.toLowerCase().replace(/^\[|\]$/g, "")),
    localToken,
    tokens: tokenCount,
    gateway,
    get requestsRunning() {
      return server.running.size;
    },
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}

function newServer(app: App, limits: ServerLimits, gateway: Gateway) {
  /** Requests whose reply has not been sent completely. */
  const running = new Set<object>();
  const onBroken = (cause: unknown): void => gateway.log.error("A reply broke off", { cause });
  const listener = nodeListener(app, { ...limits, onBroken });
  const http = createServer({
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    keepAliveTimeout: limits.keepAliveMs,
    connectionsCheckingInterval: limits.checkEveryMs,
    maxHeaderSize: limits.maxHeaderBytes,
    keepAlive: true, // finds clients whose machine is gone
    noDelay: true,
  });
  http.maxConnections = limits.maxConnections;
  const serve = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    running.add(outgoing);
    outgoing.once("close", () => {
      running.delete(outgoing);
      // A kept connection would hold the server open until its timeout.
      if (gateway.isStopping) setImmediate(() => http.closeIdleConnections());
    });
    void listener(incoming, outgoing);
  };
  http.on("request", serve);
  http.on("checkExpectation", serve); // an expectation that nobody knows: Node would answer without our headers and shapes
  http.on("clientError", (cause, socket) => refuseBytes(cause, socket as Socket, gateway));
  http.on("drop", () => gateway.metrics.count("connections_refused_total", { reason: "too-many" }));
  // No tunnels; without a listener Node would close the connection without an answer. A request that offers another protocol (`Upgrade`) is
  // answered in this one, because nobody listens for "upgrade". Node has removed its own listener: an error of the socket would end the process.
  http.on("connect", (_incoming, socket) => {
    socket.on("error", () => socket.destroy());
    socket.end("HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  });
  return {
    http,
    running,
    /** Resolves when nothing is running, or after this time. */
    async emptied(timeoutMs: number): Promise<void> {
      const endMs = performance.now() + timeoutMs;
      while (running.size > 0 && performance.now() < endMs) await sleep(10);
    },
  };
}

/** Bytes that are no HTTP request, too many of them, or too slow. */
function refuseBytes(cause: NodeJS.ErrnoException, socket: Socket, gateway: Gateway): void {
  const [status, reason] =
    cause.code === "HPE_HEADER_OVERFLOW"
      ? ["431 Request Header Fields Too Large", "headers-too-large"]
      : cause.code === "ERR_HTTP_REQUEST_TIMEOUT"
        ? ["408 Request Timeout", "too-slow"]
        : ["400 Bad Request", "not-http"];
  if (cause.code !== "ECONNRESET") gateway.metrics.count("connections_refused_total", { reason });
  // If the head of a reply was sent, more bytes would look like a part of it.
  if (!socket.writable || socket.bytesWritten > 0) {
    socket.destroy();
    return;
  }
  const body = JSON.stringify({ error: { code: reason, message: "The request could not be read." } });
  const head = `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n`;
  socket.end(head + body, () => socket.destroy());
}

/** The port, or the next free one. */
async function listen(server: Server, host: string, port: number): Promise<number> {
  const last = port === 0 ? 0 : Math.min(port + PORTS_TO_TRY - 1, 65_535);
  for (let next = port; next <= last; next += 1) {
    const failure = await tryPort(server, host, next);
    if (failure === undefined) return (server.address() as AddressInfo).port;
    if (errnoCode(failure) !== "EADDRINUSE" || port === 0) throw cannotListen(host, next, failure);
  }
  throw new HermesError("gateway-no-port", `The ports ${port} to ${last} of ${host} are all taken.`, {
    hint: "Choose another one: hermes serve --port 9000",
  });
}

async function tryPort(server: Server, host: string, port: number): Promise<Error | undefined> {
  try {
    server.listen({ host, port });
    await once(server, "listening");
    return undefined;
  } catch (cause) {
    return cause as Error;
  }
}

function cannotListen(host: string, port: number, cause: Error): HermesError {
  const why = errnoCode(cause) ?? "the system refuses it";
  const hint = "Choose another address or port: hermes serve --host 127.0.0.1 --port 9000";
  const message = `The gateway cannot listen on ${host}, port ${port} (${why}).`;
  return new HermesError("gateway-cannot-listen", message, { hint, cause });
}
