/** What one run asks for by its context. */
export interface Calls {
  /** The same answer, whose listeners are noticed. */
  follow<T>(work: () => Promise<T>): Promise<T>;
  /**
   * Resolves when everything that was asked for has its answer: what a handler does not wait for must not race
   * its settle. From then on nothing more is taken. Answers the failures that nobody has listened to.
   */
  close(): Promise<readonly unknown[]>;
}

/** @param onLate a call after the end, whose caller may not listen: it is told, and refused */
export function createCalls(onLate: () => Error): Calls {
  let closed = false;
  // Made when there is something to keep: most runs ask for nothing.
  let open: Set<Call<unknown>> | undefined;
  let failed: { readonly call: Call<unknown>; readonly error: unknown }[] | undefined;
  return {
    follow: <T>(work: () => Promise<T>) => {
      const call = new Call<T>((resolve, reject) => (closed ? reject(onLate()) : resolve(work())));
      open ??= new Set();
      open.add(call);
      const over = () => void open?.delete(call);
      call.ended = call.watch(over, (error) => {
        over();
        failed = [...(failed ?? []), { call, error }];
      });
      return call;
    },
    close: async () => {
      // What ends may ask for more.
      while (open && open.size > 0) await Promise.all([...open].map(({ ended }) => ended));
      closed = true;
      return (failed ?? []).filter(({ call }) => !call.heard).map(({ error }) => error);
    },
  };
}

/** A promise that knows whether anybody listens: `await`, `then`, `catch` and Promise.all all call `then`. */
class Call<T> extends Promise<T> {
  heard = false;
  ended: Promise<void> | undefined;

  static override get [Symbol.species]() {
    return Promise;
  }

  // biome-ignore lint/suspicious/noThenProperty: to notice who listens is what this class is for
  override then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.heard = true;
    return super.then(onFulfilled, onRejected);
  }

  /** As `then`, unnoticed. A failure that is watched ends no process as an unhandled one. */
  watch(onFulfilled: () => void, onRejected: (reason: unknown) => void): Promise<void> {
    return super.then(onFulfilled, onRejected);
  }
}
