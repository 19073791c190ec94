// Requests of the protocol, each handed to the file that knows about it.

import { VERSION } from "@hermes-memory/core/version";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import {
  CallToolRequestSchema,
  ErrorCode,
  GetPromptRequestSchema,
  type GetPromptResult,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  ReadResourceRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { isMemoryOn, readBlocks } from "./curated.ts";
import type { Dependencies } from "./dependencies.ts";
import { memoryPrompt, type Offered, serverInstructions } from "./guidance.ts";
import { invalidParams, RequestRefused, sentenceFor } from "./refusal.ts";
import { listResources, readResource, SESSION_TEMPLATE } from "./resources.ts";
import { callTool, isSearchOffered, listTools } from "./tools.ts";

const MEMORY_PROMPT = {
  name: "memory",
  title: "Memory",
  description: "What is remembered about the user and their work, and how to keep it up to date.",
};

export async function createServer(deps: Dependencies): Promise<Server> {
  const server = new Server(
    { name: "hermes-memory", title: "Hermes memory", version: VERSION },
    {
      capabilities: { tools: {}, resources: {}, prompts: {} },
      instructions: serverInstructions(await offered(deps)),
    },
  );
  // The SDK may quote the message it stumbled over, so only the kind of error is kept.
  server.onerror = ({ name }) => deps.log.warn("The protocol layer reported an error", { name });

  server.setRequestHandler(ListToolsRequestSchema, async () => ({ tools: await listTools(deps) }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }) =>
    callTool(params.name, params.arguments, deps),
  );
  server.setRequestHandler(ListResourcesRequestSchema, () =>
    told(deps, async () => ({ resources: await listResources(deps) })),
  );
  server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({
    resourceTemplates: [SESSION_TEMPLATE],
  }));
  server.setRequestHandler(ReadResourceRequestSchema, ({ params }) =>
    told(deps, () => readResource(params.uri, deps)),
  );
  server.setRequestHandler(ListPromptsRequestSchema, async () => ({
    prompts: (await isMemoryOn(deps)) ? [MEMORY_PROMPT] : [],
  }));
  server.setRequestHandler(GetPromptRequestSchema, ({ params }) =>
    told(deps, () => getPrompt(params.name, deps)),
  );
  return server;
}

async function getPrompt(name: string, deps: Dependencies): Promise<GetPromptResult> {
  const now = await offered(deps);
  if (name !== MEMORY_PROMPT.name || !now.isMemoryOn)
    throw invalidParams("There is no such prompt. 'prompts/list' names those there are.");
  const text = memoryPrompt(await deps.inOrder(() => readBlocks(deps)), now);
  return {
    description: MEMORY_PROMPT.description,
    messages: [{ role: "user", content: { type: "text", text } }],
  };
}

async function offered(deps: Dependencies): Promise<Offered> {
  return { isMemoryOn: await isMemoryOn(deps), isSearchOn: isSearchOffered(deps) };
}

/** What a store or a disk complains about, as an error of the protocol that says what to do. */
async function told<T>({ log }: Dependencies, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof RequestRefused) throw cause;
    log.error("A request failed", { cause });
    throw new RequestRefused(ErrorCode.InternalError, sentenceFor(cause));
  }
}
