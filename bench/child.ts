import { type ChildProcess, fork } from "node:child_process";

/** A process of the bench's own that answers one message at a time. */
export interface Child {
  /** Its next message. */
  answer<Message>(): Promise<Message>;
  ask<Message>(order: object): Promise<Message>;
  stop(): Promise<void>;
}

const children = new Set<ChildProcess>();

/** Whatever ends this process ends them: they go when their channel closes. */
export function startChild(
  file: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  execArgv: readonly string[] = [],
): Child {
  const child = fork(file, [...args], {
    execArgv: [...execArgv],
    // What is logged is written, as on Lambda, and read by nobody.
    stdio: ["ignore", "ignore", "pipe", "ipc"],
    env: { PATH: process.env.PATH ?? "", ...environment },
  });
  children.add(child);
  let errors = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    errors = (errors + text).slice(-4_000);
  });
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
    stop: async () => {
      child.disconnect();
      await over;
    },
  };
}

export function stopChildren(): void {
  for (const child of children) child.kill();
}
