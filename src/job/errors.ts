/**
 * Errors are named after what the caller does next and recognised by their `code`, never by `instanceof`:
 * a bundle may hold two copies of this package (ESM and CommonJS), whose classes differ.
 */
export type ErrorCode =
  | "invalid-contract"
  | "invalid-payload"
  | "invalid-input"
  | "payload-too-large"
  | "key-conflict"
  | "configuration"
  | "store-unavailable"
  | "lease-lost"
  | "shutdown"
  | "commit-twice"
  | "commit-refused"
  | "run-ended"
  | "transport-unavailable"
  | "permanent"
  | "transient";

export class AntreanError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "AntreanError";
    this.code = code;
  }
}

/** One thing wrong with an input: where, in dotted form (`payload.items.0.id`), and what. */
export interface Issue {
  readonly path: string;
  readonly message: string;
}

/** The payload does not fit the contract's schema. Nothing was written or sent: mend the payload. */
export class InvalidPayloadError extends AntreanError {
  readonly issues: readonly Issue[];

  constructor(jobType: string, version: number, issues: readonly Issue[]) {
    super("invalid-payload", `${jobType} v${version} refuses the payload: ${describeIssues(issues)}`);
    this.name = "InvalidPayloadError";
    this.issues = issues;
  }
}

/** An option, a tenant or a key is out of its range. Nothing was written or sent. */
export class InvalidInputError extends AntreanError {
  readonly issues: readonly Issue[];

  constructor(issues: readonly Issue[]) {
    super("invalid-input", describeIssues(issues));
    this.name = "InvalidInputError";
    this.issues = issues;
  }
}

/** The payload is over the contract's limit. Send references and versions instead of snapshots. */
export class PayloadTooLargeError extends AntreanError {
  constructor(jobType: string, bytes: number, limitBytes: number) {
    super(
      "payload-too-large",
      `${jobType}: the payload is ${bytes} bytes and its limit is ${limitBytes}. ` +
        "A job carries references and versions, and its handler loads the current state: " +
        "send an id, or an object key in S3. (`maxPayloadBytes` in defineJob raises the limit to 262144 at most.)",
    );
    this.name = "PayloadTooLargeError";
  }
}

/** The same key was enqueued before with another payload: one of the two is not the effect its key names. */
export class KeyConflictError extends AntreanError {
  readonly jobId: string;

  constructor(jobType: string, jobId: string) {
    super(
      "key-conflict",
      `${jobType}: job ${jobId} exists under this key with another payload. ` +
        "A key names one logical effect: put what makes the effect different (an id, a version) into the key. " +
        "A job's child without a key is known by its place among the children of its type: give it a `key`, or " +
        "enqueue the same children in the same order at every attempt.",
    );
    this.name = "KeyConflictError";
    this.jobId = jobId;
  }
}

/** Thrown by a handler: trying again can't help. The job is buried with `reason`. */
export class PermanentError extends AntreanError {
  readonly reason: string;

  constructor(reason: string, message: string = reason, options?: ErrorOptions) {
    super("permanent", message, options);
    this.name = "PermanentError";
    this.reason = reason;
  }
}

/** Thrown by a handler: try again, after `retryAfterMs` at the earliest when it is given. */
export class TransientError extends AntreanError {
  readonly retryAfterMs: number | undefined;

  constructor(message: string, options?: ErrorOptions & { retryAfterMs?: number }) {
    super("transient", message, options);
    this.name = "TransientError";
    this.retryAfterMs = options?.retryAfterMs;
  }
}

export function hasCode(error: unknown, code: ErrorCode): boolean {
  return typeof error === "object" && error !== null && "code" in error && error.code === code;
}

export function describeIssues(issues: readonly Issue[]): string {
  const shown = issues.slice(0, 10).map(({ path, message }) => (path === "" ? message : `${path}: ${message}`));
  return shown.join("; ") + (issues.length > shown.length ? `; and ${issues.length - shown.length} more` : "");
}
