/** What a client of AWS SDK v3 was asked. */
export interface Asked {
  readonly command: string;
  readonly input: Record<string, unknown>;
}

export type Answer = (asked: Asked, call: number) => unknown;

/** Plays an SDK client: `answer` returns the output, or throws. For what no engine can be made to show. */
export function fakeClient<Client>(answer: Answer): { readonly client: Client; readonly asked: Asked[] } {
  const asked: Asked[] = [];
  const send = async (command: {
    readonly input: Record<string, unknown>;
    readonly constructor: { readonly name: string };
  }) => {
    const one = { command: command.constructor.name, input: command.input };
    asked.push(one);
    return answer(one, asked.length - 1);
  };
  return { client: { send } as Client, asked };
}

/** An error as the SDK throws it. */
export function sdkError(name: string, fields: object = {}): Error {
  return Object.assign(new Error(`${name} (made by the test)`), { name, $fault: "client", ...fields });
}

/** A runtime whose sleeps end at once and are written down. */
export function instantRuntime() {
  const slept: number[] = [];
  const sleep = async (ms: number) => void slept.push(ms);
  return { slept, random: () => 0.5, sleep };
}
