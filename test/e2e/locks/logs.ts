import type { Engine } from "../../../local/index.ts";

export interface LogLine {
  readonly message: string;
  readonly job_id: string;
  readonly attempt?: number;
}

/** Structured lines of a log group whose message is this one. A plain request, as in `invokeFunction`: it takes no SDK client. */
export async function filterLogs(
  { endpoint, environment }: Pick<Engine, "endpoint" | "environment">,
  logGroupName: string,
  message: string,
): Promise<readonly LogLine[]> {
  const { AWS_ACCESS_KEY_ID: key, AWS_REGION: region } = environment;
  const lines: LogLine[] = [];
  let nextToken: string | undefined;
  do {
    const response = await fetch(endpoint, {
      method: "POST",
      headers: {
        "content-type": "application/x-amz-json-1.1",
        "x-amz-target": "Logs_20140328.FilterLogEvents",
        authorization: `AWS4-HMAC-SHA256 Credential=${key}/20260101/${region}/logs/aws4_request, SignedHeaders=host, Signature=0`,
      },
      body: JSON.stringify({ logGroupName, filterPattern: `"${message}"`, nextToken }),
      signal: AbortSignal.timeout(60_000),
    });
    const answer = (await response.json()) as {
      readonly events?: readonly { readonly message: string }[];
      readonly nextToken?: string;
    };
    if (!response.ok) throw new Error(`FilterLogEvents answered ${response.status}: ${JSON.stringify(answer)}`);
    const texts = (answer.events ?? []).map((event) => event.message).filter((text) => text.startsWith("{"));
    // The pattern looks anywhere in a line; the message is one field of it.
    lines.push(...texts.map((text): LogLine => JSON.parse(text)).filter((line) => line.message === message));
    nextToken = answer.nextToken;
  } while (nextToken !== undefined);
  return lines;
}
