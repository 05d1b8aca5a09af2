import type { Engine } from "./engine.ts";

/**
 * Two questions in the old query protocol, so that the runner needs no further SDK client. The signature
 * says only which service and key it is for: local engines read that and don't verify it. An endpoint that
 * does verify it refuses, and the caller goes the long way.
 */
async function query(engine: Engine, service: string, parameters: Record<string, string>): Promise<string | undefined> {
  const { AWS_ACCESS_KEY_ID: key, AWS_REGION: region } = engine.environment;
  const scope = `${key}/20260101/${region}/${service}/aws4_request`;
  try {
    const response = await fetch(engine.endpoint, {
      method: "POST",
      headers: { authorization: `AWS4-HMAC-SHA256 Credential=${scope}, SignedHeaders=host, Signature=0` },
      body: new URLSearchParams(parameters),
      signal: AbortSignal.timeout(15_000),
    });
    return response.ok ? await response.text() : undefined;
  } catch {
    return undefined;
  }
}

/** The twelve digits the keys belong to; those of a local engine when it does not say. */
export async function accountOf(engine: Engine): Promise<string> {
  const answer = await query(engine, "sts", { Action: "GetCallerIdentity", Version: "2011-06-15" });
  return /<Account>(\d{12})<\/Account>/.exec(answer ?? "")?.[1] ?? "000000000000";
}

export async function isBootstrapped(engine: Engine): Promise<boolean> {
  const parameters = { Action: "DescribeStacks", StackName: "CDKToolkit", Version: "2010-05-15" };
  const answer = await query(engine, "cloudformation", parameters);
  return /<StackStatus>(CREATE|UPDATE)_COMPLETE<\/StackStatus>/.test(answer ?? "");
}
