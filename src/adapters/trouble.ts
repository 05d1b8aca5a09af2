/** As much of an SDK error as is looked at. By name and never by instanceof: a bundle may hold two SDKs. */
interface SdkError {
  readonly name?: unknown;
  readonly code?: unknown;
  readonly message?: unknown;
}

/** A kind of trouble, and what it asks its reader to check. */
export type Hint = readonly [pattern: RegExp, check: string];

/** Trouble that every AWS service has. */
const COMMON: readonly Hint[] = [
  [
    /UnrecognizedClient|InvalidSignature|SignatureDoesNotMatch|ExpiredToken|CredentialsProvider|MissingAuthentication|InvalidClientTokenId/,
    "no valid credentials: check the role, or AWS_PROFILE / AWS_ACCESS_KEY_ID, and this computer's clock",
  ],
  [/Region is missing|Region not accepted/, "no valid region: set AWS_REGION"],
  [/ENOTFOUND|ECONNREFUSED|EAI_AGAIN/, "nothing answers there: check AWS_REGION, AWS_ENDPOINT_URL and the network"],
  [/Throttl|ProvisionedThroughputExceeded|RequestLimitExceeded/, "throttled after the SDK's retries: try again later"],
];

/** `<what> failed: <what to check> (<the service's own words>)`. The first hint that fits counts. */
export function troubleText(what: string, cause: unknown, hints: readonly Hint[]): string {
  const words = wordsOf(cause);
  const hint = [...hints, ...COMMON].find(([pattern]) => pattern.test(words))?.[1];
  return `${what} failed${hint === undefined ? "" : `: ${hint}`} (${words})`;
}

export function nameOf(error: unknown): string {
  const { name } = shape(error);
  return typeof name === "string" ? name : "";
}

function wordsOf(error: unknown): string {
  const { name, code, message } = shape(error);
  return [name, code, message].filter((part) => typeof part === "string" && part !== "").join(": ");
}

function shape(error: unknown): SdkError {
  return typeof error === "object" && error !== null ? error : { message: error };
}
