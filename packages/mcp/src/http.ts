// The same server over streamable HTTP, for the gateway's `/mcp`. Without sessions of its own: each request is answered by a server that
// is bound to the caller, so nothing of one caller is at hand when another one asks.
import type { Person } from "@hermes-memory/core/internal/memory";
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import { inOrder, type Log, type ProviderMirror } from "./request-context.ts";
import { createServer } from "./serve.ts";

type McpOverHttp = {
  readonly person: Person;
  readonly log: Log;
  /** Names the program in the journal, such as `gateway`. */
  readonly client?: string;
  readonly mirror: ProviderMirror;
};

/** Answers one POST. `body`: its parsed JSON. */
export async function answerMcp(request: Request, body: unknown, served: McpOverHttp): Promise<Response> {
  const server = await createServer({ ...served, inOrder: orderOf(served.person) });
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  await server.connect(transport);
  try {
    return await transport.handleRequest(request, { parsedBody: body });
  } finally {
    await server.close();
  }
}

/** Requests of one person run in the order of arrival, as over standard input. */
const orders = new WeakMap<Person, ReturnType<typeof inOrder>>();

function orderOf(person: Person): ReturnType<typeof inOrder> {
  const known = orders.get(person) ?? inOrder();
  orders.set(person, known);
  return known;
}
