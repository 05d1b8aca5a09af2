import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { App, Duration, Validations } from "aws-cdk-lib";
import { Match, Template } from "aws-cdk-lib/assertions";
import { AwsSolutionsChecks } from "cdk-nag";
import { afterAll, describe, expect, it, vi } from "vitest";
import { CalendarStack, type CalendarStackProps } from "../../cdk/calendar-stack.ts";
import { ROUTE_KEYS } from "../../lambdas/http/route-keys.ts";

const folder = mkdtempSync(join(tmpdir(), "antrean-calendar-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
// CloudFormation's own rules take seconds to load, and rules.test.ts runs them.
vi.stubEnv("CDK_VALIDATION", "false");

function calendar(props: Partial<CalendarStackProps> = {}): CalendarStack {
  const outdir = mkdtempSync(join(folder, "app-"));
  const app = new App({ outdir, context: { "aws:cdk:bundling-stacks": [] } });
  return new CalendarStack(app, "Calendar", { providerUrl: "https://provider.example.com", ...props });
}

const EVENTS = "EventsD32975C2";

const LOCAL = {
  disposable: true,
  openApi: true,
  staleAfter: Duration.seconds(5),
  retryDelays: "1s,2s",
  providerTimeout: Duration.millis(1_500),
} as const;

/** The policy statements of a function's role, by the function's id in the tree. */
function statements(
  template: Template,
  role: string,
): { readonly Action: string | string[]; readonly Resource: unknown }[] {
  const policies = template.findResources("AWS::IAM::Policy");
  return Object.entries(policies)
    .filter(([id]) => id.startsWith(role))
    .flatMap(([, policy]) => policy.Properties.PolicyDocument.Statement);
}

describe("on AWS", () => {
  const stack = calendar();
  const template = Template.fromStack(stack);

  it("asks every caller of every route for IAM", () => {
    const routes = Object.values(template.findResources("AWS::ApiGatewayV2::Route")).map(
      ({ Properties }) => Properties,
    );
    expect(routes.map(({ RouteKey }) => RouteKey).sort()).toEqual([...ROUTE_KEYS].sort());
    for (const { AuthorizationType } of routes) expect(AuthorizationType).toBe("AWS_IAM");
  });

  it("keeps tables and queues when the stack goes", () => {
    for (const type of ["AWS::DynamoDB::Table", "AWS::SQS::Queue"]) {
      template.allResources(type, { DeletionPolicy: "Retain", UpdateReplacePolicy: "Retain" });
    }
    template.allResourcesProperties("AWS::DynamoDB::Table", { DeletionProtectionEnabled: true });
  });

  it("pins the logical ids of what holds data: another id would leave the old one behind and start empty", () => {
    const ids = ["AWS::DynamoDB::Table", "AWS::SQS::Queue"].flatMap((type) =>
      Object.keys(template.findResources(type)),
    );
    expect(ids.sort()).toEqual(["DeadLetterQueue9F481546", EVENTS, "JobsTable10C8EDF6", "Queue4A7E3555"]);
  });

  it("shortens no time", () => {
    const environments = Object.values(template.findResources("AWS::Lambda::Function")).map(
      ({ Properties }) => Properties.Environment?.Variables ?? {},
    );
    for (const variables of environments) expect(variables).not.toHaveProperty("ANTREAN_RETRY_DELAYS");
  });

  it("lets the API and the consumer read and update events, and nobody delete or list them", () => {
    for (const role of ["ApiFunctionRole", "ConsumerRole"]) {
      const onEvents = statements(template, role).filter(({ Resource }) => JSON.stringify(Resource).includes(EVENTS));
      expect(onEvents.flatMap(({ Action }) => Action).sort()).toEqual(["dynamodb:GetItem", "dynamodb:UpdateItem"]);
    }
    expect(JSON.stringify(statements(template, "ReconcilerFunctionRole"))).not.toContain(EVENTS);
  });

  it("passes cdk-nag with nothing suppressed", () => {
    const { violations } = new AwsSolutionsChecks().validateScope(stack);
    expect(
      violations.map(({ ruleName, violatingResources }) => [ruleName, violatingResources.map((r) => r.constructPath)]),
    ).toEqual([]);
    const metadata = stack.node.findAll().flatMap(({ node }) => node.metadata);
    expect(metadata.filter(({ type }) => type === Validations.ACKNOWLEDGED_RULES_METADATA_KEY)).toEqual([]);
  });
});

describe("on a local engine", () => {
  const stack = calendar(LOCAL);
  const template = Template.fromStack(stack);

  it("is open, and says so at synth", () => {
    template.allResourcesProperties("AWS::ApiGatewayV2::Route", { AuthorizationType: "NONE" });
    const warnings = stack.node.findAll().flatMap(({ node }) => node.metadata.map(({ data }) => String(data)));
    expect(warnings).toContainEqual(expect.stringContaining("open to everybody"));
  });

  it("leaves nothing behind", () => {
    for (const type of ["AWS::DynamoDB::Table", "AWS::SQS::Queue", "AWS::Logs::LogGroup"])
      template.allResources(type, { DeletionPolicy: "Delete" });
    template.allResourcesProperties("AWS::DynamoDB::Table", { DeletionProtectionEnabled: false });
  });

  it("gives the consumer its short times and its provider", () => {
    template.hasResourceProperties("AWS::Lambda::Function", {
      Environment: {
        Variables: Match.objectLike({
          ANTREAN_RETRY_DELAYS: "1s,2s",
          ANTREAN_STALE_AFTER_SECONDS: "5",
          PROVIDER_TIMEOUT_MS: "1500",
          CALENDAR_PROVIDER_URL: "https://provider.example.com",
          MAIL_PROVIDER_URL: "https://provider.example.com",
        }),
      },
    });
  });
});

it("an open API on a stack that stays is refused", () => {
  expect(() => calendar({ openApi: true })).toThrow(/openApi without disposable/);
});
