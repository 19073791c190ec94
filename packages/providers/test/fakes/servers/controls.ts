// A fake service as the provider contract handles it.

import type { ServerControls } from "../../../../core/testing/memory-provider.ts";
import { listDead, retryDead } from "../../../src/kit/outbox/commands.ts";
import type { FakeServer } from "./fake-server.ts";

/** `key` is the one that the provider sends; undefined: the server asks for none. */
export function controlsOf(fake: FakeServer, key: string | undefined): ServerControls {
  return {
    stop: () => fake.stop(),
    start: () => fake.restart(),
    hang: () => fake.hang(),
    fail: (status, body, headers) => fake.fail(status, body, headers),
    answer: (text, contentType) => fake.answerWithText(text, contentType),
    cutAnswers: () => fake.cutAnswers(),
    revokeKey: () => fake.requireAuth(`${key ?? "key"}-renewed`),
    recover: () => {
      fake.recover();
      fake.requireAuth(key);
    },
    resend: (home) =>
      void retryDead(
        home,
        listDead(home).map(({ id }) => id),
      ),
    requests: () => fake.requests.length,
  };
}
