import { Stack } from "aws-cdk-lib";
import { Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import type { Construct } from "constructs";

/** A role without rights yet, for schedules of this account's default group and nobody else. */
export function schedulerRole(scope: Construct): Role {
  const stack = Stack.of(scope);
  const group = { service: "scheduler", resource: "schedule-group", resourceName: "default" };
  const conditions = {
    StringEquals: { "aws:SourceAccount": stack.account, "aws:SourceArn": stack.formatArn(group) },
  };
  return new Role(scope, "ScheduleRole", {
    assumedBy: new ServicePrincipal("scheduler.amazonaws.com", { conditions }),
  });
}

/** Always written, so that a template says which it is and a former `false` is taken back. */
export function stateOf(enabled = true): "ENABLED" | "DISABLED" {
  return enabled ? "ENABLED" : "DISABLED";
}
