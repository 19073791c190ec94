// The smallest agent: one question, printed while the model writes the answer.
//
// It needs a model, named in the environment. In a checkout, with Ollama on this machine:
//   HERMES_INFERENCE_PROVIDER=ollama HERMES_MODEL=qwen3:8b node examples/agent.ts "How hot is a kiln?"
// or with a vendor's key (also OPENAI_API_KEY, GEMINI_API_KEY, OPENROUTER_API_KEY):
//   ANTHROPIC_API_KEY=... HERMES_MODEL=claude-sonnet-4-5 node examples/agent.ts
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAgent } from "hermes-memory";

const question = process.argv[2] ?? "How hot does a kiln get for porcelain? One sentence, please.";
const home = mkdtempSync(join(tmpdir(), "hermes-example-")); // a real agent uses the user's home: ~/.hermes

{
  // Model, memory, tools and sessions follow config.yaml of the home; there is none here, so the defaults apply.
  await using agent = await createAgent({
    home,
    onEvent: (event) => {
      if (event.type === "text-delta") process.stdout.write(event.text);
      if (event.type === "text-discard") process.stdout.write("\n(once more)\n"); // the connection broke; the reply starts again
    },
  });
  console.log(`${agent.model.model} with a window of ${agent.window.tokens} tokens is asked: ${question}\n`);

  // Failures of the model, a tool, a provider or the database are reported in the result; `run` does not reject for them.
  const result = await agent.run(question);
  console.log(`\n\n${result.exit}, ${result.api_calls} call, ${result.total_tokens} tokens`);
  if (result.failed) console.log(`It failed: ${result.error} ${result.hint ?? ""}`);
} // the session ends here, and everything is closed

rmSync(home, { recursive: true });
