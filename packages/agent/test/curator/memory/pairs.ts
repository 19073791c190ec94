// Pairs of entries with a verdict, for tuning and testing what counts as the same. Written for this project.

/** The first may be dropped when the second stays. */
export const SAME: readonly (readonly [string, string])[] = [
  ["Uses pnpm, not npm", "uses  pnpm, not npm."],
  ["The user's name is Anna", "The user's name is **Anna**."],
  ["- Deploys go through `make ship`", "Deploys go through make ship"],
  ["Prefers metric units!", "Prefers metric units"],
  ["ALWAYS run the linter before a commit", "Always run the linter before a commit"],
  ["User prefers a dark mode in the editor", "The user prefers the dark mode in the editor."],
  ["Staging server runs Ubuntu 22.04", "The staging server runs Ubuntu 22.04"],
  ["Weekly report goes to Carla on Thursday", "The weekly reports go to Carla on Thursday"],
  [
    "The staging server runs Ubuntu 22.04 and reboots every Sunday",
    "The staging server currently runs Ubuntu 22.04 and also reboots every Sunday",
  ],
  ["Uses pnpm.", "Uses pnpm. The office is in Graz."],
  ["Speaks German", "Lives in Graz.\nSpeaks German."],
  ["Le serveur est à Paris", "Le serveur est à Paris."],
  ["Timezone: Europe/Vienna", "Timezone is Europe/Vienna"],
  ["Reviews PRs on Tuesdays", "Reviews PRs on Tuesday"],
];

/** The first could be dropped too, but only a reader who understands the additional words can tell. The rules keep both. */
export const BEYOND_RULES: readonly (readonly [string, string])[] = [
  [
    "The staging server runs Ubuntu 22.04 and reboots every Sunday",
    "The staging server runs Ubuntu 22.04 and reboots every Sunday night",
  ],
  [
    "The API key rotation script lives in tools/rotate.sh in the ops repository",
    "The API key rotation script lives in tools/rotate.sh in the private ops repository",
  ],
  ["Uses pnpm.", "Uses pnpm. Tests run with vitest."],
  ["Tests run with vitest. Uses pnpm.", "Uses pnpm. The office is in Graz. Tests run with vitest."],
];

/** They look alike, but neither may be dropped. */
export const DIFFERENT: readonly (readonly [string, string])[] = [
  ["Deploys on Monday", "Deploys on Friday"],
  ["The API listens on port 8080", "The API listens on port 8081"],
  ["Deploy on Friday", "Never deploy on Friday"],
  ["Run migrations before the deploy", "Run migrations after the deploy"],
  ["Anna manages Ben", "Ben manages Anna"],
  ["User prefers dark mode", "User prefers dark mode editors"],
  ["User likes tea", "User likes green tea"],
  ["User prefers dark mode", "User prefers dark mode only in the terminal"],
  ["Uses pnpm", "Uses pnpm in the legacy repository"],
  ["The database is in /srv/Data", "The database is in /srv/data"],
  ["Variable userId holds the key", "Variable userid holds the key"],
  ["Writes C for the firmware", "Writes C++ for the firmware"],
  ["The limit is -5 degrees", "The limit is 5 degrees"],
  ["Ships with v1.2", "Ships with v12"],
  ["Uses tabs?", "Uses tabs"],
  ["deploy on Friday", "Forbidden:\n- deploy on Friday"],
  ["deploy on Friday", "Things to avoid\n- deploy on Monday\n- deploy on Friday"],
  ["use yarn", "Do not use npm; use yarn"],
  [
    "Send the weekly sales report to the team on Thursday",
    "Send the weekly sales report to the Graz team on Thursday",
  ],
  ["Rotate the keys of the server every month", "Rotate the 2 keys of the server every month"],
  ["The build may take an hour on the old laptop", "The build takes an hour on the old laptop"],
  ["The build on the laptop takes an hour in winter", "The build on the laptop took an hour in winter"],
  ["Backups run daily at 02:00 on host alpha", "Backups run daily at 02:00 on host beta"],
  ["Ask before pushing to the main branch", "Ask before pushing to the release branch"],
  [
    "Send the invoice to Carla at the end of each month",
    "Send the invoice to Karla at the end of each month",
  ],
  [
    "Always answer in German when the user writes German",
    "Always answer in English when the user writes German",
  ],
  [
    "The nightly backup of the customer database is kept for thirty days on the NAS",
    "The nightly backup of the customer database is not kept for thirty days on the NAS",
  ],
  [
    "The nightly backup of the customer database is kept for thirty days on the NAS",
    "The nightly backup of the customer database is kept for thirty days on the NAS unless it fails",
  ],
];

