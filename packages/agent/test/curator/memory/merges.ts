// Merges with a verdict: sources, merged text, and for the bad ones what they lose. Written for this project.

export type Merge = readonly [sources: readonly string[], merged: string];

/** The merged text says what the sources say: allowed. */
export const FAIR: readonly Merge[] = [
  [
    ["The staging server runs Ubuntu 22.04", "The staging server is rebooted every Sunday"],
    "The staging server runs Ubuntu 22.04 and is rebooted every Sunday",
  ],
  [["Uses pnpm", "Uses vitest in CI"], "Uses pnpm, and vitest in CI"],
  [
    ["Anna prefers short answers", "Anna wants answers without small talk"],
    "Anna prefers short answers without small talk",
  ],
  [
    ["Always run the linter before a commit", "Always run the tests before a commit"],
    "Always run the linter and the tests before a commit",
  ],
  [
    ["Never push to main", "Never push to release branches without a tag"],
    "Never push to main; never push to release branches without a tag",
  ],
  [
    ["Deploys go through `make ship`", "Deploys need a ticket in Jira"],
    "Deploys go through `make ship` and need a ticket in Jira",
  ],
  [
    ["Backups run at 02:00", "Backups are kept for thirty days"],
    "Backups run at 02:00 and are kept for thirty days",
  ],
  [
    ["API docs: https://docs.example.org/api", "The API docs are generated"],
    "API docs: https://docs.example.org/api, generated",
  ],
  [["Ask Ben about billing", "Ben is out on Fridays"], "Ask Ben about billing; he is out on Fridays"],
  [
    ["Only admins may delete users", "Deleting users is logged"],
    "Only admins may delete users, and deleting users is logged",
  ],
  [["Meets Carla at 8 am", "Meets Carla in Graz"], "Meets Carla in Graz, at 8 am"],
];

