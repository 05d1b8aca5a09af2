import { Duration, type RemovalPolicy } from "aws-cdk-lib";
import { Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { Architecture, type Function as LambdaFunction, Runtime } from "aws-cdk-lib/aws-lambda";
import { type BundlingOptions, NodejsFunction, OutputFormat } from "aws-cdk-lib/aws-lambda-nodejs";
import { LogGroup, RetentionDays } from "aws-cdk-lib/aws-logs";
import type { Construct } from "constructs";
import { Findings } from "./findings.ts";

/** A function built by esbuild from a TypeScript or JavaScript entry file that exports `handler`. */
export interface JobFunctionProps {
  /** Path of the entry file, from the directory where `cdk` runs. */
  readonly entry: string;
  /** 1 s to 15 minutes, default 60 s. It must leave room for the slowest handler of the batch. */
  readonly timeout?: Duration;
  /** MB; 128 to 10240, default 512. CPU grows with it. */
  readonly memorySize?: number;
  /** Variables of your own. The `ANTREAN_` names of tables and queues are set by the construct. */
  readonly environment?: Readonly<Record<string, string>>;
  /** How long CloudWatch keeps the logs. Default one month. */
  readonly logRetention?: RetentionDays;
}

/**
 * ESM with everything inside. The AWS SDK of the runtime changes under a running service and may lack what
 * we call; CommonJS dependencies ask for `require`, which an ES module doesn't have, hence the banner (its
 * import is renamed so that it can't clash with one of the bundle's). The target is the oldest Node that
 * runs the same file locally. The source map is a file of its own, read only with `--enable-source-maps`.
 */
const BUNDLING: BundlingOptions = {
  format: OutputFormat.ESM,
  target: "node20",
  mainFields: ["module", "main"],
  banner:
    'import { createRequire as antreanRequire } from "node:module"; const require = antreanRequire(import.meta.url);',
  bundleAwsSDK: true,
  minify: true,
  sourceMap: true,
  sourcesContent: false,
};

/** Its role starts with the right to write its own logs and nothing else. */
export function jobFunction(
  scope: Construct,
  id: string,
  props: JobFunctionProps & { readonly removalPolicy: RemovalPolicy },
): LambdaFunction {
  const { memorySize = 512 } = props;
  const findings = new Findings();
  findings.whole("memorySize", memorySize, 128, 10_240, "Lambda's limits; leave it out (512).");
  findings.report(scope);
  const logGroup = new LogGroup(scope, `${id}Logs`, {
    retention: props.logRetention ?? RetentionDays.ONE_MONTH,
    removalPolicy: props.removalPolicy,
  });
  const role = new Role(scope, `${id}Role`, { assumedBy: new ServicePrincipal("lambda.amazonaws.com") });
  logGroup.grantWrite(role);
  return new NodejsFunction(scope, id, {
    entry: props.entry,
    runtime: Runtime.NODEJS_24_X,
    architecture: Architecture.ARM_64,
    bundling: BUNDLING,
    timeout: props.timeout ?? DEFAULT_TIMEOUT,
    memorySize,
    environment: { ...props.environment },
    logGroup,
    role,
  });
}

export const DEFAULT_TIMEOUT = Duration.seconds(60);
