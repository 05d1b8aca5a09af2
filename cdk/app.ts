import { App, Duration } from "aws-cdk-lib";
import { CalendarStack, type CalendarStackProps } from "./calendar-stack.ts";

/**
 * The reference app. Context, as `-c name=value` or in cdk.json:
 *
 * | name | |
 * |---|---|
 * | `providerUrl` | base URL of the calendar and mail providers; needed |
 * | `providerTimeoutMs` | how long one call may take; default 10000 |
 * | `disposable` | `true`: tables and queues go with the stack. Default: they are retained |
 * | `openApi` | `true`: the API asks for no credentials. For a local engine only |
 * | `staleAfterSeconds`, `retryDelays` | shorter times for demos and tests: `5`, `1s,2s` |
 */
const app = new App();
const { node } = app;
new CalendarStack(
  app,
  "Calendar",
  propsOf((name) => node.tryGetContext(name)),
);

function propsOf(context: (name: string) => unknown): CalendarStackProps {
  const text = (name: string) => {
    const value = context(name);
    return value === undefined || value === "" ? undefined : String(value);
  };
  const whole = (name: string) => {
    const value = text(name);
    if (value !== undefined && !/^[1-9]\d*$/.test(value))
      throw new Error(`context ${name} is "${value}": give a whole number.`);
    return value === undefined ? undefined : Number(value);
  };
  const flag = (name: string) => {
    const value = text(name) ?? "false";
    if (value !== "true" && value !== "false") throw new Error(`context ${name} is "${value}": say true or false.`);
    return value === "true";
  };
  const providerUrl = text("providerUrl");
  if (providerUrl === undefined)
    throw new Error("context providerUrl is missing: cdk deploy -c providerUrl=https://...");
  const [timeoutMs, staleAfter] = [whole("providerTimeoutMs"), whole("staleAfterSeconds")];
  const retryDelays = text("retryDelays");
  return {
    providerUrl,
    disposable: flag("disposable"),
    openApi: flag("openApi"),
    ...(timeoutMs !== undefined && { providerTimeout: Duration.millis(timeoutMs) }),
    ...(staleAfter !== undefined && { staleAfter: Duration.seconds(staleAfter) }),
    ...(retryDelays !== undefined && { retryDelays }),
  };
}
