// What a search answers before it reads the index. Everything else is compared in ../../search/.
import { expect, it } from "vitest";
import { searchOperations } from "../../../../src/sessions/sqlite/search/search-messages.ts";
import { contextWith } from "../operations.ts";

it.each(["", "   ", "* AND ()", null])("the query %j is blank, and the index is not read", async (query) => {
  const { search, searchMessages } = searchOperations(contextWith({}));
  expect(await search(query as string)).toEqual({ hits: [], stage: "none", empty: "blank" });
  expect(await searchMessages(query as string, {})).toEqual([]);
});

it("a lost user is refused even for a blank query", async () => {
  const { search } = searchOperations(contextWith({}));
  const lost = { userId: undefined };
  await expect(search("", lost)).rejects.toMatchObject({ code: "bad-user-id" });
});
