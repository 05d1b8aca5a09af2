import type { TestProject } from "vitest/node";
import { startEngine } from "../../local/index.ts";

/** Where a suite finds a service. Without credentials it uses the SDK's own chain. */
export interface TestEndpoint {
  readonly endpoint: string;
  readonly region: string;
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string };
}

declare module "vitest" {
  interface ProvidedContext {
    dynamodb: TestEndpoint;
    sqs: TestEndpoint;
  }
}

/**
 * Global set-up of the tests that need an AWS: one engine a run, on a free port, ended with the run. The
 * environment may name other endpoints (any engine, or https://dynamodb.<region>.amazonaws.com), which are
 * left running.
 */
export default async function setUp(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const { ANTREAN_TEST_DYNAMODB_ENDPOINT: dynamodb, ANTREAN_TEST_SQS_ENDPOINT: sqs, AWS_REGION } = process.env;
  const external = (endpoint: string): TestEndpoint => ({ endpoint, region: AWS_REGION ?? "us-east-1" });
  if (dynamodb && sqs) {
    project.provide("dynamodb", external(dynamodb));
    project.provide("sqs", external(sqs));
    return undefined;
  }
  const engine = await startEngine({ log: (line) => console.log(line) });
  const own = {
    endpoint: engine.endpoint,
    region: engine.environment.AWS_REGION ?? "us-east-1",
    credentials: {
      accessKeyId: engine.environment.AWS_ACCESS_KEY_ID ?? "test",
      secretAccessKey: engine.environment.AWS_SECRET_ACCESS_KEY ?? "test",
    },
  };
  project.provide("dynamodb", dynamodb ? external(dynamodb) : own);
  project.provide("sqs", sqs ? external(sqs) : own);
  return () => engine.stop();
}
