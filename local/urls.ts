import type { Engine } from "./engine.ts";

const FUNCTION_URL = /^(?<id>[a-z0-9]+)\.lambda-url\.[a-z0-9-]+\.on\.aws$/;
const HTTP_API = /^(?<id>[a-z0-9]+)\.execute-api\.[a-z0-9-]+\.amazonaws\.com$/;

/**
 * A URL from a stack's outputs, as it can be reached. MiniStack gives outputs the host names of AWS and
 * serves them by path; LocalStack and AWS give outputs that can be used as they are.
 */
export function urlOf(engine: Pick<Engine, "endpoint" | "product">, outputUrl: string): string {
  if (engine.product !== "ministack" || !URL.canParse(outputUrl)) return outputUrl;
  const { hostname, pathname, search } = new URL(outputUrl);
  const functionId = FUNCTION_URL.exec(hostname)?.groups?.id;
  if (functionId) return `${engine.endpoint}/_aws/lambda-url/${functionId}${pathname}${search}`;
  const apiId = HTTP_API.exec(hostname)?.groups?.id;
  // The default stage has no path segment of its own in AWS, and one here.
  if (apiId) return `${engine.endpoint}/_aws/execute-api/${apiId}/$default${pathname}${search}`;
  return outputUrl;
}
