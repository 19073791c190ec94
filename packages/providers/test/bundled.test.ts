// What core finds in this package.
import { findProviders } from "@hermes-memory/core/internal/providers";
import { expect, it } from "vitest";
import { BUNDLED_NAMES } from "../../core/test/fakes/bundled-names.ts";
import { tempDirectory } from "../../core/test/fakes/temp-directory.ts";
import { bundledProviders } from "../src/bundled.ts";

it("has the providers whose names core knows", () => {
  expect(bundledProviders.providers.map(({ name }) => name).sort()).toEqual(BUNDLED_NAMES);
});

it("is found by core, each provider with its description", async () => {
  const { providers } = await findProviders(tempDirectory());
  expect(providers.map(({ name, problem }) => ({ name, problem }))).toEqual(
    BUNDLED_NAMES.map((name) => ({ name, problem: undefined })),
  );
  expect(providers.filter(({ manifest }) => manifest.description === "")).toEqual([]);
});
