// Generates any number of distinct facts about people, projects and organisations from a pool of 500 names, a few of which occur far
// more often than the others.
import { pick, type Random, randomNumbers, zipf } from "../../packages/core/test/fakes/random.ts";
import { ENGLISH } from "../corpus/text.ts";

export type GeneratedFact = {
  readonly content: string;
  readonly category: "user_pref" | "project" | "tool" | "general";
  readonly tags: string;
  /** Names of the pool in the order in which the text mentions them. */
  readonly names: readonly string[];
  /** Its subject, in the words of a question. */
  readonly topic: string;
};

export function* generateFacts(count: number, seed: number): Generator<GeneratedFact> {
  const draw = drawer(randomNumbers(seed));
  const seen = new Set<string>();
  while (seen.size < count) {
    const fact = draw();
    if (seen.has(fact.content)) continue;
    seen.add(fact.content);
    yield fact;
  }
}

type Slots = {
  readonly person: () => string;
  readonly project: () => string;
  readonly organisation: () => string;
  readonly thing: string;
  readonly activity: string;
  readonly detail: string;
};

type Template = { readonly category: GeneratedFact["category"]; readonly text: (slots: Slots) => string };

const TEMPLATES: readonly Template[] = [
  { category: "user_pref", text: (s) => `${s.person()} prefers ${s.thing} for ${s.activity} ${s.detail}` },
  { category: "user_pref", text: (s) => `User wants ${s.activity} to be done with ${s.thing} ${s.detail}` },
  {
    category: "user_pref",
    text: (s) => `User and ${s.person()} agreed to leave ${s.thing} out of ${s.activity} ${s.detail}`,
  },
  { category: "project", text: (s) => `${s.project()} uses ${s.thing} for ${s.activity} ${s.detail}` },
  {
    category: "project",
    text: (s) => `${s.person()} is responsible for ${s.activity} in ${s.project()} ${s.detail}`,
  },
  {
    category: "project",
    text: (s) => `${s.organisation()} asked for ${s.thing} in ${s.project()} ${s.detail}`,
  },
  { category: "project", text: (s) => `The ${s.activity} of ${s.project()} broke ${s.detail}` },
  { category: "tool", text: (s) => `"${s.project()}" is deployed with ${s.thing} ${s.detail}` },
  { category: "tool", text: (s) => `The notes on ${s.thing} and ${s.activity} are kept ${s.detail}` },
  { category: "tool", text: (s) => `${s.person()} set up ${s.thing} for ${s.activity} ${s.detail}` },
  {
    category: "general",
    text: (s) => `${s.person()} works at ${s.organisation()} on ${s.activity} ${s.detail}`,
  },
  { category: "general", text: (s) => `${s.person()} and ${s.person()} talked about ${s.thing} ${s.detail}` },
  {
    category: "general",
    text: (s) => `${s.organisation()} pays for ${s.thing} and ${s.activity} ${s.detail}`,
  },
];

function drawer(random: Random): () => GeneratedFact {
  const person = zipf(PEOPLE, random);
  const project = zipf(PROJECTS, random);
  const organisation = zipf(ORGANISATIONS, random);
  const word = zipf(ENGLISH.slice(120), random); // without function words: for names of hosts and folders
  return () => {
    const names: string[] = [];
    const named = (draw: () => string) => () => {
      const name = draw();
      names.push(name);
      return name;
    };
    const { category, text } = pick(TEMPLATES, random);
    const [thing, activity] = [pick(THINGS, random), pick(ACTIVITIES, random)];
    const content = text({
      person: named(person),
      project: named(project),
      organisation: named(organisation),
      thing,
      activity,
      detail: detail(random, word),
    });
    const tags = `${activity.split(" ").at(-1)},${category === "user_pref" ? "preference" : word()}`;
    return { content, category, tags, names: [...new Set(names)], topic: activity };
  };
}

/** Details (when, where, how much) that make similar facts differ. */
function detail(random: Random, word: () => string): string {
  const number = (below: number) => 1 + Math.floor(random() * below);
  return pick(
    [
      () => `since ${pick(MONTHS, random)} ${2015 + number(10)}`,
      () => `on the host ${word()}-${number(40)}`,
      () => `in the folder ${word()}/${word()}`,
      () => `on port ${1024 + number(60_000)}`,
      () => `because the ${word()} of ${pick(MONTHS, random)} was too slow`,
      () =>
        `until ${number(28)} ${pick(MONTHS, random)} ${2024 + number(4)}, for ${number(900)} euro a month`,
      () => `whenever ${word()} and ${word()} are changed together`,
    ],
    random,
  )();
}

// The names in the generated facts, 500 in all.

export const PEOPLE = pairs(
  "Maja Elias Ines Tarek Noor Felix Greta Hugo Iris Jakob Karla Leon Mila Nils Olga Paul Rosa Sven Tilda Ulrik",
  "Lindgren Haddad Moreau Kowalski Novak Berg Castillo Duarte Eriksen Fontana Gruber Hansen Ivanov Jansen Keller",
);

export const PROJECTS = pairs(
  "Amber Copper Quiet Northern Silver Distant Early Hollow Winter Golden",
  "Harbour Lantern Compass Orchard Bridge Signal Meadow Anchor Beacon Falcon Canal Summit",
);

export const ORGANISATIONS = pairs(
  "Baltic Alpine Coastal Central Western Nordic Iberian Atlantic",
  "Freight Foods Energy Textiles Insurance Railways Paper Optics Logistics Theatre",
);

const THINGS = (
  "PostgreSQL|Redis|Kafka|Terraform|Ansible|Grafana|a shared calendar|a paper notebook|dark roast coffee|the night train|" +
  "a standing desk|TypeScript|Rust|Python|Go|a spreadsheet|the old printer|two-factor login|feature flags|a staging server|" +
  "weekly reports|short meetings|a mailing list|the public holidays|a backup drive|object storage|a message queue|" +
  "the translation memory|open source licences|a service contract|the company car|a second monitor|noise-cancelling headphones|" +
  "the metric system|plain text files|Markdown|a code formatter|pair programming|the release checklist|an on-call rota"
).split("|");

const ACTIVITIES = (
  "data analysis|invoice matching|log collection|customer support|route planning|release testing|image resizing|" +
  "contract review|budget planning|user research|payroll export|stock counting|fault reporting|address validation|" +
  "travel booking|price comparison|document scanning|access control|meeting preparation|staff training|energy metering|" +
  "ticket triage|schema migration|load testing|news writing"
).split("|");

const MONTHS = "January February March April May June July August September October November December".split(
  " ",
);

/** Every first word with every second one, in mixed order. */
function pairs(first: string, second: string): string[] {
  const [firsts, seconds] = [first.split(" "), second.split(" ")];
  return seconds.flatMap((_, shift) =>
    firsts.map((name, at) => `${name} ${seconds[(at + shift) % seconds.length]}`),
  );
}
