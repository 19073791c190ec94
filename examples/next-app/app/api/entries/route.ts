// GET: what is remembered. POST { text }: one entry more.
import { memoryOf } from "../../../lib/memory";

export async function GET(request: Request) {
  const me = await memoryOf(request.headers);
  return Response.json(await me.list());
}

export async function POST(request: Request) {
  const { text } = await request.json();
  const me = await memoryOf(request.headers);
  return Response.json(await me.add(text));
}
