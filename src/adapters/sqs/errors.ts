import { AntreanError } from "../../job/errors.ts";
import { ENVIRONMENT } from "../../names.ts";
import { type Hint, nameOf, troubleText } from "../trouble.ts";

const HINTS: readonly Hint[] = [
  [
    /QueueDoesNotExist|NonExistentQueue/,
    `no such queue in this account and region: check the URLs in ${ENVIRONMENT.queues}, AWS_REGION and AWS_ENDPOINT_URL`,
  ],
  [/AccessDenied/, "not allowed: grant this role that action on the queue, and the use of its key"],
  [/Kms/i, "the queue's key can't be used: check its policy and that it is enabled"],
];

export function transportError(cause: unknown, action: string, queueUrl: string): AntreanError {
  const text = troubleText(`${action} on queue ${queueUrl}`, cause, HINTS);
  return new AntreanError("transport-unavailable", text, { cause });
}

/** Faults that lie with the queue, the caller's rights or the load, whatever the message is. */
const OF_THE_QUEUE =
  /Queue|AccessDenied|Security|Token|Signature|Credential|UnrecognizedClient|Throttl|Kms|OverLimit|Address/i;

/** Whether an error, or an entry's code, is about the message itself: the same one would be refused again. */
export function isMessageFault(code: string, senderFault: boolean): boolean {
  // "AWS.SimpleQueueService.BatchRequestTooLong" and "BatchRequestTooLong" are the same; "Queue" is no hint there.
  return senderFault && !OF_THE_QUEUE.test(code.replace("AWS.SimpleQueueService.", ""));
}

/** A proxy between may answer 403, 404 or 413 in the service's place; SQS says 400 of a message. */
export function isMessageError(error: unknown): boolean {
  const { $fault, $metadata } = (typeof error === "object" && error !== null ? error : {}) as {
    readonly $fault?: unknown;
    readonly $metadata?: { readonly httpStatusCode?: number };
  };
  return isMessageFault(nameOf(error), $fault === "client" && ($metadata?.httpStatusCode ?? 400) === 400);
}
