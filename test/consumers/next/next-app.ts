// The Next example, built with one of its two bundlers and driven over HTTP: the chat remembers, the server action adds, users are kept
// apart, and four servers on one home that get 40 POSTs each lose none.
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { entriesIn, installed, makeHome, node, type Server, serve, stage } from "../kit.ts";

const NEXT = installed("next", "dist", "bin", "next");

export async function checkNextApp(flags: readonly string[]): Promise<string> {
  const app = stage("examples/next-app");
  const built = await node([NEXT, "build", ...flags], { cwd: app });
  const start = (home: string) =>
    serve([NEXT, "start", "-p", "{port}", "-H", "127.0.0.1"], { cwd: app, env: { HERMES_HOME: home } });

  await using first = await start(makeHome());
  await chatRemembers(first);
  await actionAdds(first);

  const shared = makeHome("shared");
  const servers = await Promise.all([1, 2, 3, 4].map(() => start(shared)));
  try {
    const added = await Promise.all(servers.map((server, i) => addForty(server, `s${i}`)));
    const acknowledged = added.flat();
    assert.equal(acknowledged.length, 160);
    assert.deepEqual(entriesIn(shared).sort(), acknowledged.sort());
  } finally {
    await Promise.all(servers.map((server) => server[Symbol.asyncDispose]()));
  }
  const bundler = /Next\.js [\d.]+ \(([^)]+)\)/.exec(built)?.[1] ?? "";
  return `${bundler}: chat, action, 4 servers x 40 POSTs: 160 of 160`;
}

async function chatRemembers({ url }: Server): Promise<void> {
  const say = async (user: string, text: string): Promise<string> => {
    const body = JSON.stringify({ chatId: "1", text });
    const response = await fetch(`${url}/api/chat`, { method: "POST", headers: { "x-user": user }, body });
    return response.text();
  };
  assert.match(await say("ana", "I live in Lisbon"), /^Message 1 of this chat/);
  await stored(url, "ana"); // after the response
  const second = await say("ana", "Where do I live?");
  assert.match(second, /^Message 2 of this chat.*Lisbon/);
  assert.doesNotMatch(await say("ben", "Where do I live?"), /Lisbon/);
}

async function stored(url: string, user: string): Promise<void> {
  for (let i = 0; i < 200; i += 1) {
    const response = await fetch(`${url}/api/chat`, { headers: { "x-user": user } });
    const [chat] = (await response.json()) as { messages: number }[];
    if (chat && chat.messages >= 2) return;
    await sleep(50);
  }
  throw new Error("The exchange was not stored.");
}

async function actionAdds({ url }: Server): Promise<void> {
  const headers = { "x-user": "ana" };
  const page = await (await fetch(url, { headers })).text();
  const action = /name="(\$ACTION_ID_[0-9a-f]+)"/.exec(page)?.[1];
  assert.ok(action, "the page has a form with a server action");
  const form = new FormData();
  form.set(action, "");
  form.set("text", "Prefers metric units");
  await (await fetch(url, { method: "POST", headers, body: form })).text();
  assert.match(await (await fetch(url, { headers })).text(), /<li>Prefers metric units<\/li>/);
  assert.doesNotMatch(await (await fetch(url, { headers: { "x-user": "ben" } })).text(), /metric/);
}

async function addForty({ url, output }: Server, name: string): Promise<string[]> {
  const texts: string[] = [];
  for (let i = 0; i < 40; i += 1) {
    const body = JSON.stringify({ text: `${name} fact ${i}` });
    const response = await fetch(`${url}/api/entries`, {
      method: "POST",
      headers: { "x-user": "ana" },
      body,
    });
    assert.equal(response.status, 200, output());
    texts.push(((await response.json()) as { text: string }).text);
  }
  return texts;
}
