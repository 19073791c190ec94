import { describe, expect, it } from "vitest";
import { loadConfig } from "../../src/config/index.ts";
import { tempHome } from "./support.ts";

async function loadText(text: string) {
  using temp = tempHome();
  temp.writeConfig(text);
  return { config: await loadConfig(temp.home) };
}

describe("the sections of session search", () => {
  it("are read whole", async () => {
    const { config } = await loadText(`session_search:
  summarize: on_request
  summary_timeout: 12.5
  cross_profile: no
  max_message_chars: 400
  max_result_chars: 1000
auxiliary:
  vision: {model: eyes}
  session_search:
    provider: openrouter
    model: small
    base_url: http://localhost:1234/v1
    api_key: 12345
    timeout: 5
    extra_body: {seed: 7}
    max_concurrency: 50
`);
    expect(config).toMatchObject({
      ok: true,
      value: {
        sessionSearch: {
          summarize: "on_request",
          summaryTimeout: 12.5,
          crossProfile: false,
          maxMessageChars: 400,
          maxResultChars: 1000,
        },
        auxiliary: {
          sessionSearch: {
            provider: "openrouter",
            model: "small",
            baseUrl: "http://localhost:1234/v1",
            apiKey: "12345",
            timeout: 5,
            extraBody: { seed: 7 },
            maxConcurrency: 5,
          },
        },
      },
    });
  });

  it("count as the default when they are empty, and off needs no quotes", async () => {
    for (const text of [
      "auxiliary:\n",
      "auxiliary:\n  session_search:\n",
      "session_search: {summarize: off}\n",
      "session_search: {summarize: false}\n",
    ]) {
      const { config } = await loadText(text);
      expect(config, text).toMatchObject({
        ok: true,
        value: {
          sessionSearch: { summarize: "off" },
          auxiliary: { sessionSearch: { provider: "auto", apiKey: "" } },
        },
      });
    }
  });
});
