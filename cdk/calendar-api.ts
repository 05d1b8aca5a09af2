import { Annotations, Duration, RemovalPolicy } from "aws-cdk-lib";
import {
  HttpApi,
  type HttpMethod,
  HttpNoneAuthorizer,
  HttpStage,
  LogGroupLogDestination,
} from "aws-cdk-lib/aws-apigatewayv2";
import { HttpIamAuthorizer } from "aws-cdk-lib/aws-apigatewayv2-authorizers";
import { HttpLambdaIntegration } from "aws-cdk-lib/aws-apigatewayv2-integrations";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import { LogGroup, RetentionDays } from "aws-cdk-lib/aws-logs";
import { Construct } from "constructs";
import { ROUTE_KEYS } from "../lambdas/http/route-keys.ts";
import { jobFunction } from "./constructs/job-function.ts";

export interface CalendarApiProps {
  /** No authorisation at all. */
  readonly open: boolean;
  readonly environment: Readonly<Record<string, string>>;
  readonly removalPolicy: RemovalPolicy;
}

/** The HTTP API in front of one function. Callers sign with IAM unless it is `open`. */
export class CalendarApi extends Construct {
  readonly function: LambdaFunction;
  readonly url: string;

  constructor(scope: Construct, id: string, { open, environment, removalPolicy }: CalendarApiProps) {
    super(scope, id);
    if (open && removalPolicy !== RemovalPolicy.DESTROY) {
      throw new Error("openApi without disposable: an API that anybody may call is for throw-away stacks only.");
    }
    if (open) {
      const text = "The API is open to everybody. That is for a local engine; leave openApi out on AWS.";
      Annotations.of(this).addWarningV2("calendar:open-api", text);
    }
    const timeout = Duration.seconds(15);
    this.function = jobFunction(this, "Function", { entry: "lambdas/api.ts", timeout, environment, removalPolicy });

    const api = new HttpApi(this, "Http", {
      createDefaultStage: false,
      defaultAuthorizer: open ? new HttpNoneAuthorizer() : new HttpIamAuthorizer(),
    });
    const integration = new HttpLambdaIntegration("Function", this.function);
    for (const routeKey of ROUTE_KEYS) {
      const [method, path = ""] = routeKey.split(" ");
      api.addRoutes({ path, methods: [method as HttpMethod], integration });
    }
    const accessLog = new LogGroup(this, "AccessLog", { retention: RetentionDays.ONE_MONTH, removalPolicy });
    const stage = new HttpStage(this, "Stage", {
      httpApi: api,
      autoDeploy: true,
      accessLogSettings: { destination: new LogGroupLogDestination(accessLog) },
      // A client in a loop must not use up the account's concurrency, which the consumers share.
      throttle: { rateLimit: 500, burstLimit: 1_000 },
    });
    this.url = stage.url;
  }
}
