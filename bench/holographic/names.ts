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

export const THINGS = (
  "PostgreSQL|Redis|Kafka|Terraform|Ansible|Grafana|a shared calendar|a paper notebook|dark roast coffee|the night train|" +
  "a standing desk|TypeScript|Rust|Python|Go|a spreadsheet|the old printer|two-factor login|feature flags|a staging server|" +
  "weekly reports|short meetings|a mailing list|the public holidays|a backup drive|object storage|a message queue|" +
  "the translation memory|open source licences|a service contract|the company car|a second monitor|noise-cancelling headphones|" +
  "the metric system|plain text files|Markdown|a code formatter|pair programming|the release checklist|an on-call rota"
).split("|");

export const ACTIVITIES = (
  "data analysis|invoice matching|log collection|customer support|route planning|release testing|image resizing|" +
  "contract review|budget planning|user research|payroll export|stock counting|fault reporting|address validation|" +
  "travel booking|price comparison|document scanning|access control|meeting preparation|staff training|energy metering|" +
  "ticket triage|schema migration|load testing|news writing"
).split("|");

export const MONTHS =
  "January February March April May June July August September October November December".split(" ");

/** Every first word with every second one, in mixed order. */
function pairs(first: string, second: string): string[] {
  const [firsts, seconds] = [first.split(" "), second.split(" ")];
  return seconds.flatMap((_, shift) =>
    firsts.map((name, at) => `${name} ${seconds[(at + shift) % seconds.length]}`),
  );
}
