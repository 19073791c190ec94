// The contract of lineages is in testing/session-store/lineage.ts.
import { expect, it } from "vitest";
import { lineageOperations } from "../../../src/sessions/sqlite/lineage.ts";
import { contextWith } from "./operations.ts";

it("an impossible id is answered without reading the database", async () => {
  const { resolveSessionId, resolveResumeSessionId } = lineageOperations(contextWith({}));
  expect(await resolveSessionId("")).toBeNull();
  expect(await resolveSessionId("\ud800")).toBeNull();
  expect(await resolveResumeSessionId(null)).toBeNull();
  expect(await resolveResumeSessionId("\ud800")).toBe("\ud800");
});

it("a lost user is refused even for an impossible id", async () => {
  const { resolveSessionId } = lineageOperations(contextWith({}));
  const lost = { userId: undefined };
  await expect(resolveSessionId("", lost)).rejects.toMatchObject({ code: "bad-user-id" });
});
