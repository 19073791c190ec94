// What is remembered about the person who asks, and a form that adds to it: a server action.
import { revalidatePath } from "next/cache";
import { headers } from "next/headers";
import { memoryOf } from "../lib/memory";

async function add(form: FormData) {
  "use server";
  const me = await memoryOf(await headers());
  await me.add(String(form.get("text")));
  revalidatePath("/");
}

export default async function Page() {
  const me = await memoryOf(await headers());
  const entries = await me.list();
  return (
    <main>
      <ul>
        {entries.map(({ id, text }) => (
          <li key={id}>{text}</li>
        ))}
      </ul>
      <form action={add}>
        <input name="text" required />
        <button type="submit">Remember</button>
      </form>
    </main>
  );
}
