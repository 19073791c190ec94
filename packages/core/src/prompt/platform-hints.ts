// Where the answer is read decides how it should look. One hint per place the agent may be speaking from.

const HINTS: Readonly<Record<string, string>> = {
  cli:
    "Your answers are shown in a terminal. Write plain text that reads well there; Markdown is not rendered, and long " +
    "tables and wide lines break.",
  api_server:
    "You are reached through an HTTP API, and the program at the other end decides how your answer is shown. Markdown " +
    "is usually fine.",
  webui: "Your answers are shown in a browser, which renders Markdown, code blocks and tables.",
  cron:
    "This is a scheduled run and nobody is there to answer. Ask nothing: decide what can be decided, and make the " +
    "final answer a complete report.",
  telegram:
    "Your answers are sent as Telegram messages. Simple Markdown works (bold, italics, code); there are no tables.",
  discord: "Your answers are sent as Discord messages. Markdown and code blocks work; there are no tables.",
  slack:
    "Your answers are sent as Slack messages. Bold, italics, lists and code blocks work; there are neither headings " +
    "nor tables.",
  whatsapp: "Your answers are sent as WhatsApp messages. Write plain, short text; Markdown is not rendered.",
  signal: "Your answers are sent as Signal messages. Write plain, short text; Markdown is not rendered.",
  sms: "Your answers are sent as text messages. Write plain text, as short as the matter allows.",
  email:
    "Your answers are sent as e-mails. Write plain text in paragraphs that stands on its own; leave out greeting and " +
    "signature unless they are asked for.",
};

export const PLATFORMS: readonly string[] = Object.keys(HINTS);

export function platformHint(platform: string | undefined): string | undefined {
  const key = (platform ?? "").trim().toLowerCase();
  return Object.hasOwn(HINTS, key) ? HINTS[key] : undefined;
}
