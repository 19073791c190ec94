// A model's server on this machine, as far as questions about its models go.
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

type Asked = {
  readonly method: string;
  readonly path: string;
  readonly body: string;
  readonly headers: IncomingMessage["headers"];
};

export type ModelServer = {
  /** Without a path. */
  readonly url: string;
  readonly asked: readonly Asked[];
};

/** JSON by path; a number is a status without a body, "hang" never answers, a URL redirects. */
export type Answers = Readonly<Record<string, object | number | "hang" | URL>>;

export async function modelServer(answers: Answers): Promise<ModelServer> {
  const asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += String(chunk);
    const [path = ""] = (request.url ?? "").split("?");
    asked.push({ method: request.method ?? "", path, body, headers: request.headers });
    const answer = answers[path] ?? 404;
    if (answer === "hang") return;
    if (answer instanceof URL) response.writeHead(302, { location: answer.href }).end();
    else if (typeof answer === "number") response.writeHead(answer).end("no such thing");
    else response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, asked };
}

/** A port of this machine where nothing listens. */
export async function deadAddress(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}`;
}

/** What Ollama answers about one model. */
export function ollamaAnswers(
  model: string,
  options: { readonly most?: number; readonly numCtx?: number; readonly loaded?: number },
): Answers {
  const { most = 131_072, numCtx, loaded } = options;
  const parameters = numCtx === undefined ? "" : `stop "<|eot|>"\nnum_ctx                        ${numCtx}\n`;
  return {
    "/api/show": {
      parameters,
      model_info: { "general.architecture": "llama", "llama.context_length": most, "llama.block_count": 32 },
    },
    "/api/ps": { models: loaded === undefined ? [] : [{ name: model, model, context_length: loaded }] },
    "/v1/models": { object: "list", data: [{ id: model, object: "model", owned_by: "library" }] },
  };
}
