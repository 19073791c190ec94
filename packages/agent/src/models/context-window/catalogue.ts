// The catalogue of prices that comes with the package knows the windows of some models too. Nothing is fetched.
import { isPlausibleWindow } from "./fields.ts";

export async function windowFromCatalogue(model: string, provider: string): Promise<number | undefined> {
  const { calcPrice } = await import("@pydantic/genai-prices"); // 800 kB, so only when nothing else has helped
  const usage = { input_tokens: 1 };
  const named = provider === "" ? null : calcPrice(usage, model, { providerId: provider });
  const bare = model.slice(model.lastIndexOf("/") + 1);
  const found = named ?? calcPrice(usage, model) ?? calcPrice(usage, bare);
  const tokens = found?.model.context_window;
  return isPlausibleWindow(tokens) ? tokens : undefined;
}
