// Events of an agent that is told about before anybody is there to listen: kept, and handed over in order.

export class EventRelay<Event> {
  #listener: ((event: Event) => void) | undefined;
  #kept: Event[] | undefined = [];

  readonly emit = (event: Event): void => {
    if (this.#listener) this.#listener(event);
    else this.#kept?.push(event);
  };

  attach(listener: (event: Event) => void): void {
    const kept = this.#kept ?? [];
    this.#kept = undefined;
    this.#listener = listener;
    for (const event of kept) listener(event);
  }

  /** What comes now is dropped. */
  detach(): void {
    this.#listener = undefined;
  }
}
