// A real client of the SDK on a real server process, in a temporary home.
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { onTestFinished } from "vitest";
import { NODE_COMPILE_CACHE } from "../../../core/test/fakes/compile-cache.ts";

export const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

export async function connect(home: string): Promise<Client> {
  const client = new Client({ name: "test", version: "1" });
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [MAIN, "mcp"],
    env: { HERMES_HOME: home, NODE_COMPILE_CACHE },
    stderr: "ignore",
  });
  await client.connect(transport);
  onTestFinished(() => client.close());
  return client;
}

export type Answer = { readonly isError: boolean; readonly json: Record<string, unknown> };

/** A tool's JSON, and whether the protocol calls it an error. */
export async function call(
  client: Client,
  name: string,
  args: Record<string, unknown> = {},
): Promise<Answer> {
  const result = await client.callTool({ name, arguments: args });
  const [part] = result.content as { type: string; text: string }[];
  return { isError: result.isError === true, json: JSON.parse(part?.text ?? "null") };
}

export async function readText(client: Client, uri: string): Promise<string> {
  const { contents } = await client.readResource({ uri });
  const [part] = contents as { text: string }[];
  return part?.text ?? "";
}

export async function toolNames(client: Client): Promise<string[]> {
  return (await client.listTools()).tools.map(({ name }) => name);
}