/** The merged text loses something, which the name says: never allowed. */
export const LOSING: readonly (readonly [lost: string, ...Merge])[] = [
  ["a plain not", ["The cache is not shared", "The cache is on disk"], "The cache is shared, on disk"],
  ["NOT in capitals", ["Do NOT restart db1", "db1 runs Postgres"], "Do restart db1, it runs Postgres"],
  ["a contraction", ["The API doesn't cache", "The API is fast"], "The API does cache, fast"],
  ["a curly apostrophe", ["Don’t use yarn", "Use pnpm here"], "Use yarn, use pnpm here"],
  ["no apostrophe at all", ["dont use yarn", "use pnpm here"], "use yarn, use pnpm here"],
  ["a rare contraction", ["You needn't ask Ben", "Ben is busy"], "You ask Ben, busy"],
  ["without", ["Answers without emojis", "Answers in German"], "Answers with emojis in German"],
  ["no", ["No deploys in December", "Deploys by Anna"], "Deploys in December by Anna"],
  ["a denial of small words", ["Do not use it", "Never deploy on Friday"], "Use it, never deploy on Friday"],
  ["one of two denials", ["No coffee", "No tea after five"], "Coffee, no tea after five"],
  [
    "never, made weaker",
    ["Never deploy on Friday", "Deploy with Anna"],
    "Don't deploy on Friday, deploy with Anna",
  ],
  ["never, left out", ["Never force-push", "Push to review branches"], "Force-push to review branches"],
  ["nobody", ["Nobody may read the vault", "The vault is in Graz"], "Some may read the vault in Graz"],
  ["always", ["Always answer in German", "Answers are short"], "Answer in German, answers are short"],
  ["ALWAYS in capitals", ["ALWAYS sign commits", "Commits need tests"], "Sign commits, which need tests"],
  [
    "always, said of something else",
    ["Always run tests", "Lint at times"],
    "Always lint, run tests at times",
  ],
  ["only", ["Only Anna may deploy", "Deploys are logged"], "Anna may deploy, logged deploys"],
  ["must", ["Commits must be signed", "Commits are small"], "Commits are signed and small"],
  ["all", ["Back up all databases", "Databases are in Graz"], "Back up databases in Graz"],
  [
    "every",
    ["Rotate the keys every month", "The keys are in the vault"],
    "Rotate the keys in the vault, month",
  ],
  ["unless", ["Deploy daily unless Ben objects", "Ben reviews"], "Deploy daily, Ben objects and reviews"],
  ["immer", ["Immer auf Deutsch antworten", "Kurz antworten"], "Kurz und auf Deutsch antworten"],
  ["nie", ["Nie am Freitag deployen", "Mit Anna deployen"], "Mit Anna am Freitag deployen"],
  ["jamais", ["Ne jamais utiliser yarn", "Utiliser pnpm"], "Utiliser yarn, utiliser pnpm"],
  ["a number", ["The API is on port 8080", "The API needs a token"], "The API is on a port, needs a token"],
  ["a digit", ["Keep 30 backups", "Backups are encrypted"], "Keep 3 encrypted backups"],
  ["a sign of a number", ["The limit is -5", "The limit is soft"], "The soft limit is 5"],
  ["a version", ["Node v24.1 in CI", "CI runs on Linux"], "Node v24 in CI on Linux"],
  ["a number in letters", ["Two people review", "People review PRs"], "People review PRs"],
  ["an ordinal", ["The first server is alpha", "alpha is in Graz"], "The server is alpha in Graz"],
  ["am", ["Standup at 8 am", "Standup in Graz"], "Standup at 8 in Graz"],
  ["a currency", ["Costs 5 € a month", "Costs are shared"], "Costs 5 a month, shared"],
  ["one of two equal numbers", ["Anna has 2 cats", "Ben has 2 dogs"], "Anna has 2 cats, Ben dogs"],
  ["a name", ["Ask Carla about billing", "Billing is slow"], "Ask about billing, slow"],
  ["a name in front", ["Zora likes tea", "Likes short answers"], "Likes tea and short answers"],
  ["a name in lower case", ["ask carla about billing", "billing is slow"], "ask about billing, slow"],
  ["a tool in lower case", ["Uses pnpm", "Uses vitest in CI"], "Uses vitest in CI"],
  ["a name that looks like a verb", ["Ask Will about keys", "Keys rotate"], "Ask about keys, will rotate"],
  ["an acronym in front", ["IT owns the laptops", "Laptops are old"], "It owns old laptops"],
  ["a country", ["Ships to the US", "Ships on Monday"], "Ships to us on Monday"],
  ["the end of a name", ["Ask Peter Williams", "Peter is in Graz"], "Ask Peter William in Graz"],
  ["a path", ["Logs are in /var/log/app", "Logs rotate"], "Logs are in /var/log and rotate"],
  ["letter case of a path", ["Data is in /srv/Data", "Data is big"], "Data is in /srv/data, big"],
  ["an identifier", ["userId holds the key", "The key is long"], "userid holds the long key"],
  ["a URL", ["See https://a.example/x", "The page is long"], "See the long page, https://a.example"],
  ["a word of a command", ["Build with `go test -run all`", "Build is slow"], "Slow build with `go test`"],
  ["a quotation", ['Say "go on" to Ben', "Ben waits"], "Say go to Ben, on waits"],
  ["a question", ["Does Ben use tabs?", "Ben uses vim"], "Ben does use tabs and vim"],
  ["a forbidding sign", ["🚫 deploys on Friday", "Deploys by Anna"], "Deploys on Friday by Anna"],
  ["a few, made few", ["A few users like tabs", "Users like vim"], "Few users like tabs and vim"],
  ["few, made a few", ["Tabs have few users", "Tabs are wide"], "Tabs have a few users, wide"],
  ["an amount in brackets", ["Balance is (100)", "Balance is due"], "Balance is 100, due"],
  ["an amount with its currency", ["Balance is (100 EUR)", "Balance is due"], "Balance is 100 EUR, due"],
  ...[
    "hardly",
    "barely",
    "scarcely",
    "seldom",
    "almost",
    "maybe",
    "supposedly",
    "falsely",
    "unlikely",
  ].flatMap((word) => [
    [word, [`The cache ${word} works`, "The cache is big"], "The big cache works"] as const,
    [`no ${word}, added`, ["The cache works", "The cache is big"], `The big cache ${word} works`] as const,
  ]),
  ...["stopped", "quit", "failed", "refused", "deprecated"].map(
    (word) =>
      [word, [`Ben ${word} running backups`, "Ben is in Graz"], "Ben is running backups in Graz"] as const,
  ),
  ...[
    ["не", "Сборка не запускается", "Сборка быстрая", "Сборка быстрая запускается"],
    ["non", "La build non gira", "La build pesa", "La build gira, pesa"],
    ["inte", "Bygget körs inte", "Bygget växer", "Bygget körs, växer"],
    ["değil", "Derleme hazır değil", "Derleme büyük", "Derleme hazır, büyük"],
    ["không", "Bản dựng không chạy", "Bản dựng lớn", "Bản dựng lớn chạy"],
    ["لا", "الخادم لا يعمل", "الخادم قديم", "الخادم قديم يعمل"],
    ["नहीं", "सर्वर नहीं चलता", "सर्वर पुराना", "सर्वर पुराना चलता"],
    ["ない", "キャッシュは 共有されない", "キャッシュは 大きい", "キャッシュは 共有される 大きい"],
    ["안", "서버는 안 돈다", "서버는 크다", "서버는 크다 돈다"],
  ].map(([word = "", one = "", other = "", merged = ""]) => [word, [one, other], merged] as const),
  [
    "a negation within a word, beside another",
    ["共有されない", "キャッシュは使わない"],
    "共有される キャッシュは使わない",
  ],
  [
    "old",
    ["The build is slow on the old laptop", "The laptop is in Graz"],
    "The build is slow on the laptop in Graz",
  ],
];

/** The first may not be dropped in favour of the second, although their words are alike. */
export const NOT_REDUNDANT: readonly (readonly [string, string])[] = [
  [
    "The weekly standup of the whole core team is at 8 am",
    "The weekly standup of the whole core team is at 8 pm",
  ],
  [
    "The shared drive of the Graz office is for the US team",
    "The shared drive of the Graz office is for us, the team",
  ],
  ["Run `make Ship` in the web repository after tests", "Run `make ship` in the web repository after tests"],
  ["The release of the app goes to IT", "The release of the app goes to it"],
  [
    "The customer database in Graz is open to the support team",
    "The customer database in Graz is open to NO support team",
  ],
];