/** About the same thing: one entry would be better than two. */
export const OVERLAPPING: readonly (readonly [string, string])[] = [
  [
    "The project uses pnpm for package management",
    "Package management in the project is done with pnpm, not npm",
  ],
  [
    "The staging server runs Ubuntu and is rebooted every Sunday",
    "Ubuntu on the staging server gets its updates when it is rebooted",
  ],
  ["Anna prefers short answers without small talk", "Anna wants short answers, small talk annoys her"],
];

/** The same structure, but about different things. */
export const PARALLEL: readonly (readonly [string, string])[] = [
  ["Server alpha runs on port 8080 in Berlin", "Server beta runs on port 9090 in Munich"],
  ["Deploys on Monday", "Deploys on Friday"],
  ["Birthday of Anna is in March, she likes flowers", "Birthday of Ben is in July, he likes books"],
  ["Uses pnpm in the web repository", "Writes Go in the firmware repository"],
  ["The office is in Graz", "Prefers metric units"],
];

const RUNS = "The nightly build of the web project runs on the old server in the basement";

/** The second denies or doubts the first, in words that no list of negations covers completely. */
export const TURNED: readonly (readonly [string, string])[] = [
  [
    "Ночная сборка проекта запускается на старом сервере в подвале после резервного копирования базы",
    "Ночная сборка проекта не запускается на старом сервере в подвале после резервного копирования базы",
  ],
  [
    "La build notturna del progetto gira sul vecchio server in cantina dopo il backup",
    "La build notturna del progetto non gira sul vecchio server in cantina dopo il backup",
  ],
  [
    "Nattbygget av projektet körs på den gamla servern i källaren efter säkerhetskopian",
    "Nattbygget av projektet körs inte på den gamla servern i källaren efter säkerhetskopian",
  ],
  [
    "Projenin gece derlemesi bodrumdaki eski sunucuda yedekten sonra hazır",
    "Projenin gece derlemesi bodrumdaki eski sunucuda yedekten sonra hazır değil",
  ],
  [
    "Bản dựng ban đêm của dự án chạy trên máy chủ cũ dưới tầng hầm",
    "Bản dựng ban đêm của dự án không chạy trên máy chủ cũ dưới tầng hầm",
  ],
  [
    "Usiku ujenzi wa mradi unaendeshwa kwenye seva ya zamani katika chumba",
    "Usiku ujenzi wa mradi kamwe unaendeshwa kwenye seva ya zamani katika chumba",
  ],
  ...[
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
      "just",
    ],
    ...["stopped", "quit", "failed", "refused", "deprecated", "ostensibly", "zorgle"],
  ].map((word) => [RUNS, RUNS.replace("runs", `${word} runs`)] as const),
  [
    "The new export is used by few users of the web app",
    "The new export is used by a few users of the web app",
  ],
  ["Balance is 100", "Balance is (100)"],
  ["Balance is 100 EUR.", "Balance is (100 EUR)."],
  ["Balance is 100.", "Balance is (100). Lives in Graz."],
  ["Accepts ports in [0, 100]", "Accepts ports in [0, 100)"],
  ["Nej, deploy on Friday", "Nej deploy on Friday"],
  ["Use tabs, never spaces", "Use tabs never, spaces"],
  ["Heizung im Keller", "Heizung im Keller an"],
  ["Take vitamin daily in winter", "Take vitamin A daily in winter"],
  ["The call is at 9", "The call is at 9 EST"],
  ["Staging is down on Sunday", "Is staging down on Sunday"],
  ["Use tabs. Never spaces.", "Use tabs never. Spaces."],
  ["Use tabs.", "Use tabs. Questo è falso."],
  ["Use tabs.", "Falso. Use tabs."],
  ["Use tabs.", "Use tabs. Das ist Unsinn."],
  ["Use tabs.", "Use tabs. The team is WRONG."],
  ["Use tabs.", "Use tabs. The team abandoned the practice."],
  ["Uses pnpm. Really.", "Uses pnpm. Lives in Graz. Really."],
  ["Uses pnpm. That is over. Uses yarn.", "Uses yarn. That is over. Uses pnpm."],
];
