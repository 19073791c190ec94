// The terminal side of a chat: the conversation above, the input line or a question below. It handles keys and rows, and reports what
// the user wants to its owner, which talks to the agent.
import type { AgentEvent } from "@hermes-memory/agent/internal/agent";
import type { Paint } from "../command.ts";
import {
  type Answer,
  completed,
  type Editor,
  type EditorKey,
  type EditorRequest,
  type Question,
  remembered,
  startEditor,
  startQuestion,
  stepEditor,
  stepQuestion,
  withText,
} from "./editor.ts";
import { activityOf, chatFooter } from "./footer.ts";
import { type Footer, LiveView, type Span } from "./live-view.ts";
import { safe, Transcript } from "./transcript.ts";
import type { Tty, TtyEvent } from "./tty.ts";

export type PanelOwner = {
  submitted(text: string): void;
  /** Ctrl-C. */
  interrupted(): void;
  /** Ctrl-D at an empty prompt. */
  ended(): void;
  /** The terminal is gone. */
  gone(): void;
  /** Any key but Ctrl-C. */
  touched(): void;
  complete(written: string): readonly string[];
};

export type PanelParts = {
  readonly tty: Tty;
  readonly paint: Paint;
  readonly history: readonly string[];
  readonly showReasoning: boolean;
  /** A monotonic clock, in milliseconds. */
  readonly now: () => number;
};

type OpenQuestion = Question & { readonly answered: (answer: Answer) => void };

const SPINNER_MS = 100;

export class Panel {
  readonly #parts: PanelParts;
  readonly #owner: PanelOwner;
  readonly #view: LiveView;
  readonly #transcript: Transcript;
  #editor: Editor;
  #choices: readonly string[] = [];
  #question: OpenQuestion | undefined;
  /** Questions are asked one at a time. */
  #lastAsked: Promise<unknown> = Promise.resolve();
  #busy: { readonly activity: string; readonly sinceMs: number } | undefined;
  #spinner: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(parts: PanelParts, owner: PanelOwner) {
    this.#parts = parts;
    this.#owner = owner;
    this.#view = new LiveView(parts.tty, parts.paint);
    this.#transcript = new Transcript({ showReasoning: parts.showReasoning });
    this.#editor = startEditor(parts.history);
  }

  get isEmpty(): boolean {
    return this.#editor.text === "";
  }

  async open(opening: readonly Span[]): Promise<void> {
    const early: TtyEvent[] = [];
    let isOpen = false;
    await this.#parts.tty.open((events) => void (isOpen ? this.#onTty(events) : early.push(...events)));
    isOpen = true;
    this.#spinner = setInterval(() => this.#busy && !this.#question && this.#draw(), SPINNER_MS);
    this.#view.print(opening);
    this.#draw();
    this.#onTty(early);
  }

  /** Later output, from work that did not stop in time, is dropped. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearInterval(this.#spinner);
    this.dismissQuestion();
    this.#view.close();
    this.#parts.tty.close();
  }

  render(event: AgentEvent): void {
    const activity = activityOf(event);
    if (this.#busy && activity !== undefined && activity !== this.#busy.activity) this.setBusy(activity);
    this.#print(this.#transcript.render(event));
  }

  say(style: Span["style"], text: string): void {
    this.#print(this.#transcript.line(style, text));
  }

  /** Shows a sent message as part of the conversation. */
  echo(text: string): void {
    const [first = "", ...more] = safe(text).split("\n");
    const rest = more.map((line) => `\n  ${line}`).join("");
    this.#print([...this.#transcript.ended(), { text: "> ", style: "cyan" }, { text: `${first}${rest}\n` }]);
  }

  /** Undefined when nothing runs. */
  setBusy(activity: string | undefined): void {
    this.#busy = activity === undefined ? undefined : { activity, sinceMs: this.#parts.now() };
    this.#draw();
  }

  /** Puts a text into the input line for the user to edit. */
  prefill(text: string): void {
    this.#editor = withText(this.#editor, text);
    this.#draw();
  }

  /** False when it equals the last entry. */
  remember(text: string): boolean {
    const { history } = this.#editor;
    this.#editor = remembered(this.#editor, text);
    return this.#editor.history !== history;
  }

  clearScreen(): void {
    if (!this.#isClosed) this.#view.clearScreen();
  }

  /** `details` are shown above the question. */
  async ask(text: string, details = ""): Promise<Answer> {
    const before = this.#lastAsked;
    const { promise, resolve } = Promise.withResolvers<Answer>();
    this.#lastAsked = promise;
    await before;
    if (this.#isClosed) {
      resolve("none"); // so that the next question is not blocked
      return "none";
    }
    if (details !== "") this.say("dim", indented(details));
    this.#question = { ...startQuestion(text), answered: resolve };
    this.#draw();
    return promise;
  }

  dismissQuestion(): void {
    this.#question?.answered("none");
    this.#question = undefined;
  }

  #onTty(events: readonly TtyEvent[]): void {
    for (const event of events) {
      if (event.kind === "end") this.#owner.gone();
      else if (event.kind === "resumed") this.#view.redrawFresh();
      else if (event.kind === "resize")
        continue; // drawn again below
      else if (this.#question) this.#answerKey(this.#question, event);
      else this.#inputKey(event);
    }
    this.#draw();
  }

  #inputKey(key: EditorKey): void {
    const { editor, request } = stepEditor(this.#editor, key);
    this.#editor = editor;
    this.#choices = [];
    if (request?.kind !== "interrupt") this.#owner.touched();
    if (request !== undefined) this.#carryOut(request);
  }

  #answerKey(asked: OpenQuestion, key: EditorKey): void {
    const { question, answer } = stepQuestion(asked, key);
    this.#question = answer === undefined ? { ...question, answered: asked.answered } : undefined;
    if (answer === undefined) return;
    this.say("dim", `${asked.text} ${answer === "none" ? "(no answer)" : answer}`);
    asked.answered(answer);
    if (answer === "none") this.#owner.interrupted();
  }

  #carryOut(request: EditorRequest): void {
    switch (request.kind) {
      case "submit":
        this.#owner.submitted(request.text);
        break;
      case "complete": {
        const { editor, choices } = completed(this.#editor, this.#owner.complete);
        this.#editor = editor;
        this.#choices = choices;
        break;
      }
      case "interrupt":
        this.#owner.interrupted();
        break;
      case "end":
        this.#owner.ended();
        break;
      case "clear-screen":
        this.clearScreen();
        break;
      case "suspend":
        this.#parts.tty.suspend();
        break;
      default:
        request satisfies never;
    }
  }

  #print(spans: readonly Span[]): void {
    if (!this.#isClosed) this.#view.print(spans, this.#footer());
  }

  #draw(): void {
    if (!this.#isClosed) this.#view.setFooter(this.#footer());
  }

  #footer(): Footer {
    const elapsedMs = this.#busy ? this.#parts.now() - this.#busy.sinceMs : 0;
    return chatFooter({
      columns: this.#parts.tty.size().columns,
      editor: this.#question?.editor ?? this.#editor,
      choices: this.#choices,
      question: this.#question?.text,
      busy: this.#busy && { activity: this.#busy.activity, elapsedMs },
    });
  }
}

function indented(text: string): string {
  return text
    .split("\n")
    .map((line) => `  ${line}`)
    .join("\n");
}
