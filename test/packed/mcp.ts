// A user's program, with @hermes-memory/mcp installed: one request, and the end of its input.
import { Readable } from "node:stream";
import { serveMcp } from "@hermes-memory/mcp";

const input = Readable.from([`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" })}\n`]);
await serveMcp({ home: process.argv[2] ?? "", input, output: process.stdout });
