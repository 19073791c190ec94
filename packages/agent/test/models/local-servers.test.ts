import { expect, it } from "vitest";
import { findLocalServers, type LocalServerKind } from "../../src/models/local-servers.ts";
import { deadAddress, modelServer, ollamaAnswers } from "../fakes/model-server.ts";

const portOf = (url: string): number => Number(new URL(url).port);

it("finds the servers that run, with their models", async () => {
  const ollama = await modelServer(ollamaAnswers("qwen3:8b", {}));
  const studio = await modelServer({
    "/v1/models": {
      data: [
        { id: "gemma", type: "llm" },
        { id: "nomic", type: "embeddings" },
      ],
    },
  });
  const web = await modelServer({ "/v1/models": { hello: "world" } });
  const slow = await modelServer({ "/v1/models": "hang" });
  const ports = {
    ollama: [portOf(await deadAddress()), portOf(ollama.url)],
    lmstudio: [portOf(studio.url)],
    llamacpp: [portOf(web.url)],
    vllm: [portOf(slow.url)],
  };
  expect(await findLocalServers({ ports, timeoutMs: 300 })).toEqual([
    { kind: "ollama", label: "Ollama", baseUrl: `${ollama.url}/v1`, models: ["qwen3:8b"] },
    { kind: "lmstudio", label: "LM Studio", baseUrl: `${studio.url}/v1`, models: ["gemma"] },
  ]);
});

it("asks the usual ports, and believes what a server calls itself", async () => {
  const asked: string[] = [];
  const answer = { data: [{ id: "m", owned_by: "llamacpp" }] };
  const fake: typeof fetch = async (input) => {
    asked.push(String(input));
    return String(input).includes(":8000/")
      ? Response.json(answer)
      : Promise.reject(new TypeError("fetch failed"));
  };
  const kinds: LocalServerKind[] = (await findLocalServers({ fetch: fake })).map(({ kind }) => kind);
  expect(kinds).toEqual(["llamacpp"]);
  expect(asked).toEqual([11434, 1234, 8080, 8000].map((port) => `http://127.0.0.1:${port}/v1/models`));
});

it("ends with the caller's reason", async () => {
  const slow = await modelServer({ "/v1/models": "hang" });
  const ports = { ollama: [portOf(slow.url)], lmstudio: [], llamacpp: [], vllm: [] };
  const stop = new AbortController();
  const reason = new Error("enough");
  const search = findLocalServers({ ports, signal: stop.signal, timeoutMs: 60_000 });
  setImmediate(() => stop.abort(reason));
  await expect(search).rejects.toBe(reason);
});
