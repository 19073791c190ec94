// Where a model's server is: on this machine or beyond, and below which addresses it may be asked things.

export function parseBaseUrl(text: string): URL | undefined {
  const address = text.trim();
  if (address === "") return undefined;
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(address) ? address : `http://${address}`);
  return url !== null && ["http:", "https:"].includes(url.protocol) ? url : undefined;
}

/** Whether what is sent there stays on this machine. Any host name but `localhost` may lead elsewhere. */
export function isLoopback({ hostname }: URL): boolean {
  if (hostname === "localhost" || hostname.endsWith(".localhost")) return true;
  if (hostname === "0.0.0.0" || hostname === "[::]" || hostname === "[::1]") return true; // "any" means this one
  return /^127\.\d+\.\d+\.\d+$/.test(hostname) || /^\[::ffff:7f[0-9a-f]{2}:[0-9a-f]{1,4}\]$/.test(hostname);
}

/** For people and logs: without a password or a key that may be in it. */
export function safeAddress(text: string): string {
  const url = parseBaseUrl(text);
  return url === undefined ? "" : plain(url);
}

/** Without the part that selects one protocol of several, and without a slash at the end. */
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
