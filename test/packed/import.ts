// A user's program, with @hermes-memory/import installed: a transcript of Codex, read twice.
import { mkdirSync, writeFileSync } from "node:fs";
import { type ImportReport, importTranscripts } from "@hermes-memory/import";

const home = process.argv[2] ?? "";
const folder = `${home}/transcripts`;
mkdirSync(folder, { recursive: true });
const id = "0199a0b4-0000-7000-8000-000000000001";
const lines = [
  {
    type: "session_meta",
    payload: { id, timestamp: "2026-01-02T03:04:05Z", cwd: "/tmp", originator: "codex" },
  },
  {
    type: "response_item",
    payload: {
      type: "message",
      role: "user",
      content: [{ type: "input_text", text: "Which glaze is celadon?" }],
    },
  },
  {
    type: "response_item",
    payload: {
      type: "message",
      role: "assistant",
      content: [{ type: "output_text", text: "Number seven." }],
    },
  },
].map((line) => JSON.stringify({ timestamp: "2026-01-02T03:04:05Z", ...line }));
const path = `${folder}/rollout-2026-01-02T03-04-05-${id}.jsonl`;
writeFileSync(path, `${lines.join("\n")}\n`);
const read = (): Promise<ImportReport> => importTranscripts({ home, from: ["codex"], paths: [path] });
const reports = [await read(), await read()];
console.log(JSON.stringify(reports.map(({ sources }) => sources[0]?.messagesAdded ?? 0)));
