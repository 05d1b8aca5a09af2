import { subscribe } from "node:diagnostics_channel";
import type { ClientRequest } from "node:http";

/** As a job that runs out of memory does: no exception, no answer, the process is gone. */
export function die(): never {
  process.exit(9);
}

/**
 * Ends this process when the next request for this action is with the operating system to its last byte, and
 * nothing has read an answer: it may be done or not, and nobody here will know.
 */
export function dieOnceSent(action: string, pauseMs: number): void {
  subscribe("http.client.request.start", (message) => {
    const { request } = message as { readonly request: ClientRequest };
    if (!String(request.getHeader("x-amz-target")).endsWith(`.${action}`)) return;
    const end = () => (pauseMs > 0 ? setTimeout(die, pauseMs) : die());
    if (request.writableFinished) end();
    else request.once("finish", end);
  });
}
