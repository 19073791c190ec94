// Work done one after the other, in the order it came in: a client that adds and then reads without waiting for the
// answer still reads what it added.

export type InOrder = <T>(work: () => Promise<T>) => Promise<T>;

export function inOrder(): InOrder {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const next = last.then(work);
    last = next.catch(() => undefined); // whoever asked for it hears of the failure
    return next;
  };
}
