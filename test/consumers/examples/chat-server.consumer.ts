// The chat server with three users who talk at the same time, under the same chat id: nobody's words reach another, also after a restart.
import assert from "node:assert/strict";
import { makeHome, type Server, serve, stage } from "../kit.ts";

const USERS = { ana: "Lisbon", ben: "Bergen", cho: "Busan" };
const cwd = stage("examples/chat-server");
const env = { HERMES_HOME: makeHome() };

{
  await using server = await serve(["server.ts"], { cwd, env });
  const all = Object.entries(USERS).map(async ([user, city]) => {
    assert.match(await say(server, user, `I live in ${city}`), /^Message 1 of this chat/);
    await ask(server, user, "POST", "/entries", { text: `Speaks the language of ${city}` });
    assert.match(
      await say(server, user, "And I bake bread"),
      new RegExp(`^Message 2 of this chat.*I live in ${city}`),
    );
    await say(server, user, `In ${city}, what should I eat?`, "another");
  });
  await Promise.all(all);
}
{
  await using server = await serve(["server.ts"], { cwd, env });
  for (const [user, city] of Object.entries(USERS)) {
    const reply = await say(server, user, "Where do I live?");
    assert.match(reply, new RegExp(`^Message 3 of this chat.*I live in ${city}`));
    // A chat that begins after the entry was added has it in its prompt.
    assert.match(await say(server, user, "Hello", "new"), new RegExp(`language of ${city}`));
    for (const other of Object.values(USERS).filter((each) => each !== city))
      assert.ok(!reply.includes(other), reply);
    const chats = (await ask(server, user, "GET", "/chats")) as { chatId: string }[];
    assert.deepEqual(chats.map(({ chatId }) => chatId).sort(), ["1", "another", "new"]);
    const entries = (await ask(server, user, "GET", "/entries")) as { text: string }[];
    assert.deepEqual(
      entries.map(({ text }) => text),
      [`Speaks the language of ${city}`],
    );
  }
  const nobody = await fetch(`${server.url}/entries`);
  assert.equal(nobody.status, 400);
  assert.equal(((await nobody.json()) as { code: string }).code, "bad-user-id");

  await ask(server, "ana", "DELETE", "/me");
  assert.deepEqual(await ask(server, "ana", "GET", "/entries"), []);
  assert.deepEqual(await ask(server, "ana", "GET", "/chats"), []);
  assert.equal(((await ask(server, "ben", "GET", "/chats")) as []).length, 3);
}
console.log("three users, 15 turns, one erased");

async function say(server: Server, user: string, text: string, chatId = "1"): Promise<string> {
  const response = await fetch(`${server.url}/chats/${chatId}`, {
    method: "POST",
    headers: { "x-user": user },
    body: JSON.stringify({ text }),
  });
  const stream = await response.text();
  assert.ok(stream.endsWith("event: done\ndata: {}\n\n"), stream + server.output());
  const pieces = stream.split("\n\n").filter((each) => each.startsWith("data: "));
  return pieces.map((each) => JSON.parse(each.slice("data: ".length)).text).join("");
}

async function ask(
  server: Server,
  user: string,
  method: string,
  path: string,
  body?: object,
): Promise<unknown> {
  const response = await fetch(server.url + path, {
    method,
    headers: { "x-user": user },
    ...(body && { body: JSON.stringify(body) }),
  });
  assert.equal(response.status, 200, server.output());
  return response.json();
}
