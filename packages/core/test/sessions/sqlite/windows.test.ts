// The contract of windows is in testing/session-store/reading.ts.
import { expect, it } from "vitest";
import { windowOperations } from "../../../src/sessions/sqlite/windows.ts";
import { contextWith } from "./operations.ts";

it.each([1.5, Number.NaN, 2 ** 60])(
  "a message id of %d gives an empty window without a query",
  async (id) => {
    const read = async (work: () => unknown) => work();
    const { getMessagesAround, getAnchoredView } = windowOperations(contextWith({ read: read as never }));
    const empty = { window: [], messages_before: 0, messages_after: 0 };
    expect(await getMessagesAround("s", id)).toEqual(empty);
    expect(await getAnchoredView("s", id)).toEqual({ ...empty, bookend_start: [], bookend_end: [] });
  },
);
