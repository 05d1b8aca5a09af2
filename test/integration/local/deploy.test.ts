import { readdirSync } from "node:fs";
import { join } from "node:path";
import { SendMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { DeployFailed, deploy, destroy, type Engine, startEngine, urlOf } from "../../../local/index.ts";
import { until } from "../../../local/processes.ts";
import { PATIENT_MS, plainEnvironment, temporaryFolder } from "./support.ts";

const app = "node --import tsx test/integration/local/fixture/app.ts";
// What vitest sets for its workers must not reach a Lambda.
const env = plainEnvironment({ NODE_OPTIONS: "--no-warnings", AWS_PROFILE: "of-somebody" });
let engine: Engine;

beforeAll(async () => {
  engine = await startEngine({ env });
}, PATIENT_MS);

afterAll(() => engine.stop(), PATIENT_MS);

test(
  "an app is deployed, runs a message, and is destroyed",
  async () => {
    const dir = temporaryFolder();
    const log: string[] = [];
    const options = { app, dir, env, log: (line: string) => log.push(line) };
    const deployed = {
      ...options,
      context: { label: "blue" },
      outputsFile: join(dir, "out", "outputs.json"),
    };
    const { LocalFixture: outputs = {} } = await deploy(engine, deployed);
    expect(outputs.Label).toBe("blue");
    expect(log.filter((line) => line.startsWith("cdk bootstrap done"))).toHaveLength(1);

    const sqs = new SQSClient({
      endpoint: engine.endpoint,
      region: "us-east-1",
      credentials: { accessKeyId: "test", secretAccessKey: "test" },
    });
    await sqs.send(new SendMessageCommand({ QueueUrl: outputs.QueueUrl, MessageBody: "hello" }));
    sqs.destroy();
    const ask = async () => (await fetch(urlOf(engine, outputs.HandlerUrl ?? ""))).text();
    expect(await until(async () => (await ask()).includes("hello"), 60_000, 200)).toBe(true);
    expect(JSON.parse(await ask())).toEqual({ bodies: ["hello"], node: process.version, nodeOptions: null });

    await deploy(engine, { ...deployed, context: { label: "green" } });
    expect(log.filter((line) => line.startsWith("cdk bootstrap done"))).toHaveLength(1);
    await destroy(engine, options);
    expect(readdirSync(dir).filter((name) => name.startsWith("cdk-"))).toEqual([]);
  },
  PATIENT_MS,
);

test(
  "a failing app says the command line's last lines",
  async () => {
    const dir = temporaryFolder();
    const outputsFile = join(dir, "never.json");
    const failing = deploy(engine, {
      app: "node -e 'throw new Error(String(6 * 7))'",
      dir,
      env,
      outputsFile,
    });
    await expect(failing).rejects.toMatchObject({ name: "DeployFailed", code: "deploy-failed" });
    await expect(failing).rejects.toBeInstanceOf(DeployFailed);
    await expect(failing).rejects.toThrow(/Error: 42/);
  },
  PATIENT_MS,
);

test("urlOf makes host names of AWS reachable, and leaves other URLs and engines as they are", () => {
  const at = (product: "ministack" | "localstack") => ({ endpoint: "http://127.0.0.1:1234", product });
  const lambda = "https://abc123.lambda-url.us-east-1.on.aws/jobs?x=1";
  expect(urlOf(at("ministack"), lambda)).toBe("http://127.0.0.1:1234/_aws/lambda-url/abc123/jobs?x=1");
  expect(urlOf(at("ministack"), "https://def456.execute-api.us-east-1.amazonaws.com/")).toBe(
    "http://127.0.0.1:1234/_aws/execute-api/def456/$default/",
  );
  expect(urlOf(at("localstack"), lambda)).toBe(lambda);
  expect(urlOf(at("ministack"), "https://example.org/")).toBe("https://example.org/");
});
