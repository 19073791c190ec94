// forget: erases a text from every place this memory keeps one.
import { type Forgotten, fileNameOf } from "../../curated/index.ts";
import type { CommandBody } from "../command.ts";
import { counted, oneLine } from "../printing.ts";
import { declined } from "./confirm.ts";
import { askedEntry, entryName, targetNamed } from "./named-entry.ts";
import { openStore, stagedWritesOf, unwrap } from "./open.ts";

export const forget: CommandBody = async (input, context) => {
  const asked = await askedEntry(input, context, {
    word: input.args.text,
    command: "forget",
    isDashInput: true,
  });
  const store = await openStore(input, context);
  const target = targetNamed(asked, store, input);
  const text =
    asked.by === "text"
      ? asked.text
      : unwrap(store.resolve(target, entryName(asked, store, target))).op.oldText;
  const options = stagedWritesOf(input, context);
  const traces = store.traces(text, options);
  if (isNothing(traces)) {
    return {
      json: { success: true, ...toJson(traces) },
      lines: ["No trace of this text. (Letter case counts.)"],
      notes: store.warnings,
    };
  }
  const refused = await declined(
    {
      list: ["This goes for good, and cannot be taken back:", ...places(traces)],
      question: "Forget it everywhere?",
      json: toJson(traces),
    },
    input,
    context,
  );
  if (refused) return refused;
  const forgotten = unwrap(await store.forget(text, { ...options, meta: { origin: "cli" } }));
  return {
    json: { success: true, ...toJson(forgotten) },
    lines: ["Forgotten:", ...places(forgotten)],
    notes: store.warnings,
  };
};

function isNothing({ entries, journalLines, archived, backups, leftovers, pending }: Forgotten): boolean {
  return entries.length + journalLines + archived + backups + leftovers + pending === 0;
}

function toJson({ entries, journalLines, ...counts }: Forgotten): Record<string, unknown> {
  return { entries, journal_lines: journalLines, ...counts };
}

function places({ entries, journalLines, archived, backups, leftovers, pending }: Forgotten): string[] {
  const counts = [
    [journalLines, "line of the journal", "lines of the journal"],
    [archived, "archived entry", "archived entries"],
    [backups, "backup, the text in it", "backups, the text in them"],
    [leftovers, "file a killed process left", "files killed processes left"],
    [pending, "staged write", "staged writes"],
  ] as const;
  return [
    ...entries.map(({ target, entry }) => `  ${fileNameOf(target)}: ${oneLine(entry)}`),
    ...counts.flatMap(([count, one, many]) => (count === 0 ? [] : [`  ${counted(count, one, many)}`])),
  ];
}
