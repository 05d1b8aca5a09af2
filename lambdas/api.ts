import { Logger } from "@aws-lambda-powertools/logger";
import { createProducer } from "antrean";
import { createApi } from "./http/router.ts";
import { routes } from "./http/routes.ts";
import { eventTableName } from "./settings.ts";
import { createDynamoEvents } from "./store/dynamo-events.ts";

const logger = new Logger({ serviceName: "calendar-api" });

export const handler = createApi(routes, () => ({
  events: createDynamoEvents(eventTableName()),
  jobs: createProducer({ name: "calendar-api", tenants: "required" }),
  log: (line) => (line.error === undefined ? logger.info("answered", line) : logger.error("failed", line)),
}));
