// Base URLs of model servers: parsing, whether they are on this machine, and the addresses derived from them.

export function parseBaseUrl(text: string): URL | undefined {
  const address = text.trim();
  if (address === "") return undefined;
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(address) ? address : `http://${address}`);
  return url !== null && ["http:", "https:"].includes(url.protocol) ? url : undefined;
}

/** Whether the address is on this machine. Any host name except `localhost` may resolve to another one. */
export function isLoopback({ hostname }: URL): boolean {
  if (hostname === "localhost" || hostname.endsWith(".localhost")) return true;
  if (hostname === "0.0.0.0" || hostname === "[::]" || hostname === "[::1]") return true; // "any address" connects to this machine
  return /^127\.\d+\.\d+\.\d+$/.test(hostname) || /^\[::ffff:7f[0-9a-f]{2}:[0-9a-f]{1,4}\]$/.test(hostname);
}

/** To show and log: without a password or key in the URL. "" when it is not a URL. */
export function safeAddress(text: string): string {
  const url = parseBaseUrl(text);
  return url === undefined ? "" : plain(url);
}

/** Without the path of one protocol (`/v1`, `/api`), and without a slash at the end. */
export function serverRoot(base: URL): string {
  return plain(base).replace(/\/(?:api(?:\/v\d+)?|v\d+)$/, "");
}

/** Where an OpenAI-compatible server lists its models. */
export function modelListUrl(base: URL): string {
  return base.pathname === "/" ? `${plain(base)}/v1/models` : `${plain(base)}/models`;
}

function plain({ origin, pathname }: URL): string {
  return `${origin}${pathname}`.replace(/\/+$/, "");
}
