import { openMemory } from "@hermes-memory/core";
import { generateText } from "ai";
import { model } from "./model.ts";

await using memory = await openMemory({ home: "./data" });
const me = memory.owner;

const text = process.argv[2] ?? "I live in Lisbon.";
const context = await me.context("my chat", { query: text });
const result = await generateText({ model, ...context.request });
await me.remember("my chat", text, result);

console.log(result.text);
