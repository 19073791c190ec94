// The messages of the soak test: countable words, in scripts with and without blanks. No structured content: two versions of SQLite
// tokenize its zero byte differently, which upstream's own check would report.
export const SOAK_WORDS = "harbour crane copper lantern ledger willow anchor quarry thistle beacon".split(
  " ",
);
export const SOAK_PARTS = ["灯塔", "部署方案", "検索", "서울"];

export function messageText(session: string, index: number): string {
  const words = Array.from(
    { length: 5 + (index % 9) },
    (_, at) => SOAK_WORDS[(index * 7 + at * 3) % SOAK_WORDS.length],
  );
  return `${session} says ${words.join(" ")} ${SOAK_PARTS[index % SOAK_PARTS.length]} ${index}`;
}
