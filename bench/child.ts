import { type ChildProcess, fork } from "node:child_process";
import { createInterface } from "node:readline";

/** A process of the bench's own that answers one message at a time. */
export interface Child {
  /** Its next message. */
  answer<Message>(): Promise<Message>;
  ask<Message>(order: object | string): Promise<Message>;
  tell(order: object | string): void;
  stop(): Promise<void>;
}

export interface ChildOptions {
  readonly execArgv?: readonly string[];
  /** Is given each line that it writes to its standard output. */
  readonly onLine?: (line: string) => void;
}

const children = new Set<ChildProcess>();
let stopped = false;

/** Whatever ends this process ends them: they go when their channel closes. */
export function startChild(
  file: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  { execArgv = [], onLine }: ChildOptions = {},
): Child {
  if (stopped) throw new Error("interrupted");
  const child = fork(file, [...args], {
    execArgv: [...execArgv],
    // What is logged is written, as on Lambda, and read only by those who ask for it.
    stdio: ["ignore", onLine ? "pipe" : "ignore", "pipe", "ipc"],
    env: { PATH: process.env.PATH ?? "", ...environment },
  });
  children.add(child);
  let errors = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    errors = (errors + text).slice(-4_000);
  });
  if (child.stdout && onLine) createInterface(child.stdout).on("line", onLine);
  const over = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  void over.then(() => children.delete(child));
  const answer = <Message>() =>
    new Promise<Message>((resolve, reject) => {
      const died = (code: number | null) => reject(new Error(`${file} ended with ${code}: ${errors}`));
      child.once("exit", died);
      child.once("message", (message: { readonly failed?: string }) => {
        child.off("exit", died);
        if (message.failed === undefined) resolve(message as Message);
        else reject(new Error(message.failed));
      });
    });
  return {
    answer,
    ask: (order) => {
      const asked = answer<never>();
      child.send(order);
      return asked;
    },
    tell: (order) => void child.send(order),
    stop: async () => {
      child.disconnect();
      await over;
    },
  };
}

/** Ends all, and lets none begin: whoever waits for one of them fails, and cleans up. */
export function stopChildren(): void {
  stopped = true;
  for (const child of children) child.kill();
}
