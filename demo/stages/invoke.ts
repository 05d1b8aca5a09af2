import type { Engine } from "../../local/index.ts";

/**
 * Invokes a function and waits for what it returns. One request of a plain form, so it takes no SDK client;
 * the signature only names key, region and service, which is what a local engine reads of it.
 */
export async function invokeFunction(
  { endpoint, environment }: Pick<Engine, "endpoint" | "environment">,
  name: string,
  event: object = {},
): Promise<unknown> {
  const { AWS_ACCESS_KEY_ID: key, AWS_REGION: region } = environment;
  const scope = `${key}/20260101/${region}/lambda/aws4_request`;
  const response = await fetch(`${endpoint}/2015-03-31/functions/${encodeURIComponent(name)}/invocations`, {
    method: "POST",
    headers: { authorization: `AWS4-HMAC-SHA256 Credential=${scope}, SignedHeaders=host, Signature=0` },
    body: JSON.stringify(event),
    signal: AbortSignal.timeout(120_000),
  });
  const text = await response.text();
  const failure = response.headers.get("x-amz-function-error");
  if (!response.ok || failure !== null)
    throw new Error(`${name} answered ${failure ?? response.status}: ${text.slice(0, 500)}`);
  return text === "" ? undefined : JSON.parse(text);
}
